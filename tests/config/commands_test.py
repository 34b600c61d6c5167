"""`config check`, `show` and `init`, and what `run` makes of flags, environment and file, as whole programs."""

import json
import os
import shutil
import unittest

from support import relay_process
from support.harness import Run


class ConfigurationTest(unittest.TestCase):
    def setUp(self):
        self.run_ = Run("configuration")
        self.addCleanup(shutil.rmtree, self.run_.folder, ignore_errors=True)
        self.addCleanup(self.run_.stop_all)

    def relay(self, *arguments, **environment):
        return relay_process.command(self.run_, *arguments, **environment)

    def file(self, text, name="relay.toml", mode=0o600):
        path = self.run_.path(name)
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    def options(self, *arguments, **environment):
        done = self.relay("config", "show", "--json", *arguments, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {option["name"]: option for option in json.loads(done.stdout)["options"]}

    def refusal(self, *arguments, **environment):
        done = self.relay(*arguments, **environment)
        self.assertEqual(done.returncode, relay_process.CONFIGURATION, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_what_init_prints_is_a_configuration_that_holds(self):
        example = self.relay("config", "init")
        self.assertEqual(example.returncode, 0)
        checked = self.relay("config", "check", "--config", self.file(example.stdout))
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        self.assertTrue(checked.stdout.endswith("relay.toml: ok\n"))

    def test_flags_win_over_the_environment_over_the_file_over_the_defaults(self):
        path = self.file('[relay]\nid_header = "of-file"\n[log]\nlevel = "error"\n[kafka]\nlinger.ms = 1\n')
        options = self.options("--config", path, "--log-level", "debug", "-X", "linger.ms=3",
                               OUTBOX_RELAY_LOG_LEVEL="warning", OUTBOX_RELAY_KAFKA_LINGER_MS="2")
        level = options["log.level"]
        self.assertEqual((level["values"], level["source"], level["where"]), (["debug"], "flag", "--log-level"))
        self.assertEqual(level["overrides"], ["OUTBOX_RELAY_LOG_LEVEL", f"{path}:4"])
        self.assertEqual(options["kafka.linger.ms"]["values"], ["3"])
        self.assertEqual(options["kafka.linger.ms"]["overrides"], ["OUTBOX_RELAY_KAFKA_LINGER_MS", f"{path}:6"])
        self.assertEqual(options["relay.id_header"]["where"], f"{path}:2")
        self.assertEqual(options["relay.standby"]["source"], "default")
        self.assertEqual(self.options(OUTBOX_RELAY_CONFIG=path)["log.level"]["values"], ["error"])

    def test_a_wrong_file_is_told_with_its_line_by_every_command_that_reads_it(self):
        path = self.file('db = "a.db"\n[relay]\nstand_by = true\n')
        for command in (["run"], ["config", "check"], ["config", "show"]):
            told = self.refusal(*command, "--config", path)
            self.assertIn(f"{path}:3: relay.stand_by is no option; did you mean relay.standby?", told)
        self.assertIn("cannot be read", self.refusal("run", "--config", str(self.run_.path("none.toml"))))

    def test_a_broken_promise_is_refused_with_the_reason_wherever_it_stands(self):
        path = self.file("[kafka]\nacks = 1\n")
        start = ["run", "--db", "a.db", "--brokers", "b:1"]
        for told, place in ((self.refusal(*start, "--config", path), f"{path}:2: "),
                            (self.refusal(*start, "-X", "acks=1"), "-X: "),
                            (self.refusal(*start, OUTBOX_RELAY_KAFKA_ACKS="1"), "OUTBOX_RELAY_KAFKA_ACKS: ")):
            self.assertIn(f"{place}kafka property acks: ", told)
            self.assertIn("in-sync replicas", told)

    def test_a_secret_comes_from_its_file_only_and_is_never_shown(self):
        inline = self.file('[kafka]\nsasl.password = "hunter2"\n')
        for told in (self.refusal("config", "check", "--config", inline),
                     self.refusal("config", "show", "-X", "sasl.password=hunter2"),
                     self.refusal("run", OUTBOX_RELAY_KAFKA_SASL_PASSWORD="hunter2")):
            self.assertIn("sasl.password_file", told)
            self.assertNotIn("hunter2", told)
        secret = self.file("hunter2\n", "secret")
        named = self.file(f'[kafka]\nsasl.password_file = "{secret}"\n', "named.toml")
        for more in ([], ["--json"]):
            shown = self.relay("config", "show", "--config", named, *more)
            self.assertEqual((shown.returncode, shown.stderr), (0, ""))
            self.assertIn("kafka.sasl.password", shown.stdout)
            self.assertNotIn("hunter2", shown.stdout)
        os.chmod(secret, 0o644)
        self.assertIn("chmod 600", self.relay("config", "show", "--config", named).stderr)

    def test_check_finds_what_only_a_client_finds(self):
        path = self.file('db = "a.db"\n[kafka]\nbootstrap.servers = "127.0.0.1:1"\nsecurity.protocol = "ssl"\n'
                         'ssl.ca.location = "/nowhere/ca.pem"\n')
        self.assertIn("ssl.ca.location", self.refusal("config", "check", "--config", path))
        whole = self.file('db = "a.db"\n[kafka]\nbootstrap.servers = "127.0.0.1:1"\n')
        self.assertEqual(self.relay("config", "check", "--config", whole).returncode, 0)
        self.assertIn("no Kafka is named", self.refusal("config", "check", "--config", self.file('db = "a.db"\n')))
        self.assertIn("no database is named", self.refusal("config", "check", "--brokers", "127.0.0.1:1"))


if __name__ == "__main__":
    unittest.main()
