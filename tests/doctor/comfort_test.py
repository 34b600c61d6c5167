"""Completion scripts made from the commands themselves, help that begins with examples, answers to typos."""

import shutil
import subprocess
import unittest

from support import relay_process
from support.harness import Run

COMPLETE = """
source /dev/stdin <<< "$SCRIPT"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_outbox_relay
printf '%s\\n' "${COMPREPLY[@]}"
"""


class ComfortTest(unittest.TestCase):
    def setUp(self):
        self.run_ = Run("comfort")
        self.addCleanup(shutil.rmtree, self.run_.folder, ignore_errors=True)
        self.addCleanup(self.run_.stop_all)

    def output(self, *arguments):
        done = relay_process.command(self.run_, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def complete(self, *words):
        done = subprocess.run(["bash", "-c", COMPLETE, "bash", *words], capture_output=True, text=True, timeout=60,
                              cwd=self.run_.folder,
                              env=relay_process.environment(self.run_, SCRIPT=self.output("completion", "bash")))
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def commands(self):
        return self.complete("outbox-relay", "") - {"--help", "-h", "--version"}

    def test_bash_completes_commands_options_values_and_files(self):
        self.assertLessEqual({"run", "status", "doctor", "inbox", "completion"}, self.commands())
        self.assertEqual(self.complete("outbox-relay", "inb"), {"inbox"})
        self.assertLessEqual({"ls", "status"}, self.complete("outbox-relay", "inbox", ""))
        self.assertLessEqual({"--db", "--json", "--max-age"}, self.complete("outbox-relay", "status", "--"))
        self.assertEqual(self.complete("outbox-relay", "status", "--js"), {"--json"})
        self.assertEqual(self.complete("outbox-relay", "run", "--log-level", "d"), {"debug"})
        self.run_.path("shop.db").touch()
        self.assertEqual(self.complete("outbox-relay", "run", "--db", "sh"), {"shop.db"})
        self.assertEqual(self.complete("outbox-relay", "run", "--timeout", ""), set())

    def test_zsh_and_fish_name_every_command_as_bash_does(self):
        for shell in ("zsh", "fish"):
            script = self.output("completion", shell)
            for command in self.commands():
                self.assertIn(f"{command}", script)

    def test_every_help_begins_with_examples(self):
        for command in sorted(self.commands()):
            below = self.complete("outbox-relay", command, "") & {"ls", "status", "check", "show", "init", "bash"}
            for line in [[command], *([command, name] for name in sorted(below))]:
                text = self.output(*line, "--help")
                self.assertIn("Examples:\n  ", text, line)
                self.assertLess(text.index("Examples:"), text.index("Options:"), line)

    def test_a_typo_is_answered_with_the_nearest_command(self):
        for wrong, right in (("staus", "status"), ("docter", "doctor"), ("rn", "run"), ("complete", "completion")):
            done = relay_process.command(self.run_, wrong)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"did you mean {right}?", done.stderr)


if __name__ == "__main__":
    unittest.main()
