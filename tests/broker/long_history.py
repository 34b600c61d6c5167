#!/usr/bin/python3
"""A backlog beside a long history of sent rows drains at the rate of the same backlog in a file without one.

Both files are drained in alternation, from exec to exit, and made as they were between two runs: the receipts of the
backlog go, and settled_through returns to the end of the history. Takes 15 minutes for ten million rows on a busy
machine, most of it to write them, and 4 GB of disk.
"""

import argparse
import pathlib
import statistics
import time

from support import harness, outbox_file, relay_process
from support.harness import check, let_pass, note, require
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic

PAYLOAD_BYTES = 200
KEYS = 1000
A_TIME = 500_000  # rows in one transaction
PARTITIONS = 3


class File:
    def __init__(self, run, name, topic, sent, rows):
        self.run, self.name, self.topic, self.sent, self.rows = run, name, topic, sent, rows
        self.db = run.path(f"{name}.db")
        relay_process.init(run, self.db)
        self.connection = outbox_file.connect(self.db)
        self.connection.execute("PRAGMA synchronous=OFF")  # for writing the history; the relay has its own
        for begin in range(0, sent + rows, A_TIME):
            self.add(begin + 1, min(begin + A_TIME, sent + rows))
        self.rates, self.memory_mb = [], []

    def add(self, first, last):
        """Rows `first` to `last`; those of the history with a receipt, an hour old."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute(
            "WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            " INSERT INTO outbox(topic, key, payload)"
            " SELECT ?, 'key-' || (i % ?), printf('%0*d', ?, i) FROM n",
            (first, last, self.topic, KEYS, PAYLOAD_BYTES),
        )
        self.connection.execute(
            "INSERT INTO outbox_sent(id, nonce, cluster, partition, offset, sent_at)"
            " SELECT id, substr(nonce, 1, 8), 1, 0, id, created_at - 3600000 FROM outbox WHERE id BETWEEN ? AND ?",
            (first, min(last, self.sent)),
        )
        self.connection.execute("UPDATE outbox_progress SET settled_through = ?", (min(last, self.sent),))
        self.connection.execute("COMMIT")
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def make_unsent(self):
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute("DELETE FROM outbox_sent WHERE id > ?", (self.sent,))
        self.connection.execute("UPDATE outbox_progress SET settled_through = ?", (self.sent,))
        self.connection.execute("COMMIT")
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def drain(self, bootstrap, reader):
        before = reader.end_sum()
        began = time.monotonic()
        relay = relay_process.Relay(self.run, self.db, bootstrap, "--drain")
        peak = 0
        while relay.alive():
            peak = max(peak, peak_kib(relay.pid))
            let_pass(0.02, "the pace at which its memory is looked at")
        took = time.monotonic() - began
        require(relay.wait(5) == 0, "the drain ends with exit 0")
        arrived = reader.end_sum() - before
        require(arrived == self.rows, f"{arrived} records arrived, not {self.rows}")
        self.rates.append(self.rows / took)
        self.memory_mb.append(peak / 1024)
        note(f"{self.name}: {self.rows / took:,.0f} rows/s, {peak / 1024:.1f} MB")
        self.make_unsent()


def peak_kib(pid):
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    lines = [line for line in status.split("\n") if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) if lines else 0


def body(run):
    bootstrap = shared_bootstrap()
    topic = f"history-{run.seed}"
    create_topic(bootstrap, topic, PARTITIONS)
    reader = TopicReader(bootstrap, {topic: PARTITIONS})
    began = time.monotonic()
    small = File(run, "small", topic, 0, options.rows)
    large = File(run, "large", topic, options.sent, options.rows)
    size_mb = large.db.stat().st_size / (1 << 20)
    note(f"written in {time.monotonic() - began:.0f} s, the large file has {size_mb:,.0f} MB")
    for number in range(options.runs):
        # Who goes first changes, so that neither always finds the broker warm.
        for file in (small, large) if number % 2 == 0 else (large, small):
            file.drain(bootstrap, reader)
    reader.close()
    of_small, of_large = statistics.median(small.rates), statistics.median(large.rates)
    ratio = of_large / of_small
    words = f"{of_large:,.0f} rows/s beside {options.sent:,} sent rows, {of_small:,.0f} without: {ratio:.2f}"
    check(ratio >= options.least_ratio, words)
    memory = max(large.memory_mb)
    check(memory <= options.memory_mb, f"{memory:.1f} MB at the peak, {options.memory_mb} allowed")


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--sent", type=int, default=10_000_000)
parser.add_argument("--rows", type=int, default=1_000_000)
parser.add_argument("--runs", type=int, default=3)
parser.add_argument("--least-ratio", type=float, default=0.8)
parser.add_argument("--memory-mb", type=int, default=64)
options = parser.parse_args()
harness.main("long-history", body, 3000)
