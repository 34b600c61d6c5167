#!/usr/bin/python3
"""Poisoned keys among a thousand: all others arrive complete, in order and hardly slower; people mend the rest.

Loads with and without poison take turns, each with a relay, a file and topics of its own. The kinds of refusal:
  known    larger than the topic allows, which the relay knows before it sends
  batch    larger than the topic allows since a moment ago: the broker refuses the batch that it is in
  no key   on a compacted topic, which Kafka refuses since a moment ago
  missing  the topic is not there: nothing is parked, the rows wait
  far      the partition that the row asks for is not there: the same
What is refused by its timestamp alone does not exist, since the relay sends none of its own; requests that kill their
connection are killed_connections.py's.
"""

import argparse
import collections
import dataclasses
import json
import statistics
import time

from confluent_kafka.admin import AdminClient, ConfigResource

from support import harness, outbox_file, relay_process
from support.harness import check, note, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic, read_topics
from support.oracle import compare, summary

KEYS = 1_000
POISONED = 50  # keys of each kind
LIMIT = 20_000
FAR_PARTITION = 99
TOO_LARGE, NO_KEY = "MSG_SIZE_TOO_LARGE", "INVALID_RECORD"
WAIT_FOR = {"missing": "UNKNOWN_TOPIC_OR_PART", "far": "_UNKNOWN_PARTITION"}


