"""The inbox for other languages: one INSERT in the consumer's own transaction."""
import sqlite3
import unittest

from boxes import BoxesTest

CLAIM = "INSERT INTO inbox(consumer_group, event_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
INTO = "{} INTO inbox(consumer_group, event_id) VALUES (?, ?)"
UPSERTS = ["", " ON CONFLICT DO NOTHING", " ON CONFLICT(consumer_group, event_id) DO UPDATE SET epoch = 0"]
CLAUSES = ["INSERT", "INSERT OR ABORT", "INSERT OR FAIL", "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR ROLLBACK"]


class ClaimsTest(BoxesTest):
    def test_a_first_claim_changes_one_row_and_a_duplicate_none(self):
        for trusted in ("ON", "OFF"):
            self.db.execute(f"PRAGMA trusted_schema={trusted}")
            self.assertEqual(self.db.execute(CLAIM, ("billing", f"e-{trusted}")).rowcount, 1)
            for _ in range(3):
                self.assertEqual(self.db.execute(CLAIM, ("billing", f"e-{trusted}")).rowcount, 0)
                self.assertEqual(self.text("SELECT changes()"), 0)
        self.assertEqual(self.db.execute(CLAIM, ("audit", "e-ON")).rowcount, 1)

    def test_a_claim_that_rolled_back_never_was(self):
        self.db.execute("BEGIN IMMEDIATE")
        self.assertEqual(self.db.execute(CLAIM, ("billing", "e")).rowcount, 1)
        self.db.execute("ROLLBACK")
        self.assertEqual(self.db.execute(CLAIM, ("billing", "e")).rowcount, 1)

    def test_ids_that_would_fold_messages_together_are_refused_under_every_clause(self):
        refused = [("g", None), ("g", ""), ("g", b"x"), ("g", "x" * 256), ("g", "a\0b"),
                   (None, "x"), ("", "x"), (b"g", "x"), ("g" * 256, "x")]
        for recursive in ("ON", "OFF"):
            self.db.execute(f"PRAGMA recursive_triggers={recursive}")
            for clause in CLAUSES:
                for upsert in UPSERTS:
                    if upsert and clause != "INSERT":
                        continue
                    for values in refused:
                        self.db.execute("BEGIN IMMEDIATE")
                        self.db.execute("INSERT INTO business VALUES (1)")
                        with self.assertRaisesRegex(sqlite3.IntegrityError, "txbox: "):
                            self.db.execute(f"{INTO.format(clause)}{upsert}", values)
                        self.assertTrue(self.db.in_transaction)
                        self.assertEqual(self.count("business"), 1)
                        self.assertEqual(self.db.execute(CLAIM, ("g", "good")).rowcount, 1)
                        self.db.execute("ROLLBACK")
        self.assertEqual(self.count("inbox"), 0)

    def test_a_number_is_its_text(self):
        self.assertEqual(self.db.execute(CLAIM, ("g", 17)).rowcount, 1)
        self.assertEqual(self.db.execute(CLAIM, ("g", "17")).rowcount, 0)

    def test_a_plain_insert_of_a_duplicate_is_an_error_not_silence(self):
        self.db.execute(CLAIM, ("g", "e"))
        with self.assertRaises(sqlite3.IntegrityError):
            self.db.execute("INSERT INTO inbox(consumer_group, event_id) VALUES ('g', 'e')")

    def test_times_are_milliseconds(self):
        for value in (None, 1_790_000_000, "2026-01-01", 1_790_000_000_000_000):
            with self.assertRaisesRegex(sqlite3.IntegrityError, "txbox: processed_at"):
                self.db.execute("INSERT OR IGNORE INTO inbox(consumer_group, event_id, processed_at)"
                                " VALUES ('g', 'e', ?)", (value,))

    def test_every_column_is_judged_alike_when_it_is_inserted_and_when_it_is_changed(self):
        good = {"consumer_group": ["g", "g" * 255, "ü" * 127, 17, 1.5],
                "event_id": ["e", "x" * 255, "ü" * 127, 17, 1.5],
                "epoch": [0, 1, "2", 3.0, 2 ** 63 - 1], "parked": [0, 1, "1", 1.0],
                "processed_at": [100_000_000_000, "1790000000000", 1_790_000_000_000.0, 99_999_999_999_999]}
        bad = {"consumer_group": [None, "", b"", b"g", "g" * 256, "ü" * 128],
               "event_id": [None, "", b"", b"x", "x" * 256],
               "epoch": [None, -1, 1.5, 1e300, float("inf"), "x", b"1"], "parked": [None, -1, 2, 0.5, "x", b"1"],
               "processed_at": [None, 99_999_999_999, 10 ** 14, 1_790_000_000_000.5, "soon", b"1790000000000"]}
        row = {"consumer_group": "a", "event_id": "b", "epoch": 0, "parked": 0, "processed_at": 1_790_000_000_000}
        insert = f"INSERT OR IGNORE INTO inbox({', '.join(row)}) VALUES (:{', :'.join(row)})"
        self.db.execute("INSERT INTO inbox(consumer_group, event_id) VALUES ('old', 'old')")
        for column in row:
            change = f"UPDATE inbox SET {column} = ? WHERE consumer_group = 'old' AND event_id = 'old'"
            for value in good[column]:
                self.db.execute("BEGIN")
                self.assertEqual(self.db.execute(insert, row | {column: value}).rowcount, 1, (column, value))
                self.assertEqual(self.db.execute(change, (value,)).rowcount, 1, (column, value))
                self.db.execute("ROLLBACK")
            for value in bad[column]:
                with self.assertRaisesRegex(sqlite3.IntegrityError, f"txbox: {column} ", msg=(column, value)):
                    self.db.execute(insert, row | {column: value})
                with self.assertRaises(sqlite3.IntegrityError, msg=(column, value)):
                    self.db.execute(change, (value,))


if __name__ == "__main__":
    unittest.main()
