import unittest

from shop import BIN, ShopTest, run

WRITER = BIN / "sqlitecpp_writer"


class SqlitecppWriter(ShopTest):
    def test_each_order_commits_with_its_event(self):
        self.assertEqual(run(WRITER, self.db, 120).stdout, "120 orders placed\n")
        self.assert_orders_and_events_agree(120)

    def test_it_goes_on_in_a_file_of_order_service(self):
        run(BIN / "order_service", "--db", self.db, "--orders", 20)
        run(WRITER, self.db, 20)
        self.assert_orders_and_events_agree(40)

    def test_a_wrong_command_line_is_2(self):
        run(WRITER, expect=2)


if __name__ == "__main__":
    unittest.main()
