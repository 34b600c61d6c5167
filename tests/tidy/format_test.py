"""Every C++ file has the house format (.clang-format). `scripts/lint --format` puts it right.

Releases of clang-format differ in what they make of one configuration, so that only Debian 12's judges.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import source_tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
JUDGE = "14"
SKIPPED = 77


def main():
    program = shutil.which(f"clang-format-{JUDGE}") or shutil.which("clang-format")
    version = ""
    if program:
        version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    if not re.search(rf"version {JUDGE}\.", version):
        print(f"skipped: clang-format {JUDGE} judges the format, here is {version.strip() or 'none'}")
        return SKIPPED
    files = [file.path for file in source_tree.Tree(ROOT).files if file.is_cpp]
    return subprocess.run([program, "--dry-run", "--Werror", *files], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
