import re
import signal
import sqlite3
import subprocess
import time
import unittest

from shop import BIN, ShopTest, run

SERVICE = BIN / "order_service"


class OrderService(ShopTest):
    def start(self, *arguments):
        child = subprocess.Popen([str(SERVICE), "--db", self.db, *arguments], stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def wait_for_orders(self, count):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                if self.query("SELECT count(*) FROM orders")[0][0] >= count:
                    return
            except sqlite3.OperationalError:
                pass  # The service has not made the table yet.
            time.sleep(0.01)  # tidy: waits for another process's commit, which SQLite announces to nobody
        self.fail(f"fewer than {count} orders within 30 s")

    def test_each_order_commits_with_its_event(self):
        done = run(SERVICE, "--db", self.db, "--orders", 200, "--accounts", 7, "--topic", "orders.eu")
        self.assertRegex(done.stdout, r"^200 orders placed")
        self.assert_orders_and_events_agree(200, "orders.eu")
        self.assertEqual(self.query("PRAGMA journal_mode"), [("wal",)])
        self.assertLessEqual(self.query("SELECT count(DISTINCT account) FROM orders")[0][0], 7)

    def test_a_second_run_goes_on_in_the_same_file(self):
        run(SERVICE, "--db", self.db, "--orders", 30, "--seed", 1)
        run(SERVICE, "--db", self.db, "--orders", 20, "--seed", 1)
        self.assert_orders_and_events_agree(50)

    def test_the_same_seed_places_the_same_orders(self):
        other = self.db + ".again"
        for db in (self.db, other):
            run(SERVICE, "--db", db, "--orders", 50, "--seed", 7)
        sql = "SELECT id, account, amount_cents FROM orders ORDER BY rowid"
        self.assertEqual(self.query(sql), self.query(sql, other))

    def test_four_services_share_a_file_that_none_of_them_found(self):
        services = [self.start("--orders", "100") for _ in range(4)]
        for service in services:
            self.assertEqual(service.wait(60), 0)
        self.assert_orders_and_events_agree(400)

    def test_sigterm_ends_it_between_two_orders(self):
        service = self.start("--rate", "200")
        self.wait_for_orders(20)
        service.send_signal(signal.SIGTERM)
        self.assertEqual(service.wait(10), 0)
        placed = int(re.match(r"(\d+) orders placed", service.stdout.read())[1])
        self.assertGreaterEqual(placed, 20)
        self.assert_orders_and_events_agree(placed)

    def test_sigkill_leaves_no_order_without_its_event(self):
        service = self.start("--orders", "1000000")
        self.wait_for_orders(100)
        service.kill()
        self.assertEqual(service.wait(10), -signal.SIGKILL)
        self.assert_orders_and_events_agree(self.query("SELECT count(*) FROM orders")[0][0])

    def test_the_rate_is_kept(self):
        begin = time.monotonic()
        run(SERVICE, "--db", self.db, "--orders", 51, "--rate", 100)
        self.assertGreaterEqual(time.monotonic() - begin, 0.5)

    def test_a_refused_event_takes_its_order_with_it(self):
        done = run(SERVICE, "--db", self.db, "--orders", 5, "--topic", "no spaces", expect=1)
        self.assertIn("topic", done.stderr)
        self.assert_orders_and_events_agree(0)

    def test_a_wrong_command_line_is_2_and_says_why(self):
        self.assertIn("--db", run(SERVICE, expect=2).stderr)
        self.assertIn("--orders", run(SERVICE, "--db", self.db, "--orders", "many", expect=2).stderr)
        self.assertIn("extra", run(SERVICE, "--db", self.db, "extra", expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
