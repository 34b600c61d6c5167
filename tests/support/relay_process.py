"""outbox-relay as a child process, and its commands as calls."""

import json
import os
import signal
import subprocess
import time

from support.harness import binary, note, require, spawn, wait_until

# Exit codes, as documented.
OK, FAILURE, USAGE, NOT_HELD = 0, 1, 2, 3
MOVED, CORRUPT, RESTORED, NEWER, OWNED, TRY_LATER, CONFIGURATION = 20, 21, 22, 23, 24, 75, 78


def environment(run, **more):
    """The witness files stand in the test's own folder, and no setting of the person who runs the test leaks in."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OUTBOX_RELAY_", "TXBOX_FAILPOINT"))}
    return {**kept, "STATE_DIRECTORY": str(run.path("state")), **more}


def command(run, *arguments, seconds=120, **more):
    """Runs one command to its end; returns it with returncode, stdout, stderr."""
    return subprocess.run(
        [str(binary("outbox-relay")), *map(str, arguments)],
        env=environment(run, **more),
        capture_output=True,
        text=True,
        timeout=seconds,
    )


def succeed(run, *arguments, seconds=120):
    done = command(run, *arguments, seconds=seconds)
    require(done.returncode == 0, f"outbox-relay {arguments[0]} exited {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def init(run, db, *more):
    return succeed(run, "init", "--db", db, *more)


def status(run, db):
    return json.loads(succeed(run, "status", "--db", db, "--json"))


def rows(run, db, *more):
    """`ls --json` as dictionaries."""
    return [json.loads(line) for line in succeed(run, "ls", "--db", db, "--json", *more).split("\n") if line]


class Relay:
    """`outbox-relay run`. Its words go to a log file beside the database, shown when the test fails."""

    lives = 0

    def __init__(self, run, db, bootstrap, *more, prefix=(), **environment_more):
        Relay.lives += 1
        self.log_path = run.path(f"relay-{Relay.lives:03}.log")
        self.log = open(self.log_path, "wb")
        self.process = spawn(
            [*prefix, binary("outbox-relay"), *self.arguments(db, bootstrap, more)],
            env=environment(run, **environment_more),
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        self.started = time.monotonic()
        run.at_end(self.kill)

    def arguments(self, db, bootstrap, more):
        return ["run", "--db", db, "--brokers", bootstrap, *more]

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def text(self):
        return self.log_path.read_text(errors="replace")

    def kill(self):
        """SIGKILL, and wait until it is gone."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def terminate(self, seconds=20):
        """SIGTERM; returns (exit code, seconds it took)."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.wait(seconds)
        return code, time.monotonic() - began

    def wait(self, seconds):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            require(False, f"the relay (pid {self.pid}) was still there after {seconds} s")
        self.log.close()
        return code


def drain(run, db, bootstrap, *more, seconds=180):
    """`run --drain` to its end; returns its exit code."""
    relay = Relay(run, db, bootstrap, "--drain", *more)
    return relay.wait(seconds)


def wait_settled(run, db, seconds, relay=None):
    """Waits until nothing is ready any more, however the relay gets there; returns the status."""

    def settled():
        require(relay is None or relay.alive(), "the relay ended while its backlog was awaited")
        counts = status(run, db)
        return counts if counts["ready"] == 0 else None

    answer = wait_until(settled, seconds, "an empty backlog", every=0.2)
    note(f"settled: {answer['sent']} sent, {answer['parked']} parked, {answer['blocked']} blocked")
    return answer
