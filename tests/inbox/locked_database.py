#!/usr/bin/python3
"""Another program holds the database's write lock: billing waits, stays a member, and catches up; others may start."""

import time

from support import harness, outbox_file
from support.billing import Billing, Database, check_balances, check_logs_keep_secrets, drain
from support.harness import check, let_pass
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.offset_watch import OffsetWatch
from support.order_load import Orders

PARTITIONS = 3
LOCKED_SECONDS = 20
LOCKED_AT_A_START_SECONDS = 9
MAX_POLL_MS = 6000  # far less than the lock is held: who stops polling is put out of the group


def hold_the_lock(path, seconds, start):
    """start() gives the members that must live through it, and may start one while the lock is held."""
    other = outbox_file.connect(path)
    other.execute("BEGIN IMMEDIATE")
    members = start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for member in members:
            member.require_alive()
        let_pass(0.2, "the lock is held")
    other.execute("ROLLBACK")
    other.close()


def body(run):
    bootstrap = shared_bootstrap()
    topic, group = f"orders-locked-{run.seed}", f"billing-locked-{run.seed}"
    create_topic(bootstrap, topic, PARTITIONS)
    path = run.path("billing.db")
    stage = (run, path, bootstrap, topic, "-X", f"max.poll.interval.ms={MAX_POLL_MS}")
    database = Database(path, group)
    run.at_end(database.close)
    watch = OffsetWatch(run, bootstrap, {group: path})
    orders = Orders(run, bootstrap, topic, PARTITIONS)
    orders.start(100)
    billing = Billing(*stage, group=group)
    harness.wait_until(lambda: len(database.positions()) == PARTITIONS, 30, "it takes its partitions")
    harness.wait_until(lambda: database.orders_applied() > 0, 30, "it applies something")
    taken = database.times_taken()

    hold_the_lock(path, LOCKED_SECONDS, lambda: [billing])
    harness.wait_until(lambda: database.orders_applied() > orders.count - 100, 30, "it applies all that waited")
    check(billing.alive(), f"after {LOCKED_SECONDS} s without the lock the same process applied all that waited")
    check(
        database.times_taken() == taken,
        f"it stayed a member all the while, though max.poll.interval.ms is {MAX_POLL_MS}",
    )
    members = [billing]

    def start_another():
        members.append(Billing(*stage, group=group))
        return members

    hold_the_lock(path, LOCKED_AT_A_START_SECONDS, start_another)
    orders.stop()
    harness.wait_until(lambda: database.orders_applied() == orders.count, 30, "both apply all that waited")
    check(all(member.alive() for member in members), "another member started while the lock was held")
    check(all(member.terminate() == 0 for member in members), "SIGTERM ends both with exit 0")
    drain(*stage, group=group)
    check_balances(database, orders, "after the lock")
    parked = database.rows("SELECT count(*) FROM outbox WHERE topic = ?", f"{topic}.dlq")[0][0]
    check(parked == 0 and not database.parked(), "no order was given up for the lock's sake")
    watch.report("through the lock")
    check_logs_keep_secrets(run, orders)


harness.main("locked-database", body, 180)
