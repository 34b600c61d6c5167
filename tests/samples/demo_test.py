import concurrent.futures
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from shop import BIN

RELAY = str(BIN / "outbox-relay")
FAULTS = "--faults" in sys.argv  # This build has the points at which a test may put a fault in.
AT_ONCE = 5

# name: (arguments, what is added to the environment). A demo spends most of its time waiting for a consumer group to
# notice a death, so they run side by side, and each test looks at the one that it is about.
DEMOS = {
    "newcomer": ([], {}),
    "json": (["--orders", "400", "--seed", "11", "--json"], {}),
    "seed": (["--orders", "100", "--seed", "3", "--json"], {}),
    "same seed": (["--orders", "100", "--seed", "3", "--json"],
                  {"OUTBOX_RELAY_BROKERS": "127.0.0.1:1", "OUTBOX_RELAY_KAFKA_ACKS": "1"}),
}
TERMINALS = {
    "terminal": (["--orders", "1"], {}),
    "terminal without colour": (["--orders", "3"], {"NO_COLOR": "1"}),
}
FAULTY = {fault: (["--orders", "60", "--seed", "2", "--json"], {"TXBOX_DEMO_FAULT": fault})
          for fault in ("lose", "invent", "alter", "reorder", "double", "skip", "short")}


class Done:
    """How a demo ended, and what it left in its folder for temporary files."""

    def __init__(self, code, stdout, stderr, seconds, left):
        self.code, self.stdout, self.stderr, self.seconds, self.left = code, stdout, stderr, seconds, left

    @property
    def balance(self):
        return json.loads(self.stdout)


def environment(folder, more):
    return dict({name: value for name, value in os.environ.items() if name != "NO_COLOR"}, TMPDIR=folder, TERM="xterm",
                **more)


