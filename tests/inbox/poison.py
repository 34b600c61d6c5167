#!/usr/bin/python3
"""Orders whose handler fails: each is tried a few times, over all lives, then given up; its partition alone waits.

The database itself makes the handler fail, by triggers on the accounts: one that refuses, one that ends the whole
transaction, and one that is repaired in time.
"""

from support import harness, relay_process
from support.billing import Billing, Database, check_balances, check_invoices, check_logs_keep_secrets, drain
from support.harness import check, require, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic, read_topics
from support.offset_watch import OffsetWatch
from support.order_load import Orders

PARTITIONS = 4  # a poisoned order in each of the first three; the last one must not notice
ATTEMPTS = 5
REFUSED, ROLLED_BACK, REPAIRED = range(3)
HOW = {REFUSED: "ABORT", ROLLED_BACK: "ROLLBACK", REPAIRED: "ABORT"}


class Stage:
    def __init__(self, run):
        self.run = run
        self.bootstrap = shared_bootstrap()
        self.topic = f"orders-poison-{run.seed}"
        self.invoices = f"invoices-poison-{run.seed}"
        self.group = f"billing-poison-{run.seed}"
        for name, partitions in ((self.topic, PARTITIONS), (f"{self.topic}.dlq", 1), (self.invoices, 1)):
            create_topic(self.bootstrap, name, partitions)
        self.path = run.path("billing.db")
        self.arguments = (run, self.path, self.bootstrap, self.topic, "--invoices", self.invoices)
        self.database = Database(self.path, self.group)
        run.at_end(self.database.close)
        self.watch = OffsetWatch(run, self.bootstrap, {self.group: self.path})
        self.orders = Orders(run, self.bootstrap, self.topic, PARTITIONS)
        self.reader = TopicReader(self.bootstrap, {self.topic: PARTITIONS})
        run.at_end(self.reader.close)
        self.poisoned = {}  # partition: (place, record)

    def account(self, partition):
        return f"{self.orders.mark}-poisoned-{partition}"

    def start(self):
        return Billing(*self.arguments, group=self.group)

    def make_triggers(self):
        drain(*self.arguments, group=self.group)  # makes the tables
        for partition, how in HOW.items():
            self.database.rows(
                f"CREATE TRIGGER poison_{partition} BEFORE INSERT ON accounts WHEN NEW.account ="
                f" '{self.account(partition)}' BEGIN SELECT RAISE({how}, 'this account is closed'); END"
            )

    def load(self):
        """A good while of orders before and behind the poisoned ones, of which two copies come."""
        self.orders.send_some(300)
        self.orders.flush()
        for partition in HOW:
            record = self.orders.order(self.account(partition), 500)
            places = []
            for _ in range(2):
                self.orders.send(record, partition, places.append)
            self.orders.flush()
            self.poisoned[partition] = (places, record)
        self.orders.send_some(300)
        self.orders.flush()

    def tries(self, partition):
        """Failed tries so far of the first copy of the poisoned order."""
        offset = self.poisoned[partition][0][0][2]
        found = self.database.rows(
            "SELECT failed FROM inbox_attempts WHERE consumer_group = ? AND topic = ? AND partition = ?"
            ' AND "offset" = ?',
            self.group,
            self.topic,
            partition,
            offset,
        )
        return found[0][0] if found else 0

    def forget(self, partition):
        """The books go on without an order that was given up."""
        account = self.account(partition)
        del self.orders.expected[account], self.orders.orders[account]


def check_others_go_on(stage, billing):
    """While the poisoned partitions wait between two tries, the last one is read to its end."""
    end = stage.reader.ends()[(stage.topic, PARTITIONS - 1)]

    def waiting_beside_a_finished_one():
        positions = stage.database.positions()
        if positions.get((stage.topic, PARTITIONS - 1)) != end:
            return []
        return [p for p in HOW if positions[(stage.topic, p)] == stage.poisoned[p][0][0][2]]

    waiting = wait_until(waiting_beside_a_finished_one, 20, "others go on while partitions wait", every=0.005)
    billing.require_alive()
    check(waiting, f"the partition without a poisoned order was read to its end while partitions {waiting} waited")


def check_letters(stage):
    require(relay_process.drain(stage.run, stage.path, stage.bootstrap) == 0, "the relay could not publish the outbox")
    letters = read_topics(stage.bootstrap, {f"{stage.topic}.dlq": 1})
    said = {}
    for letter in letters:
        added = {name: value for name, value in letter.headers if name.startswith("__dlq.errors.")}
        place = tuple(added[f"__dlq.errors.{name}"].decode() for name in ("topic", "partition", "offset"))
        said.setdefault((place[0], int(place[1]), int(place[2])), []).append(int(added["__dlq.errors.attempts"]))
    expected = {stage.poisoned[p][0][0]: [ATTEMPTS] for p in (REFUSED, ROLLED_BACK)}
    check(said == expected, f"each of two is one dead letter after {ATTEMPTS} tries, over all lives: {said}")


def body(run):
    stage = Stage(run)
    stage.make_triggers()
    stage.load()
    billing = stage.start()
    check_others_go_on(stage, billing)
    wait_until(lambda: stage.tries(REFUSED) >= 2 and stage.tries(REPAIRED) >= 1, 20, "some tries failed", every=0.005)
    billing.kill()
    stage.watch.catch_up()
    before = stage.tries(REFUSED)
    require(0 < before < ATTEMPTS, f"{before} tries were recorded before the kill")
    stage.database.rows(f"DROP TRIGGER poison_{REPAIRED}")

    billing = stage.start()
    for partition in (REFUSED, ROLLED_BACK):
        stage.forget(partition)

    def all_applied():
        billing.require_alive()
        return stage.database.orders_applied() == stage.orders.count

    wait_until(all_applied, 60, "all but the poisoned orders are applied")
    ends = stage.reader.ends()
    wait_until(lambda: stage.database.positions() == ends, 60, "every partition is read to its end")
    check(billing.terminate() == 0, "no partition was held up for good, and one order was repaired in time")
    drain(*stage.arguments, group=stage.group)
    check_balances(stage.database, stage.orders, "without the two that were given up")
    check_invoices(stage.database, stage.orders, stage.invoices, "without the two that were given up")
    check(not stage.database.rows("SELECT 1 FROM inbox_attempts"), "no attempt is remembered of what came to its end")
    check_letters(stage)
    stage.watch.report("all the while")
    check_logs_keep_secrets(run, stage.orders)


harness.main("poison", body, 240)
