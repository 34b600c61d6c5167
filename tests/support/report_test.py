"""What scripts/test counts: passes, failures, skips with and without leave, and programs that ran no case."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

REPORT = pathlib.Path(__file__).with_name("report.py")
PASSED = '<testcase name="a" status="run"><system-out>[doctest] test cases: 1 | 1 passed</system-out></testcase>'
EMPTY = '<testcase name="b" status="run"><system-out>[doctest] test cases: 0 | 0 passed</system-out></testcase>'
FAILED = '<testcase name="c" status="fail"><failure message="no"/></testcase>'
SKIPPED = '<testcase name="d e" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>'


class Report(unittest.TestCase):
    def report(self, cases, allowed="", arguments=()):
        """(exit code, last line) of the report on one run."""
        with tempfile.TemporaryDirectory() as folder:
            skips = pathlib.Path(folder, "allowed-skips")
            skips.write_text(allowed, encoding="utf-8")
            pathlib.Path(folder, "dev.xml").write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-B", str(REPORT), "--allowed-skips", str(skips), *arguments, folder],
                stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, (done.stdout.splitlines() or [""])[-1]

    def test_passes_are_counted(self):
        self.assertEqual(self.report([PASSED, PASSED]), (0, "2 passed, 0 failed, 0 skipped"))

    def test_a_failure_fails_the_run(self):
        self.assertEqual(self.report([PASSED, FAILED]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_a_program_that_ran_no_case_has_failed(self):
        self.assertEqual(self.report([PASSED, EMPTY]), (1, "1 passed, 1 failed, 0 skipped"))

    def test_a_skip_needs_leave(self):
        self.assertEqual(self.report([PASSED, SKIPPED]), (1, "1 passed, 1 failed, 1 skipped"))
        self.assertEqual(self.report([PASSED, SKIPPED], "# why\nd *  # no such device here\n"),
                         (0, "1 passed, 0 failed, 1 skipped"))

    def test_leave_without_a_reason_is_an_error(self):
        self.assertNotEqual(self.report([PASSED, SKIPPED], "d e\n")[0], 0)

    def test_a_failed_step_and_an_empty_run_fail(self):
        self.assertEqual(self.report([PASSED], arguments=["--failed-step=build"])[0], 1)
        self.assertEqual(self.report([])[0], 1)


if __name__ == "__main__":
    unittest.main()
