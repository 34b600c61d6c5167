"""A real Kafka for the tests that are written in Python; scripts/kafka does the work.

A test that only needs a broker takes `shared_bootstrap()`: the broker that scripts/test started. A test that freezes or
kills brokers starts a `Cluster` of its own, so that no other test suffers with it.
"""

import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77  # ctest counts this exit code as "skipped", and scripts/test lets only listed tests skip


def shared_bootstrap():
    """The bootstrap servers of the broker that scripts/test runs; without one the test ends as skipped."""
    servers = os.environ.get("TXBOX_TEST_KAFKA", "")
    if not servers:
        print("skipped: TXBOX_TEST_KAFKA names no broker (scripts/test starts one)", file=sys.stderr)
        sys.exit(SKIPPED)
    return servers


def free_port_block(nodes, more_listeners=0):
    """A port below the ephemeral range so that it and all that a cluster of `nodes` uses above it are free."""
    ports_wanted = [10 * node + offset for node in range(nodes) for offset in range(2 + more_listeners)]
    chooser = random.SystemRandom()
    for _ in range(200):
        base = chooser.randrange(20000, 32000)
        if all(_port_is_free(base + offset) for offset in ports_wanted):
            return base
    raise RuntimeError("no free block of ports between 20000 and 32000")


def _port_is_free(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Cluster:
    """Brokers of one's own on loopback, stopped and removed at the end of the `with` block.

    `bootstrap` is None until `start`. Node numbers begin with 1. `properties` are broker properties, one a line.
    Who adds listeners chooses the `port` with free_port_block(): theirs are `port` + 2 and the following ones.
    """

    def __init__(self, nodes=1, properties="", heap="-Xms128m -Xmx512m", port=None):
        self.nodes = nodes
        self.bootstrap = None
        self._folder = tempfile.TemporaryDirectory(prefix="txbox-kafka-")
        self._environment = dict(
            os.environ,
            KAFKA_TEST_DIR=self._folder.name,
            KAFKA_TEST_PORT=str(port or free_port_block(nodes)),
            KAFKA_TEST_PROPS=properties,
            KAFKA_TEST_HEAP=heap,
        )

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception):
        self.close()

    def start(self):
        self.bootstrap = self.run("start", str(self.nodes)).strip().splitlines()[-1]

    def pause(self, node=1):
        self.run("pause", str(node))

    def resume(self, node=1):
        self.run("resume", str(node))

    def kill(self, node=1):
        """SIGKILL; returns when the process is gone."""
        self.run("kill", str(node))

    def restart(self, node=1):
        """Starts a killed broker on its own data; returns when it serves."""
        self.run("restart", str(node))

    def change_properties(self, replace, node=1):
        """Rewrites what a broker is started with; it counts from `restart` on. `replace` takes and returns the text."""
        path = pathlib.Path(self._folder.name) / f"{node}.properties"
        path.write_text(replace(path.read_text()))

    def create_topic(self, name, partitions=3, **configs):
        """`configs` are topic settings with underscores for dots: max_message_bytes=2000."""
        settings = [f"{key.replace('_', '.')}={value}" for key, value in configs.items()]
        options = [word for setting in settings for word in ("--config", setting)]
        self.run("topics", "--create", "--topic", name, "--partitions", str(partitions), *options)

    def close(self):
        self.run("stop")
        self._folder.cleanup()

    def run(self, *arguments):
        """One command of scripts/kafka; its standard output. A failure carries what the command said."""
        done = subprocess.run(
            [str(ROOT / "scripts" / "kafka"), *arguments],
            env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"scripts/kafka {arguments[0]} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
        return done.stdout
