"""The sample end_to_end. Without arguments: that it finds what is wrong; --kills N: a run on a real Kafka."""
import argparse
import os
import re
import stat
import sys
import unittest

from shop import BIN, SAMPLES, ShopTest, run
from support.kafka import shared_bootstrap

sys.path.insert(0, str(SAMPLES / "end_to_end"))
import end_to_end  # noqa: E402

SHOP = {"order-1": ("alice", 100), "order-2": ("bob", 50), "order-3": ("alice", 7)}
CREDITED = {"alice": end_to_end.Total(2, 107), "bob": end_to_end.Total(1, 50)}


def event(order_id, account=None, amount_cents=None):
    shop_account, shop_cents = SHOP.get(order_id, ("mallory", 1))
    return {"order_id": order_id, "account": account or shop_account, "amount_cents": amount_cents or shop_cents}


EVENTS = [event(order) for order in SHOP]


class TheAuditor(unittest.TestCase):
    def found(self, credited=CREDITED, ordered=EVENTS, invoiced=EVENTS):
        return list(end_to_end.differences(SHOP, credited, ordered, invoiced))

    def test_books_that_balance(self):
        self.assertEqual(self.found(), [])

    def test_a_cent_too_much_and_an_order_too_many(self):
        self.assertRegex("\n".join(self.found({**CREDITED, "bob": end_to_end.Total(1, 51)})), "^bob: .* 51 credited$")
        self.assertRegex("\n".join(self.found({**CREDITED, "bob": end_to_end.Total(2, 50)})), "^bob: .*\\b2 over 50")

    def test_an_account_that_is_missing_or_invented(self):
        self.assertRegex("\n".join(self.found({"alice": CREDITED["alice"]})), "^bob: .* 0 over 0 credited$")
        self.assertRegex("\n".join(self.found({**CREDITED, "eve": end_to_end.Total(0, 1)})), "^eve: 0 orders")

    def test_events_that_are_lost_repeated_invented_or_altered(self):
        for name, what in (("ordered", "ordered"), ("invoiced", "invoiced")):
            for events, sentence in ((EVENTS[:2], f"order-3 was never {what}"),
                                     (EVENTS + [event("order-2")], f"order-2 was {what} 2 times"),
                                     (EVENTS + [event("order-9")], f"order-9 was {what}, and the shop has no such"),
                                     (EVENTS[1:] + [event("order-1", "bob")], f"order-1 was {what} with another"),
                                     (EVENTS[1:] + [event("order-1", None, 1)], f"order-1 was {what} with another")):
                found = self.found(**{name: events})
                self.assertEqual(len(found), 1, found)
                self.assertIn(sentence, found[0])


class OnARealKafka(ShopTest):
    kills = 0

    def play(self, *arguments, expect=0):
        # The brokers of the tests allow such a short session. What a failed run keeps goes with this test's folder.
        return run("env", f"TMPDIR={self.folder}", BIN / "end_to_end", "--brokers", shared_bootstrap(),
                   "--session-timeout-ms", 2000, *arguments, expect=expect, seconds=120 + 20 * self.kills)

    def test_the_books_balance_after_every_program_was_killed(self):
        done = self.play("--kills", self.kills)
        print(done.stdout, flush=True)
        self.assertIn(f"balance to the cent: {4 * self.kills} kills", done.stdout)
        self.assertEqual(len(re.findall(r" kill \d+ of ", done.stdout)), 4 * self.kills)

    def test_a_cent_that_somebody_adds_is_found(self):
        programs = os.path.join(self.folder, "programs")
        os.mkdir(programs)
        for name in ("order_service", "outbox-relay"):
            os.symlink(BIN / name, os.path.join(programs, name))
        thief = os.path.join(programs, "billing_service")
        with open(thief, "w", encoding="ascii") as script:
            script.write(f"""#!/bin/sh
case "$*" in *--drain*) /usr/bin/python3 -c "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], timeout=30)
db.execute('UPDATE accounts SET balance_cents = balance_cents + (rowid = 1)'); db.commit()" "$2" ;; esac
exec {BIN}/billing_service "$@"
""")
        os.chmod(thief, os.stat(thief).st_mode | stat.S_IXUSR)
        done = self.play("--kills", 0, "--bin", programs, expect=1)
        self.assertRegex(done.stderr, r"do not balance:\n  account-\d+: ")
        self.assertNotIn("balance to the cent", done.stdout)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--kills", type=int)
    OnARealKafka.kills = arguments.parse_known_args()[0].kills
    chosen = TheAuditor if OnARealKafka.kills is None else OnARealKafka
    if OnARealKafka.kills is not None:
        shared_bootstrap()  # Without a broker: skipped.
    unittest.main(argv=sys.argv[:1], defaultTest=chosen.__name__)
