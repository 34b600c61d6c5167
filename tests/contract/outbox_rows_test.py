"""What plain SQL may write, and how it stands in the table and in the view."""
import json
import re
import sqlite3
import time
import unittest
import uuid

from boxes import BoxesTest


class RowsTest(BoxesTest):
    def test_the_example_of_the_contract(self):
        self.db.execute("CREATE TABLE stock(sku, quantity)")
        self.db.execute("INSERT INTO stock VALUES ('A1', 5)")
        self.db.executescript("""BEGIN IMMEDIATE;
            UPDATE stock SET quantity = quantity - 1 WHERE sku = 'A1';
            INSERT INTO outbox(topic, key, payload) VALUES ('orders', 'A1', '{"quantity":1}');
            COMMIT;""")
        columns = "id, topic, key, payload, headers, partition, deliver_at, as_is"
        row = self.db.execute(f"SELECT {columns} FROM outbox").fetchone()
        self.assertEqual(row, (1, b"orders", b"A1", b'{"quantity":1}', None, None, None, 0))

    def test_defaults(self):
        before = int(time.time() * 1000)
        self.db.execute("INSERT INTO outbox(topic) VALUES ('t')")
        after = int(time.time() * 1000)
        created, nonce = self.db.execute("SELECT created_at, nonce FROM outbox").fetchone()
        self.assertTrue(before - 1 <= created <= after + 1)
        self.assertEqual(len(nonce), 10)

    def test_bytes_null_and_empty_stay_apart_and_numbers_become_text(self):
        values = [None, "", b"", b"\0", b"\xff\xfe", "a\0b", "é", "x" * 900_000, 5, 1.5, b'{"a": 1.10}',
                  "18446744073709551616", "\ufeff 1E400 "]
        for value in values:
            key = "k" if value == values[7] else value
            self.db.execute("INSERT INTO outbox(topic, key, payload) VALUES ('t', ?, ?)", (key, value))
        stored = [row[0] for row in self.db.execute("SELECT CAST(payload AS BLOB) FROM outbox ORDER BY id")]
        expected = [value if value is None or isinstance(value, bytes) else str(value).encode() for value in values]
        self.assertEqual(stored, expected)

    def test_headers_that_are_taken(self):
        for headers in (None, "{}", "[]", '{"a":"b","other":null}', '{"":""}', '{"a":"1","a":"2"}', ' \t\n{"a":"b"} ',
                        '[["a","1"],["a",null],["b",{"base64":"AAE="}]]', '[["b",{"base64":""}]]',
                        '{"ids":"1","ID":"2","txbox":"3","xtxbox-":"4"}',
                        json.dumps({"é": "\0\x1f\U0001f600"}), json.dumps([[f"h{n}", "v"] for n in range(1000)])):
            self.db.execute("INSERT INTO outbox(topic, headers) VALUES ('t', ?)", (headers,))
        self.db.execute("INSERT INTO outbox(topic, headers, as_is) VALUES ('t', '{\"id\":\"x\",\"txbox-a\":\"y\"}', 1)")
        self.assertEqual(self.count("outbox"), 13)

    def test_topics_that_are_taken(self):
        for topic in ("a", "a" * 249, "A-Z_0.9", "...", "-"):
            self.db.execute("INSERT INTO outbox(topic) VALUES (?)", (topic,))
        self.assertEqual(self.count("outbox"), 5)

    def test_the_documented_way_to_add_an_event_once(self):
        once = """INSERT INTO outbox(topic, event_id) SELECT 't', 'once'
                  WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE event_id = 'once')"""
        self.assertEqual(self.db.execute(once).rowcount, 1)
        self.assertEqual(self.db.execute(once).rowcount, 0)

    def test_ids_follow_the_order_of_the_inserts_without_gaps(self):
        insert = "INSERT INTO outbox(topic, key, payload, created_at) VALUES ('t', 'k', ?, ?)"
        for end in ("COMMIT", "ROLLBACK", "COMMIT"):
            self.db.execute("BEGIN IMMEDIATE")
            for number in range(1000):
                self.db.execute(insert, (number, 1_700_000_000_000 - number))
            self.db.execute(end)
        rows = self.db.execute("SELECT id, CAST(payload AS INTEGER) FROM outbox ORDER BY id").fetchall()
        self.assertEqual(rows, [(n + 1, n % 1000) for n in range(2000)])

    def test_the_effective_event_id_is_a_uuid7_of_time_and_nonce(self):
        nonce = bytes.fromhex("123456789abcdef00fed")
        self.db.execute("INSERT INTO outbox(topic, created_at, nonce) VALUES ('t', ?, ?)", (0x017F22E279B0, nonce))
        self.db.execute("INSERT INTO outbox(topic, event_id) VALUES ('t', 'mine')")
        shown = self.text("SELECT event_id FROM outbox_status WHERE id = 1")
        self.assertEqual(shown, "017f22e2-79b0-7123-8567-89abcdef00fe")
        self.assertEqual(self.text("SELECT event_id FROM outbox_status WHERE id = 2"), "mine")
        for _ in range(500):
            self.db.execute("INSERT INTO outbox(topic) VALUES ('t')")
        ids = [row[0].decode() for row in self.db.execute("SELECT event_id FROM outbox_status WHERE id > 2")]
        self.assertEqual(len(set(ids)), 500)
        for event_id in ids:
            parsed = uuid.UUID(event_id)
            self.assertEqual((parsed.version, parsed.variant), (7, uuid.RFC_4122))

    def test_the_view_has_its_columns_and_states(self):
        for _ in range(7):
            self.db.execute("INSERT INTO outbox(topic, key) VALUES ('t', 'k')")
        self.db.execute("INSERT INTO outbox(topic, deliver_at) VALUES ('t', 99999999999999)")
        self.db.execute("INSERT INTO outbox(topic, deliver_at) VALUES ('t', 1000000000000)")
        held = """INSERT INTO outbox_held(id, nonce, state, attempts, last_error)
                  SELECT id, substr(nonce, 1, 8), ?, 2, 'why' FROM outbox WHERE id = ?"""
        for row, state in ((2, "parked"), (3, "blocked"), (4, "waiting"), (5, "skipped"), (6, "ready")):
            self.db.execute(held, (state, row))
        self.db.execute("""INSERT INTO outbox_sent(id, nonce, cluster, partition, offset, sent_at)
            SELECT id, substr(nonce, 1, 8), 1, 3, 17, 1800000000000 FROM outbox WHERE id = 7""")
        self.db.execute("""INSERT INTO outbox_sent(id, nonce, cluster, partition, offset, sent_at)
            VALUES (1, x'0000000000000000', 1, 3, 17, 1800000000000)""")
        cursor = self.db.execute("SELECT * FROM outbox_status ORDER BY id")
        self.assertEqual([column[0] for column in cursor.description],
                         ["id", "event_id", "topic", "key", "state", "attempts", "due_at", "last_error",
                          "partition", "offset", "created_at", "sent_at"])
        rows = cursor.fetchall()
        # A receipt of another nonce belongs to a row that a backup brought away: it is not "sent".
        self.assertEqual(b" ".join(row[4] for row in rows),
                         b"ready parked blocked waiting skipped ready sent scheduled ready")
        self.assertEqual(rows[6][8:10], (3, 17))
        self.assertEqual(rows[6][11], 1_800_000_000_000)
        self.assertEqual((rows[1][5], rows[1][7]), (2, b"why"))

    def test_meta_is_open_to_readers(self):
        meta = dict(self.db.execute("SELECT CAST(name AS TEXT), value FROM txbox_meta"))
        self.assertEqual(meta[b"schema_version"], 1)
        self.assertEqual(meta[b"incarnation"], 1)
        self.assertTrue(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", meta[b"store_uuid"].decode()))

    def test_two_writers_commit_in_id_order(self):
        other = self.connect()
        for number in range(100):
            for db in (self.db, other):
                db.execute("INSERT INTO outbox(topic, payload) VALUES ('t', ?)", (number,))
        other.close()
        self.assertEqual(self.text("SELECT count(*) = max(id) AND min(id) = 1 FROM outbox"), 1)

    def test_a_text_dump_brings_the_guards_along(self):
        self.db.execute("INSERT INTO outbox(topic) VALUES ('t')")
        self.db.text_factory = str
        copy = sqlite3.connect(":memory:", isolation_level=None)
        copy.executescript("\n".join(self.db.iterdump()))
        with self.assertRaisesRegex(sqlite3.IntegrityError, "txbox: "):
            copy.execute("INSERT OR IGNORE INTO outbox(topic) VALUES ('bad topic')")
        copy.close()


if __name__ == "__main__":
    unittest.main()
