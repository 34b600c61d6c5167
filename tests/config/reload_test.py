"""SIGHUP to a relay: what can change does, what cannot is named, and a wrong configuration changes nothing."""

import os
import shutil
import signal
import unittest

from support import relay_process
from support.harness import Run, binary, spawn, wait_until

SECONDS = 60
DOWN = "127.0.0.1:1"  # no broker is needed: the relay waits for one


class Relay(relay_process.Relay):
    def arguments(self, _db, _bootstrap, more):
        return ["run", *more]


class ReloadTest(unittest.TestCase):
    def setUp(self):
        self.run_ = Run("reload")
        self.addCleanup(shutil.rmtree, self.run_.folder, ignore_errors=True)
        self.addCleanup(self.run_.stop_all)
        self.db, self.path = self.run_.path("shop.db"), self.run_.path("relay.toml")
        relay_process.init(self.run_, self.db)

    def configure(self, text="", kafka=""):
        self.path.write_text(f'db = "{self.db}"\n{text}\n[kafka]\nbootstrap.servers = "{DOWN}"\n{kafka}\n')

    def start(self, *more):
        relay = Relay(self.run_, None, None, "--config", self.path, *more)
        self.await_text(relay, "outbox-relay ")
        return relay

    def await_text(self, relay, text, times=1):
        wait_until(lambda: relay.text().count(text) >= times, SECONDS, f"{times} x '{text}' in the log")

    def reload(self, relay):
        relay.process.send_signal(signal.SIGHUP)

    def stop(self, relay):
        self.assertTrue(relay.alive())
        self.assertEqual(relay.terminate()[0], 0)

    def test_the_level_of_the_log_changes_at_once(self):
        self.configure()
        relay = self.start()
        self.configure('[log]\nlevel = "error"')
        self.reload(relay)
        # The line that says so is below the new level, so a fault is what shows that it was read.
        self.configure("nonsense = 1")
        self.reload(relay)
        self.await_text(relay, "nonsense is no option")
        self.assertNotIn("reloaded", relay.text())
        self.configure('[log]\nlevel = "info"')
        self.reload(relay)
        self.await_text(relay, "reloaded")
        self.stop(relay)

    def test_a_wrong_configuration_is_one_error_line_and_changes_nothing(self):
        secret = self.run_.path("secret")
        secret.write_text("hunter2\n")
        secret.chmod(0o600)
        login = f'sasl.mechanism = "PLAIN"\nsasl.username = "shop"\nsasl.password_file = "{secret}"'
        self.configure(kafka=login)
        relay = self.start()
        for told, change in (
                (f"{self.path}:3: relay.standby", lambda: self.configure("[relay]\nstandby = 1")),
                ("kafka property acks", lambda: self.configure(kafka="acks = 1")),
                ("no database is named", lambda: self.path.write_text(f'[kafka]\nbootstrap.servers = "{DOWN}"\n')),
                ("ssl.ca.location", lambda: self.configure(
                    kafka='security.protocol = "ssl"\nssl.ca.location = "/nowhere/ca.pem"')),
                ("the file that it names cannot be read", lambda: (secret.unlink(), self.configure(kafka=login))),
                (f"{self.path}: cannot be read", self.path.unlink)):
            before = relay.text()
            change()
            self.reload(relay)
            self.await_text(relay, "the configuration stays as it was", before.count("stays as it was") + 1)
            more = relay.text()[len(before):].splitlines()
            errors = [line for line in more if " error " in line]
            self.assertEqual(len(errors), 1, more)
            self.assertIn(told, errors[0])
            self.assertNotIn("hunter2", errors[0])
        self.assertNotIn("reloaded", relay.text())
        self.stop(relay)

    def test_what_cannot_change_is_named_and_waits_for_a_restart(self):
        self.configure()
        relay = self.start()
        self.path.write_text(self.path.read_text().replace("shop.db", "other.db") + '[log]\nformat = "json"\n')
        self.reload(relay)
        self.await_text(relay, "reloaded")
        for name in ("db", "log.format"):
            self.assertEqual(relay.text().count(f"reload: {name} cannot change while running"), 1)
        # It is said until it is true.
        self.reload(relay)
        self.await_text(relay, "reload: db cannot change while running", 2)
        self.stop(relay)

    def test_a_flag_still_wins_after_a_reload(self):
        self.configure()
        relay = self.start("--log-level", "info")
        self.configure('[log]\nlevel = "error"')
        self.reload(relay)
        self.await_text(relay, "reloaded")
        self.stop(relay)

    def test_new_properties_are_taken_while_kafka_is_down(self):
        self.configure()
        relay = self.start()
        self.reload(relay)
        self.await_text(relay, "reloaded")
        self.assertNotIn("new properties", relay.text())
        self.configure(kafka="linger.ms = 5")
        self.reload(relay)
        self.await_text(relay, "reloaded: new properties for Kafka")
        self.stop(relay)

    def test_a_standby_reads_it_while_it_waits(self):
        self.configure()
        holder = self.start()
        holder_now = lambda: relay_process.status(self.run_, self.db)["relay_pid"]
        wait_until(lambda: holder_now() == holder.pid, SECONDS, "the file is held")
        self.configure("[relay]\nstandby = true")
        standby = self.start()
        self.await_text(standby, "standing by")
        self.configure("nonsense = 1")
        self.reload(standby)
        self.await_text(standby, "nonsense is no option")
        self.configure('[relay]\nstandby = true\n[log]\nlevel = "debug"')
        self.reload(standby)
        self.await_text(standby, "reloaded")
        self.assertEqual(holder_now(), holder.pid)
        self.stop(holder)
        wait_until(lambda: holder_now() == standby.pid, SECONDS, "the standby took over")
        self.stop(standby)

    def test_a_terminal_that_is_gone_ends_the_relay(self):
        self.configure()
        master, terminal = os.openpty()
        relay = spawn([binary("outbox-relay"), "run", "--config", self.path], stderr=terminal,
                      env=relay_process.environment(self.run_))
        self.run_.at_end(relay.kill)
        os.close(terminal)
        said = b""
        while b"outbox-relay " not in said:
            said += os.read(master, 4096)
        os.close(master)
        relay.send_signal(signal.SIGHUP)
        self.assertEqual(relay.wait(SECONDS), 0)


if __name__ == "__main__":
    unittest.main()
