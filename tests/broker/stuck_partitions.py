#!/usr/bin/python3
"""One broker of three is dead: what only it could take waits, and everything else flows at its rate.

  leaderless  one partition of three stands on the dead broker alone
  short       every partition needs two replicas in sync and has one
  orders, invoices  stand on the living brokers

Rates are compared between a backlog of all four topics before the death, and one after it.
"""

import argparse
import json
import time

from confluent_kafka.admin import AdminClient, NewTopic

from support import harness, outbox_file, relay_process
from support.harness import check, note, wait_until
from support.kafka import Cluster
from support.kafka_log import TopicReader, read_topics
from support.murmur2 import partition_of
from support.oracle import compare, summary

KEYS = 100
DEAD = 3
REPLICAS = {
    "leaderless": [[DEAD], [1], [2]],
    "short": [[1, DEAD], [2, DEAD], [1, DEAD]],
    "orders": [[1], [2], [1]],
    "invoices": [[2], [1], [2]],
}
PARTITIONS = {topic: len(replicas) for topic, replicas in REPLICAS.items()}


def create_topics(bootstrap):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [
        NewTopic(topic, len(replicas), replica_assignment=replicas,
                 config={"min.insync.replicas": "2"} if topic == "short" else {})
        for topic, replicas in REPLICAS.items()
    ]
    for made in admin.create_topics(topics).values():
        made.result(30)
    reader = TopicReader(bootstrap, PARTITIONS)
    reader.ends()
    reader.close()


def must_wait(topic, key):
    return topic == "short" or (topic == "leaderless" and partition_of(key.encode(), 3) == 0)


class Load:
    def __init__(self, run, bootstrap):
        self.run, self.bootstrap, self.db = run, bootstrap, run.path("shop.db")
        self.written = 0
        relay_process.init(run, self.db)

    def write(self, rows):
        """`rows` events over all topics in turn; returns the names of those that must wait, and when they stood."""
        waiting = set()
        names = list(PARTITIONS)
        connection = outbox_file.connect(self.db)
        connection.execute("PRAGMA wal_autocheckpoint=0")  # it would happen inside the COMMIT, and count as waiting
        connection.execute("BEGIN IMMEDIATE")
        for row in range(self.written, self.written + rows):
            topic, key = names[row % len(names)], f"key-{row // len(names) % KEYS}"
            if must_wait(topic, key):
                waiting.add(f"event-{row}")
            connection.execute(
                "INSERT INTO outbox(event_id, topic, key, payload) VALUES (?, ?, ?, ?)",
                (f"event-{row}", topic, key, "x" * 150),
            )
        connection.execute("COMMIT")
        self.written += rows
        committed = time.time()
        connection.close()
        return waiting, committed

    def sent(self):
        connection = outbox_file.connect(self.db)
        answer = connection.execute("SELECT count(*), max(sent_at) FROM outbox_sent").fetchone()
        connection.close()
        return answer

    def flow(self, rows, relay, waits):
        """The rate of what may go, from the commit of a backlog to the last acknowledgement."""
        before = self.sent()[0]
        waiting, committed = self.write(rows)
        expected = before + rows - (len(waiting) if waits else 0)

        def arrived():
            harness.require(relay.alive(), "the relay lives")
            return self.sent()[0] >= expected

        wait_until(arrived, 180, f"the {expected - before} rows that may go are sent", every=0.2)
        count, last = self.sent()
        check(count == expected, f"{count - before} of {rows} rows are sent, no other")
        return (count - before) / max(last / 1000 - committed, 0.001), waiting

    def check_waiting(self, waiting):
        # The last of them may still be on their way into the file.
        wait_until(lambda: relay_process.status(self.run, self.db)["ready"] == 0, 30, "every row is listed", every=0.2)
        states = {name: found for name, found in outbox_file.states(self.db).items() if found[0] != "sent"}
        check(set(states) == waiting, f"exactly the {len(waiting)} rows of the dead broker are held")
        wrong = {name: found for name, found in states.items() if found[0] not in ("waiting", "blocked")}
        check(not wrong, f"they wait, or stand behind one that does; none is parked: {list(wrong.items())[:3]}")
        reasons = {error.split(":")[0] for state, error in states.values() if state == "waiting"}
        check(reasons == {"LEADER_NOT_AVAILABLE", "NOT_ENOUGH_REPLICAS"}, f"with Kafka's reasons: {sorted(reasons)}")
        attempts = [row for row in relay_process.rows(self.run, self.db, "--state", "waiting") if row["attempts"]]
        check(not attempts, "it cost none of them an attempt")

    def judge(self):
        events = outbox_file.committed_events(self.db)
        records = read_topics(self.bootstrap, PARTITIONS)
        findings = compare(events, records, PARTITIONS, allow_repeats=True)
        check(not findings, f"every event is in Kafka, in the order of its key: {summary(findings)}")
        note(f"{len(events)} events, {len(records) - len(events)} repeats")


def body(run, rows, least_ratio):
    with Cluster(3) as cluster:
        create_topics(cluster.bootstrap)
        load = Load(run, cluster.bootstrap)
        relay = relay_process.Relay(run, load.db, cluster.bootstrap)
        load.flow(400, relay, waits=False)
        healthy, _ = load.flow(rows, relay, waits=False)
        cluster.kill(DEAD)
        # More than the window takes: without help of its own the relay stands still from here on.
        _, waiting = load.flow(100_000, relay, waits=True)
        stuck, more = load.flow(rows, relay, waits=True)
        waiting |= more
        load.check_waiting(waiting)
        cluster.restart(DEAD)
        wait_until(lambda: load.sent()[0] == load.written, 120, "what waited is sent as well", every=0.2)
        check(relay.terminate()[0] == 0, "the relay stops with exit 0")
        load.judge()
        share = 1 - len(more) / rows
        note(json.dumps({"rows": rows, "healthy": round(healthy), "stuck": round(stuck), "others": round(share, 2)}))
        # The others' rate is their share of the whole as long as the whole flows.
        ratio = stuck / (share * healthy)
        check(ratio >= least_ratio, f"the others flow at {ratio:.2f} of their rate")


arguments = argparse.ArgumentParser()
arguments.add_argument("--rows", type=int, default=400_000)
arguments.add_argument("--least-ratio", type=float, default=0.8)
chosen = arguments.parse_args()
harness.main("stuck-partitions", lambda run: body(run, chosen.rows, chosen.least_ratio), 600)
