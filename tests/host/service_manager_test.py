"""A relay whose service manager listens: the order of what it is told, for one that serves and for a standby."""

import shutil
import signal
import time
import unittest

from support import relay_process
from support.harness import Run
from support.notify_socket import NotifySocket

SECONDS = 60
DOWN = "127.0.0.1:1"  # no broker is needed: the relay waits for one


def has(key, value=None):
    return lambda message: key in message and (value is None or message[key] == value)


class ServiceManagerTest(unittest.TestCase):
    def setUp(self):
        self.run_ = Run("service-manager")
        self.addCleanup(shutil.rmtree, self.run_.folder, ignore_errors=True)
        self.addCleanup(self.run_.stop_all)
        self.db = self.run_.path("shop.db")
        relay_process.init(self.run_, self.db)

    def start(self, notify, *more, db=None, watchdog_seconds=None):
        return relay_process.Relay(self.run_, db or self.db, DOWN, *more, **notify.environment(watchdog_seconds))

    def test_ready_then_reloading_then_stopping_in_this_order(self):
        notify = NotifySocket(self.run_)
        relay = self.start(notify)
        first = notify.receive_until(has("READY"), SECONDS)
        self.assertEqual(first[-1]["STATUS"], "serving 1 file")
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        relay.process.send_signal(signal.SIGHUP)
        told = notify.receive_until(has("READY"), SECONDS)
        reloading = [message for message in told if "RELOADING" in message]
        self.assertEqual(len(reloading), 1, told)
        self.assertEqual(told.index(reloading[0]), len(told) - 2, "READY=1 follows RELOADING=1")
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self.assertTrue(before <= int(reloading[0]["MONOTONIC_USEC"]) <= now, told)
        relay.process.send_signal(signal.SIGTERM)
        last = notify.receive_until(has("STOPPING", "1"), SECONDS)[-1]
        self.assertTrue(last["STATUS"].startswith("stopping"))
        self.assertEqual(relay.wait(SECONDS), 0)
        self.assertFalse(any("WATCHDOG" in message for message in first + told), "no watchdog was asked for")

    def test_a_wrong_configuration_ends_the_reload_as_well(self):
        config = self.run_.path("relay.toml")
        config.write_text("")
        notify = NotifySocket(self.run_)
        relay = self.start(notify, "--config", config)
        notify.receive_until(has("READY"), SECONDS)
        config.write_text("nonsense = 1")
        relay.process.send_signal(signal.SIGHUP)
        told = notify.receive_until(has("READY"), SECONDS)
        self.assertTrue(any("RELOADING" in message for message in told))
        self.assertIn("the configuration stays as it was", relay.text())

    def test_a_standby_is_ready_and_says_what_it_waits_for(self):
        holder = NotifySocket(self.run_, "holder")
        first = self.start(holder)
        holder.receive_until(has("READY"), SECONDS)
        notify = NotifySocket(self.run_, "standby")
        second = self.start(notify, "--standby")
        ready = notify.receive_until(has("READY"), SECONDS)[-1]
        self.assertTrue(ready["STATUS"].startswith("waiting for 1 file"), ready)
        self.assertIn("another relay still holds the file", ready["STATUS"])
        first.kill()
        notify.receive_until(has("STATUS", "serving 1 file"), SECONDS)
        self.assertTrue(second.alive())

    def test_a_relay_that_cannot_serve_is_never_ready(self):
        notify = NotifySocket(self.run_)
        relay = self.start(notify, db=self.run_.path("nothing.db"))
        self.assertNotEqual(relay.wait(SECONDS), 0)
        told = []
        while (message := notify.receive(0)) is not None:
            told.append(message)
        self.assertFalse(any("READY" in message for message in told), told)

    def test_a_path_with_a_line_break_adds_no_assignment(self):
        db = self.run_.path("a\nREADY=1\nSTOPPING=1\nb.db")
        relay_process.init(self.run_, db)
        holder = self.start(NotifySocket(self.run_, "holder"), db=db)
        notify = NotifySocket(self.run_)
        self.start(notify, "--standby", db=db)
        ready = notify.receive_until(has("READY"), SECONDS)[-1]
        self.assertNotIn("STOPPING", ready)
        self.assertTrue(holder.alive())

    def test_the_watchdog_hears_of_an_idle_relay_in_time(self):
        notify = NotifySocket(self.run_)
        self.start(notify, watchdog_seconds=4)
        times = []
        while len(times) < 4:
            notify.receive_until(has("WATCHDOG", "1"), SECONDS)
            times.append(time.monotonic())
        self.assertLess(max(later - earlier for earlier, later in zip(times, times[1:])), 4, times)


if __name__ == "__main__":
    unittest.main()
