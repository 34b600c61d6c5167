#!/usr/bin/python3
"""Everything at once: members are killed, frozen and stopped while broker and database have trouble of their own."""

import argparse
import threading
import time

from support import harness, outbox_file
from support.billing import Billing, Database, check_balances, check_invoices, check_logs_keep_secrets, drain
from support.harness import check, let_pass, note, require, wait_until
from support.kafka import Cluster
from support.kafka_log import TopicReader, create_topic
from support.offset_watch import OffsetWatch, PositionWatch
from support.order_load import Orders

PARTITIONS = 6
MEMBERS = 3
ORDERS_PER_SECOND = 200
MAX_POLL_MS = 4000
QUICKLY_BACK = "broker.session.timeout.ms=2000\nbroker.heartbeat.interval.ms=400\n"
CALM_SECONDS = 60  # after the last fault everything that waits must be applied within this time


class Chaos:
    """Each source of trouble has a thread and a pace of its own, so that faults overlap as they like."""

    def __init__(self, run, cluster, path, topic):
        self.run = run
        self.cluster = cluster
        self.path = path
        self.arguments = (run, path, cluster.bootstrap, topic, "--invoices", "invoices")
        self.arguments += ("-X", f"max.poll.interval.ms={MAX_POLL_MS}")
        self.members = [Billing(*self.arguments) for _ in range(MEMBERS)]
        self.done = {}
        self.failures = []
        self.over = threading.Event()
        self.finished = threading.Event()
        self.at_rest = threading.Semaphore(0)
        troubles = [lambda slot=slot: self.trouble_member(slot) for slot in range(MEMBERS)]
        troubles += [self.trouble_broker, self.trouble_database]
        self.threads = [threading.Thread(target=self.go_on, args=(trouble,), daemon=True) for trouble in troubles]
        run.at_end(self.finished.set)
        run.at_end(self.over.set)

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.over.set()
        for _ in self.threads:
            require(self.at_rest.acquire(timeout=90), "a fault did not come to its end")
        require(not self.failures, f"a fault went wrong: {self.failures[:2]}")

    def go_on(self, trouble):
        try:
            while not self.over.is_set():
                trouble()
        except BaseException as failure:  # handed over to the thread that asks
            self.failures.append(failure)
        self.at_rest.release()
        self.finished.wait()  # the children of a thread die with it

    def count(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    def pause(self, low, high):
        self.over.wait(self.run.random.uniform(low, high))

    def trouble_member(self, slot):
        self.pause(1, 8)
        member = self.members[slot]
        if self.start_again(slot):
            return
        member.require_alive()
        kind = self.run.random.choice(["freeze", "kill", "stop", "kill frozen"])
        if "freeze" in kind or "frozen" in kind:
            member.freeze()
            self.pause(1, 7)
            member.thaw()
        if "kill" in kind:
            self.pause(0, 0.3)
            member.kill()
            self.members[slot] = Billing(*self.arguments)
        if kind == "stop":
            # A member that is told to stop while broker or database are away waits for them, but not for ever.
            code = member.terminate(45)
            require(code == 0, f"SIGTERM ended a member with {code}: {member.text()[-500:]}")
            self.members[slot] = Billing(*self.arguments)
        self.count(kind)

    def start_again(self, slot):
        """With --invoices the sample tries its outbox out at its start. It waits a while for the lock, then ends."""
        member = self.members[slot]
        if member.alive() or not member.text().endswith("BEGIN IMMEDIATE: database is locked\n"):
            return False
        self.members[slot] = Billing(*self.arguments)
        self.count("start met a lock")
        return True

    def trouble_broker(self):
        self.pause(8, 15)
        if self.run.random.random() < 0.7:
            self.cluster.pause()
            let_pass(self.run.random.uniform(1, 8), "the broker is frozen")
            self.cluster.resume()
            self.count("broker frozen")
        else:
            self.cluster.kill()
            let_pass(self.run.random.uniform(0, 2), "the broker is down")
            self.cluster.restart()
            self.count("broker killed")

    def trouble_database(self):
        self.pause(5, 12)
        other = outbox_file.connect(self.path)
        other.execute("BEGIN IMMEDIATE")
        self.pause(1, 6)
        other.execute("ROLLBACK")
        other.close()
        self.count("database locked")


def body(run, seconds):
    cluster = Cluster(properties=QUICKLY_BACK)
    run.at_end(cluster.close)
    cluster.start()
    topic = "orders"
    create_topic(cluster.bootstrap, topic, PARTITIONS)
    path = run.path("billing.db")
    orders = Orders(run, cluster.bootstrap, topic, PARTITIONS)
    drain(run, path, cluster.bootstrap, topic)
    watch = OffsetWatch(run, cluster.bootstrap, {"billing": path})
    positions = PositionWatch(run, path, [(topic, p) for p in range(PARTITIONS)])
    chaos = Chaos(run, cluster, path, topic)
    orders.start(ORDERS_PER_SECOND)
    chaos.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until and not chaos.failures:
        positions.check()
        watch.log.check()
        let_pass(0.5, "the faults go on")
    chaos.stop()
    for slot in range(MEMBERS):
        chaos.start_again(slot)
    note(f"faults: {chaos.done}")
    orders.stop()
    database = Database(path)
    run.at_end(database.close)
    wait_until(lambda: database.orders_applied() == orders.count, CALM_SECONDS, "what waited is applied in the calm")
    check(all(member.alive() for member in chaos.members), "the members applied all that waited, by themselves")
    check(all(member.terminate() == 0 for member in chaos.members), "SIGTERM ends each with exit 0")
    drain(run, path, cluster.bootstrap, topic)
    positions.stop()
    positions.check()
    reader = TopicReader(cluster.bootstrap, {topic: PARTITIONS})
    check(database.positions() == reader.ends(), "every partition was read to its end")
    reader.close()
    check_balances(database, orders, "after it all")
    check_invoices(database, orders, "invoices", "after it all")
    given_up = database.rows("SELECT count(*) FROM outbox WHERE topic LIKE '%.dlq'")[0][0] + len(database.parked())
    check(given_up == 0, f"no order was given up ({given_up})")
    watch.report("through it all")
    check_logs_keep_secrets(run, orders)


arguments = argparse.ArgumentParser()
arguments.add_argument("--seconds", type=int, default=60, help="of trouble")
chosen = arguments.parse_args()
harness.main("inbox-chaos", lambda run: body(run, chosen.seconds), 300 + chosen.seconds * 2)
