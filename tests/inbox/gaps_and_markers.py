#!/usr/bin/python3
"""Offsets have gaps: compaction takes records away, transactions leave markers and aborted records.

--drain ends in spite of them, positions stand behind the markers, and a restart applies nothing twice.
"""

import json
import time

from confluent_kafka import Producer

from support import harness
from support.billing import Billing, Database, check_logs_keep_secrets, drain
from support.harness import check, note, require
from support.kafka import Cluster
from support.kafka_log import TopicReader, create_topic
from support.offset_watch import OffsetWatch
from support.order_load import Orders

PARTITIONS = 3
COMPACTING = {"cleanup_policy": "compact", "segment_ms": 100, "min_cleanable_dirty_ratio": 0.001}
CLUSTER = "log.cleaner.backoff.ms=200\n"  # how often the cleaner looks; Kafka's own default is 15 s


class Transactions:
    """A transactional producer, with orders that must be applied and orders that never happened."""

    def __init__(self, orders, bootstrap, name):
        self.orders = orders
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": name,
                "transaction.timeout.ms": 60_000,
            }
        )
        self.producer.init_transactions(30)
        self.aborted = 0

    def write(self, number, partitions, commit):
        self.producer.begin_transaction()
        for count in range(number):
            if commit:
                key, payload, headers = self.orders.order()
            else:
                self.aborted += 1
                event_id = f"aborted-{self.aborted}"
                account = f"{self.orders.mark}-aborted"
                key, headers = account.encode(), [("id", event_id.encode())]
                payload = json.dumps({"order_id": event_id, "account": account, "amount_cents": 1}).encode()
            partition = partitions[count % len(partitions)]
            self.producer.produce(self.orders.topic, key=key, value=payload, headers=headers, partition=partition)
        if commit:
            self.producer.commit_transaction(60)
        else:
            self.producer.flush(60)
            self.producer.abort_transaction(60)


class Stage:
    def __init__(self, run, bootstrap, topic, **settings):
        self.run = run
        self.bootstrap = bootstrap
        self.topic = topic
        create_topic(bootstrap, topic, PARTITIONS, **settings)
        self.path = run.path(f"{topic}.db")
        self.group = f"billing-{topic}"
        self.database = Database(self.path, self.group)
        run.at_end(self.database.close)
        self.reader = TopicReader(bootstrap, {topic: PARTITIONS})
        run.at_end(self.reader.close)
        self.watch = OffsetWatch(run, bootstrap, {self.group: self.path})
        self.orders = Orders(run, bootstrap, topic, PARTITIONS)

    def drain(self, when):
        """Drains twice: positions must stand at the very end, and the second life must have nothing to do."""
        began = time.monotonic()
        drain(self.run, self.path, self.bootstrap, self.topic, group=self.group, seconds=60)
        took = time.monotonic() - began
        ends = self.reader.ends()
        positions = self.database.positions()
        check(positions == ends, f"{when}: --drain ended after {took:.1f} s, positions stand at the ends {positions}")
        accounts = self.database.accounts()
        drain(self.run, self.path, self.bootstrap, self.topic, group=self.group, seconds=60)
        check(
            self.database.accounts() == accounts and self.database.positions() == ends,
            f"{when}: the next life applies nothing",
        )
        self.watch.catch_up()
        committed = {(topic, p): offset for (_, topic, p), offset in self.watch.committed.items()}
        wrong = {place: (committed.get(place, 0), end) for place, end in ends.items() if committed.get(place, 0) < end}
        check(not wrong, f"{when}: Kafka was told the ends; wrong (was told, end): {wrong}")

    def check_accounts(self, expected, when):
        found = self.database.accounts()
        wrong = {a: (found.get(a), expected.get(a)) for a in {*found, *expected} if found.get(a) != expected.get(a)}
        check(not wrong, f"{when}: {len(expected)} balances right; wrong (is, should be): {list(wrong.items())[:4]}")


def applied_if_read(records, before=()):
    """{account: (cents, orders)} of the records that an independent reader sees, each id once."""
    seen = {}
    for record in [*before, *records]:
        seen[record.event_id] = json.loads(record.value)
    accounts = {}
    for order in seen.values():
        cents, orders = accounts.get(order["account"], (0, 0))
        accounts[order["account"]] = (cents + order["amount_cents"], orders + 1)
    return accounts


