#!/usr/bin/python3
"""`--drain` waits for its group as long as that takes, and ends: nothing to read, nothing assigned, or all read."""

import time

from support import harness
from support.billing import Billing, Database, check_balances, drain
from support.harness import check, require
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic
from support.order_load import Orders

SESSION_SECONDS = 8  # of the member that dies: the group waits for it that long


class Stage:
    def __init__(self, run, name, partitions):
        self.run = run
        self.bootstrap = shared_bootstrap()
        self.topic = f"orders-{name}-{run.seed}"
        self.group = f"billing-{name}-{run.seed}"
        self.partitions = partitions
        create_topic(self.bootstrap, self.topic, partitions)
        self.path = run.path(f"{name}.db")
        self.database = Database(self.path, self.group)
        run.at_end(self.database.close)
        self.orders = Orders(run, self.bootstrap, self.topic, partitions)

    def start(self, *more):
        return Billing(self.run, self.path, self.bootstrap, self.topic, *more, group=self.group)

    def drain(self):
        return drain(self.run, self.path, self.bootstrap, self.topic, group=self.group)

    def check(self, when):
        check_balances(self.database, self.orders, when)
        reader = TopicReader(self.bootstrap, {self.topic: self.partitions})
        ends = {place: end for place, end in reader.ends().items() if end}
        reader.close()
        positions = {place: offset for place, offset in self.database.positions().items() if offset}
        check(positions == ends, f"{when}: every partition was read to its end")


def empty(run):
    stage = Stage(run, "empty", 3)
    stage.drain()
    stage.check("a topic without records")


def more_members_than_partitions(run):
    stage = Stage(run, "few", 1)
    stage.orders.send_some(500)
    stage.orders.flush()
    lives = [stage.start("--drain") for _ in range(3)]
    codes = [life.wait(60) for life in lives]
    check(codes == [0, 0, 0], f"three drains of one partition end, whoever got it: exits {codes}")
    stage.check("three drains at once")


def dead_member(run):
    """The group gives nothing away before the dead member's session has ended."""
    stage = Stage(run, "dead", 3)
    stage.orders.send_some(300)
    stage.orders.flush()
    first = stage.start("-X", f"session.timeout.ms={SESSION_SECONDS * 1000}", "-X", "heartbeat.interval.ms=2500")
    harness.wait_until(lambda: stage.database.orders_applied() == stage.orders.count, 30, "it applies all there is")
    first.kill()
    stage.orders.send_some(300)
    stage.orders.flush()
    began = time.monotonic()
    stage.drain()
    took = time.monotonic() - began
    require(took > 3, f"the drain took {took:.1f} s: the dead member's session held nothing back")
    stage.check(f"a drain that waited {took:.1f} s for a dead member's session")


def stopped_while_waiting(run):
    """SIGTERM ends a drain that has not been assigned anything yet."""
    stage = Stage(run, "stop", 1)
    stage.orders.send_some(10)
    stage.orders.flush()
    first = stage.start("-X", "session.timeout.ms=30000", "-X", "heartbeat.interval.ms=9000")
    harness.wait_until(lambda: stage.database.orders_applied() == stage.orders.count, 30, "it applies all there is")
    first.freeze()
    waiting = stage.start("--drain")
    harness.let_pass(1.5, "a drain waits for a frozen member's session")
    waiting.require_alive()
    began = time.monotonic()
    code = waiting.terminate(20)
    check(code >= 0, f"SIGTERM ends a drain that waits for its group in {time.monotonic() - began:.1f} s: exit {code}")
    first.kill()


def body(run):
    for part in (empty, more_members_than_partitions, dead_member, stopped_while_waiting):
        part(run)


harness.main("drains", body, 240)
