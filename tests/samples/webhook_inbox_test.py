import json
import random
import signal
import subprocess
import unittest

from shop import BIN, ShopTest

PROGRAM = BIN / "webhook_inbox"
MOST_CENTS = 2**63 - 1


def payment(number, account="alice", amount_cents=1250):
    return json.dumps({"id": f"evt_{number}", "account": account, "amount_cents": amount_cents})


class WebhookInbox(ShopTest):
    def deliver(self, lines, expect=0):
        """Runs one worker over the lines; its answers."""
        done = subprocess.run([PROGRAM, "--db", self.db], input="".join(f"{line}\n" for line in lines),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        self.errors = done.stderr
        return done.stdout.splitlines()

    def start(self):
        child = subprocess.Popen([PROGRAM, "--db", self.db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdin.close)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def accounts(self):
        return self.query("SELECT account, balance_cents, payments FROM accounts ORDER BY account")

    def assert_booked_once(self, payments):
        booked = {}
        for line in payments:
            delivery = json.loads(line)
            balance, count = booked.get(delivery["account"], (0, 0))
            booked[delivery["account"]] = (balance + delivery["amount_cents"], count + 1)
        self.assertEqual(self.accounts(), sorted((account, *totals) for account, totals in booked.items()))

    def test_each_delivery_is_applied_once_and_a_repeat_succeeds(self):
        answers = self.deliver([payment(1), payment(2, "bob", 99), payment(1), payment(2, "bob", 99), payment(3)])
        self.assertEqual(answers, ["200 applied", "200 applied", "200 duplicate", "200 duplicate", "200 applied"])
        self.assertEqual(self.deliver([payment(3)]), ["200 duplicate"])
        self.assertEqual(self.accounts(), [("alice", 2500, 2), ("bob", 99, 1)])
        self.assertEqual(self.query("PRAGMA journal_mode"), [("wal",)])

    def test_a_malformed_delivery_is_refused_among_good_ones(self):
        bad = ["secret", "", "[]", "null", "7", '"secret"', '{"id":"secret"', "{}", "[" * 100_000,
               '{"account":"secret","amount_cents":1}', '{"id":"secret","amount_cents":1}',
               '{"id":"secret","account":"a"}',
               '{"id":7,"account":"secret","amount_cents":1}', '{"id":"secret","account":null,"amount_cents":1}',
               payment(9, ""), payment("x" * 252), payment("secret\0"), payment(9, "secret", "12")]
        bad += [payment(9, "secret", amount) for amount in (0, -1, 12.5, 1e3, 10**9 + 1, 2**63, 2**64 - 1, 2**70, True)]
        answers = self.deliver([line for pair in zip(map(payment, range(len(bad))), bad) for line in pair])
        self.assertEqual(answers[::2], ["200 applied"] * len(bad))
        for line, answer in zip(bad, answers[1::2]):
            self.assertRegex(answer, r"^400 .*[a-z]", line[:80])
            self.assertNotIn("secret", answer)
        self.assertEqual(self.accounts(), [("alice", 1250 * len(bad), len(bad))])
        self.assertEqual(self.query("SELECT count(*) FROM inbox"), [(len(bad),)])

    def test_a_worker_that_is_killed_at_random_applies_each_delivery_once(self):
        chance = random.Random(self.seed())
        payments = [payment(n, f"account-{n % 5}", chance.randrange(1, 10_000)) for n in range(400)]
        unanswered = list(payments)
        kills = repeats = 0
        while unanswered:
            worker = self.start()
            batch = unanswered[:chance.randrange(1, 60)]
            worker.stdin.write("".join(f"{line}\n" for line in batch))
            worker.stdin.flush()
            answers = [worker.stdout.readline() for _ in range(chance.randint(1, len(batch)))]
            worker.kill()
            self.assertEqual(worker.wait(10), -signal.SIGKILL)
            repeats += answers.count("200 duplicate\n")
            # The network may lose the last answer.
            unanswered = unanswered[len(answers) - chance.randrange(2):]
            kills += 1
        self.assertGreater(kills, 5)
        self.assertGreater(repeats, 0)
        self.assert_booked_once(payments)

    def test_four_workers_that_get_the_same_deliveries_apply_each_once(self):
        payments = [payment(n, f"account-{n % 3}", n + 1) for n in range(200)]
        workers = [self.start() for _ in range(4)]
        for worker in workers:
            worker.stdin.write("".join(f"{line}\n" for line in payments))
            worker.stdin.close()
        answers = [answer for worker in workers for answer in worker.stdout]
        self.assertEqual([worker.wait(60) for worker in workers], [0] * 4)
        self.assertEqual((answers.count("200 applied\n"), answers.count("200 duplicate\n")), (200, 600))
        self.assert_booked_once(payments)

    def test_a_failed_effect_takes_its_claim_with_it_and_is_not_answered(self):
        self.deliver([payment(1, amount_cents=1)])
        self.change("UPDATE accounts SET balance_cents = ?", MOST_CENTS)
        self.assertEqual(self.deliver([payment(2)], expect=1), [])
        self.assertIn("crediting", self.errors)
        self.change("UPDATE accounts SET balance_cents = ?", 0)
        self.assertEqual(self.deliver([payment(2)]), ["200 applied"])
        self.assertEqual(self.accounts(), [("alice", 1250, 2)])

    def test_sigterm_ends_a_waiting_worker(self):
        worker = self.start()
        worker.stdin.write(payment(1) + "\n")
        worker.stdin.flush()
        self.assertEqual(worker.stdout.readline(), "200 applied\n")
        worker.terminate()
        self.assertEqual(worker.wait(10), -signal.SIGTERM)
        self.assertEqual(self.query("PRAGMA integrity_check"), [("ok",)])

    def test_a_wrong_command_line_is_2_and_an_unusable_file_is_1(self):
        for arguments in ([], ["--db"], ["books.db"], ["--db", self.db, "extra"]):
            done = subprocess.run([PROGRAM, *arguments], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--db", done.stderr)
        self.db = "/dev/null/books.db"
        self.assertEqual(self.deliver([payment(1)], expect=1), [])


if __name__ == "__main__":
    unittest.main()
