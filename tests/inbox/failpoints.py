#!/usr/bin/python3
"""Billing dies at each of its named failpoints, at early and later passages: the books are right afterwards.

Each failpoint has a group and a database of its own, so that all of them work through the same topic side by side.
"""

import json
import re
import signal
import subprocess
import time

from support import harness
from support.billing import Billing, Database, check_balances, check_invoices, check_logs_keep_secrets
from support.harness import ROOT, check, note, require
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.offset_watch import OffsetWatch
from support.order_load import Orders

PARTITIONS = 2
FOLDERS = ("libbase", "libstore", "libkafka", "libinbox", "libooutbox")  # what billing_service is made of
# What the service never passes: the relay and the tools do, or a loop of the application's own.
NOT_PASSED = ("adopt:", "marker:", "prune:", "release:", "relay:", "tools:", "inbox:claim")
PASSAGES = (1, 1, 4)  # the later ones meet a database that was left in the middle
SECONDS_TO_DIE = 8  # the group gives nothing before the last life's session (2 s) has ended
OVERSIZED = 1_010_000  # bytes that no outbox takes


def names_in_tree():
    """Read from the source, so that a failpoint cannot be added or renamed without being tested."""
    found = set()
    for folder in FOLDERS:
        for source in (ROOT / folder).rglob("*.cpp"):
            found |= set(re.findall(r'TXBOX_FAILPOINT\("([^"]+)"\)', source.read_text()))
    return sorted(name for name in found if name not in NOT_PASSED and f"{name.split(':')[0]}:" not in NOT_PASSED)


class Victim:
    def __init__(self, run, bootstrap, topic, name):
        self.name = name
        self.group = f"{topic}-{name.replace(':', '-')}"
        self.path = run.path(f"{self.group}.db")
        self.database = Database(self.path, self.group)
        run.at_end(self.database.close)
        self.arguments = (run, self.path, bootstrap, topic, "--invoices", "invoices")
        self.reached = []

    def begin(self, passage):
        self.passage = passage
        self.life = Billing(*self.arguments, group=self.group, TXBOX_FAILPOINT=f"{self.name}={passage}")

    def end(self, deadline, in_order):
        """Some places are passed only at the end of a life in order, others only after one that had none."""
        try:
            self.life.process.wait(max(0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            if not in_order:
                self.life.kill()
                return
            self.life.process.send_signal(signal.SIGTERM)
        code = self.life.wait(20)
        require(code in (0, -signal.SIGKILL), f"armed at {self.name}={self.passage} it ended with {code}")
        if code:
            self.reached.append(self.passage)

    def check_books(self, orders, bad):
        check_balances(self.database, orders, self.name)
        check_invoices(self.database, orders, "invoices", self.name)
        letters = self.database.rows("SELECT count(*) FROM outbox WHERE topic LIKE '%.dlq'")[0][0]
        parked = [row["event_id"] for row in self.database.parked().values()]
        check(
            (letters, sorted(parked)) == (bad["letters"], sorted(bad["parked"])),
            f"{self.name}: {letters} dead letters and {len(parked)} parked messages, each once",
        )


def send_bad(orders, round_number):
    """A malformed order that the outbox takes, and one that it does not, twice each."""
    bad = {"letters": 0, "parked": []}
    for size in (10, OVERSIZED):
        event_id = f"bad-{round_number}-{size}"
        payload = json.dumps({"mark": orders.mark}).encode() + b" " * size
        for partition in range(2):
            orders.send((b"bad", payload, [("id", event_id.encode())]), partition)
        if size > 10:
            bad["parked"].append(event_id)
        else:
            bad["letters"] += 1
    return bad


def body(run):
    bootstrap = shared_bootstrap()
    topic = f"orders-points-{run.seed}"
    create_topic(bootstrap, topic, PARTITIONS)
    names = names_in_tree()
    check(len(names) >= 10, f"failpoints of a consumer: {', '.join(names)}")
    orders = Orders(run, bootstrap, topic, PARTITIONS)
    victims = [Victim(run, bootstrap, topic, name) for name in names]
    watch = OffsetWatch(run, bootstrap, {victim.group: victim.path for victim in victims})
    bad = {"letters": 0, "parked": []}
    for number, passage in enumerate(PASSAGES):
        for kind, value in send_bad(orders, number).items():
            bad[kind] += value
        orders.send_some(200)
        orders.flush()
        for victim in victims:
            victim.begin(passage)
        deadline = time.monotonic() + SECONDS_TO_DIE
        for victim in victims:
            victim.end(deadline, in_order=number > 0)
        watch.catch_up()
    drains = [Billing(*victim.arguments, "--drain", group=victim.group) for victim in victims]
    for victim, last in zip(victims, drains):
        check(victim.reached, f"killed at {victim.name}, passages {victim.reached}")
        require(last.wait(60) == 0, f"the drain after {victim.name} failed: {last.text()[-800:]}")
        victim.check_books(orders, bad)
    watch.report("over all of it")
    note(f"{sum(len(victim.reached) for victim in victims)} lives ended at a failpoint")
    check_logs_keep_secrets(run, orders)


harness.main("inbox-failpoints", body, 400)
