#!/usr/bin/python3
"""The WAL stays bounded beside a writer that never stops, whether the application checkpoints by itself or not."""

import argparse
import os
import statistics

from support import harness, outbox_file, relay_process
from support.harness import check, note, require, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.steady_load import MIB, size_of, write_steadily

# Above 16 MB the relay helps. What is written meanwhile comes on top, and where it did not get the lock within its
# 10 ms, what is written in the second until it tries again: some 300 MB.
MEDIAN_MB = 64
MOST_MB = 768


def one(run, bootstrap, name, seconds, **flags):
    db = run.path(f"{name}.db")
    relay_process.init(run, db)
    topic = f"wal-{run.seed}-{name}"
    create_topic(bootstrap, topic, 3)
    relay = relay_process.Relay(run, db, bootstrap)
    result, sizes = write_steadily(run, db, topic, seconds, rate=0, **flags)
    note(f"{name}: {result}")
    median, most = statistics.median(s.wal for s in sizes.samples) / MIB, sizes.most("wal")
    check(
        median <= MEDIAN_MB and most <= MOST_MB,
        f"{name}: the WAL had {median:.0f} MiB at the median (limit {MEDIAN_MB}), {most:.0f} at most ({MOST_MB})",
    )
    check(result["commits_per_second"] > 50, f"{name}: the application made {result['commits']} commits meanwhile")
    relay_process.wait_settled(run, db, 60, relay)
    nothing_pinned(db, name)
    check(relay.terminate()[0] == 0, "the relay stops with exit 0")


def nothing_pinned(db, name):
    """A connection of the relay that kept a snapshot would leave the application's own checkpoint BUSY."""
    connection = outbox_file.connect(db, timeout=5.0)
    for number in range(20):
        connection.execute("INSERT OR REPLACE INTO orders(id, account, amount_cents) VALUES (1, 'a', ?)", (number,))
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        require(busy == 0, f"{name}: checkpoint {number} of the application did not get through")
    connection.close()
    check(True, f"{name}: no statement of the relay stood in the way of 20 checkpoints of the application")


def pinned(run, bootstrap):
    """A reader with an old snapshot is named, and the WAL gets short again once it is gone."""
    db = run.path("pinned.db")
    relay_process.init(run, db)
    topic = f"wal-{run.seed}-pinned"
    create_topic(bootstrap, topic, 3)
    relay = relay_process.Relay(run, db, bootstrap)
    reader = outbox_file.connect(db)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM outbox").fetchone()
    result, sizes = write_steadily(run, db, topic, 14, rate=2000)
    check(result["lock_wait"]["p99"] <= 50, f"the writer waits for nobody meanwhile: {result['lock_wait']} ms")
    words = f"(pid {os.getpid()}) keeps a transaction open, for "
    wait_until(lambda: words in relay.text(), 30, "the log names the reader")
    line = next(line for line in relay.text().splitlines() if words in line)
    check(" warning " in line and "bytes of it" in line, f"the log names the reader: {line}")
    readers = relay_process.status(run, db)["wal_readers"]
    check([r["pid"] for r in readers] == [os.getpid()], f"and so does status: {readers}")
    relay_process.wait_settled(run, db, 60, relay)
    reader.execute("COMMIT")
    reader.close()
    wait_until(lambda: size_of(f"{db}-wal") < 16 * MIB, 60, "the WAL is short again")
    check(True, f"the WAL of {sizes.most('wal'):.0f} MiB is short again after the reader is gone")
    check(relay.terminate()[0] == 0, "the relay stops with exit 0")


def body(run):
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seconds", type=int, default=5)
    options = arguments.parse_args()
    bootstrap = shared_bootstrap()
    for synchronous, name, pages in (("normal", "helps-itself", 1000), ("normal", "never", 0), ("full", "never", 0)):
        flags = {"synchronous": synchronous, "checkpoint_pages": pages}
        one(run, bootstrap, f"{name}-{synchronous}", options.seconds, **flags)
    pinned(run, bootstrap)


harness.main("wal-bounded", body, 300)