class Load:
    """One file of `rows` events with its topics. Each row's name says what must become of it."""

    def __init__(self, run, bootstrap, number, rows, poisoned, skip=False):
        self.run, self.bootstrap, self.rows, self.poisoned, self.skip = run, bootstrap, rows, poisoned, skip
        self.db = run.path(f"load-{number}.db")
        self.topics = {kind: f"rate-{run.seed}-{number}-{kind}" for kind in ("known", "batch", "compacted", "missing")}
        relay_process.init(run, self.db)
        create_topic(bootstrap, self.topics["known"], 3, max_message_bytes=LIMIT)
        create_topic(bootstrap, self.topics["batch"], 3)
        create_topic(bootstrap, self.topics["compacted"], 3)
        self.partitions = {topic: 3 for kind, topic in self.topics.items() if kind != "missing"}
        self.fates = {}

    def events(self):
        """(name, topic, key, payload bytes, partition), keys in turn; a poisoned key's middle row is the poison."""
        middle = self.rows // KEYS // 2
        for row in range(self.rows):
            number, key = divmod(row, KEYS)
            kind = ("known", "batch", "compacted")[key % 3]
            name, poison = f"{kind}-{key}-{number}", self.poisoned and key // 3 < POISONED
            guilty = poison and number == middle
            if guilty and kind == "compacted":
                # It has no key and holds nobody back, so its neighbours go on.
                self.fates[f"none-{key}"] = "parked"
                yield f"none-{key}", self.topics[kind], None, 100, None
            behind = poison and number > middle and kind != "compacted" and not self.skip
            large = guilty and kind != "compacted"
            self.fates[name] = "parked" if large else "blocked" if behind else "sent"
            yield name, self.topics[kind], f"key-{key}", 30_000 if large else 150, None
            if guilty:
                self.fates[f"missing-{key}"] = self.fates[f"far-{key}"] = "waiting"
                yield f"missing-{key}", self.topics["missing"], f"key-{key}", 100, None
                yield f"far-{key}", self.topics[kind], f"key-{key}", 100, FAR_PARTITION

    def write(self, events):
        connection = outbox_file.connect(self.db)
        connection.execute("PRAGMA wal_autocheckpoint=0")  # it would happen inside the COMMIT, and count as waiting
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            "INSERT INTO outbox(event_id, topic, key, payload, partition) VALUES (?, ?, ?, ?, ?)",
            ((name, topic, key, "x" * size, partition) for name, topic, key, size, partition in events),
        )
        connection.execute("COMMIT")
        committed = time.time()
        connection.close()
        return committed

    def change_limits(self):
        """Behind the relay's back: it has described these topics, and asks again in a minute or when it is refused."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        changes = {"batch": ("max.message.bytes", str(LIMIT)), "compacted": ("cleanup.policy", "compact")}
        for kind, (name, value) in changes.items():
            resource = ConfigResource(ConfigResource.Type.TOPIC, self.topics[kind], set_config={name: value})
            admin.alter_configs([resource])[resource].result(30)

    def publish(self, relay):
        """Rows a second, from the commit to the last acknowledgement."""
        warm = [(f"warm-{topic}", topic, "warm", 10, None) for topic in self.partitions]
        self.write(warm)
        self.fates.update({name: "sent" for name, *_ in warm})
        relay_process.wait_settled(self.run, self.db, 30, relay)
        if self.poisoned:
            self.change_limits()
        committed = self.write(self.events())
        relay_process.wait_settled(self.run, self.db, 300, relay)
        connection = outbox_file.connect(self.db)
        sent, last = connection.execute("SELECT count(*), max(sent_at) FROM outbox_sent").fetchone()
        connection.close()
        return sent / max(last / 1000 - committed, 0.001)

    def check(self, when):
        states = outbox_file.states(self.db)
        counts = dict(collections.Counter(state for state, _ in states.values()))
        wrong = [(name, states[name], fate) for name, fate in self.fates.items() if states[name][0] != fate]
        whole = not wrong and len(states) == len(self.fates)
        check(whole, f"{when}: each row is where it belongs {counts}: {wrong[:4]}")
        sent = [event for event in outbox_file.committed_events(self.db) if states[event.event_id][0] == "sent"]
        records = [without_mark(record) for record in read_topics(self.bootstrap, self.partitions)]
        findings = compare(sent, records, self.partitions, allow_repeats=True)
        check(not findings, f"{when}: Kafka holds the {len(sent)} sent rows, in order, no other: {summary(findings)}")
        return states

    def check_reasons(self, states, words):
        for name, (state, error) in states.items():
            kind = name.split("-")[0]
            wanted = {"parked": NO_KEY if kind == "none" else TOO_LARGE, "waiting": WAIT_FOR.get(kind)}.get(state)
            if wanted and not (error or "").startswith(wanted):
                check(False, f"{name} is {state}: {error}")
        reasons = collections.Counter(error for state, error in states.values() if state == "parked")
        note(f"{sum(reasons.values())} parked: {sorted(reasons)[:3]}")
        refused = any(f"ProduceRequest for {self.topics[kind]}" in words for kind in ("batch", "compacted"))
        check(refused, "the broker refused a batch before the relay knew of the limits")

    def people(self, relay):
        """One half of the blocked keys is skipped past, the limit is raised for the other half."""
        parked = [name for name, fate in self.fates.items() if fate == "parked" and not name.startswith("none")]
        skipped, retried = parked[::2], parked[1::2]
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for kind in ("known", "batch"):
            resource = ConfigResource(ConfigResource.Type.TOPIC, self.topics[kind], set_config={})
            admin.alter_configs([resource])[resource].result(30)
        relay_process.succeed(self.run, "skip", "--db", self.db, *skipped)
        relay_process.succeed(self.run, "retry", "--db", self.db, *retried)
        wait_until(
            lambda: all(outbox_file.states(self.db)[name][0] == "sent" for name in retried),
            30,
            "the retried rows are sent, by the limits of now",
            every=0.3,
        )
        relay_process.wait_settled(self.run, self.db, 60, relay)
        for name in skipped:
            self.fates[name] = "skipped"
        self.fates.update({name: "sent" for name in retried})
        self.fates.update({name: "sent" for name, fate in self.fates.items() if fate == "blocked"})
        self.check("after retry and skip")
        self.check_headers(set(retried))

    def check_headers(self, retried):
        marked = {
            record.event_id
            for record in read_topics(self.bootstrap, self.partitions)
            if ("txbox-redriven", b"retry") in record.headers
        }
        check(marked == retried, f"exactly the {len(retried)} retried rows say so: {sorted(marked ^ retried)[:5]}")


def without_mark(record):
    """Which records a retry marks is checked by itself."""
    headers = tuple(header for header in record.headers if header[0] != "txbox-redriven")
    return dataclasses.replace(record, headers=headers)


def one(run, bootstrap, number, rows, poisoned, *more):
    load = Load(run, bootstrap, number, rows, poisoned, skip="skip" in more)
    relay = relay_process.Relay(run, load.db, bootstrap, *more)
    rate = load.publish(relay)
    states = load.check(f"load {number}, {'with' if poisoned else 'without'} poison")
    if poisoned:
        load.check_reasons(states, relay.text())
    note(f"load {number}: {rate:,.0f} rows/s")
    return load, relay, rate


def body(run, rows, rounds, least_ratio):
    bootstrap = shared_bootstrap()
    rates = {False: [], True: []}
    for number in range(2 * rounds):
        poisoned = number % 2 == 1
        load, relay, rate = one(run, bootstrap, number, rows, poisoned)
        rates[poisoned].append(rate)
        if number == 1:
            load.people(relay)
        check(relay.terminate()[0] == 0, "the relay stops with exit 0")
    _, relay, _ = one(run, bootstrap, 2 * rounds, rows, True, "--on-refusal", "skip")
    check(relay.terminate()[0] == 0, "the relay stops with exit 0")
    clean, poison = statistics.median(rates[False]), statistics.median(rates[True])
    both = {"clean": [round(r) for r in rates[False]], "poison": [round(r) for r in rates[True]]}
    note(json.dumps({"rows": rows, **both}))
    check(poison >= least_ratio * clean, f"the others flow at {poison / clean:.2f} of the rate without poison")


arguments = argparse.ArgumentParser()
arguments.add_argument("--rows", type=int, default=100_000)
arguments.add_argument("--rounds", type=int, default=3)
# With few rows what a refusal costs once, a rebuilt producer, is most of the time: then the rate says nothing.
arguments.add_argument("--least-ratio", type=float, default=0.8)
chosen = arguments.parse_args()
harness.main("poison-rate", lambda run: body(run, chosen.rows, chosen.rounds, chosen.least_ratio), 900)
