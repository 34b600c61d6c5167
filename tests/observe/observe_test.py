"""The alerts and the board that come with the relay: promtool agrees with both, every metric and label that they name
is in the program's own table, and docs/operations.md tells what to do about each alert."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from support.harness import ROOT, binary

FOLDER = ROOT / "relay" / "observe"
ALERTS, BOARD = FOLDER / "alerts.yml", FOLDER / "grafana-board.json"
FIRINGS = pathlib.Path(__file__).with_name("alerts_test.yml")
OF_PROMETHEUS = {"up"}
OF_SCRAPE = {"job", "instance", "host"}
METRIC = re.compile(r"\b(up|txbox_\w+)\b(\{[^}]*\})?")


def promtool(*arguments):
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def table():
    """Name of the metric: (type, labels), as the program writes docs/metrics.md."""
    page = subprocess.run([str(binary("metrics_reference"))], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\| `(txbox_\w+)` \| (\w+) \| ([^|]+) \|", page, re.MULTILINE)
    return {name: (kind, set() if labels == "-" else set(labels.split(", "))) for name, kind, labels in rows}


def alerts():
    return re.findall(r"^ +- alert: (\w+)\n +expr: (.*)$", ALERTS.read_text(), re.MULTILINE)


def board_expressions():
    return [(panel["title"], target["expr"]) for panel in json.loads(BOARD.read_text())["panels"]
            for target in panel["targets"]]


def series_of(name, metrics):
    """The metric that a name in an expression belongs to: a histogram has three names."""
    for suffix in ("", "_bucket", "_sum", "_count"):
        base = name.removesuffix(suffix) if suffix else name
        if base in metrics and (not suffix or metrics[base][0] == "histogram"):
            return base
    return None


class ObserveTest(unittest.TestCase):
    def assert_known(self, where, expression, metrics):
        named = METRIC.findall(expression)
        self.assertTrue(named, f"{where} names no metric: {expression}")
        allowed = set(OF_SCRAPE) | {"le"}
        for name, matchers in named:
            if name in OF_PROMETHEUS:
                continue
            base = series_of(name, metrics)
            self.assertIsNotNone(base, f"{where}: {name} is not in the relay's table of metrics")
            labels = metrics[base][1]
            allowed |= labels
            for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers):
                self.assertIn(label, labels | OF_SCRAPE, f"{where}: {name} has no such label")
        for grouped in re.findall(r"\bby \(([^)]*)\)", expression):
            for label in grouped.split(", "):
                self.assertIn(label, allowed, f"{where}: {expression}")

    def test_every_metric_and_label_of_an_alert_exists(self):
        metrics = table()
        self.assertGreater(len(alerts()), 5)
        for name, expression in alerts():
            self.assert_known(name, expression, metrics)

    def test_every_metric_and_label_of_the_board_exists(self):
        metrics = table()
        board = json.loads(BOARD.read_text())
        self.assertEqual(len({panel["id"] for panel in board["panels"]}), len(board["panels"]))
        for title, expression in board_expressions():
            self.assert_known(title, expression, metrics)
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                self.assert_known(variable["name"], variable["query"], metrics)

    def test_a_metric_that_does_not_exist_would_be_seen(self):
        with self.assertRaises(AssertionError):
            self.assert_known("nowhere", "txbox_relay_nonsense > 0", table())
        with self.assertRaises(AssertionError):
            self.assert_known("nowhere", 'txbox_relay_active{nonsense="1"} > 0', table())

    def test_promtool_accepts_the_rules_and_every_expression_of_the_board(self):
        code, said = promtool("check", "rules", ALERTS)
        self.assertEqual(code, 0, said)
        rules = ["groups: [{name: board, rules: ["]
        for number, (_, expression) in enumerate(board_expressions()):
            expression = expression.replace("$__rate_interval", "5m")
            rules.append(f"{{record: 'board:{number}', expr: {json.dumps(expression)}}},")
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            file.write("\n".join([*rules, "]}]"]))
            file.flush()
            code, said = promtool("check", "rules", file.name)
        self.assertEqual(code, 0, said)

    def test_each_alert_is_silent_and_fires_when_it_should(self):
        code, said = promtool("test", "rules", FIRINGS)
        self.assertEqual(code, 0, said)
        firings = FIRINGS.read_text()
        for name, _ in alerts():
            self.assertIn(f"alertname: {name}, exp_alerts: []", firings)
            self.assertRegex(firings, rf"alertname: {name}\n +exp_alerts:\n +- exp_labels")

    def test_each_alert_has_its_paragraph_and_each_paragraph_its_alert(self):
        chapter = (ROOT / "docs" / "operations.md").read_text().split("\n## Alerts\n", 1)[1].split("\n## ", 1)[0]
        told = dict(re.findall(r"^\*\*(Txbox\w+)\*\* (.+)$", chapter, re.MULTILINE))
        self.assertEqual(set(told), {name for name, _ in alerts()})
        for name, text in told.items():
            self.assertGreater(len(text), 60, f"{name}: what is to be done?")


if __name__ == "__main__":
    unittest.main()
