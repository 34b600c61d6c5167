"""The systemd template unit as it is installed: systemd finds nothing to say about it, and its exposure stays low.

unit_test.py BUILD [unittest arguments]: BUILD is the finished build that is installed from.
"""

import configparser
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from support.harness import ROOT

BUILD = sys.argv.pop(1)
UNIT = "outbox-relay@.service"
# Tenths of systemd's 0 to 10; the words for it: below 2 it is well hidden, a service without any of this has 96.
EXPOSURE_MOST = 20


def run(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)


def read_unit(path):
    unit = configparser.RawConfigParser(strict=False, delimiters="=", comment_prefixes="#", interpolation=None)
    unit.optionxform = str
    unit.read(path)
    return unit


def block_of_operations(language):
    text = (ROOT / "docs" / "operations.md").read_text()
    return re.search(rf"```{language}\n(.*?)```", text, re.DOTALL).group(1)


class UnitTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="txbox-unit-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        prefix = cls.folder / "prefix"
        installed = run("cmake", "--install", BUILD, "--component", "outbox-relay", "--prefix", prefix)
        assert installed.returncode == 0, installed.stdout
        cls.unit = prefix / "lib" / "systemd" / "system" / UNIT
        cls.program = prefix / "bin" / "outbox-relay"

    def instance(self, name, drop_in=None):
        """The unit as the file of an instance, so that every word of it is looked at as it will be used."""
        folder = self.folder / name
        folder.mkdir()
        path = folder / f"outbox-relay@{name}.service"
        path.write_text(self.unit.read_text())
        if drop_in is not None:
            more = folder / f"{path.name}.d"
            more.mkdir()
            (more / "override.conf").write_text(drop_in)
        return path

    def verify(self, path):
        done = run("systemd-analyze", "--man=no", "verify", path)
        return done.returncode, done.stdout

    def test_systemd_has_nothing_to_say_about_it(self):
        self.assertEqual(self.verify(self.instance("shop")), (0, ""))

    def test_nor_about_the_drop_in_that_the_documents_show(self):
        self.assertEqual(self.verify(self.instance("shop2", block_of_operations("ini"))), (0, ""))

    def test_a_misspelt_line_would_be_seen(self):
        self.assertIn("ProtectSytem", self.verify(self.instance("shop3", "[Service]\nProtectSytem=strict\n"))[1])

    def test_its_exposure_stays_low(self):
        done = run("systemd-analyze", "security", "--no-pager", "--offline=true", f"--threshold={EXPOSURE_MOST}",
                   self.unit)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"Overall exposure level for outbox-relay@\S*: [01]\.\d")

    def test_it_runs_the_program_that_was_installed_with_it(self):
        service = read_unit(self.unit)["Service"]
        self.assertEqual(service["ExecStart"], f'"{self.program}" run --config /etc/outbox-relay/%i.toml')
        self.assertTrue(self.program.exists())

    def test_what_no_restart_heals_is_not_started_again(self):
        service = read_unit(self.unit)["Service"]
        self.assertEqual(service["Restart"], "on-failure")
        self.assertEqual(set(service["RestartPreventExitStatus"].split()), {"2", "20", "21", "22", "23", "78"})


if __name__ == "__main__":
    unittest.main()
