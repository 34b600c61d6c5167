#!/usr/bin/python3
"""Two members on one database: joined, frozen past max.poll.interval.ms, thawed, killed in turn, under load."""

import argparse
import time

from support import harness
from support.billing import Billing, Database, check_balances, check_invoices, check_logs_keep_secrets, drain
from support.harness import check, let_pass, note, require
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.offset_watch import OffsetWatch, PositionWatch
from support.order_load import Orders

PARTITIONS = 6
ORDERS_PER_SECOND = 400
MAX_POLL_MS = 3000
FROZEN_SECONDS = 4.5  # past session.timeout.ms (2 s) and max.poll.interval.ms
# After a disturbance the group needs a session's time to see it, and up to max.poll.interval.ms for each rebalance.
RECOVERY_SECONDS = 2 + 2 * MAX_POLL_MS / 1000 + 7
# A member may be frozen while it holds the database's write lock, which keeps the other one waiting as long.
STALL_LIMIT_SECONDS = FROZEN_SECONDS + RECOVERY_SECONDS


class Members:
    def __init__(self, run, bootstrap, topic, path, group):
        self.run = run
        self.arguments = (run, path, bootstrap, topic, "--invoices", "invoices")
        self.arguments += ("-X", f"max.poll.interval.ms={MAX_POLL_MS}")
        self.group = group
        self.database = Database(path, group)
        run.at_end(self.database.close)
        self.alive = [self.new(), self.new()]
        self.done = dict.fromkeys(("frozen", "frozen and killed", "killed", "stopped"), 0)

    def new(self):
        return Billing(*self.arguments, group=self.group)

    def check(self):
        for member in self.alive:
            member.require_alive()

    def join(self, slot):
        self.alive[slot] = self.new()

    def in_the_middle(self):
        """Returns a moment after some position moved: probably in the middle of a wave of orders."""
        before = self.database.positions()
        harness.wait_until(lambda: self.database.positions() != before, 20, "a position moves", every=0.001)
        let_pass(self.run.random.uniform(0, 0.01), "a random moment of the work")

    def freeze(self, slot):
        """Thawed, it still believes for a moment that its partitions are its own."""
        self.in_the_middle()
        self.alive[slot].freeze()
        let_pass(FROZEN_SECONDS, "longer than session and poll interval allow")
        self.alive[slot].thaw()
        self.done["frozen"] += 1

    def freeze_and_kill(self, slot):
        """A zombie that gets a short while, then dies."""
        self.freeze(slot)
        let_pass(self.run.random.uniform(0, 0.3), "a random moment of a zombie")
        self.alive[slot].kill()
        self.done["frozen"] -= 1
        self.done["frozen and killed"] += 1
        self.join(slot)

    def kill(self, slot):
        self.in_the_middle()
        self.alive[slot].kill()
        self.done["killed"] += 1
        self.join(slot)

    def stop(self, slot):
        """An orderly leave and a join: two rebalances."""
        code = self.alive[slot].terminate()
        require(code == 0, f"SIGTERM ended a member with {code}: {self.alive[slot].text()[-800:]}")
        self.done["stopped"] += 1
        self.join(slot)


def disturb(members, positions, watch, seconds):
    """Each kind of disturbance in turn, each slot in turn; then every partition must move before the next one comes."""
    kinds = (members.freeze, members.kill, members.stop, members.freeze_and_kill)
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until:
        kind = kinds[number % len(kinds)]
        kind(number // 2 % 2)
        number += 1
        over = time.monotonic()

        def every_partition_moves():
            members.check()
            watch.log.check()
            return positions.all_moved_since(over)

        harness.wait_until(every_partition_moves, RECOVERY_SECONDS, f"every partition moves after {kind.__name__}")
        let_pass(members.run.random.uniform(0, 1.5), "the members work")


def body(run, seconds):
    bootstrap = shared_bootstrap()
    topic = f"orders-two-{run.seed}"
    create_topic(bootstrap, topic, PARTITIONS)
    path = run.path("billing.db")
    group = f"billing-two-{run.seed}"
    orders = Orders(run, bootstrap, topic, PARTITIONS)
    watch = OffsetWatch(run, bootstrap, {group: path})
    orders.start(ORDERS_PER_SECOND)
    positions = PositionWatch(run, path, [(topic, p) for p in range(PARTITIONS)], group)
    members = Members(run, bootstrap, topic, path, group)

    disturb(members, positions, watch, seconds)
    harness.wait_until(lambda: positions.standing_still() < 1, 20, "every partition moves at the end of it all")
    positions.check()
    longest = max(positions.longest.values())
    check(
        longest < STALL_LIMIT_SECONDS,
        f"no partition stood still for more than {longest:.1f} s while the load ran ({members.done})",
    )
    orders.stop()
    for member in members.alive:
        code = member.terminate()
        check(code == 0, f"SIGTERM ends a member with exit {code}")
    drain(run, path, bootstrap, topic, "--invoices", "invoices", group=group)
    positions.stop()
    positions.check()
    check(True, f"no position went back in {positions.samples} samples of the database")
    watch.report("in Kafka")
    database = members.database
    check_balances(database, orders, "in the end")
    check_invoices(database, orders, "invoices", "in the end")
    note(f"{database.rows('SELECT count(*) FROM inbox')[0][0]} claims")
    check_logs_keep_secrets(run, orders)


arguments = argparse.ArgumentParser()
arguments.add_argument("--seconds", type=int, default=30, help="of disturbance")
chosen = arguments.parse_args()
harness.main("two-members", lambda run: body(run, chosen.seconds), 240 + chosen.seconds * 2)
