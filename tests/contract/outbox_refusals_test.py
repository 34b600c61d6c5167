"""Every refusal of the outbox under every conflict clause, from a statement and from an application's own trigger.

After each the transaction is open and whole: what was written before is there, nothing was replaced or dropped
in silence, and a good event still goes in. With `OR ROLLBACK` SQLite may end the transaction; the guards do not.
"""
import itertools
import sqlite3
import unittest

from boxes import BoxesTest

NOW = 1_790_000_000_000
CLAUSES = ["INSERT", "INSERT OR ABORT", "INSERT OR FAIL", "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR ROLLBACK",
           "REPLACE"]
UPSERTS = [
    "",
    " ON CONFLICT DO NOTHING",
    " ON CONFLICT(id) DO NOTHING",
    " ON CONFLICT(id) DO UPDATE SET payload = excluded.payload",
    " ON CONFLICT(event_id) WHERE event_id IS NOT NULL DO NOTHING",
    " ON CONFLICT(event_id) WHERE event_id IS NOT NULL DO UPDATE SET payload = excluded.payload",
]

# What a row gives wrongly, and a word that the refusal must have.
REFUSED = [
    ({"topic": None}, "topic"),
    ({"topic": ""}, "topic"),
    ({"topic": "a b"}, "topic"),
    ({"topic": "."}, "topic"),
    ({"topic": ".."}, "topic"),
    ({"topic": "a\0b"}, "topic"),
    ({"topic": "é"}, "topic"),
    ({"topic": "a" * 250}, "topic"),
    ({"topic": b"orders"}, "topic"),
    ({"id": 1}, "id"),
    ({"id": 2}, "id"),
    ({"id": 3}, "id"),
    ({"id": 0}, "id"),
    ({"id": -1}, "id"),
    ({"id": -7}, "id"),
    ({"id": 100}, "id"),
    ({"id": 2**63 - 1}, "id"),
    ({"event_id": "taken"}, "event_id"),
    ({"event_id": ""}, "event_id"),
    ({"event_id": "e" * 256}, "event_id"),
    ({"event_id": "é" * 128}, "event_id"),
    ({"event_id": "a\0b"}, "event_id"),
    ({"event_id": b"taken"}, "event_id"),
    ({"nonce": None}, "nonce"),
    ({"nonce": b"123456789"}, "nonce"),
    ({"nonce": "1234567890"}, "nonce"),
    ({"nonce": b"0123456789"}, "nonce"),
    ({"partition": -1}, "partition"),
    ({"partition": 2**31}, "partition"),
    ({"partition": "first"}, "partition"),
    ({"partition": 1.5}, "partition"),
    ({"created_at": None}, "created_at"),
    ({"created_at": NOW // 1000}, "created_at"),
    ({"created_at": NOW * 1000}, "created_at"),
    ({"created_at": "2026-01-01 00:00:00"}, "created_at"),
    ({"created_at": NOW + 0.5}, "created_at"),
    ({"deliver_at": 0}, "deliver_at"),
    ({"deliver_at": -NOW}, "deliver_at"),
    ({"deliver_at": NOW // 1000}, "deliver_at"),
    ({"deliver_at": NOW * 1000}, "deliver_at"),
    ({"deliver_at": "2026-01-01T00:00:00Z"}, "deliver_at"),
    ({"deliver_at": b"x"}, "deliver_at"),
    ({"as_is": None}, "as_is"),
    ({"as_is": 2}, "as_is"),
    ({"payload": "x" * 2_000_000}, "too large"),
    ({"payload": b"\0" * 1_000_001}, "too large"),
    ({"key": "k" * 600_000, "payload": "x" * 400_001}, "too large"),
    ({"key": "é" * 500_001}, "too large"),
    ({"headers": '{"a":"' + "x" * 1_000_000 + '"}'}, "too large"),
    ({"headers": '{"a":1}'}, "headers"),
    ({"headers": '{"a":true}'}, "headers"),
    ({"headers": '{"a":{"b":"c"}}'}, "headers"),
    ({"headers": '{"a":["b"]}'}, "headers"),
    ({"headers": '"text"'}, "headers"),
    ({"headers": "null"}, "headers"),
    ({"headers": "5"}, "headers"),
    ({"headers": 5}, "headers"),
    ({"headers": ""}, "headers"),
    ({"headers": "a=b"}, "headers"),
    ({"headers": b'{"a":"b"}'}, "headers"),
    ({"headers": '{"a":"b"}\0'}, "headers"),
    ({"headers": '["a","b"]'}, "headers"),
    ({"headers": '[["a"]]'}, "headers"),
    ({"headers": '[["a","b","c"]]'}, "headers"),
    ({"headers": '[[null,"b"]]'}, "headers"),
    ({"headers": '[["a",1]]'}, "headers"),
    ({"headers": '[["a",{"base64":"AA"}]]'}, "headers"),
    ({"headers": '[["a",{"base64":"A-_="}]]'}, "headers"),
    ({"headers": '[["a",{"base64":5}]]'}, "headers"),
    ({"headers": '[["a",{"hex":"00"}]]'}, "headers"),
    ({"headers": '[["a",{"base64":"","b":""}]]'}, "headers"),
    ({"headers": '{"id":"x"}'}, "reserved"),
    ({"headers": '{"\\u0069d":"x"}'}, "reserved"),
    ({"headers": '{"a":"b","txbox-created-at":"1"}'}, "reserved"),
    ({"headers": '[["txbox-x",null]]'}, "reserved"),
    ({"headers": "{"}, None),
    ({"headers": '{"a":"b"'}, None),
    ({"headers": "{'a':'b'}"}, None),
    ({"headers": '{"a":"b"} x'}, None),
]


class RefusalsTest(BoxesTest):
    def setUp(self):
        super().setUp()
        self.db.execute("INSERT INTO outbox(topic, event_id, payload) VALUES ('orders', 'taken', 'first')")
        self.db.execute("INSERT INTO outbox(topic, nonce, payload) VALUES ('orders', ?, 'second')", (b"0123456789",))
        self.before = self.db.execute("SELECT * FROM outbox").fetchall()

    def expect_refusal(self, word, sql, values):
        """Runs it inside a transaction with a business row, and proves that nothing but the refusal happened."""
        self.db.execute("BEGIN IMMEDIATE")
        self.db.execute("INSERT INTO business VALUES ('before')")
        with self.assertRaises(sqlite3.Error, msg=sql) as caught:
            self.db.execute(sql, values)
        text = str(caught.exception)
        if word is None:
            self.assertTrue("txbox: " in text or "malformed JSON" in text, text)
        else:
            self.assertIn("txbox: ", text)
            self.assertIn(word, text)
        self.assertTrue(self.db.in_transaction, sql)
        self.assertEqual(self.db.execute("SELECT * FROM outbox").fetchall(), self.before, sql)
        self.assertEqual(self.count("business"), 1)
        self.db.execute("SAVEPOINT good")
        self.db.execute("INSERT INTO outbox(topic) VALUES ('orders')")
        self.assertEqual(self.text("SELECT max(id) FROM outbox"), len(self.before) + 1)
        self.db.execute("ROLLBACK")

    def test_every_refusal_under_every_clause(self):
        for trusted, recursive in itertools.product(("ON", "OFF"), repeat=2):
            self.db.execute(f"PRAGMA trusted_schema={trusted}")
            self.db.execute(f"PRAGMA recursive_triggers={recursive}")
            for (given, word), clause, upsert in itertools.product(REFUSED, CLAUSES, UPSERTS):
                if upsert and clause != "INSERT":
                    continue
                row = {"topic": "orders", **given}
                sql = f"{clause} INTO outbox({', '.join(row)}) VALUES ({', '.join('?' * len(row))}){upsert}"
                self.expect_refusal(word, sql, list(row.values()))

    def test_every_refusal_from_an_applications_own_trigger(self):
        columns = ["topic", "id", "event_id", "partition", "payload", "headers", "deliver_at"]
        self.db.execute(f"CREATE TABLE wishes({', '.join(columns)}, wish INTEGER PRIMARY KEY)")
        self.db.execute(f"""CREATE TRIGGER publish AFTER INSERT ON wishes BEGIN
            INSERT INTO outbox({', '.join(columns)}) VALUES ({', '.join('NEW.' + name for name in columns)}); END""")
        for trusted, recursive in itertools.product(("ON", "OFF"), repeat=2):
            self.db.execute(f"PRAGMA trusted_schema={trusted}")
            self.db.execute(f"PRAGMA recursive_triggers={recursive}")
            for (given, word), clause in itertools.product(REFUSED, CLAUSES):
                if not set(given) <= set(columns):
                    continue
                row = {"topic": "orders", **given}
                sql = f"{clause} INTO wishes({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
                self.expect_refusal(word, sql, list(row.values()))
                self.assertEqual(self.count("wishes"), 0)

    def test_one_bad_row_takes_its_whole_statement_and_nothing_else(self):
        for clause in CLAUSES:
            self.expect_refusal("topic", f"{clause} INTO outbox(topic) VALUES ('good'), ('bad topic'), ('good')", ())
            twice = f"{clause} INTO outbox(topic, event_id) VALUES ('good', 'new'), ('good', 'new')"
            self.expect_refusal("event_id", twice, ())

    def test_no_update_and_no_delete(self):
        for recursive in ("ON", "OFF"):
            self.db.execute(f"PRAGMA recursive_triggers={recursive}")
            for clause in ("", "OR IGNORE ", "OR REPLACE ", "OR FAIL ", "OR ABORT ", "OR ROLLBACK "):
                self.expect_refusal("never changed", f"UPDATE {clause}outbox SET topic = 'other' WHERE id = 1", ())
                self.expect_refusal("never changed", f"UPDATE {clause}outbox SET id = id + 10", ())
            self.expect_refusal("never deleted", "DELETE FROM outbox", ())
            self.expect_refusal("never deleted", "DELETE FROM outbox WHERE id = 1", ())

    def test_a_copied_row_is_refused(self):
        self.expect_refusal("id", "INSERT OR REPLACE INTO outbox SELECT * FROM outbox", ())
        self.expect_refusal("nonce", "INSERT INTO outbox(topic, nonce) SELECT 't', nonce FROM outbox WHERE id = 2", ())

    def test_the_limit_names_itself(self):
        with self.assertRaisesRegex(sqlite3.IntegrityError, "1000000 bytes.*--max-record-bytes"):
            self.db.execute("INSERT INTO outbox(topic, payload) VALUES ('orders', zeroblob(1000001))")
        self.db.execute("INSERT INTO outbox(topic, payload) VALUES ('orders', zeroblob(1000000))")


if __name__ == "__main__":
    unittest.main()
