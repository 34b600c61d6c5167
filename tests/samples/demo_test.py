import glob
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


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="txbox-demo-test-")
        self.addCleanup(folder.cleanup)
        self.tmp = folder.name

    def environment(self, **more):
        return dict(os.environ, TMPDIR=self.tmp, **more)

    def demo(self, *arguments, expect=0, **environment):
        done = subprocess.run([RELAY, "demo", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.environment(**environment), timeout=60, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def balance(self, *arguments, expect=0, **environment):
        return json.loads(self.demo(*arguments, "--json", expect=expect, **environment).stdout)

    def assert_nothing_left(self):
        self.assertEqual(glob.glob(os.path.join(self.tmp, "*")), [])

    def test_the_balance_holds_in_under_20_seconds(self):
        begin = time.monotonic()
        done = self.demo()
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn("The balance holds", done.stdout)
        self.assertEqual(done.stderr, "")
        self.assertNotIn("\033", done.stdout)
        self.assertGreaterEqual(len(re.findall("killed with SIGKILL", done.stdout)), 3)
        self.assert_nothing_left()

    def test_json_is_one_object_on_stdout_and_adds_up(self):
        balance = self.balance("--orders", "400", "--seed", "11")
        self.assertTrue(balance["holds"])
        self.assertEqual(balance["seed"], 11)
        self.assertEqual(balance["committed"], 400)
        self.assertEqual(balance["published"], 400)
        self.assertEqual(balance["receipts"], 400)
        self.assertEqual(balance["records"], 400 + balance["duplicates"])
        self.assertGreaterEqual(balance["kills_after_publishing"], 3)
        self.assertGreater(balance["rolled_back"], 0)
        for fault in ("lost", "invented", "altered", "out_of_order", "relay_failures"):
            self.assertEqual(balance[fault], 0)

    def test_the_same_seed_rolls_the_same_orders_back(self):
        first, second = (self.balance("--orders", "100", "--seed", "3") for _ in range(2))
        for name in ("committed", "rolled_back", "kills", "accounts"):
            self.assertEqual(first[name], second[name])

    def test_the_users_own_relay_settings_stay_out_of_it(self):
        self.assertTrue(self.balance("--orders", "50", OUTBOX_RELAY_BROKERS="127.0.0.1:1",
                                     OUTBOX_RELAY_KAFKA_ACKS="1")["holds"])

    def test_colours_on_a_terminal_and_none_with_no_color(self):
        for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
            output = self.on_terminal("--orders", "50", **environment)
            self.assertIn("The balance holds", output)
            self.assertEqual("\033[1;32m" in output, coloured)
            self.assertIn(" in Kafka\r", output)  # The moving line.

    def on_terminal(self, *arguments, **environment):
        kept = {name: value for name, value in self.environment(TERM="xterm", **environment).items()
                if name != "NO_COLOR" or name in environment}
        parent, child = pty.openpty()
        demo = subprocess.Popen([RELAY, "demo", *arguments], stdout=child, env=kept)
        os.close(child)
        output = b""
        try:
            while block := os.read(parent, 65536):
                output += block
        except OSError:
            pass  # Linux's way to say that the other end was closed.
        os.close(parent)
        self.assertEqual(demo.wait(60), 0)
        return output.decode()

    def test_an_interrupt_ends_it_with_nothing_left(self):
        demo = subprocess.Popen([RELAY, "demo"], stdout=subprocess.PIPE, text=True, env=self.environment())
        with demo.stdout as story:
            line = next(line for line in story if "starts as process" in line)
            relay = int(re.search(r"starts as process (\d+)", line)[1])
            demo.send_signal(signal.SIGINT)
            story.read()
        self.assertEqual(demo.wait(30), -signal.SIGINT)
        with self.assertRaises(ProcessLookupError):
            os.kill(relay, 0)
        self.assert_nothing_left()

    def test_a_wrong_command_line_is_2(self):
        self.demo("--orders", "none", expect=2)
        self.demo("--orders", "0", expect=2)


class DemoWithFault(Demo):
    """The same demo must fail when its oracle sees a fault: a test that can't fail proves nothing."""

    def test_a_lost_event_is_seen(self):
        self.assertEqual(self.faulty("lose")["lost"], 1)

    def test_an_invented_event_is_seen(self):
        self.assertEqual(self.faulty("invent")["invented"], 1)

    def test_an_altered_event_is_seen(self):
        self.assertEqual(self.faulty("alter")["altered"], 1)

    def test_events_out_of_order_are_seen(self):
        self.assertGreater(self.faulty("reorder")["out_of_order"], 0)

    def faulty(self, fault):
        balance = self.balance("--orders", "60", "--seed", "2", expect=1, TXBOX_DEMO_FAULT=fault)
        self.assertFalse(balance["holds"])
        self.assert_nothing_left()
        return balance


def suite():
    loader = unittest.TestLoader()
    cases = loader.loadTestsFromTestCase(Demo)
    if FAULTS:
        cases.addTests(DemoWithFault(name) for name in DemoWithFault.__dict__ if name.startswith("test_"))
    return cases


if __name__ == "__main__":
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite()).wasSuccessful())
