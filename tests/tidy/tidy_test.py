"""The rules of tests/tidy see what they forbid: a small tree that is clean, and each way to spoil it."""

import pathlib
import tempfile
import unittest

import tidy

GOOD = {
    "CMakeLists.txt": "".join(
        f"add_subdirectory({folder})\n" for folder in ("libbase", "libstore", "samples", "tests/unit")),
    "libbase/CMakeLists.txt": "txbox_library(base HEADERS include/txbox/base/a.hpp SOURCES src/a.cpp)\n",
    "libbase/include/txbox/base/a.hpp": "#pragma once\n#include <string>\n",
    "libbase/src/a.cpp": "#include <txbox/base/a.hpp>\n",
    "libstore/CMakeLists.txt": "txbox_library(store SOURCES src/s.cpp)\n",
    "libstore/src/s.cpp": '#include <sqlite3.h>\nconst char* kSql = "SELECT id FROM outbox_sent";\n',
    "samples/CMakeLists.txt": "add_test(NAME w COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/w.py)\n",
    "samples/w.py": 'db.execute("INSERT INTO outbox(topic) VALUES (?)")\n',
    "docs/guarantees.md": "| P1 | An event row exists. | `tests/unit/a_test.cpp: it is there` |\n",
    "README.md": "[base](libbase/src/a.cpp), [the web](https://example.org), [here](#here)\n",
    "tests/unit/CMakeLists.txt": "txbox_test(NAME a SOURCES a_test.cpp)\n",
    "tests/unit/a_test.cpp": 'TEST_CASE("it is there") {}\n',
}


def function(lines):
    return "int f() {\n" + "  g();\n" * (lines - 2) + "}\n"


