#!/usr/bin/python3
"""Topics that come late, grow, lose records or are made anew: nothing is skipped without a word."""

import json
import re

from confluent_kafka.admin import AdminClient, NewPartitions

from support import harness
from support.billing import Billing, Database, check_balances, drain
from support.harness import check, note
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic
from support.kafka_tools import Tools
from support.order_load import Orders

REFRESH = ("-X", "topic.metadata.refresh.interval.ms=1000")


class Stage:
    def __init__(self, run, name, partitions):
        self.run = run
        self.bootstrap = shared_bootstrap()
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap})
        self.topic = f"orders-{name}-{run.seed}"
        self.group = f"billing-{name}-{run.seed}"
        self.partitions = partitions
        self.path = run.path(f"{name}.db")
        self.database = Database(self.path, self.group)
        run.at_end(self.database.close)
        self.orders = Orders(run, self.bootstrap, self.topic, partitions)

    def start(self, *more):
        return Billing(self.run, self.path, self.bootstrap, self.topic, *REFRESH, *more, group=self.group)

    def drain(self):
        return drain(self.run, self.path, self.bootstrap, self.topic, group=self.group)

    def load(self, number):
        self.orders.send_some(number)
        self.orders.flush()

    def wait_applied(self, billing, what):
        def all_applied():
            billing.require_alive()
            return self.database.orders_applied() == self.orders.count

        harness.wait_until(all_applied, 40, what)


def late_and_growing(run):
    """The first records of a new partition are read, too: no offset was ever committed for it."""
    stage = Stage(run, "late", 1)
    billing = stage.start()
    harness.let_pass(1.5, "a consumer without its topic")
    billing.require_alive()
    create_topic(stage.bootstrap, stage.topic, 1)
    stage.load(100)
    stage.wait_applied(billing, "the topic that came late is read")
    stage.admin.create_partitions([NewPartitions(stage.topic, 4)])[stage.topic].result(30)
    stage.partitions = stage.orders.partitions = 4
    reader = TopicReader(stage.bootstrap, {stage.topic: 4})
    reader.ends()
    reader.close()
    stage.load(200)
    stage.wait_applied(billing, "the new partitions are read from their first record on")
    check(billing.terminate() == 0, "a topic that came late and grew was read whole by the same process")
    stage.drain()
    check_balances(stage.database, stage.orders, "late and grown")


def records_deleted(run):
    """What was deleted before it was read is lost: the partition must stand still and say so, others go on."""
    stage = Stage(run, "deleted", 2)
    create_topic(stage.bootstrap, stage.topic, 2)
    stage.load(100)
    stage.drain()
    before = stage.database.positions()
    lost = stage.orders
    for _ in range(50):
        lost.send(lost.order(), 0)
    lost.flush()
    cut = before[(stage.topic, 0)] + 10
    offsets = {"partitions": [{"topic": stage.topic, "partition": 0, "offset": cut}], "version": 1}
    path = run.path("delete.json")
    path.write_text(json.dumps(offsets))
    Tools(run, stage.bootstrap).run("records", "--offset-json-file", str(path))
    for _ in range(20):
        lost.send(lost.order(), 1)
    lost.flush()

    billing = stage.start("--drain")
    code = billing.wait(60)
    text = billing.text()
    words = [line for line in text.splitlines() if re.search(r"(?i)out of range|deleted|gone|no longer", line)]
    check(code > 0 and words, f"a drain of a partition that lost records fails (exit {code}) and says: {words[:1]}")
    place = re.search(re.escape(stage.topic) + r"\D{0,12}0\b", text)
    check(place and len(words) < 6, f"it names the partition, and is not said again and again ({len(words)} lines)")
    after = stage.database.positions()
    check(after[(stage.topic, 0)] == before[(stage.topic, 0)], "the position stands where it stood")
    check(after[(stage.topic, 1)] == before[(stage.topic, 1)] + 20, "the other partition went on")


def remake(stage):
    stage.admin.delete_topics([stage.topic], operation_timeout=30)[stage.topic].result(30)

    def gone():
        return stage.topic not in stage.admin.list_topics(timeout=10).topics

    harness.wait_until(gone, 30, "the topic is gone")
    create_topic(stage.bootstrap, stage.topic, 1)


def made_anew(run):
    """Positions beyond the end of a topic of the same name: another topic's records, of which none may be skipped."""
    stage = Stage(run, "anew", 1)
    create_topic(stage.bootstrap, stage.topic, 1)
    stage.load(200)
    stage.drain()
    before = stage.database.positions()
    remake(stage)
    stage.load(10)
    billing = stage.start("--drain")
    code = billing.wait(60)
    note(f"exit {code}: {billing.text().strip()[-400:]!r}")
    check(code > 0, "a position beyond the end of a topic that was made anew stops the drain")
    check(stage.database.positions() == before, "the position stands where it stood")


def made_anew_and_longer(run):
    """A position that another topic of the same name has too: nobody can tell, so at least it is said."""
    stage = Stage(run, "longer", 1)
    create_topic(stage.bootstrap, stage.topic, 1)
    stage.load(10)
    stage.drain()
    remake(stage)
    stage.load(50)
    billing = stage.start("--drain")
    check(billing.wait(60) == 0, "a position that is in the topic is where it goes on")
    words = [line for line in billing.text().splitlines() if "made anew" in line]
    check(len(words) == 1 and stage.topic in words[0], f"that Kafka forgot the group is said once: {words[:1]}")


def body(run):
    for part in (late_and_growing, records_deleted, made_anew, made_anew_and_longer):
        part(run)


harness.main("inbox-topic-changes", body, 240)
