"""What is installed beside the program: completions where each shell looks for them, and a manual that has every
command and every option.

installed_test.py BUILD [unittest arguments]: BUILD is the finished build that is installed from.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support.harness import ROOT

BUILD = sys.argv.pop(1)


def run(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=60,
                          **more)


class InstalledTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="txbox-installed-")
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name)
        done = run("cmake", "--install", BUILD, "--component", "outbox-relay", "--prefix", cls.prefix)
        assert done.returncode == 0, done.stderr
        cls.share = cls.prefix / "share"
        cls.program = cls.prefix / "bin" / "outbox-relay"

    def commands(self, *path):
        """Of the command, as its own help lists them."""
        text = run(self.program, *path, "--help").stdout
        listed = re.search(r"^Subcommands:\n((?:  .*\n?)+)", text, re.MULTILINE)
        return re.findall(r"^  (\w+)", listed.group(1), re.MULTILINE) if listed else []

    def leaves(self, *path):
        for name in self.commands(*path):
            below = list(self.leaves(*path, name))
            yield from below or [(*path, name)]

    def manual(self, page):
        """The text of a page, without the marks of its language."""
        text = (self.share / "man" / f"man{page[-1]}" / page).read_text()
        self.assertIn(".TH ", text)
        return re.sub(r"\\f[BIR]|\\&", "", text).replace("\\", "")

    def test_bash_finds_its_completion(self):
        script = self.share / "bash-completion" / "completions" / "outbox-relay"
        self.assertEqual(run("bash", "-n", script).returncode, 0)
        self.assertIn("complete -F _outbox_relay outbox-relay", script.read_text())

    def test_zsh_loads_its_completion_from_the_folder(self):
        folder = self.share / "zsh" / "site-functions"
        words = "fpath=($FOLDER $fpath); autoload -Uz compinit && compinit -u -D; print -r -- $_comps[outbox-relay]"
        done = run("zsh", "-f", "-c", words, env={**os.environ, "FOLDER": str(folder)})
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "_outbox-relay"), done.stderr)

    def test_fish_completes_with_it(self):
        script = self.share / "fish" / "vendor_completions.d" / "outbox-relay.fish"
        home = self.prefix / "home"
        done = run("fish", "--no-config", "-c", f"source {script}; complete -C 'outbox-relay inbox '",
                   env={**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home)})
        self.assertIn("status", {line.split("\t")[0] for line in done.stdout.splitlines()}, done.stderr)

    def test_the_manual_has_every_command_and_every_option(self):
        manual = self.manual("outbox-relay.1")
        leaves = list(self.leaves())
        self.assertGreater(len(leaves), 12)
        for path in leaves:
            self.assertIn(f'.SS {" ".join(path)}\n', manual)
            chapter = manual.split(f'.SS {" ".join(path)}\n', 1)[1].split(".SS ", 1)[0]
            for option in set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", run(self.program, *path, "--help").stdout,
                                         re.MULTILINE)):
                self.assertIn(option, chapter, " ".join(path))

    def test_the_manual_of_the_file_has_every_option_of_the_reference(self):
        manual = self.manual("outbox-relay.toml.5")
        page = (ROOT / "docs" / "configuration.md").read_text()
        rows = re.findall(r"^\| (?:`([\w.]+)`|-) \| (?:`(--[\w-]+)`|-) \| `(OUTBOX_RELAY_\w+)` \|", page, re.MULTILINE)
        self.assertGreater(len(rows), 8)
        for key, flag, variable in rows:
            for word in filter(None, (key, flag, variable)):
                self.assertIn(word, manual)


if __name__ == "__main__":
    unittest.main()
