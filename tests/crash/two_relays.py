#!/usr/bin/python3
"""Two relays for one file: a standby takes over when the holder dies; a frozen holder keeps its lock; order holds."""

import os
import signal
import time

from support import harness, relay_process
from support.harness import check, let_pass, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic
from support.load_writer import Writers
from support.oracle import compare, summary
from support.relay_process import Relay

TAKES_OVER_SECONDS = 1.0
KILLS = 5


def stands_by(relay):
    wait_until(lambda: "standing by" in relay.text(), 20, "the second relay stands by")


def holder(run, db):
    return relay_process.status(run, db)["relay_pid"]


def killed(run, db, bootstrap, reader, writers):
    active = Relay(run, db, bootstrap)
    wait_until(lambda: holder(run, db) == active.pid, 20, "status names the relay that holds the file")
    for number in range(KILLS):
        standby = Relay(run, db, bootstrap, "--standby")
        stands_by(standby)
        before = reader.end_sum()
        wait_until(lambda before=before: reader.end_sum() > before, 20, "the active relay publishes", every=0.01)
        let_pass(run.random.uniform(0, 0.3), "a random moment under load")
        active.kill()
        began = time.monotonic()
        at_death = reader.end_sum()
        wait_until(lambda: holder(run, db) == standby.pid, 20, "the standby holds the file", every=0.01)
        took = time.monotonic() - began
        wait_until(lambda at=at_death: reader.end_sum() > at, 20, "and publishes", every=0.01)
        check(
            took <= TAKES_OVER_SECONDS,
            f"kill -9 number {number + 1}: the standby held the file after {took:.2f} s, and published after"
            f" {time.monotonic() - began:.2f} s",
        )
        writers.tend()
        active = standby
    return active


def frozen(run, db, bootstrap, active, writers):
    standby = Relay(run, db, bootstrap, "--standby")
    stands_by(standby)
    os.kill(active.pid, signal.SIGSTOP)
    let_pass(12, "a freeze that is longer than any take-over, and than every timeout of its connections")
    check(holder(run, db) == active.pid, "a frozen relay keeps the file")
    check("standing by" in standby.text() and standby.alive(), "and the standby goes on waiting")
    os.kill(active.pid, signal.SIGCONT)
    wait_until(
        lambda: (relay_process.status(run, db)["oldest_ready_seconds"] or 0) < 1,
        60,
        "the thawed relay catches up",
        every=0.2,
    )
    os.kill(active.pid, signal.SIGSTOP)
    let_pass(0.5, "it is frozen with rows on their way")
    active.process.kill()
    wait_until(lambda: holder(run, db) == standby.pid, 20, "the standby takes a killed one's place, frozen or not")
    writers.tend()
    return standby


def body(run):
    bootstrap = shared_bootstrap()
    topics = {f"two-relays-{run.seed}": 3}
    for topic, partitions in topics.items():
        create_topic(bootstrap, topic, partitions)
    db = run.path("shop.db")
    relay_process.init(run, db)
    reader = TopicReader(bootstrap, topics)
    run.at_end(reader.close)
    writers = Writers(run, db, topics, count=2, transactions_per_second=80)
    active = killed(run, db, bootstrap, reader, writers)
    active = frozen(run, db, bootstrap, active, writers)
    writers.stop()
    relay_process.wait_settled(run, db, 60, active)
    check(active.terminate()[0] == 0, "the last one stops with exit 0")
    check(holder(run, db) is None, "nobody holds the file then")
    findings = compare(writers.check_file(), reader.read_all(), topics, allow_repeats=True)
    check(not findings, f"nothing is lost and each key is in order: {summary(findings)}")


harness.main("two-relays", body, 240)
