"""An application that commits without an end (bench_steady_writer), and how large its files are meanwhile."""

import dataclasses
import json
import os
import subprocess
import time

from support.harness import binary, let_pass, require, spawn

MIB = 1 << 20


@dataclasses.dataclass
class Sample:
    at: float
    file: int
    wal: int


def size_of(path):
    return os.stat(path).st_size if os.path.exists(path) else 0


class Sizes:
    """Of the file and its WAL over time."""

    def __init__(self, db):
        self.db = db
        self.samples = []

    def take(self):
        self.samples.append(Sample(time.monotonic(), size_of(self.db), size_of(f"{self.db}-wal")))

    def most(self, field, begin=0.0, end=1.0):
        """Within a part of the time that was watched, in MiB."""
        first, last = self.samples[0].at, self.samples[-1].at
        within = [s for s in self.samples if begin <= (s.at - first) / (last - first) <= end]
        return max(getattr(s, field) for s in within) / MIB


def write_steadily(run, db, topic, seconds, during=None, **flags):
    """Runs the writer to its end; returns what it measured and the sizes. `during()` is called four times a second."""
    command = [binary("bench_steady_writer"), "--db", db, "--topic", topic, "--seconds", seconds]
    for name, value in flags.items():
        command += ["--" + name.replace("_", "-"), value]
    writer = spawn(command, stdout=subprocess.PIPE, text=True)
    run.at_end(writer.kill)
    sizes = Sizes(db)
    while writer.poll() is None:
        sizes.take()
        if during:
            during()
        let_pass(0.25, "the load goes on")
    output = writer.communicate()[0]
    require(writer.returncode == 0, f"the writer ended with {writer.returncode}")
    return json.loads(output), sizes
