"""Runs each benchmark with very few rows and checks what it prints; the figures themselves prove nothing here."""
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import unittest

from support.kafka import shared_bootstrap

BIN = pathlib.Path(os.environ["TXBOX_BIN"])


class Benchmark(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="txbox-bench-test-")
        self.addCleanup(folder.cleanup)
        self.tmp = folder.name

    def run_program(self, name, *arguments, expect=0):
        done = subprocess.run([str(BIN / name), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=dict(os.environ, TMPDIR=self.tmp), timeout=110, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        self.assertEqual(os.listdir(self.tmp), [], "files were left behind")
        return done

    def measure(self, name, *arguments):
        lines = self.run_program(name, *arguments).stdout.splitlines()
        self.assertEqual(len(lines), 1)
        return json.loads(lines[0])

    def assert_throughput(self, result, name, unit, runs):
        self.assertEqual((result["name"], result["unit"]), (name, unit))
        self.assertEqual(len(result["runs"]), runs)
        for side, values in zip(("ours", "rival"), zip(*result["runs"])):
            self.assertGreater(min(values), 0)
            self.assertAlmostEqual(result[side], statistics.median(values), delta=0.002)
        self.assertAlmostEqual(result["ratio"], result["ours"] / result["rival"], delta=0.002)
        self.assertGreater(result["rss_mb"], 1)
        self.assertGreater(min(result["cpu_us_per_row"]), 0)


class Writer(Benchmark):
    def test_normal_is_the_default(self):
        result = self.measure("bench_writer", "--rows", 200, "--runs", 3)
        self.assert_throughput(result, "writer", "commits/s", 3)
        self.assertEqual(result["synchronous"], "normal")

    def test_a_savepoint_a_message_is_measured(self):
        result = self.measure("bench_savepoint", "--rows", 100, "--batch", 30, "--runs", 3)
        self.assertEqual((result["name"], result["unit"], len(result["runs"])), ("savepoint", "us/message", 3))
        self.assertGreater(min(min(run) for run in result["runs"]), 0)

    def test_a_steady_rate_is_kept_and_measured(self):
        self.run_program("bench_steady_writer", expect=2)
        with tempfile.TemporaryDirectory(prefix="txbox-bench-file-") as folder:
            db = pathlib.Path(folder) / "shop.db"
            subprocess.run([BIN / "outbox-relay", "init", "--db", db], check=True, stdout=subprocess.DEVNULL)
            result = self.measure("bench_steady_writer", "--db", db, "--rate", 50, "--seconds", 1, "--warm-up", 0)
            self.assertLessEqual(result["commits"], 51)
            for value in ("lock_wait", "commit", "transaction"):
                self.assertGreater(result[value]["p50"], 0)
                self.assertLessEqual(result[value]["p50"], result[value]["p99"])

    def test_full_and_payload_are_taken(self):
        result = self.measure("bench_writer", "--rows", 50, "--runs", 2, "--synchronous", "full", "--payload", 1000)
        self.assert_throughput(result, "writer", "commits/s", 2)
        self.assertEqual((result["synchronous"], result["payload_bytes"]), ("full", 1000))

    def test_a_wrong_command_line_is_2(self):
        for arguments in (["--rows", "many"], ["--rows", "0"], ["--nonsense", "1"], ["--synchronous", "off"],
                          ["--rows"]):
            self.run_program("bench_writer", *arguments, expect=2)


class WithoutBroker(Benchmark):
    def test_no_broker_named_is_78(self):
        for name in ("bench_relay_drain", "bench_commit_to_ack", "bench_relay_idle", "bench_inbox_apply"):
            self.assertIn("--brokers", self.run_program(name, expect=78).stderr)


class WithBroker(Benchmark):
    @classmethod
    def setUpClass(cls):
        cls.brokers = shared_bootstrap()

    def test_relay_drain(self):
        result = self.measure("bench_relay_drain", "--brokers", self.brokers, "--rows", 3000, "--runs", 2)
        self.assert_throughput(result, "relay_drain", "rows/s", 2)
        self.assertEqual(result["rows"], 3000)

    def test_commit_to_ack(self):
        result = self.measure("bench_commit_to_ack", "--brokers", self.brokers, "--rows", 300, "--runs", 2)
        self.assertEqual((result["name"], result["unit"]), ("commit_to_ack", "ms"))
        self.assertEqual(len(result["runs"]), 2)
        for side in ("ours", "rival", "rival_delivery_report"):
            self.assertGreater(result[side]["p99"], 0)
            self.assertGreaterEqual(result[side]["p99"], result[side]["p50"])

    def test_inbox_apply(self):
        result = self.measure("bench_inbox_apply", "--brokers", self.brokers, "--rows", 3000, "--runs", 2)
        self.assert_throughput(result, "inbox_apply", "rows/s", 2)
        self.assertEqual(result["rows"], 3000)
        minimal = result["minimal_table"]
        self.assertAlmostEqual(minimal["ratio"], result["ours"] / minimal["rival"], delta=0.002)

    def test_relay_idle(self):
        result = self.measure("bench_relay_idle", "--brokers", self.brokers, "--window", 1, "--runs", 1)
        self.assertEqual((result["name"], result["unit"]), ("relay_idle", "% of a core"))
        self.assertGreaterEqual(result["ours"], 0)
        self.assertLess(result["ours"], 100)


if __name__ == "__main__":
    unittest.main(verbosity=2)
