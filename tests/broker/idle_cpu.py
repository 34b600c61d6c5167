#!/usr/bin/python3
"""An idle relay costs next to nothing: CPU time of all its threads over 20 seconds, as the kernel counts it."""

import pathlib

from support import harness, outbox_file, relay_process
from support.harness import check, let_pass
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic

SECONDS = 20
SHARE = 0.005  # of one core
ROWS = 1000


def cpu_seconds(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def body(run):
    bootstrap = shared_bootstrap()
    topic = f"idle-{run.seed}"
    create_topic(bootstrap, topic, 3)
    db = run.path("shop.db")
    relay_process.init(run, db)
    connection = outbox_file.connect(db)
    connection.execute("BEGIN IMMEDIATE")
    for number in range(ROWS):
        connection.execute("INSERT INTO outbox(topic, key, payload) VALUES (?, ?, 'p')", (topic, number % 50))
    connection.execute("COMMIT")  # the connection stays open: its application is idle too
    relay = relay_process.Relay(run, db, bootstrap)
    relay_process.wait_settled(run, db, 60, relay)
    let_pass(3, "what follows the last row is not idleness yet")
    before = cpu_seconds(relay.pid)
    let_pass(SECONDS, "the time that is measured")
    used = cpu_seconds(relay.pid) - before
    check(
        used < SHARE * SECONDS,
        f"{used * 1000:.1f} ms of CPU in {SECONDS} s: {100 * used / SECONDS:.3f} % of a core, limit {100 * SHARE} %",
    )
    check(used > 0, "and the relay was alive while it was measured")
    check(relay.terminate()[0] == 0, "it stops with exit 0")
    connection.close()


harness.main("idle-cpu", body, 120)
