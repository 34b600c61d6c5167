"""The sample billing_service on a real Kafka: orders come from an independent producer, up to three times each."""
import collections
import json
import os
import random
import signal
import sqlite3
import sys
import time
import unittest
import uuid

from confluent_kafka import Producer

from shop import BIN, ShopTest, run
from support.harness import spawn
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic, read_topics

SERVICE = BIN / "billing_service"
PARTITIONS = 3
# A killed member's partitions are free after this time; the brokers of the tests allow it.
SESSION = ["-X", "session.timeout.ms=2000"]


def order(number, account=None, amount_cents=None):
    return {"order_id": f"order-{number}", "account": account or f"account-{number % 7}",
            "amount_cents": 100 + number if amount_cents is None else amount_cents}


def said(applied, copies, given_up=0):
    return f"{applied} orders applied, {copies} copies of them skipped, {given_up} messages given up\n"


class BillingService(ShopTest):
    def setUp(self):
        super().setUp()
        self.bootstrap = shared_bootstrap()
        mark = uuid.uuid4().hex[:12]
        self.orders, self.invoices, self.group = f"orders-{mark}", f"invoices-{mark}", f"billing-{mark}"
        for topic in (self.orders, self.invoices, f"{self.orders}.dlq"):
            create_topic(self.bootstrap, topic, PARTITIONS)
        self.producer = Producer({"bootstrap.servers": self.bootstrap})

    def send(self, events):
        """Each is (id, payload); the id may be None."""
        for event_id, payload in events:
            headers = [("type", b"OrderPlaced")] + ([] if event_id is None else [("id", event_id.encode())])
            key = payload["account"] if isinstance(payload, dict) and isinstance(payload.get("account"), str) else None
            value = payload if payload is None or isinstance(payload, bytes) else json.dumps(payload)
            self.producer.produce(self.orders, value, key, headers=headers)
            self.producer.poll(0)
        self.assertEqual(self.producer.flush(30), 0)

    def arguments(self, *more):
        return [SERVICE, "--db", self.db, "--brokers", self.bootstrap, "--group", self.group, "--topic", self.orders,
                *SESSION, *more]

    def drain(self, *more):
        return run(*self.arguments("--drain", *more), seconds=90).stdout

    def start(self, *more):
        log = open(os.path.join(self.folder, "service.log"), "ab")
        self.addCleanup(log.close)
        child = spawn(self.arguments(*more), stdout=log, stderr=log)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def log(self):
        with open(os.path.join(self.folder, "service.log"), encoding="utf-8") as log:
            return log.read()

    def credited(self):
        return {account: (cents, orders) for account, cents, orders in
                self.query("SELECT account, balance_cents, orders FROM accounts")}

    def wait_for_orders(self, child, count, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and child.poll() is None:
            try:
                if (self.query("SELECT sum(orders) FROM accounts")[0][0] or 0) >= count:
                    return
            except sqlite3.OperationalError:
                pass  # The service has not made the table yet.
            time.sleep(0.02)  # tidy: waits for another process's commit, which SQLite announces to nobody
        self.fail(f"fewer than {count} orders were credited, exit code {child.poll()}")

    def assert_credited_once(self, orders):
        expected = collections.defaultdict(lambda: (0, 0))
        for one in orders:
            cents, count = expected[one["account"]]
            expected[one["account"]] = (cents + one["amount_cents"], count + 1)
        self.assertEqual(self.credited(), dict(expected))

    def published(self, topic):
        """Lets the relay publish the file's outbox and reads the topic."""
        state = os.path.join(self.folder, "state")
        run("env", f"STATE_DIRECTORY={state}", BIN / "outbox-relay", "run", "--db", self.db, "--brokers",
            self.bootstrap, "--drain")
        return read_topics(self.bootstrap, {topic: PARTITIONS})

    def test_each_order_is_credited_and_invoiced_once_however_often_it_comes(self):
        chance = random.Random(self.seed())
        orders = [order(n) for n in range(300)]
        copies = [(f"id-{n}", one) for n, one in enumerate(orders) for _ in range(chance.randint(1, 3))]
        chance.shuffle(copies)
        self.send(copies)
        self.assertEqual(self.drain("--invoices", self.invoices), said(300, len(copies) - 300))
        self.assert_credited_once(orders)
        invoices = self.published(self.invoices)
        self.assertEqual(sorted((record.key.decode(), record.value.decode()) for record in invoices),
                         sorted((one["account"], json.dumps(one, separators=(",", ":"))) for one in orders))
        self.assertEqual(len({record.event_id for record in invoices}), 300)

    def test_a_second_drain_goes_on_where_the_first_one_ended(self):
        self.send((f"id-{n}", order(n)) for n in range(20))
        self.drain()
        self.assertEqual(self.drain(), said(0, 0))
        self.send((f"id-{n}", order(n)) for n in range(10, 30))
        self.assertEqual(self.drain(), said(10, 10))
        self.assert_credited_once(map(order, range(30)))
        self.assertEqual(self.query("SELECT count(*) FROM outbox"), [(0,)])

    def test_malformed_orders_become_dead_letters_among_good_ones(self):
        bad = [None, b"", b"secret", b"\xff\xfe", b"{", b"[]", b"7", {}, {"order_id": "secret"},
               {**order(1), "account": 7}, {**order(1), "account": ""}, {**order(1), "account": "x" * 256},
               {**order(1), "order_id": None}, b"[" * 50_000]
        amounts = (-1, 10**9 + 1, 2**63, 2**64 - 1, 10**30, 1.5, 1e3, "12", True)
        bad += [order(1, amount_cents=amount) for amount in amounts]
        good = [order(n) for n in range(200)]
        events = [(f"good-{n}", one) for n, one in enumerate(good)]
        for n, one in enumerate(bad):
            events.insert(n * 7, (f"bad-{n}", one))
        self.send(events + events)
        self.assertEqual(self.drain(), said(200, 200, 2 * len(bad)))
        self.assert_credited_once(good)
        letters = self.published(f"{self.orders}.dlq")
        self.assertEqual(sorted(letter.event_id for letter in letters), sorted(f"bad-{n}" for n in range(len(bad))))
        for letter in letters:
            one = bad[int(letter.event_id.removeprefix("bad-"))]
            value = one if one is None or isinstance(one, bytes) else json.dumps(one).encode()
            self.assertEqual(letter.value, value)
            headers = dict(letter.headers)
            self.assertEqual(headers["type"], b"OrderPlaced")
            self.assertEqual(headers["__dlq.errors.topic"], self.orders.encode())
            self.assertNotIn(b"secret", headers["__dlq.errors.message"])

    def test_a_service_that_is_killed_again_and_again_credits_each_order_once(self):
        chance = random.Random(self.seed())
        orders = [order(n) for n in range(1200)]
        for life in range(4):
            part = orders[life * 300:(life + 1) * 300]
            self.send((one["order_id"], one) for one in part + chance.sample(part, 50))
            service = self.start("--invoices", self.invoices)
            self.wait_for_orders(service, life * 300 + chance.randint(1, 300))
            service.kill()
            self.assertEqual(service.wait(10), -signal.SIGKILL)
        self.drain("--invoices", self.invoices)
        self.assert_credited_once(orders)
        self.assertEqual(self.query("SELECT count(*), count(DISTINCT json_extract(payload, '$.order_id')) FROM outbox"),
                         [(1200, 1200)])

    def test_four_services_share_a_file_that_none_of_them_found(self):
        orders = [order(n) for n in range(600)]
        self.send((one["order_id"], one) for one in orders + orders)
        services = [self.start("--drain", "--invoices", self.invoices) for _ in range(4)]
        self.assertEqual([service.wait(90) for service in services], [0] * 4)
        self.assert_credited_once(orders)
        self.assertEqual(self.query("SELECT count(*) FROM outbox"), [(600,)])

    def test_sigterm_ends_it_cleanly(self):
        for end in (signal.SIGTERM, signal.SIGINT):
            self.send((f"{end}-{n}", order(n)) for n in range(50))
            service = self.start()
            self.wait_for_orders(service, 50 if end == signal.SIGTERM else 100)
            service.send_signal(end)
            self.assertEqual(service.wait(20), 0)
        # A clean leave: the partitions are free at once, nothing comes again.
        self.assertEqual(self.drain(), said(0, 0))

    def test_a_program_that_keeps_the_file_locked_at_the_start_is_waited_for(self):
        self.drain("--invoices", self.invoices)
        self.send([("one", order(1))])
        other = sqlite3.connect(self.db, isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        service = self.start("--drain", "--invoices", self.invoices)
        line = "another program keeps the database locked"
        deadline = time.monotonic() + 30
        while line not in self.log() and service.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)  # tidy: waits for a line of another process
        self.assertIsNone(service.poll(), self.log())
        other.execute("COMMIT")
        self.assertEqual(service.wait(60), 0, self.log())
        self.assertEqual(self.log().count(line), 1)
        self.assert_credited_once([order(1)])

    def test_a_wrong_topic_for_the_invoices_ends_it_before_an_order_is_touched(self):
        self.send([("one", order(1))])
        done = run(*self.arguments("--drain", "--invoices", "no spaces"), expect=1)
        self.assertIn("topic", done.stderr)
        self.drain()
        self.assert_credited_once([order(1)])

    def test_a_wrong_command_line_is_2_and_a_failure_is_1(self):
        complete = ["--db", self.db, "--brokers", "x"]
        for arguments in ([], complete[:2], complete[2:], [*complete, "y"], [*complete, "-X", "novalue"],
                          ["--nonsense"]):
            done = run(SERVICE, *arguments, expect=2)
            self.assertIn("billing_service --db FILE --brokers LIST", done.stderr)
        self.assertIn("--drain", run(SERVICE, "--help").stdout)
        self.assertIn("nonsense.property", run(*self.arguments("-X", "nonsense.property=1"), expect=1).stderr)
        run(SERVICE, "--db", "/dev/null/billing.db", "--brokers", self.bootstrap, expect=1)


    def test_a_secret_is_taken_from_a_file_and_never_from_the_command_line(self):
        done = run(*self.arguments("-X", "sasl.password=geheim"), expect=2)
        self.assertIn("-X sasl.password_file=PATH", done.stderr)
        self.assertNotIn("geheim", done.stderr)
        path = os.path.join(self.folder, "secret")
        done = run(*self.arguments("-X", f"sasl.password_file={path}"), expect=2)
        self.assertIn("the file it names cannot be read", done.stderr)
        with open(path, "w", encoding="ascii") as file:
            file.write("geheim\n")
        self.assertIn("0 orders applied", self.drain("-X", f"sasl.password_file={path}"))


if __name__ == "__main__":
    shared_bootstrap()  # Without a broker: skipped.
    unittest.main(argv=sys.argv)
