"""`doctor` about topics of a real Kafka: those that rows name, and those that --topic names."""

import json
import shutil
import unittest

from support import outbox_file, relay_process
from support.harness import Run
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic

BOOTSTRAP = shared_bootstrap()


class TopicsTest(unittest.TestCase):
    def setUp(self):
        self.run_ = Run("doctor-topics")
        self.addCleanup(shutil.rmtree, self.run_.folder, ignore_errors=True)
        self.addCleanup(self.run_.stop_all)
        self.db = self.run_.path("shop.db")
        relay_process.init(self.run_, self.db)
        self.small, self.missing = f"small-{self.run_.seed}", f"missing-{self.run_.seed}"
        create_topic(BOOTSTRAP, self.small, 3, **{"max.message.bytes": "20000", "retention.ms": "3600000"})

    def test_topics_of_rows_and_of_the_command_line(self):
        connection = outbox_file.connect(self.db)
        connection.execute("INSERT INTO outbox(topic, payload) VALUES (?, 'p')", (self.small,))
        connection.close()
        done = relay_process.command(self.run_, "doctor", "--db", self.db, "--brokers", BOOTSTRAP, "--json",
                                     "--topic", self.missing)
        told = json.loads(done.stdout)
        self.assertEqual((done.returncode, told["exit_code"], done.stderr), (3, 3, ""))
        checks = {(check["subject"], check["name"]): check for check in told["checks"]}
        small = {name: check for (subject, name), check in checks.items() if subject == f"topic {self.small}"}
        self.assertEqual((small["exists"]["result"], small["exists"]["text"]), ("ok", "3 partitions"))
        self.assertEqual(small["max.message.bytes"]["result"], "failure")
        self.assertIn("20000", small["max.message.bytes"]["text"])
        self.assertEqual(small["min.insync.replicas"]["result"], "warning")
        self.assertEqual((small["retention"]["result"], small["retention"]["text"][:7]), ("warning", "1 hours"))
        absent = checks[(f"topic {self.missing}", "exists")]
        self.assertEqual(absent["result"], "failure")
        self.assertIn(f"--create --topic {self.missing}", absent["remedy"])
        self.assertEqual(checks[(None, "broker")]["result"], "ok")
        self.assertNotIn((f"topic {self.missing}", "retention"), checks)


if __name__ == "__main__":
    unittest.main()
