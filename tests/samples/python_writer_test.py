import unittest

from shop import BIN, SAMPLES, ShopTest, run

SERVICE = BIN / "order_service"
WRITER = SAMPLES / "python_writer" / "writer.py"


class PythonWriter(ShopTest):
    def test_plain_sql_commits_each_order_with_its_event(self):
        run(SERVICE, "--db", self.db, "--orders", 0)
        self.assertEqual(run(WRITER, "--db", self.db, "--orders", 150, "--seed", 3).stdout, "150 orders placed\n")
        self.assert_orders_and_events_agree(150)

    def test_it_shares_the_file_with_order_service(self):
        run(SERVICE, "--db", self.db, "--orders", 20)
        run(WRITER, "--db", self.db, "--orders", 20)
        run(SERVICE, "--db", self.db, "--orders", 20)
        self.assert_orders_and_events_agree(60)

    def test_a_file_made_by_outbox_relay_init_will_do(self):
        run(BIN / "outbox-relay", "init", "--db", self.db)
        run(WRITER, "--db", self.db, "--orders", 10)
        self.assert_orders_and_events_agree(10)

    def test_a_refused_event_takes_its_order_with_it(self):
        run(SERVICE, "--db", self.db, "--orders", 0)
        done = run(WRITER, "--db", self.db, "--orders", 5, "--topic", "no spaces", expect=1)
        self.assertIn("txbox: ", done.stderr)
        self.assert_orders_and_events_agree(0)

    def test_a_file_without_an_outbox_names_the_way_out(self):
        open(self.db, "wb").close()
        self.assertIn("outbox-relay init", run(WRITER, "--db", self.db, expect=1).stderr)


if __name__ == "__main__":
    unittest.main()