class Tidy(unittest.TestCase):
    def findings(self, **changes):
        """What the rules find in the clean tree after `changes`, given as path=text with __ for a slash."""
        return self.findings_in({**GOOD, **changes})

    def findings_in(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                full = pathlib.Path(folder, path)
                full.parent.mkdir(parents=True, exist_ok=True)
                full.write_text(text, encoding="utf-8")
            return list(tidy.findings(folder))

    def assert_found(self, beginning, path, text):
        found = self.findings(**{path: text})
        self.assertTrue(any(finding.startswith(beginning) for finding in found), f"{beginning!r} is not in {found}")

    def spoil(self, path, addition, beginning):
        self.assert_found(beginning, path, GOOD[path] + addition)

    def test_a_clean_tree_has_no_findings(self):
        self.assertEqual(self.findings(), [])

    def test_a_forbidden_include_is_found(self):
        base = "libbase/src/a.cpp"
        self.spoil(base, "#include <txbox/store/schema.hpp>\n", f"{base}:2: include: libbase/ must not use store")
        self.spoil(base, "#include <sqlite3.h>\n", f"{base}:2: include: libbase/ must not use sqlite3")
        self.spoil("libstore/src/s.cpp", "#include <librdkafka/rdkafka.h>\n", "libstore/src/s.cpp:3: include:")
        for path, line in (
                ("libkafka/src/k.cpp", "#include <sqlite3.h>"),
                ("libooutbox/src/o.cpp", "#include <txbox/inbox/inbox.hpp>"),
                ("libinbox/src/i.cpp", "#include <txbox/outbox/outbox.hpp>"),
                ("libinbox/src/i.cpp", "#include <txbox/kafka/producer.hpp>"),
                ("relay/cli/c.cpp", "#include <txbox/outbox/outbox.hpp>"),
                ("relay/engine/e.cpp", "#include <nlohmann/json.hpp>"),
                ("relay/engine/e.cpp", '#include "relay/cli/output.hpp"'),
                ("libstore/src/s.cpp", '#include "relay/engine/core.hpp"'),
                ("samples/s.cpp", "#include <txbox/store/schema.hpp>"),
                ("libooutbox/include/txbox/outbox/o.hpp", "#include <sqlite3.h>"),
                ("libooutbox/include/txbox/outbox/o.hpp", "#include <txbox/store/schema.hpp>"),
                ("libstore/include/txbox/store/j.hpp", "#include <nlohmann/json.hpp>")):
            self.assert_found(f"{path}:1: include:", path, line + "\n")

    def test_a_core_that_is_not_pure_is_found(self):
        core = {"relay/engine/CMakeLists.txt": "txbox_internal_library(relay_core\n  SOURCES core.cpp)\n",
                "CMakeLists.txt": GOOD["CMakeLists.txt"] + "add_subdirectory(relay/engine)\n"}
        for line in ("#include <thread>", "#include <txbox/kafka/producer.hpp>", "auto t = steady_clock::now();"):
            found = self.findings(**core, **{"relay/engine/core.cpp": line + "\n"})
            self.assertEqual(len(found), 1, found)
            self.assertTrue(found[0].startswith("relay/engine/core.cpp:1:"), found)

    def test_a_consumer_core_that_is_not_pure_is_found(self):
        path = "libinbox/src/consumer/core_batch.cpp"
        listing = "txbox_internal_library(inbox_core\n  SOURCES\n    src/consumer/core_batch.cpp\n  DEPENDS base)\n"
        core = {"libinbox/CMakeLists.txt": listing,
                "CMakeLists.txt": GOOD["CMakeLists.txt"] + "add_subdirectory(libinbox)\n"}
        for line in ("#include <mutex>", "#include <txbox/kafka/consumer.hpp>", "#include <sqlite3.h>",
                     "auto t = system_clock::now();"):
            found = [text for text in self.findings(**core, **{path: line + "\n"}) if text.startswith(path)]
            self.assertEqual(len(found), 1, found)
            self.assertTrue(found[0].startswith(f"{path}:1:"), found)

    def test_an_allowed_include_is_not_found(self):
        for path, line in (
                ("relay/demo/d.cpp", "#include <txbox/outbox/outbox.hpp>"),
                ("libinbox/src/consumer_loop.cpp", "#include <txbox/kafka/producer.hpp>"),
                ("libstore/src/j.cpp", "#include <nlohmann/json.hpp>")):
            found = self.findings(**{path: line + "\n"})
            self.assertFalse([finding for finding in found if "include:" in finding], found)

    def test_sql_of_the_boxes_outside_the_store_is_found(self):
        relay = "relay/cli/c.cpp"
        self.assert_found(f"{relay}:1: sql:", relay, 'auto a = "DELETE FROM outbox WHERE id = 1";\n')
        self.assert_found(f"{relay}:1: sql:", relay, 'auto a = "UPDATE " "outbox_held SET state = 1";\n')
        self.assert_found(f"{relay}:1: sql:", relay, 'auto a = R"(\nSELECT 1 FROM inbox_offsets)";\n')
        self.assert_found("samples/w.py:1: sql:", "samples/w.py", 'db.execute("DELETE FROM outbox_sent")\n')
        comment = self.findings(**{relay: "// SELECT id FROM outbox is what libstore does.\n"})
        self.assertFalse([finding for finding in comment if "sql:" in finding])

    def test_sizes_are_found(self):
        path = "libbase/src/a.cpp"
        self.assert_found(f"{path}:501: size:", path, "int i;\n" * 501)
        self.assert_found(f"{path}:1: size: 121 columns", path, "//" + "-" * 119 + "\n")
        self.assert_found(f"{path}:1: size: a function of 71 lines", path, function(71))
        nested = "namespace a { struct S {\n" + function(71) + "}; }\n"
        self.assert_found(f"{path}:2: size: a function of 71 lines", path, nested)
        self.assert_found("tests/t.py:1: size: a function of 71 lines", "tests/t.py", "def f():\n" + "    pass\n" * 70)
        self.assertEqual(self.findings(**{path: "namespace a {\n" + function(70) * 2 + "}\n"}), [])

    def test_a_test_that_is_off_is_found(self):
        path = "tests/unit/a_test.cpp"
        self.spoil(path, 'TEST_CASE("x" * doctest::sk' + 'ip()) {}\n', f"{path}:2: disabled:")
        self.spoil(path, "#if " + "0\n#endif\n", f"{path}:2: disabled:")
        self.spoil("tests/unit/CMakeLists.txt", "set_tests_properties(a PROPERTIES WILL_" + "FAIL TRUE)\n",
                   "tests/unit/CMakeLists.txt:2: disabled:")
        self.assert_found("tests/t.py:1: disabled:", "tests/t.py", "@unittest.sk" + "ip('later')\ndef f(): pass\n")

    def test_a_test_name_that_ctest_would_split_is_found(self):
        path = "tests/unit/a_test.cpp"
        self.spoil(path, 'TEST_CASE("one thing; another") {}\n', f"{path}:2: name:")
        self.spoil(path, 'TEST_CASE(\n    "one thing, "\n    "another; a third") {}\n', f"{path}:2: name:")
        self.assertEqual(self.findings(**{path: GOOD[path] + 'TEST_CASE("one, another") { f(";"); }\n'}), [])

    def test_a_sleep_without_its_reason_is_found(self):
        path = "tests/unit/a_test.cpp"
        call = "void f() { std::this_thread::sleep_for(1s); }"
        self.spoil(path, call + "\n", f"{path}:2: sleep:")
        self.assert_found("tests/t.py:1: sleep:", "tests/t.py", "time.sleep(1)\n")
        reason = GOOD[path] + call + "  // tidy: waits for the kernel's clock to tick\n"
        self.assertEqual(self.findings(**{path: reason}), [])

    def test_words_left_over_are_found(self):
        self.spoil("README.md", "TO" + "DO: write this\n", "README.md:2: left over:")

    def test_a_source_that_no_list_has_is_found(self):
        self.assert_found("libbase/src/b.cpp:1: build:", "libbase/src/b.cpp", "int b;\n")
        self.assert_found("libbase/include/txbox/base/b.hpp:1: build:", "libbase/include/txbox/base/b.hpp", "\n")
        self.assert_found("tests/unit/b.py:1: build:", "tests/unit/b.py", "b = 1\n")
        # A name that only ends like a listed one is not listed.
        self.assert_found("libbase/src/xa.cpp:1: build:", "libbase/src/xa.cpp", "int a;\n")

    def test_a_folder_that_no_list_adds_is_found(self):
        self.assert_found("libkafka/CMakeLists.txt:1: build:", "libkafka/CMakeLists.txt", "txbox_library(kafka)\n")
        own = self.findings(**{"samples/own/CMakeLists.txt": "project(own)\n"})
        self.assertEqual(own, [])

    def test_a_dead_link_is_found(self):
        self.spoil("README.md", "[gone](docs/gone.md)\n", "README.md:2: link: docs/gone.md")

    def test_a_promise_without_its_test_is_found(self):
        path = "docs/guarantees.md"
        self.spoil(path, "| P2 | Never dropped. | |\n", f"{path}:2: promise: P2 names no test")
        self.spoil(path, "| P2 | Never dropped. | `tests/none.cpp` |\n", f"{path}:2: promise: tests/none.cpp")
        self.spoil(path, "| P2 | Never. | `tests/unit/a_test.cpp: gone` |\n",
                   f"{path}:2: promise: tests/unit/a_test.cpp has no")


if __name__ == "__main__":
    unittest.main()
