#!/usr/bin/python3
"""The disk fills up while orders come: nothing is lost, nothing twice, and billing goes on when there is room again."""

import shutil
import time

from support import harness
from support.billing import Billing, Database, check_balances, check_invoices, check_logs_keep_secrets, drain
from support.harness import check, let_pass, note
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.offset_watch import OffsetWatch
from support.order_load import Orders
from support.own_mounts import in_a_namespace_of_its_own, mount_disk

PARTITIONS = 3
DISK_BYTES = 48 << 20
MOST_ROOM_BYTES = 4 << 20  # left when the disk begins to fill: the end may come in any file and at any step
FULL_SECONDS = 4


def fill(folder, room):
    free = shutil.disk_usage(folder).free
    with open(folder / "ballast", "wb") as ballast:
        ballast.write(bytes(max(0, free - room)))


def wait_until_full(database, orders, billing):
    """Full is when nothing more is applied for a while although orders wait."""
    since, applied = time.monotonic(), -1

    def stands_still():
        nonlocal since, applied
        billing.require_alive()
        found = database.orders_applied()
        if found != applied:
            since, applied = time.monotonic(), found
        return time.monotonic() - since > FULL_SECONDS and orders.count > applied + 100

    harness.wait_until(stands_still, 90, "the disk is full", every=0.1)
    note(f"full: {applied} orders applied, {orders.count} sent")


def body(run):
    bootstrap = shared_bootstrap()
    topic, group = f"orders-disk-{run.seed}", f"billing-disk-{run.seed}"
    create_topic(bootstrap, topic, PARTITIONS)
    folder = mount_disk(run, "disk", DISK_BYTES)
    path = folder / "billing.db"
    stage = (run, path, bootstrap, topic, "--invoices", "invoices")
    database = Database(path, group)
    run.at_end(database.close)
    watch = OffsetWatch(run, bootstrap, {group: path})
    orders = Orders(run, bootstrap, topic, PARTITIONS)
    orders.start(300)
    billing = Billing(*stage, group=group)
    harness.wait_until(lambda: database.orders_applied() > 0, 30, "it applies something")

    room = run.random.randrange(MOST_ROOM_BYTES)
    note(f"{room} bytes are left")
    fill(folder, room)
    wait_until_full(database, orders, billing)
    watch.catch_up()
    # One that takes partitions now writes to the full disk before it reads any order.
    members = [billing, Billing(*stage, group=group)]
    let_pass(FULL_SECONDS, "the group is divided while the disk is full")
    for member in members:
        member.require_alive()
    (folder / "ballast").unlink()
    before = database.orders_applied()
    harness.wait_until(lambda: database.orders_applied() > before, 40, "it goes on by itself once there is room")
    let_pass(1, "it catches up under load")
    orders.stop()
    harness.wait_until(lambda: database.orders_applied() == orders.count, 60, "it applies all that waited")
    check(all(m.alive() for m in members), "the same processes went on once there was room, and all is applied")
    said = [line for line in billing.text().splitlines() if "full" in line.lower()]
    check(said, f"its log says that the disk was full: {said[:1]}")
    check(all(member.terminate() == 0 for member in members), "SIGTERM ends both with exit 0")
    drain(*stage, group=group)
    check_balances(database, orders, "after the disk was full")
    check_invoices(database, orders, "invoices", "after the disk was full")
    given_up = database.rows("SELECT count(*) FROM outbox WHERE topic = ?", f"{topic}.dlq")[0][0]
    check(given_up == 0 and not database.parked(), "no order was given up for the disk's sake")
    check(database.rows("PRAGMA integrity_check") == [("ok",)], "the file is whole")
    watch.report("through the full disk")
    check_logs_keep_secrets(run, orders)


in_a_namespace_of_its_own()
harness.main("full-disk", body, 240)
