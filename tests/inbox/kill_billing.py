#!/usr/bin/python3
"""Billing killed by SIGKILL again and again while every order comes up to three times: the books are right."""

import argparse

from support import harness
from support.billing import Billing, Database, check_balances, check_invoices, check_logs_keep_secrets, drain
from support.harness import check, let_pass, note, require
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.offset_watch import OffsetWatch
from support.order_load import Orders

PARTITIONS = 4
BEFORE_APPLYING = 0.15  # of the lives end at any moment, start-up included; the others after something was applied
ORDERS_PER_SECOND = 400


class Service:
    """One group with its own database, all of whose lives are taken."""

    def __init__(self, run, bootstrap, topic, number):
        self.run = run
        self.bootstrap = bootstrap
        self.topic = topic
        self.group = f"{topic}-{number}"
        self.path = run.path(f"billing-{number}.db")
        self.database = Database(self.path, self.group)
        self.process = None
        self.lives_that_applied = 0
        run.at_end(self.database.close)

    def begin(self):
        self.before = self.database.orders_applied()
        self.process = Billing(
            self.run, self.path, self.bootstrap, self.topic, "--invoices", "invoices", group=self.group
        )
        self.any_moment = self.run.random.random() < BEFORE_APPLYING
        if self.any_moment:
            let_pass(self.run.random.uniform(0, 0.5), "a random moment of its start")

    def applied(self):
        self.process.require_alive()
        return self.database.orders_applied() > self.before

    def end(self):
        if not self.any_moment:
            harness.wait_until(self.applied, 30, "a life applies something", every=0.001)
            longest = self.run.random.choice([0, 0.02, 0.5])
            let_pass(self.run.random.uniform(0, longest), "a random moment of its work")
        self.process.require_alive()
        self.process.kill()
        self.lives_that_applied += self.database.orders_applied() > self.before

    def finish(self, orders):
        life = drain(
            self.run, self.path, self.bootstrap, self.topic, "--invoices", "invoices", group=self.group, seconds=180
        )
        check_balances(self.database, orders, self.group)
        check_invoices(self.database, orders, "invoices", self.group)
        applied = self.database.rows("SELECT count(*) FROM inbox WHERE consumer_group = ?", self.group)[0][0]
        check(applied == orders.count, f"{self.group}: one claim for each of {orders.count} orders ({applied})")
        return life


def body(run, kills, services):
    bootstrap = shared_bootstrap()
    topic = f"orders-kill-{run.seed}"
    create_topic(bootstrap, topic, PARTITIONS)
    group = [Service(run, bootstrap, topic, number) for number in range(services)]
    watch = OffsetWatch(run, bootstrap, {service.group: service.path for service in group})
    orders = Orders(run, bootstrap, topic, PARTITIONS)
    orders.start(ORDERS_PER_SECOND)

    for _ in range(0, kills, services):
        for service in group:
            service.begin()
        for service in group:
            service.end()
        watch.catch_up()  # all of them are dead: what Kafka was told is compared with what they left behind
    orders.stop()
    lives = sum(service.lives_that_applied for service in group)
    check(lives > kills / 2, f"{kills} lives were taken, {lives} of them after they had applied something")

    for service in group:
        service.finish(orders)
    watch.report("over all lives")
    note(f"{orders.sent - orders.count} records were copies of orders that came before")
    require(orders.sent > orders.count * 1.5, "hardly any order came twice: the test proved too little")
    check_logs_keep_secrets(run, orders)


arguments = argparse.ArgumentParser()
arguments.add_argument("--kills", type=int, default=60, help="of all services together")
arguments.add_argument("--services", type=int, default=3, help="groups with a database each, killed side by side")
chosen = arguments.parse_args()
harness.main("kill-billing", lambda run: body(run, chosen.kills, chosen.services), 240 + chosen.kills * 4)
