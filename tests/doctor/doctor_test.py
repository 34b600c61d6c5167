"""`doctor` as a whole program: what it finds, its exit code, and that the file stays as it was, byte for byte."""

import json
import os
import pathlib
import shutil
import socket
import unittest

from support import outbox_file, relay_process
from support.harness import Run


def unused_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class DoctorTest(unittest.TestCase):
    def setUp(self):
        self.run_ = Run("doctor")
        self.addCleanup(shutil.rmtree, self.run_.folder, ignore_errors=True)
        self.addCleanup(self.run_.stop_all)
        self.db = self.run_.path("shop.db")

    def init(self):
        relay_process.init(self.run_, self.db)

    def doctor(self, *arguments):
        done = relay_process.command(self.run_, "doctor", "--db", self.db, "--json", *arguments)
        self.assertEqual(done.stderr, "")
        told = json.loads(done.stdout)
        self.assertEqual(told["exit_code"], done.returncode)
        return done.returncode, {check["name"]: check for check in told["checks"]}

    def test_a_sound_file_passes_and_stays_as_it_was(self):
        self.init()
        connection = outbox_file.connect(self.db)
        connection.execute("INSERT INTO outbox(topic, key, payload) VALUES ('orders', 'secret-key', 'secret-payload')")
        wal = self.run_.path("shop.db-wal")
        before = self.db.read_bytes(), wal.read_bytes()
        code, checks = self.doctor()
        self.assertEqual(code, 0, checks)
        self.assertEqual((self.db.read_bytes(), wal.read_bytes()), before)
        for name in ("SQLite version", "librdkafka version", "journal mode", "schema", "access", "file system",
                     "owner and mode", "free disk", "WAL size", "synchronous", "oldest reader", "broker", "clock"):
            self.assertIn(name, checks)
        for name in ("journal mode", "schema", "access", "WAL size", "oldest reader"):
            self.assertEqual(checks[name]["result"], "ok", checks[name])
        for name in ("synchronous", "broker", "clock"):
            self.assertEqual(checks[name]["result"], "not_checked", checks[name])
        connection.close()

    def test_a_reader_that_pins_the_wal_is_named_by_doctor_and_status(self):
        self.init()
        reader, writer = outbox_file.connect(self.db), outbox_file.connect(self.db)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM outbox").fetchone()
        self.assertEqual(relay_process.status(self.run_, self.db)["wal_readers"], [], "nothing is pinned yet")
        for _ in range(30):
            writer.execute("INSERT INTO outbox(topic, payload) VALUES ('orders', zeroblob(100000))")
        code, checks = self.doctor()
        who = f"{pathlib.Path('/proc/self/comm').read_text().strip()} (pid {os.getpid()}) keeps a transaction open"
        self.assertEqual((code, checks["oldest reader"]["result"]), (0, "warning"))
        self.assertIn(who, checks["oldest reader"]["text"])
        status = relay_process.status(self.run_, self.db)
        (pinned,) = status["wal_readers"]
        self.assertEqual(pinned["pid"], os.getpid())
        # A payload of 100,000 bytes takes 25 pages, and each commit a few more.
        self.assertTrue(30 * 25 * 4096 < pinned["pinned_bytes"] < status["wal_bytes"], status)
        self.assertIn(who, relay_process.succeed(self.run_, "status", "--db", self.db))
        reader.execute("COMMIT")
        self.assertEqual(self.doctor()[1]["oldest reader"]["result"], "ok")
        self.assertEqual(relay_process.status(self.run_, self.db)["wal_readers"], [])
        reader.close()
        writer.close()

    def test_the_table_for_people_has_no_colours_in_a_pipe(self):
        self.init()
        done = relay_process.command(self.run_, "doctor", "--db", self.db)
        self.assertEqual(done.returncode, 0)
        self.assertIn("journal mode", done.stdout)
        self.assertNotIn("\x1b", done.stdout)

    def test_each_doubt_about_the_file_has_its_exit_code(self):
        code, checks = self.doctor()
        self.assertEqual((code, checks["access"]["result"]), (20, "failure"))
        self.db.write_bytes(b"no database at all, but long enough to have a header " * 20)
        before = self.db.read_bytes()
        self.assertEqual(self.doctor()[0], 21)
        self.assertEqual(self.db.read_bytes(), before)

    def test_a_pattern_is_each_of_its_files(self):
        self.init()
        relay_process.init(self.run_, self.run_.path("other.db"))
        done = relay_process.command(self.run_, "doctor", "--db", self.run_.path("*.db"), "--json")
        self.assertEqual(done.returncode, 0, done.stdout)
        subjects = {check["subject"] for check in json.loads(done.stdout)["checks"]}
        self.assertEqual(subjects, {None, str(self.db), str(self.run_.path("other.db"))})
        done = relay_process.command(self.run_, "doctor", "--db", self.run_.path("no*.db"), "--json")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("no file fits the pattern", done.stdout)

    def test_a_file_without_wal_or_tables_is_told_of_init(self):
        connection = outbox_file.connect(self.db)
        connection.execute("CREATE TABLE mine(id INTEGER)")
        code, checks = self.doctor()
        self.assertEqual((code, checks["journal mode"]["result"]), (78, "failure"))
        self.assertIn("outbox-relay init", checks["journal mode"]["remedy"])
        connection.execute("PRAGMA journal_mode=WAL")
        code, checks = self.doctor()
        self.assertEqual((code, checks["schema"]["result"]), (78, "failure"))
        connection.close()

    def test_a_newer_schema_is_told(self):
        self.init()
        connection = outbox_file.connect(self.db)
        connection.execute("UPDATE txbox_meta SET value = 999 WHERE name = 'schema_version'")
        self.assertEqual(self.doctor()[0], 23)
        connection.close()

    def test_a_broker_that_is_down_is_75(self):
        self.init()
        code, checks = self.doctor("--brokers", f"127.0.0.1:{unused_port()}")
        self.assertEqual((code, checks["broker"]["result"]), (75, "failure"))
        self.assertIn("cannot be reached", checks["broker"]["text"])

    def test_a_broken_promise_in_the_settings_is_78(self):
        self.init()
        done = relay_process.command(self.run_, "doctor", "--db", self.db, "--brokers", "b:1", "-X", "acks=1")
        self.assertEqual(done.returncode, 78)


if __name__ == "__main__":
    unittest.main()
