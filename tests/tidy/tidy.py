"""The house rules that a program can check (docs/style.md). Prints one line a finding and exits 1 if there is one.

tidy.py [ROOT]
"""

import pathlib
import sys

import layers
import project_rules
import source_tree
import text_rules

ROOT = pathlib.Path(__file__).resolve().parents[2]


def findings(root):
    tree = source_tree.Tree(root)
    for rules in (layers, text_rules, project_rules):
        yield from rules.check(tree)


def main():
    found = list(findings(sys.argv[1] if len(sys.argv) > 1 else ROOT))
    for finding in found:
        print(finding)
    print(f"{len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