def demo(arguments, more):
    with tempfile.TemporaryDirectory(prefix="txbox-demo-test-") as folder:
        begin = time.monotonic()
        done = subprocess.run([RELAY, "demo", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment(folder, more), timeout=90, check=False)
        return Done(done.returncode, done.stdout, done.stderr, time.monotonic() - begin, os.listdir(folder))


def demo_on_terminal(arguments, more):
    with tempfile.TemporaryDirectory(prefix="txbox-demo-test-") as folder:
        parent, child = pty.openpty()
        with subprocess.Popen([RELAY, "demo", *arguments], stdout=child, env=environment(folder, more)) as process:
            os.close(child)
            output = b""
            try:
                while block := os.read(parent, 65536):
                    output += block
            except OSError:
                pass  # Linux's way to say that the other end was closed.
            os.close(parent)
            code = process.wait(90)
        return Done(code, output.decode(), "", 0, os.listdir(folder))


class Playing:
    """A demo whose children have just started."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="txbox-demo-test-")
        self.folder = self.temporary.name
        self.process = subprocess.Popen([RELAY, "demo", *self.arguments], stdout=subprocess.PIPE, text=True,
                                        env=environment(self.folder, {}))
        self.children = {}
        while len(self.children) < 2 and (line := self.process.stdout.readline()):
            if started := re.search(r"(relay|billing) +starts as process (\d+)", line):
                self.children[started[1]] = int(started[2])
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.stdout.close()
        self.process.wait()
        self.temporary.cleanup()

    def rest(self):
        return self.process.stdout.read()


class Demo(unittest.TestCase):
    running = {}  # name: the future of its Done

    def result(self, name, expect=0):
        done = self.running[name].result()
        self.assertEqual(done.code, expect, done.stdout + done.stderr)
        self.assertEqual(done.left, [])
        return done

    def test_the_balance_holds_in_under_20_seconds(self):
        done = self.result("newcomer")
        self.assertLess(done.seconds, 20)
        self.assertIn("The balance holds", done.stdout)
        self.assertEqual(done.stderr, "")
        self.assertNotIn("\033", done.stdout)
        for actor, kills in (("relay", 3), ("billing", 2)):
            self.assertGreaterEqual(len(re.findall(rf"{actor} +killed with SIGKILL", done.stdout)), kills, done.stdout)

    def test_json_is_one_object_on_stdout_and_adds_up(self):
        balance = self.result("json").balance
        self.assertTrue(balance["holds"])
        self.assertEqual(balance["seed"], 11)
        for name in ("committed", "published", "receipts", "applied"):
            self.assertEqual(balance[name], 400)
        self.assertEqual(balance["records"], 400 + balance["duplicates"])
        self.assertEqual(balance["delivered"], balance["records"])
        self.assertEqual(balance["skipped"], balance["duplicates"])
        self.assertEqual(balance["shop_cents"], balance["billing_cents"])
        self.assertGreater(balance["shop_cents"], 0)
        self.assertGreaterEqual(balance["kills_after_publishing"], 3)
        self.assertEqual(balance["consumer_kills_after_applying"], 1)
        self.assertGreater(balance["rolled_back"], 0)
        self.assertGreater(balance["copies"], 100)
        for fault in ("lost", "invented", "altered", "out_of_order", "relay_failures", "never_applied", "applied_twice",
                      "never_ordered", "misbilled", "accounts_off", "unread", "consumer_failures"):
            self.assertEqual(balance[fault], 0)

    def test_the_same_seed_rolls_the_same_orders_back_and_copies_the_same_events(self):
        first, second = (self.result(name).balance for name in ("seed", "same seed"))
        for name in ("committed", "rolled_back", "kills", "consumer_kills", "accounts", "copies", "shop_cents"):
            self.assertEqual(first[name], second[name])

    def test_the_users_own_relay_settings_stay_out_of_it(self):
        self.assertTrue(self.result("same seed").balance["holds"])

    def test_few_orders_are_enough_and_a_terminal_gets_colours_unless_no_color_is_set(self):
        for name, coloured in (("terminal", True), ("terminal without colour", False)):
            output = self.result(name).stdout
            self.assertIn("The balance holds", output)
            self.assertEqual("\033[1;32m" in output, coloured)
            self.assertRegex(output, r"billed\r")  # The moving line.

    def test_an_interrupt_ends_it_with_nothing_left(self):
        with Playing() as playing:
            playing.process.send_signal(signal.SIGINT)
            playing.rest()
            self.assertEqual(playing.process.wait(30), -signal.SIGINT)
            for pid in playing.children.values():
                with self.assertRaises(ProcessLookupError):
                    os.kill(pid, 0)
            self.assertEqual(os.listdir(playing.folder), [])

    def test_a_consumer_that_somebody_else_kills_is_a_failure(self):
        with Playing("--orders", "30") as playing:
            os.kill(playing.children["billing"], signal.SIGKILL)
            story = playing.rest()
            self.assertEqual(playing.process.wait(60), 1, story)
            self.assertIn("ended by itself: exit code 137", story)
            self.assertRegex(story, "The balance does not hold: .*30 orders never applied.*1 failure of the billing")
            self.assertEqual(os.listdir(playing.folder), [])

    def test_a_wrong_command_line_is_2(self):
        for arguments in (["--orders", "none"], ["--orders", "0"], ["billing"]):
            self.assertEqual(demo(arguments, {}).code, 2)

    def test_the_help_is_for_people(self):
        self.assertNotIn("billing", demo(["--help"], {}).stdout)


class DemoWithFault(Demo):
    """The same demo must fail when its oracle sees a fault: a test that can't fail proves nothing."""

    def test_a_lost_event_is_seen(self):
        self.assertEqual(self.faulty("lose", "1 committed order missing in Kafka")["lost"], 1)

    def test_an_invented_event_is_seen(self):
        self.assertEqual(self.faulty("invent", "1 record in Kafka that nobody committed")["invented"], 1)

    def test_an_altered_event_is_seen(self):
        self.assertEqual(self.faulty("alter", "1 record in Kafka other than committed")["altered"], 1)

    def test_events_out_of_order_are_seen(self):
        self.assertGreater(self.faulty("reorder", "out of order")["out_of_order"], 0)

    def test_an_order_that_is_applied_twice_is_seen(self):
        self.assertGreater(self.faulty("double", "applied once more")["applied_twice"], 0)

    def test_an_order_that_is_never_applied_is_seen(self):
        self.assertGreater(self.faulty("skip", "never applied")["never_applied"], 0)

    def test_a_cent_that_is_missing_is_seen(self):
        balance = self.faulty("short", "0.0[1-3] short")
        self.assertGreater(balance["accounts_off"], 0)
        self.assertEqual(balance["applied_twice"] + balance["never_applied"], 0)

    def faulty(self, fault, words):
        done = self.result(fault, expect=1)
        self.assertFalse(done.balance["holds"])
        self.assertRegex(done.stderr, f"The balance does not hold: .*{words}")
        return done.balance


def suite():
    loader = unittest.TestLoader()
    cases = loader.loadTestsFromTestCase(Demo)
    if FAULTS:
        cases.addTests(DemoWithFault(name) for name in DemoWithFault.__dict__ if name.startswith("test_"))
    return cases


def main():
    demos = DEMOS | (FAULTY if FAULTS else {})
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        Demo.running |= {name: pool.submit(demo, *how) for name, how in demos.items()}
        Demo.running |= {name: pool.submit(demo_on_terminal, *how) for name, how in TERMINALS.items()}
        return unittest.TextTestRunner(verbosity=2).run(suite()).wasSuccessful()


if __name__ == "__main__":
    sys.exit(not main())
