"""Kafka's own console tools against a broker that is there, by scripts/kafka."""

import os
import subprocess

from support.harness import ROOT, require


class Tools:
    def __init__(self, run, bootstrap):
        self.folder = run.path("console")
        self.folder.mkdir(exist_ok=True)
        (self.folder / "nodes").write_text("1\n")
        port = bootstrap.split(",")[0].rsplit(":", 1)[1]
        self.environment = {**os.environ, "KAFKA_TEST_PORT": port, "KAFKA_TEST_DIR": str(self.folder)}

    def run(self, name, *arguments, text=None):
        """One command to its end (some seconds: each is a Java process of its own); its standard output."""
        done = subprocess.run(
            [ROOT / "scripts" / "kafka", name, *arguments],
            env=self.environment,
            input=text,
            capture_output=True,
            text=True,
            timeout=90,
        )
        require(done.returncode == 0, f"kafka {name}: {done.stderr[-1000:]}")
        return done.stdout

    def describe(self, group):
        """The tool says "has no active members" on standard error."""
        done = subprocess.run(
            [ROOT / "scripts" / "kafka", "groups", "--describe", "--group", group],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=90,
        )
        return done.stdout + done.stderr
