#!/usr/bin/python3
"""Requests that the broker will not even read: it closes the connection, without an answer and for ever.

A row that is too large for socket.request.max.bytes is found and parked while the others flow; where only the batch is
too large, nothing is parked; and a broker that dies again and again parks nothing either.
"""

import collections

from support import harness, outbox_file, relay_process
from support.harness import check, let_pass
from support.kafka import Cluster
from support.kafka_log import create_topic, read_topics
from support.oracle import compare, summary

REQUEST_LIMIT = 1_500_000
TOPIC_LIMIT = 20_000_000
BATCH_LIMIT = 120_000  # below the relay's usual batches
KEYS = 40
KILLERS = 3


def properties(request_limit):
    return f"socket.request.max.bytes={request_limit}\nmessage.max.bytes={TOPIC_LIMIT}"


def write(db, rows):
    """`rows`: (name, topic, key, bytes), in one transaction."""
    connection = outbox_file.connect(db)
    connection.execute("BEGIN IMMEDIATE")
    for name, topic, key, size in rows:
        connection.execute(
            "INSERT INTO outbox(event_id, topic, key, payload) VALUES (?, ?, ?, ?)", (name, topic, key, "x" * size)
        )
    connection.execute("COMMIT")
    connection.close()


def check_topics(db, bootstrap, partitions, when):
    states = outbox_file.states(db)
    sent = [event for event in outbox_file.committed_events(db) if states[event.event_id][0] == "sent"]
    findings = compare(sent, read_topics(bootstrap, partitions), partitions, allow_repeats=True)
    check(not findings, f"{when}: Kafka holds the {len(sent)} sent rows, in order, and no other: {summary(findings)}")


def killer_rows(run):
    """Three rows in the middle of a load, then one when there is nothing else to send."""
    with Cluster(1, properties(REQUEST_LIMIT)) as cluster:
        bootstrap = cluster.bootstrap
        create_topic(bootstrap, "large", 3, max_message_bytes=TOPIC_LIMIT)
        create_topic(bootstrap, "plain", 3)
        db = run.path("killers.db")
        relay_process.init(run, db, "--max-record-bytes", "8000000")
        rows, fates = [], {}
        for number in range(30):
            for key in range(KEYS):
                killer = key < KILLERS and number == 10
                for topic in ("large", "plain"):
                    name = f"{topic}-{key}-{number}"
                    guilty = killer and topic == "large"
                    rows.append((name, topic, f"key-{key}", 3_000_000 if guilty else 300))
                    behind = topic == "large" and key < KILLERS and number > 10
                    fates[name] = "parked" if guilty else "blocked" if behind else "sent"
        write(db, rows)
        relay = relay_process.Relay(run, db, bootstrap)
        relay_process.wait_settled(run, db, 120, relay)
        check_fates(db, fates, "under load")
        check_topics(db, bootstrap, {"large": 3, "plain": 3}, "under load")

        write(db, [("lonely", "large", "lonely", 3_000_000)])
        harness.wait_until(
            lambda: outbox_file.states(db)["lonely"][0] == "parked", 90, "the lonely row is parked", every=0.5
        )
        write(db, [("after", "large", "lonely-2", 300), ("behind", "large", "lonely", 300)])
        relay_process.wait_settled(run, db, 30, relay)
        check_fates(db, {**fates, "lonely": "parked", "after": "sent", "behind": "blocked"}, "alone")
        check(relay.terminate()[0] == 0, "the relay stops with exit 0")


def check_fates(db, fates, when):
    states = outbox_file.states(db)
    wrong = [(name, states[name], fate) for name, fate in fates.items() if states[name][0] != fate]
    counts = dict(collections.Counter(state for state, _ in states.values()))
    check(not wrong, f"{when}: each row is where it belongs {counts}: {wrong[:5]}")
    reasons = {error for state, error in states.values() if state == "parked"}
    check(
        all(reason.startswith("_TRANSPORT: ") and "socket.request.max.bytes" in reason for reason in reasons),
        f"{when}: the reason names what to look at: {reasons}",
    )


def large_batches(run):
    with Cluster(1, properties(BATCH_LIMIT)) as cluster:
        create_topic(cluster.bootstrap, "batches", 2)
        db = run.path("batches.db")
        relay_process.init(run, db)
        write(db, [(f"row-{number}", "batches", f"key-{number % KEYS}", 1_000) for number in range(6_000)])
        relay = relay_process.Relay(run, db, cluster.bootstrap)
        counts = relay_process.wait_settled(run, db, 120, relay)
        check(
            counts["sent"] == 6_000 and counts["parked"] == 0,
            f"batches above the broker's limit park nothing and get smaller: {counts['sent']} sent",
        )
        check_topics(db, cluster.bootstrap, {"batches": 2}, "in smaller batches")
        check(relay.terminate()[0] == 0, "the relay stops with exit 0")


def dying_broker(run):
    with Cluster(1) as cluster:
        create_topic(cluster.bootstrap, "dying", 2)
        db = run.path("dying.db")
        relay_process.init(run, db)
        relay = relay_process.Relay(run, db, cluster.bootstrap)
        for round_number in range(3):
            name = f"round-{round_number}"
            write(db, [(f"{name}-{number}", "dying", f"key-{number % KEYS}", 500) for number in range(500)])
            cluster.kill(1)
            let_pass(1, "connections fail")
            cluster.restart(1)
        counts = relay_process.wait_settled(run, db, 60, relay)
        check(
            counts["sent"] == 1_500 and counts["parked"] == 0,
            f"a broker that dies three times parks nothing: {counts['sent']} sent",
        )
        check("one by one" not in relay.text(), "and no row is suspected")
        check_topics(db, cluster.bootstrap, {"dying": 2}, "after the last restart")
        check(relay.terminate()[0] == 0, "the relay stops with exit 0")


def body(run):
    killer_rows(run)
    large_batches(run)
    dying_broker(run)


harness.main("killed-connections", body, 400)
