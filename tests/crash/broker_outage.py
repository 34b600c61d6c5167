#!/usr/bin/python3
"""The broker is frozen, then killed and restarted, under load: the relay lives on, parks nothing, catches up."""

import argparse
import time

from support import harness, relay_process
from support.harness import check, let_pass, note
from support.kafka import Cluster
from support.kafka_log import TopicReader, create_topic
from support.load_writer import Writers
from support.oracle import compare, summary

FROZEN_SECONDS = 25
DOWN_SECONDS = 5


def under_fault(seconds, relay, writers):
    """Lets the load run for a while into the fault."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        writers.tend()
        harness.require(relay.alive(), f"the relay gave up with exit {relay.process.poll()}")
        let_pass(0.2, "the fault lasts")


def check_outage_is_quiet(run, db, relay, what):
    counts = relay_process.status(run, db)
    check(
        relay.alive() and counts["parked"] == 0 and counts["blocked"] == 0,
        f"{what}: the relay lives on, nothing is parked or blocked ({counts['ready']} ready)",
    )
    check(counts["ready"] > 0, f"{what}: rows wait, so the fault was felt")


def body(run, nodes, rounds):
    with Cluster(nodes) as cluster:
        topics = {"outage-a": 3, "outage-b": 5}
        for name, count in topics.items():
            create_topic(cluster.bootstrap, name, count, replicas=min(nodes, 3))
        db = run.path("shop.db")
        relay_process.init(run, db)
        writers = Writers(run, db, topics, transactions_per_second=30)
        relay = relay_process.Relay(run, db, cluster.bootstrap)
        pid = relay.pid
        under_fault(3, relay, writers)
        victims = [1] if nodes == 1 else [1, 2]  # of three, two: then no partition may accept anything
        for number in range(rounds):
            outage(run, db, cluster, relay, writers, victims, number)
        writers.stop()
        relay_process.wait_settled(run, db, 120, relay)
        check(relay.alive() and relay.pid == pid, "the backlog drained by itself, by the same process")
        code, seconds = relay.terminate()
        check(code == 0, f"SIGTERM ends it with exit 0 ({seconds:.1f} s)")
        judge(cluster.bootstrap, topics, writers)


def outage(run, db, cluster, relay, writers, victims, number):
    for node in victims:
        cluster.pause(node)
    under_fault(FROZEN_SECONDS, relay, writers)
    check_outage_is_quiet(run, db, relay, f"round {number + 1}, frozen for {FROZEN_SECONDS} s")
    for node in victims:
        cluster.resume(node)
    before = relay_process.status(run, db)["sent"]
    harness.wait_until(
        lambda: relay_process.status(run, db)["sent"] > before, 90, "the relay goes on after the thaw", every=0.3
    )
    for node in victims:
        cluster.kill(node)
    under_fault(DOWN_SECONDS, relay, writers)
    check_outage_is_quiet(run, db, relay, f"round {number + 1}, killed for {DOWN_SECONDS} s")
    for node in victims:
        cluster.restart(node)
    before = relay_process.status(run, db)["sent"]
    harness.wait_until(
        lambda: relay_process.status(run, db)["sent"] > before, 90, "the relay goes on after the restart", every=0.3
    )


def judge(bootstrap, topics, writers):
    events = writers.check_file()
    reader = TopicReader(bootstrap, topics)
    records = reader.read_all()
    reader.close()
    findings = compare(events, records, topics, allow_repeats=True)
    check(
        not findings,
        f"every committed event is in Kafka, none that was not, order per key holds: {summary(findings)}",
    )
    note(f"{len(events)} events, {len(records)} records: {len(records) - len(events)} repeats")


arguments = argparse.ArgumentParser()
arguments.add_argument("--nodes", type=int, default=1)
arguments.add_argument("--rounds", type=int, default=1)
chosen = arguments.parse_args()
harness.main("broker-outage", lambda run: body(run, chosen.nodes, chosen.rounds), 180 + 180 * chosen.rounds)
