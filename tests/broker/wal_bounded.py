#!/usr/bin/python3
"""The WAL stays bounded beside a writer that never stops, whether the application checkpoints by itself or not."""

import argparse
import statistics

from support import harness, outbox_file, relay_process
from support.harness import check, note, require
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.steady_load import MIB, write_steadily

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


def body(run):
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seconds", type=int, default=5)
    options = arguments.parse_args()
    bootstrap = shared_bootstrap()
    for synchronous in ("normal", "full"):
        for name, pages in (("helps-itself", 1000), ("never", 0)):
            one(run, bootstrap, f"{name}-{synchronous}", options.seconds, synchronous=synchronous,
                checkpoint_pages=pages)


harness.main("wal-bounded", body, 300)
