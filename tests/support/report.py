"""Adds up the JUnit files of a test run, judges its skips, and prints the closing line of scripts/test.

A run holds if every step succeeded, no test failed, every test that skipped is listed in the file of allowed skips, and
no doctest program was started without running a case (a filter that matches nothing would count as passed).
"""

import argparse
import fnmatch
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

RAN_NO_CASE = re.compile(r"test cases:\s+0 \|")


class Totals:
    """What one JUnit file, or all of them together, came to. `failed` and `skipped` are lists of test names."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


def read_junit(path):
    totals = Totals()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        if case.get("status") == "run":
            if RAN_NO_CASE.search(case.findtext("system-out") or ""):
                totals.failed.append(f"{name} (its filter matched no case)")
            else:
                totals.passed += 1
        elif case.find("skipped") is not None:
            totals.skipped.append(name)
        else:
            totals.failed.append(name)
    return totals


def read_allowed_skips(path):
    """Lines `NAME  # reason`; NAME may hold * and ?. A line without a reason ends the run."""
    allowed = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, separator, reason = line.partition("  # ")
        if not separator or not reason.strip():
            sys.exit(f"{path}:{number}: an allowed skip needs its reason: NAME  # reason")
        allowed.append(name.strip())
    return allowed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--allowed-skips", type=pathlib.Path, required=True)
    parser.add_argument("--failed-step", action="append", default=[])
    parser.add_argument("results", type=pathlib.Path, help="folder of JUnit files")
    options = parser.parse_args()

    allowed = read_allowed_skips(options.allowed_skips)
    everything = Totals()
    print()
    for path in sorted(options.results.glob("*.xml")):
        totals = read_junit(path)
        print(f"{path.stem}: {totals.passed} passed, {len(totals.failed)} failed, {len(totals.skipped)} skipped")
        everything.add(totals)
    for name in everything.failed:
        print(f"failed: {name}")
    failures = len(everything.failed)
    for name in everything.skipped:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed):
            print(f"skipped, as {options.allowed_skips} allows: {name}")
        else:
            print(f"skipped without leave (see {options.allowed_skips}): {name}")
            failures += 1
    # A step whose tests failed is already counted by them.
    if options.failed_step:
        print("failed steps: " + ", ".join(options.failed_step))
        failures = max(failures, 1)
    if everything.passed == 0 and failures == 0:
        print("no test ran")
        failures = 1
    print(f"{everything.passed} passed, {failures} failed, {len(everything.skipped)} skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
