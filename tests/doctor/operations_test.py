"""docs/operations.md has a line for each exit code and each state that the code knows."""

import re
import unittest

from support.harness import ROOT


class OperationsTest(unittest.TestCase):
    def setUp(self):
        self.book = (ROOT / "docs" / "operations.md").read_text()

    def test_each_exit_code_has_a_line(self):
        header = (ROOT / "relay" / "engine" / "exit_code.hpp").read_text()
        codes = re.findall(r"^  \w+ = (\d+),$", header, re.MULTILINE)
        self.assertGreater(len(codes), 10)
        for code in codes:
            self.assertRegex(self.book, rf"(?m)^\| {code} \| ")

    def test_each_state_has_a_line(self):
        header = (ROOT / "libstore" / "include" / "txbox" / "store" / "outbox_queries.hpp").read_text()
        counts = re.search(r"struct OutboxCounts \{(.*?)\n\};", header, re.DOTALL).group(1)
        states = re.findall(r"std::int64_t (\w+) = 0;", counts)
        states = [state for state in states if state not in ("blocked_keys", "newest_id", "settled_through")]
        self.assertEqual(len(states), 7)
        for state in states:
            self.assertRegex(self.book, rf"(?m)^\| `{state}` \| ")


if __name__ == "__main__":
    unittest.main()
