#!/usr/bin/python3
"""Files whose write lock is held for long delay the marks of no other file of the same relay."""

import statistics
import time

from support import harness, outbox_file, relay_process
from support.harness import check, note, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic

LOCKED = 5
ROWS = 30
MEAN_MS = 150  # With a turn of 200 ms for each locked file it was 420, and 2 s at worst.


def body(run):
    bootstrap = shared_bootstrap()
    topic = f"locked-{run.seed}"
    create_topic(bootstrap, topic, 1)
    reader = TopicReader(bootstrap, {topic: 1})
    run.at_end(reader.close)
    paths = [run.path(f"shop-{number}.db") for number in range(LOCKED + 1)]
    for path in paths:
        relay_process.init(run, path)
    relay = relay_process.Relay(run, run.path("shop-*.db"), bootstrap)
    connections = [outbox_file.connect(path) for path in paths]
    insert = "INSERT INTO outbox(topic, key, payload) VALUES (?, 'k', 'p')"
    for connection in connections:
        connection.execute(insert, (topic,))
    for path in paths:
        relay_process.wait_settled(run, path, 30, relay)
    end = reader.end_sum()
    *locked, free = connections
    for connection in locked:
        connection.execute(insert, (topic,))
        connection.execute("BEGIN IMMEDIATE")
    wait_until(lambda: reader.end_sum() >= end + LOCKED, 30, "the rows of locked files are published")
    waits = []
    for _ in range(ROWS):
        ident, began = free.execute(insert, (topic,)).lastrowid, time.monotonic()
        marked = "SELECT 1 FROM outbox_sent WHERE id = ?"
        wait_until(lambda ident=ident: free.execute(marked, (ident,)).fetchone(), 30, "its receipt", every=0.002)
        waits.append(round(1000 * (time.monotonic() - began)))
    waiting = [relay_process.status(run, path)["ready"] for path in paths[:LOCKED]]
    check(waiting == [1] * LOCKED, f"the marks of the {LOCKED} locked files wait meanwhile")
    note(f"from commit to mark: {sorted(waits)} ms")
    mean = statistics.mean(waits)
    check(mean <= MEAN_MS, f"a row of the free file is marked {mean:.0f} ms after its commit (limit {MEAN_MS})")
    for connection in locked:
        connection.execute("ROLLBACK")
    for path in paths:
        relay_process.wait_settled(run, path, 30, relay)
    check(reader.end_sum() == end + LOCKED + ROWS, "then they are marked too, and no row was sent twice")
    check(relay.terminate()[0] == 0, "the relay stops with exit 0")
    for connection in connections:
        connection.close()


harness.main("locked-files", body, 180)
