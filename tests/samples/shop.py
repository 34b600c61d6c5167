"""What every sample must leave behind: each order with exactly one event, and no event without an order."""
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["TXBOX_BIN"])
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"


def run(*arguments, expect=0, seconds=60):
    done = subprocess.run([str(argument) for argument in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=seconds, check=False)
    if done.returncode != expect:
        raise AssertionError(f"{arguments} ended with {done.returncode}, not {expect}:\n{done.stdout}{done.stderr}")
    return done


class ShopTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="txbox-sample-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.db = os.path.join(self.folder, "shop.db")

    def query(self, sql, db=None):
        connection = sqlite3.connect(db or self.db, timeout=30)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def change(self, sql, *values):
        connection = sqlite3.connect(self.db, timeout=30)
        try:
            with connection:
                connection.execute(sql, values)
        finally:
            connection.close()

    def seed(self):
        """Of a test's random numbers; a failure shows it, and TXBOX_TEST_SEED repeats it."""
        seed = int(os.environ.get("TXBOX_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
        print(f"{self.id()}: TXBOX_TEST_SEED={seed}", flush=True)
        return seed

    def assert_orders_and_events_agree(self, orders, topic="orders"):
        """Both in commit order: the events are the orders, word for word."""
        placed = self.query("SELECT id, account, amount_cents FROM orders ORDER BY rowid")
        events = self.query("SELECT topic, key, payload, headers FROM outbox ORDER BY id")
        self.assertEqual(len(placed), orders)
        self.assertEqual(len(events), orders)
        for (order_id, account, amount_cents), (event_topic, key, payload, headers) in zip(placed, events):
            self.assertEqual(event_topic, topic)
            self.assertEqual(as_text(key), account)
            self.assertEqual(json.loads(as_text(payload)),
                             {"order_id": order_id, "account": account, "amount_cents": amount_cents})
            self.assertIn("OrderPlaced", as_text(headers))
        self.assertEqual(self.query("PRAGMA integrity_check"), [("ok",)])


def as_text(value):
    """Keys, payloads and headers may be stored as text or as a blob; Kafka gets the same bytes."""
    return value.decode() if isinstance(value, bytes) else value