def transactions(run, bootstrap):
    stage = Stage(run, bootstrap, "orders-tx")
    writer = Transactions(stage.orders, bootstrap, "tx-writer")
    both = list(range(PARTITIONS))

    def right(when):
        stage.drain(when)
        expected = {a: (stage.orders.expected[a], n) for a, n in stage.orders.orders.items()}
        stage.check_accounts(expected, when)

    writer.write(20, [0], commit=False)
    right("nothing but an aborted transaction")
    writer.write(30, both, commit=True)
    writer.write(10, both, commit=False)
    writer.write(5, [0, 1], commit=True)
    right("partitions that end in markers")
    for _ in range(20):
        writer.write(3, both, commit=stage.run.random.random() < 0.5)
    stage.orders.send_some(100)  # and records outside of any transaction, with copies
    stage.orders.flush()
    writer.write(4, [2], commit=False)
    right("markers between the records")
    writer.write(9, both, commit=False)
    right("nothing new but aborted records and a marker")
    open_transaction(stage, writer)
    right("an open transaction that was committed later")
    stage.watch.report("with markers")
    check_logs_keep_secrets(run, stage.orders)


def open_transaction(stage, writer):
    """Nobody may read on behind it. A drain ends before it or waits for it; either way nothing is skipped."""
    writer.producer.begin_transaction()
    key, payload, headers = stage.orders.order()
    writer.producer.produce(stage.topic, key=key, value=payload, headers=headers, partition=1)
    writer.producer.flush(60)
    stage.orders.send_some(20)  # some of them stand behind it
    stage.orders.flush()
    life = Billing(stage.run, stage.path, stage.bootstrap, stage.topic, "--drain", group=stage.group)
    harness.let_pass(2, "a drain comes to the open transaction")
    note("the drain waits for the open transaction" if life.alive() else "the drain ended before the open transaction")
    writer.producer.commit_transaction(60)
    check(life.wait(60) == 0, "a drain that met an open transaction ends with exit 0")


def compact(stage, seen):
    """Writes until the cleaner has taken records away; what an independent reader sees is what is left."""
    deadline = time.monotonic() + 60
    while True:
        stage.orders.send_some(200)  # few accounts, so that most records of a key are old ones
        stage.orders.flush()
        records = stage.reader.read_all()
        missing = sum(stage.reader.ends().values()) - len(records)
        if missing > seen + 300:
            note(f"{missing} offsets have no record any more")
            return missing
        require(time.monotonic() < deadline, f"Kafka compacted nothing: {missing} offsets without a record")
        harness.let_pass(0.5, "the cleaner's pace")


def compaction(run, bootstrap):
    """A key's newer record takes the older away, before and after it was applied, and where the position stands."""
    stage = Stage(run, bootstrap, "orders-compact", **COMPACTING)
    gaps = compact(stage, 0)
    before = stage.reader.read_all()
    stage.drain("a compacted topic")
    # The cleaner may take one more away between the reading and the drain: never more is applied than was there.
    after = stage.reader.read_all()
    at_least, at_most = orders_of(applied_if_read(after)), orders_of(applied_if_read(before, after))
    found = sum(n for _, n in stage.database.accounts().values())
    check(at_least <= found <= at_most, f"{found} orders were applied, {at_least} to {at_most} could be read")
    applied = stage.database.accounts()

    compact(stage, gaps)
    harness.wait_until(lambda: quiet(stage), 60, "the cleaner is done", every=1)
    rest = stage.reader.read_all()
    stage.drain("compacted around the position")
    claimed = {row[0] for row in stage.database.rows("SELECT event_id FROM inbox")}
    require({record.event_id for record in rest} <= claimed, "a record that can be read was not applied")
    total = sum(n for _, n in stage.database.accounts().values())
    check(
        total == len(claimed) and len(stage.database.accounts()) >= len(applied),
        f"{total} orders were applied in all, each with its claim, every record that can be read among them",
    )
    stage.watch.report("with gaps")


def orders_of(accounts):
    return sum(orders for _, orders in accounts.values())


def quiet(stage):
    """True when the cleaner takes nothing more away within a while."""
    count = len(stage.reader.read_all())
    harness.let_pass(1.5, "several looks of the cleaner")
    return len(stage.reader.read_all()) == count


def body(run):
    cluster = Cluster(properties=CLUSTER)
    run.at_end(cluster.close)  # the last thing: clients that are still there would complain
    cluster.start()
    transactions(run, cluster.bootstrap)
    compaction(run, cluster.bootstrap)


harness.main("gaps-and-markers", body, 300)
