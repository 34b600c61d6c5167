#!/usr/bin/python3
"""An order whose handler takes longer than max.poll.interval.ms: its member is put out of the group while it works.

It still holds the transaction and believes that its partitions are its own, and its heartbeats went on: the other
member must neither apply the order again nor be stopped for good, and nobody may try for ever.
"""

import time

from support import harness
from support.billing import Billing, Database, check_balances, check_invoices, check_logs_keep_secrets, drain
from support.harness import check, note, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.offset_watch import OffsetWatch, PositionWatch
from support.order_load import Orders

PARTITIONS = 4
MAX_POLL_MS = 2500
SLOW_SECONDS = 5.5  # beyond max.poll.interval.ms, on a machine as fast as it ever was during the calibration
SLOW_ORDERS = 2
# While it lasts nobody else may write: each slow order stops everything once, with a rebalance behind it.
LIMIT_SECONDS = SLOW_ORDERS * (3 * SLOW_SECONDS + 10)  # others may have the processors
# The handler cannot sleep in SQL, but it can count.
COUNT = "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT {}) SELECT count(*) FROM c)"


def steps_a_second(database):
    steps, fastest = 1_000_000, float("inf")
    for _ in range(8):
        began = time.monotonic()
        database.rows("SELECT " + COUNT.format(steps))
        fastest = min(fastest, time.monotonic() - began)
    return int(steps / fastest)


def body(run):
    bootstrap = shared_bootstrap()
    topic, group = f"orders-slow-{run.seed}", f"billing-slow-{run.seed}"
    create_topic(bootstrap, topic, PARTITIONS)
    path = run.path("billing.db")
    arguments = (run, path, bootstrap, topic, "--invoices", "invoices", "-X", f"max.poll.interval.ms={MAX_POLL_MS}")
    orders = Orders(run, bootstrap, topic, PARTITIONS)
    slow = f"{orders.mark}-slow"
    drain(*arguments, group=group)  # makes the tables
    database = Database(path, group)
    run.at_end(database.close)
    steps = int(steps_a_second(database) * SLOW_SECONDS)
    database.rows(
        f"CREATE TRIGGER slow BEFORE INSERT ON accounts WHEN NEW.account = '{slow}' BEGIN SELECT {COUNT.format(steps)};"
        " END"
    )
    watch = OffsetWatch(run, bootstrap, {group: path})
    members = [Billing(*arguments, group=group) for _ in range(2)]
    orders.start(150)
    positions = PositionWatch(run, path, [(topic, p) for p in range(PARTITIONS)], group)
    wait_until(lambda: database.orders_applied() > 0, 30, "the members apply something")

    for number in range(SLOW_ORDERS):
        record = orders.order(slow, 700)
        for partition in (number, PARTITIONS - 1 - number):  # both members are given a copy
            orders.send(record, partition)
    began = time.monotonic()

    def slow_ones_applied():
        for member in members:
            member.require_alive()
        return database.accounts().get(slow, (0, 0))[1] == SLOW_ORDERS

    wait_until(slow_ones_applied, LIMIT_SECONDS, "the slow orders are applied")
    note(f"the slow orders were applied within {time.monotonic() - began:.1f} s")
    wait_until(lambda: positions.standing_still() < 1, 30, "every partition moves again")
    orders.stop()
    wait_until(lambda: database.orders_applied() == orders.count, 60, "all orders are applied")
    check(all(member.terminate() == 0 for member in members), "the members lived through it")
    drain(*arguments, group=group)
    positions.stop()
    positions.check()
    text = "".join(member.text() for member in members)
    check("max.poll.interval" in text, "a member was put out of its group, and said so")
    check_balances(database, orders, "with slow orders")
    check_invoices(database, orders, "invoices", "with slow orders")
    watch.report("all the while")
    check_logs_keep_secrets(run, orders)


harness.main("slow-handler", body, 240)
