#!/usr/bin/python3
"""The broker is frozen, then killed and restarted, under load: billing lives on, and the books are right."""

import argparse
import time

from support import harness
from support.billing import Billing, Database, check_balances, check_invoices, check_logs_keep_secrets, drain
from support.harness import check, let_pass, note
from support.kafka import Cluster
from support.kafka_log import create_topic
from support.offset_watch import OffsetWatch
from support.order_load import Orders

PARTITIONS = 3
ORDERS_PER_SECOND = 150
DOWN_SECONDS = 4
# The controller believes in a killed broker until its session ends, and takes it back only then.
QUICKLY_BACK = "broker.session.timeout.ms=2000\nbroker.heartbeat.interval.ms=400\n"


def under_fault(seconds, billing):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        billing.require_alive()
        let_pass(0.2, "the fault lasts")


def wait_for_progress(database, billing, when):
    before = database.orders_applied()

    def goes_on():
        billing.require_alive()
        return database.orders_applied() > before

    began = time.monotonic()
    harness.wait_until(goes_on, 60, f"billing goes on {when}", every=0.05)
    note(f"billing went on {time.monotonic() - began:.1f} s {when}")


def body(run, frozen_seconds):
    cluster = Cluster(properties=QUICKLY_BACK)
    run.at_end(cluster.close)
    cluster.start()
    topic = "orders"
    create_topic(cluster.bootstrap, topic, PARTITIONS)
    path = run.path("billing.db")
    stage = (run, path, cluster.bootstrap, topic, "--invoices", "invoices")
    database = Database(path)
    run.at_end(database.close)
    watch = OffsetWatch(run, cluster.bootstrap, {"billing": path})
    orders = Orders(run, cluster.bootstrap, topic, PARTITIONS)
    orders.start(ORDERS_PER_SECOND)
    billing = Billing(*stage)
    wait_for_progress(database, billing, "after its start")

    cluster.pause()
    under_fault(frozen_seconds, billing)
    cluster.resume()
    wait_for_progress(database, billing, "after the thaw")
    cluster.kill()
    under_fault(DOWN_SECONDS, billing)
    cluster.restart()
    wait_for_progress(database, billing, "after the restart")
    orders.stop()
    harness.wait_until(
        lambda: database.orders_applied() >= orders.count, 60, "the same process applies all that waited"
    )
    check(billing.alive(), f"a broker frozen for {frozen_seconds} s and down for {DOWN_SECONDS} s: billing caught up")
    check(billing.terminate() == 0, "SIGTERM ends it with exit 0")
    drain(*stage)
    check_balances(database, orders, "after the outages")
    check_invoices(database, orders, "invoices", "after the outages")
    watch.report("through the outages")
    check_logs_keep_secrets(run, orders)


arguments = argparse.ArgumentParser()
arguments.add_argument("--frozen", type=int, default=8, help="seconds")
chosen = arguments.parse_args()
harness.main("broker-and-billing", lambda run: body(run, chosen.frozen), 240 + chosen.frozen)
