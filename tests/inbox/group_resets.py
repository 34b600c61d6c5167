#!/usr/bin/python3
"""Kafka's own tool resets the group, or deletes its offsets; a second file wants to join it. The database decides."""

import re

from support import harness
from support.billing import Billing, Database, check_balances, check_logs_keep_secrets, drain
from support.harness import check, note, require
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.kafka_tools import Tools
from support.offset_watch import OffsetWatch
from support.order_load import Orders

PARTITIONS = 3
ORDERS = 700  # copies make about two records of each


class Stage:
    """Group, topic, database, and what must hold after each step."""

    def __init__(self, run):
        self.run = run
        self.bootstrap = shared_bootstrap()
        self.topic = f"orders-steps-{run.seed}"
        self.group = f"billing-steps-{run.seed}"
        create_topic(self.bootstrap, self.topic, PARTITIONS)
        self.path = run.path("billing.db")
        self.database = Database(self.path, self.group)
        run.at_end(self.database.close)
        self.tools = Tools(run, self.bootstrap)
        self.watch = OffsetWatch(run, self.bootstrap, {self.group: self.path})
        self.orders = Orders(run, self.bootstrap, self.topic, PARTITIONS)

    def load(self):
        self.orders.send_some(ORDERS)
        self.orders.flush()

    def drain(self):
        return drain(self.run, self.path, self.bootstrap, self.topic, group=self.group)

    def reset(self, where):
        self.watch.expect_reset()
        out = self.tools.run(
            "groups", "--reset-offsets", "--group", self.group, "--topic", self.topic, f"--to-{where}", "--execute"
        )
        self.watch.catch_up()
        self.watch.expect_reset(False)
        note(f"reset to {where}: {out.split()[-PARTITIONS:]}")

    def delete_offsets(self):
        self.watch.expect_reset()
        self.tools.run("groups", "--delete-offsets", "--group", self.group, "--topic", self.topic)
        self.watch.catch_up()
        self.watch.expect_reset(False)

    def committed(self):
        """{partition: offset}, as the last commits in Kafka's log say."""
        self.watch.catch_up()
        return {partition: offset for (_, _, partition), offset in self.watch.committed.items()}

    def check_all_applied(self, when, before):
        """Balances hold, no position went back, and Kafka was told again where the group stands."""
        check_balances(self.database, self.orders, when)
        positions = {partition: offset for (_, partition), offset in self.database.positions().items()}
        check(
            all(positions[p] >= before.get(p, 0) for p in range(PARTITIONS)) and self.committed() == positions,
            f"{when}: positions went on ({before} -> {positions}), and Kafka was told them",
        )
        return positions


def says_reset(text):
    return [line for line in text.splitlines() if re.search(r"\breset", line, re.IGNORECASE)]


def check_reset(stage, where, before):
    stage.load()  # what the latest offset would skip
    stage.reset(where)
    life = stage.drain()
    said = says_reset(life.text())
    after = stage.check_all_applied(f"after a reset to {where}", before)
    check(said, f"the log says that the group was reset and what became of it: {said[:1]}")
    quiet = stage.drain()
    check(not says_reset(quiet.text()), "the next life does not say it again")
    return after


def killed_before(stage, before):
    """A reset after a kill: the store is in the middle of a batch, the tool has to wait for the session's end."""
    stage.load()
    billing = Billing(stage.run, stage.path, stage.bootstrap, stage.topic, group=stage.group)
    harness.wait_until(lambda: stage.database.orders_applied() > stage.orders.count - ORDERS, 30, "it applies", 0.002)
    billing.kill()
    harness.wait_until(
        lambda: "no active members" in stage.tools.describe(stage.group), 30, "the dead member's session ends"
    )
    return check_reset(stage, "earliest", before)


def check_foreign(stage, before):
    """Another file in the same group holds none of the claims: it must be refused, whatever it would apply."""
    owner = Billing(stage.run, stage.path, stage.bootstrap, stage.topic, group=stage.group)
    path = stage.run.path("other.db")
    foreign = Billing(stage.run, path, stage.bootstrap, stage.topic, group=stage.group)
    code = foreign.wait(60)
    text = foreign.text()
    check(code > 0, f"a second file in the group is refused (exit {code})")
    uuid = stage.database.store_uuid()
    words = re.findall(r"(?i)another store|foreign|other (?:store|file|database)|another (?:file|database)", text)
    check(uuid in text and words, f"its words name the store that holds the group: {text.strip()[-600:]!r}")
    other = Database(path, stage.group)
    applied = other.orders_applied()
    other.close()
    check(applied == 0, f"it applied nothing ({applied} orders)")
    stage.load()
    harness.wait_until(
        lambda: stage.database.orders_applied() == stage.orders.count, 60, "the first file's member applies the rest"
    )
    check(owner.terminate() == 0, "the first file's member lived on")
    stage.drain()
    return stage.check_all_applied("with the second file gone", before)


def body(run):
    stage = Stage(run)
    stage.load()
    stage.drain()
    positions = stage.check_all_applied("the first drain", {})
    positions = check_reset(stage, "earliest", positions)
    positions = check_reset(stage, "latest", positions)
    positions = killed_before(stage, positions)
    positions = check_foreign(stage, positions)

    stage.delete_offsets()
    stage.load()
    stage.drain()
    stage.check_all_applied("after an admin deleted the group's offsets", positions)
    require(stage.watch.resets >= 4 * PARTITIONS, f"the tool changed only {stage.watch.resets} offsets")
    stage.watch.report("all along")
    check_logs_keep_secrets(run, stage.orders)


harness.main("group-resets", body, 240)
