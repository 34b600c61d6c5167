"""A client for the relay's pages, over TCP and UNIX sockets, that can also behave badly; and its metrics as numbers."""

import http.client
import json
import re
import shutil
import socket
import subprocess

from support.harness import require, wait_until

SERIES = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=10):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class Pages:
    """The pages of one relay: `where` is (host, port), or the path of a UNIX socket."""

    def __init__(self, where):
        self.where = where

    @staticmethod
    def of(relay, seconds=30):
        """Asks the relay's log for the port that was chosen (--http 127.0.0.1:0)."""
        def port():
            require(relay.alive(), f"the relay ended before it served its pages: {relay.text()[-2000:]}")
            return re.search(r"metrics and pages at (\S+):(\d+)", relay.text())

        found = wait_until(port, seconds, "the pages")
        return Pages((found.group(1).strip("[]"), int(found.group(2))))

    def ask(self, path, method="GET", headers=None, body=None, timeout=10):
        """(status, headers, body)"""
        if isinstance(self.where, tuple):
            connection = http.client.HTTPConnection(*self.where, timeout=timeout)
        else:
            connection = UnixConnection(self.where, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def connect(self):
        """A bare connection."""
        return socket.create_connection(self.where, timeout=10)

    def text(self, path):
        status, _, body = self.ask(path)
        require(status == 200, f"{path} answered {status}: {body[:500]}")
        return body

    def status(self):
        return json.loads(self.text("/status.json"))

    def ready(self):
        return self.ask("/readyz")[0] == 200

    def metrics(self):
        return Metrics(self.text("/metrics"))


class Metrics:
    """One scrape."""

    def __init__(self, text):
        self.text = text
        self.series = {}
        for line in text.splitlines():
            match = SERIES.match(line)
            if match:
                labels = frozenset(LABEL.findall(match.group(2) or ""))
                require((match.group(1), labels) not in self.series, f"twice: {line}")
                self.series[match.group(1), labels] = float(match.group(3))

    def get(self, name, **labels):
        """None where there is no such series."""
        return self.series.get((name, frozenset((k, str(v)) for k, v in labels.items())))

    def all(self, name):
        return {labels: value for (of, labels), value in self.series.items() if of == name}

    def check(self):
        """`promtool check metrics` has nothing to say."""
        require(shutil.which("promtool"), "promtool is not installed (scripts/install-deps test brings it)")
        done = subprocess.run(["promtool", "check", "metrics"], input=self.text, capture_output=True, text=True,
                              check=False)
        require(done.returncode == 0 and not done.stderr, f"promtool: {done.stdout}{done.stderr}")
