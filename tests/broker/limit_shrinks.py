#!/usr/bin/python3
"""A topic's limit is lowered behind the relay: the broker refuses whole batches, and only guilty rows are parked."""

import collections

from confluent_kafka.admin import AdminClient, ConfigResource

from support import harness, outbox_file, relay_process
from support.harness import check, require
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic, read_topics
from support.oracle import compare, summary

LIMIT = 5_000
KEYS = 20
ROWS = 1_200  # of 600 bytes each: a batch of the old size holds hundreds


def lower_limit(bootstrap, topic):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    change = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config={"max.message.bytes": str(LIMIT)})
    admin.alter_configs([change])[change].result(30)


def write(db, topic, poison_every):
    """In one transaction, so that the relay reads and batches them together. Returns the ids of the rows too large."""
    connection = outbox_file.connect(db)
    connection.execute("BEGIN IMMEDIATE")
    poison = set()
    for number in range(ROWS):
        guilty = poison_every and number % poison_every == poison_every - 1
        sql = "INSERT INTO outbox(topic, key, payload) VALUES (?, ?, ?)"
        row = connection.execute(sql, (topic, f"key-{number % KEYS}", "x" * (LIMIT + 1000 if guilty else 600)))
        if guilty:
            poison.add(row.lastrowid)
    connection.execute("COMMIT")
    connection.close()
    return poison


def expected_states(db, poison):
    """A row too large is parked, unless an earlier one of its key blocks it already; all behind it wait."""
    expected, blocked = {}, set()
    for event in outbox_file.committed_events(db):
        if event.key in blocked:
            expected[event.event_id] = "blocked"
        elif event.order in poison:
            expected[event.event_id] = "parked"
            blocked.add(event.key)
        else:
            expected[event.event_id] = "sent"
    return expected


def body(run):
    bootstrap = shared_bootstrap()
    topic = f"shrinks-{run.seed}"
    create_topic(bootstrap, topic, 3)
    db = run.path("shop.db")
    relay_process.init(run, db)
    write(db, topic, poison_every=0)
    relay = relay_process.Relay(run, db, bootstrap)
    relay_process.wait_settled(run, db, 60, relay)

    lower_limit(bootstrap, topic)
    poison = write(db, topic, poison_every=151)
    relay_process.wait_settled(run, db, 120, relay)
    states = {name: state for name, (state, _error) in outbox_file.states(db).items()}
    expected = expected_states(db, poison)
    wrong = [(name, states[name], wanted) for name, wanted in expected.items() if states[name] != wanted]
    check(not wrong, f"each row is where it belongs: {dict(collections.Counter(states.values()))} {wrong[:5]}")
    require("parked" in states.values() and "blocked" in states.values(), "nothing was refused")
    check(relay.alive(), "the relay lived through it")
    sent = [event for event in outbox_file.committed_events(db) if states[event.event_id] == "sent"]
    findings = compare(sent, read_topics(bootstrap, {topic: 3}), {topic: 3}, allow_repeats=True)
    check(not findings, f"Kafka holds the {len(sent)} sent rows in order and none of the held: {summary(findings)}")
    check(relay.terminate()[0] == 0, "and it stops with exit 0")


harness.main("limit-shrinks", body, 240)
