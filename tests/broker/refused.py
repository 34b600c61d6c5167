#!/usr/bin/python3
"""Rows that Kafka refuses are parked with the reason and hold back their own key; a missing topic is waited for."""

import collections
import dataclasses
import json

from support import harness, outbox_file, relay_process
from support.harness import check, note
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic, read_topics
from support.oracle import compare, summary

LIMIT = 20_000  # max.message.bytes of the small topic, far below the relay's own limit
POISON_AT = 8
ROWS_OF_A_KEY = 20


@dataclasses.dataclass(frozen=True)
class Topics:
    fine: str
    small: str
    compacted: str
    late: str


def rows(topics):
    """(name, topic, key, payload bytes, what must become of it), interleaved as an application would write them."""
    for number in range(ROWS_OF_A_KEY):
        for key in range(12):
            poisoned = key < 4 and number == POISON_AT
            fate = "parked" if poisoned else "blocked" if key < 4 and number > POISON_AT else "sent"
            yield f"small-{key}-{number}", topics.small, f"key-{key}", 50_000 if poisoned else 300, fate
            yield f"late-{key}-{number}", topics.late, f"key-{key}", 200, "waiting"
            yield f"fine-{key}-{number}", topics.fine, f"key-{key}", 400, "sent"
            yield f"compacted-{key}-{number}", topics.compacted, f"key-{key}", 100, "sent"
        yield f"compacted-none-{number}", topics.compacted, None, 100, "parked"
    # More refusals of different keys than fit into a window must not keep the rows behind them back.
    for number in range(300):
        yield f"wide-poison-{number}", topics.small, f"wide-{number}", 30_000, "parked"
    for number in range(300):
        yield f"behind-{number}", topics.small, f"behind-{number}", 100, "sent"
    # Where a record's size meets the batch's overhead only the broker knows; either answer is right, silence is not.
    for size in range(19_500, 20_101, 20):
        fate = "sent" if size <= 19_700 else "parked" if size > LIMIT else "sent or parked"
        yield f"edge-{size}", topics.small, f"edge-{size}", size, fate


def write(db, wanted):
    connection = outbox_file.connect(db)
    for start in range(0, len(wanted), 10):
        connection.execute("BEGIN IMMEDIATE")
        for name, topic, key, size, _fate in wanted[start : start + 10]:
            payload = json.dumps({"name": name, "fill": ""})
            payload = payload[:-2] + "x" * (size - len(payload)) + payload[-2:]
            connection.execute(
                "INSERT INTO outbox(event_id, topic, key, payload) VALUES (?, ?, ?, ?)", (name, topic, key, payload)
            )
        connection.execute("COMMIT")
    connection.close()


def check_fates(db, wanted, fate_of_late, when):
    states = outbox_file.states(db)
    wrong = []
    for name, _topic, _key, _size, fate in wanted:
        allowed = (fate_of_late,) if fate == "waiting" else fate.split(" or ")
        if states[name][0] not in allowed:
            wrong.append(f"{name} is {states[name][0]}, not {fate}: {states[name][1]}")
    counts = dict(collections.Counter(state for state, _ in states.values()))
    check(not wrong, f"{when}: each of {len(wanted)} rows is where it belongs {counts}: {wrong[:5]}")
    return states


def check_reasons(states, wanted):
    reasons = collections.Counter(error for state, error in states.values() if state == "parked")
    for reason, count in reasons.items():
        note(f"{count} parked: {reason}")
    check(
        all(reasons) and all(reason[0].isupper() for reason in reasons),
        "every parked row has a reason that begins with Kafka's error name",
    )
    too_large = {
        states[name][1].split()[0].rstrip(":,")
        for name, _, key, size, fate in wanted
        if size > LIMIT and fate == "parked"
    }
    no_key = {states[name][1].split()[0].rstrip(":,") for name, _, key, _, fate in wanted if key is None}
    check(too_large == {"MSG_SIZE_TOO_LARGE"}, f"a row larger than its topic allows: {too_large}")
    check(no_key == {"INVALID_RECORD"}, f"a row without a key on a compacted topic: {no_key}")
    waiting = {error for state, error in states.values() if state == "waiting"}
    check(all(error and error.startswith("UNKNOWN_TOPIC_OR_PART") for error in waiting), f"why rows wait: {waiting}")


def check_topic(db, bootstrap, partitions, when):
    """What is sent is in Kafka, whole and in order; what is held is not there."""
    states = outbox_file.states(db)
    sent = [e for e in outbox_file.committed_events(db) if states[e.event_id][0] == "sent"]
    findings = compare(sent, read_topics(bootstrap, partitions), partitions, allow_repeats=True)
    check(
        not findings,
        f"{when}: Kafka holds the {len(sent)} sent rows in order and none of the held: {summary(findings)}",
    )


def body(run):
    bootstrap = shared_bootstrap()
    topics = Topics(*(f"{name}-{run.seed}" for name in ("fine", "small", "compacted", "late")))
    create_topic(bootstrap, topics.fine, 3)
    create_topic(bootstrap, topics.small, 3, max_message_bytes=LIMIT)
    create_topic(bootstrap, topics.compacted, 3, cleanup_policy="compact")
    db = run.path("shop.db")
    relay_process.init(run, db)
    wanted = list(rows(topics))
    write(db, wanted)
    partitions = {topics.fine: 3, topics.small: 3, topics.compacted: 3}

    code = relay_process.drain(run, db, bootstrap)
    check(code == relay_process.NOT_HELD, f"run --drain ends, and says with exit 3 that rows are held (exit {code})")
    states = check_fates(db, wanted, "waiting", "after the drain")
    check_reasons(states, wanted)
    check_topic(db, bootstrap, partitions, "after the drain")
    counts = relay_process.status(run, db)
    held = collections.Counter(state for state, _ in states.values())
    check(
        all(counts[state] == held[state] for state in ("parked", "blocked", "sent")),
        f"status --json counts them: {counts}",
    )

    relay = relay_process.Relay(run, db, bootstrap)
    write(db, [(f"more-{key}", topics.small, f"key-{key}", 300, "") for key in range(12)])
    relay_process.wait_settled(run, db, 60, relay)
    more = [(f"more-{key}", topics.small, f"key-{key}", 300, "blocked" if key < 4 else "sent") for key in range(12)]
    check_fates(db, wanted + more, "waiting", "a relay later")

    create_topic(bootstrap, topics.late, 3)
    harness.wait_until(
        lambda: not any(state == "waiting" for state, _ in outbox_file.states(db).values()),
        90,
        "the waiting rows leave once their topic is there",
        every=0.5,
    )
    relay_process.wait_settled(run, db, 60, relay)
    check_fates(db, wanted + more, "sent", "after the topic was created")
    check_topic(db, bootstrap, {**partitions, topics.late: 3}, "after the topic was created")
    code, _ = relay.terminate()
    check(code == 0, "the relay that saw it all ends with exit 0")


harness.main("refused", body, 300)
