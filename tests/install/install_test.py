"""txbox as other projects meet it: installed, embedded, without librdkafka, and on the application's own SQLite.

install_test.py BUILD COMPILER [unittest arguments]: BUILD is the finished build that one test installs from.
"""

import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONSUMER = pathlib.Path(__file__).with_name("consumer")
BUILD = pathlib.Path(sys.argv[1])
COMPILER = sys.argv[2]
# What a machine without Kafka's library looks like to CMake; the programs of the relay are not wanted there either.
WITHOUT_KAFKA = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("RdKafka", "CLI11", "spdlog")]
SQLITE_SYMBOL = "sqlite3_open_v2"


def run(*command, **options):
    """Standard output of a command that must succeed; what it said otherwise is the test's failure."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def configure(source, build, *settings):
    return run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}", *settings)


def static_sqlite():
    return pathlib.Path(run(COMPILER, "-print-file-name=libsqlite3.a").strip())


def defined_symbols(binary):
    return re.findall(r"^[0-9a-f]+ [Tt] (\w+)$", run("nm", binary), re.MULTILINE)


class Installed(unittest.TestCase):
    """One build without librdkafka, installed once, serves these tests."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="txbox-install-")
        cls.work = pathlib.Path(cls.folder.name)
        cls.prefix = cls.work / "prefix"
        configure(ROOT, cls.work / "txbox", "-DTXBOX_BUILD_RELAY=OFF", "-DTXBOX_BUILD_SAMPLES=OFF",
                  "-DTXBOX_BUILD_BENCHMARKS=OFF", *WITHOUT_KAFKA)
        run("cmake", "--build", cls.work / "txbox")
        run("cmake", "--install", cls.work / "txbox", "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def consumer(self, name, *settings):
        """Configures and builds the consumer; its executable."""
        configure(CONSUMER, self.work / name, *settings)
        run("cmake", "--build", self.work / name)
        return self.work / name / "consumer"

    def assert_works(self, executable):
        """The program commits a row and its event; plain SQL sees both."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "shop.db")
            event_id = run(executable, file).strip()
            db = sqlite3.connect(file)
            self.assertEqual(db.execute("SELECT quantity FROM stock").fetchall(), [(7,)])
            rows = db.execute("SELECT event_id, topic, key, state FROM outbox_status").fetchall()
            db.close()
        self.assertEqual(rows, [(event_id, "stock", "A1", "ready")])

    def test_an_application_finds_the_package_where_librdkafka_is_absent(self):
        executable = self.consumer("found", f"-DCMAKE_PREFIX_PATH={self.prefix}", *WITHOUT_KAFKA)
        self.assert_works(executable)
        self.assertNotIn(SQLITE_SYMBOL, defined_symbols(executable))
        self.assertEqual(len(re.findall(r"libsqlite3\S* =>", run("ldd", executable))), 1)

    def test_an_installed_library_uses_the_sqlite_that_the_application_links(self):
        executable = self.consumer("found-static", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                                   f"-DCONSUMER_SQLITE_ARCHIVE={static_sqlite()}")
        self.assert_works(executable)
        self.assert_only_the_static_sqlite(executable)

    def test_a_project_that_embeds_the_source_gets_the_libraries_and_nothing_else(self):
        executable = self.consumer("embedded", "-DCONSUMER_EMBEDS=ON", f"-DCONSUMER_TXBOX_SOURCE={ROOT}",
                                   "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *WITHOUT_KAFKA)
        self.assert_works(executable)
        built = {path.name for path in executable.parent.rglob("*") if path.is_file()}
        self.assertNotIn("outbox-relay", built)
        # The embedding project's own files are compiled by its rules, not by txbox's.
        commands = (executable.parent / "compile_commands.json").read_text(encoding="utf-8")
        own = next(line for line in commands.splitlines() if '"command"' in line and "consumer/main.cpp" in line)
        for option in ("-Wconversion", "-Werror", "-fvisibility=hidden"):
            self.assertNotIn(option, own)

    def test_an_embedded_library_uses_the_sqlite_that_the_application_links(self):
        executable = self.consumer("embedded-static", "-DCONSUMER_EMBEDS=ON", f"-DCONSUMER_TXBOX_SOURCE={ROOT}",
                                   f"-DCONSUMER_SQLITE_ARCHIVE={static_sqlite()}", *WITHOUT_KAFKA)
        self.assert_works(executable)
        self.assert_only_the_static_sqlite(executable)

    def assert_only_the_static_sqlite(self, executable):
        """Two copies of SQLite in one process would drop each other's locks."""
        self.assertEqual(defined_symbols(executable).count(SQLITE_SYMBOL), 1)
        self.assertNotIn("libsqlite3.so", run("ldd", executable))

    def test_samples_are_projects_of_their_own(self):
        for name in ("order_service", "webhook_inbox"):
            build = self.work / f"sample-{name}"
            configure(ROOT / "samples" / name, build, f"-DCMAKE_PREFIX_PATH={self.prefix}", *WITHOUT_KAFKA)
            run("cmake", "--build", build)
            self.assertIn("--db FILE", run(build / name, "--help"))

    def test_a_component_that_is_not_installed_is_named(self):
        with self.assertRaisesRegex(AssertionError, "without the component 'inbox_consumer'"):
            configure(CONSUMER, self.work / "absent", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                      "-DCONSUMER_COMPONENTS=inbox_consumer")

    def test_private_headers_stay_private(self):
        modules = {path.name for path in (self.prefix / "include" / "txbox").iterdir()}
        self.assertLessEqual(modules, {"base", "outbox", "inbox"})
        for header in (self.prefix / "include").rglob("*.hpp"):
            text = header.read_text(encoding="utf-8")
            self.assertNotRegex(text, r"#include <(sqlite3\.h|librdkafka|nlohmann|txbox/store)")

    def test_symbols_of_the_libraries_are_hidden(self):
        for archive in self.prefix.rglob("libtxbox_*.a"):
            for line in run("readelf", "--syms", "--wide", archive).splitlines():
                fields = line.split()
                if len(fields) == 8 and fields[6] != "UND" and fields[4] in {"GLOBAL", "WEAK"} and "txbox" in fields[7]:
                    self.assertEqual(fields[5], "HIDDEN", f"{archive.name}: {fields[7]}")


class InstalledFromThisBuild(unittest.TestCase):
    def test_an_application_finds_the_consumer_loop_and_librdkafka_with_it(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix, build = pathlib.Path(folder, "prefix"), pathlib.Path(folder, "build")
            run("cmake", "--install", BUILD, "--prefix", prefix)
            self.assertTrue(list(prefix.rglob("FindRdKafka.cmake")))
            configure(CONSUMER, build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCONSUMER_COMPONENTS=inbox_consumer",
                      "-DCONSUMER_PROGRAM=billing.cpp")
            run("cmake", "--build", build)
            file = pathlib.Path(folder, "billing.db")
            self.assertRegex(run(build / "consumer", file), r"^3\.")
            db = sqlite3.connect(file)
            self.assertEqual(db.execute("SELECT count(*) FROM inbox").fetchone(), (0,))
            self.assertEqual(db.execute("PRAGMA journal_mode").fetchone(), ("wal",))
            db.close()

    def test_the_relay_is_installed_and_runs(self):
        with tempfile.TemporaryDirectory() as prefix:
            run("cmake", "--install", BUILD, "--prefix", prefix)
            self.assertRegex(run(pathlib.Path(prefix, "bin", "outbox-relay"), "--version"), r"0\.1\.0")

    def test_the_sample_of_the_consumer_is_a_project_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix, build = pathlib.Path(folder, "prefix"), pathlib.Path(folder, "build")
            run("cmake", "--install", BUILD, "--prefix", prefix)
            configure(ROOT / "samples" / "billing_service", build, f"-DCMAKE_PREFIX_PATH={prefix}")
            run("cmake", "--build", build)
            self.assertIn("--brokers LIST", run(build / "billing_service", "--help"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
