#!/usr/bin/python3
"""P6, seen by strace: Kafka is told of an offset only after the WAL that holds it was synced, and not if that fails."""

import os
import shutil

from support import harness
from support.billing import Billing, Database, check_balances, drain
from support.harness import check, note, require, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.offset_watch import OffsetWatch
from support.order_load import Orders
from support.system_calls import sends_before_a_sync

ONE_BY_ONE = 15
STRACE = ("strace", "-D", "-f", "-y", "-s", "2000")
TRACED = "trace=pwrite64,fsync,fdatasync,sendmsg,sendto,write,writev"
METADATA = "txbox1:"  # no other request holds it


class Stage:
    def __init__(self, run):
        self.run = run
        self.bootstrap = shared_bootstrap()
        self.topic = f"orders-barrier-{run.seed}"
        self.group = f"billing-barrier-{run.seed}"
        create_topic(self.bootstrap, self.topic, 1)
        self.path = run.path("billing.db")
        self.database = Database(self.path, self.group)
        run.at_end(self.database.close)
        self.watch = OffsetWatch(run, self.bootstrap, {self.group: self.path})
        self.orders = Orders(run, self.bootstrap, self.topic, 1)
        self.place = (self.group, self.topic, 0)

    def start(self, *prefix):
        return Billing(self.run, self.path, self.bootstrap, self.topic, group=self.group, prefix=prefix)

    def send_one(self):
        self.orders.send(self.orders.order(), 0)
        self.orders.flush()

    def told(self):
        self.watch.log.check()
        return self.watch.committed.get(self.place, 0)


def told_after_sync(stage):
    trace = stage.run.path("strace.out")
    billing = stage.start(*STRACE, "-e", TRACED, "-o", trace)
    for number in range(ONE_BY_ONE):  # one by one, so that nothing of the next is written while Kafka is told
        stage.send_one()
        wait_until(lambda: stage.told() == number + 1, 30, "Kafka is told", every=0.01)
    require(billing.terminate() == 0, "the traced billing did not stop")
    lines = trace.read_text(errors="replace").splitlines()
    sends, early = sends_before_a_sync(lines, "billing.db-wal", METADATA)
    note(f"{len(lines)} system calls, {sends} commits to Kafka")
    require(sends >= ONE_BY_ONE, "the commits to Kafka were not seen in the trace")
    check(not early, f"each of {sends} offsets was told to Kafka after a sync of what stands for it: {early[:2]}")
    without = [line for line in lines if "sync(" not in line and "sync resumed" not in line]
    check(len(sends_before_a_sync(without, "billing.db-wal", METADATA)[1]) > 0, "the same without syncs is refused")


def not_told_when_it_fails(stage):
    before = stage.told()
    applied = stage.database.orders_applied()
    inject = ("-P", f"{stage.path}-wal", "-e", "inject=fdatasync,fsync:error=EIO", "-o", os.devnull)
    billing = stage.start(*STRACE, *inject)
    for _ in range(3):
        stage.send_one()
    code = billing.wait(30)
    stage.watch.catch_up()
    note(f"it says: {billing.text().strip()[-300:]!r}")
    check(code > 0, f"a sync that fails ends billing with exit {code}")
    check(stage.told() == before, f"and Kafka was not told of anything that it could not make durable ({before})")
    require(stage.database.orders_applied() >= applied, "orders that were applied are gone")
    drain(stage.run, stage.path, stage.bootstrap, stage.topic, group=stage.group)
    check_balances(stage.database, stage.orders, "with a disk that works again")


def body(run):
    require(shutil.which("strace"), "strace is not installed (scripts/install-deps brings it)")
    stage = Stage(run)
    drain(run, stage.path, stage.bootstrap, stage.topic, group=stage.group)
    stage.database.orders_applied()  # keeps the file open, so that its WAL stays
    told_after_sync(stage)
    not_told_when_it_fails(stage)
    stage.watch.report("all the while")


harness.main("commit-barrier", body, 180)
