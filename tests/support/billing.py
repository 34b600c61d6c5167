"""billing_service as a child process, and its database as plain SQL shows it."""

import os
import signal
import sqlite3
import subprocess
import time

from support.harness import Failure, binary, check, require, spawn

FAST_SESSION = ("-X", "session.timeout.ms=2000", "-X", "heartbeat.interval.ms=400")


class Billing:
    """One life of billing_service. Its words go to a log file beside the database, shown when the test fails."""

    lives = 0

    def __init__(self, run, db, bootstrap, topic, *more, group="billing", prefix=(), **environment):
        Billing.lives += 1
        self.db = db
        self.log_path = run.path(f"billing-{Billing.lives:03}.log")
        self.log = open(self.log_path, "wb")
        arguments = ["--db", db, "--brokers", bootstrap, "--group", group, "--topic", topic, *FAST_SESSION, *more]
        self.process = spawn(
            [*prefix, binary("billing_service"), *arguments],
            env={**os.environ, **environment},
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        self.started = time.monotonic()
        run.at_end(self.kill)

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def text(self):
        return self.log_path.read_text(errors="replace")

    def require_alive(self):
        require(self.alive(), f"billing_service ended by itself with exit {self.process.poll()}: {self.text()[-800:]}")

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        """SIGKILL, and wait until it is gone. Ends a frozen one, too."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def terminate(self, seconds=20):
        """SIGTERM; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"billing_service (pid {self.pid}) was still there after {seconds} s") from None
        self.log.close()
        return code


def drain(run, db, bootstrap, topic, *more, seconds=120, **options):
    """`billing_service --drain` to its end, which must be 0; returns that life for its log."""
    billing = Billing(run, db, bootstrap, topic, *more, "--drain", **options)
    code = billing.wait(seconds)
    require(code == 0, f"billing_service --drain exited {code}: {billing.text()[-1500:]}")
    return billing


class Database:
    """The file as any program sees it: a connection of its own, no statement left open. Any thread, one at a time."""

    def __init__(self, path, group="billing"):
        self.path = path
        self.group = group
        self.connection = None

    def rows(self, sql, *values):
        """[] as long as the file or the table is not there."""
        if self.connection is None:
            if not os.path.exists(self.path):
                return []
            self.connection = sqlite3.connect(
                f"file:{self.path}?mode=rw", uri=True, timeout=30, isolation_level=None, check_same_thread=False
            )
        try:
            return self.connection.execute(sql, values).fetchall()
        except sqlite3.OperationalError as refusal:
            if "no such table" in str(refusal):
                return []
            raise

    def positions(self):
        """{(topic, partition): next offset}."""
        found = self.rows(
            "SELECT topic, partition, next_offset FROM inbox_offsets WHERE consumer_group = ?", self.group
        )
        return {(topic, partition): offset for topic, partition, offset in found}

    def times_taken(self):
        """How often members took partitions: it rises with every rebalance."""
        return self.rows("SELECT sum(assignment) FROM inbox_offsets WHERE consumer_group = ?", self.group)[0][0]

    def accounts(self):
        """{account: (cents, orders)}."""
        return {name: (cents, n) for name, cents, n in self.rows("SELECT account, balance_cents, orders FROM accounts")}

    def orders_applied(self):
        """Of accounts: what committed transactions added to them."""
        return self.rows("SELECT coalesce(sum(orders), 0) FROM accounts")[0][0] if self.accounts() else 0

    def store_uuid(self):
        found = self.rows("SELECT value FROM txbox_meta WHERE name = 'store_uuid'")
        return found[0][0] if found else None

    def parked(self):
        """{(topic, partition, offset): row as a dictionary} of inbox_parked."""
        names = ("topic", "partition", "offset", "event_id", "key", "payload", "headers", "attempts", "reason")
        quoted = ", ".join(f'"{name}"' for name in names)
        found = self.rows(f"SELECT {quoted} FROM inbox_parked WHERE consumer_group = ?", self.group)
        return {row[:3]: dict(zip(names, row)) for row in found}

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def check_balances(database, orders, when):
    """Every account to the cent, every order counted once."""
    found = database.accounts()
    expected = {account: (cents, orders.orders[account]) for account, cents in orders.expected.items()}
    wrong = {
        name: f"{found.get(name)} instead of {expected.get(name)}"
        for name in {*found, *expected}
        if found.get(name) != expected.get(name)
    }
    check(
        not wrong,
        f"{when}: {len(expected)} balances of {orders.count} orders are right to the cent; wrong (cents, orders):"
        f" {dict(sorted(wrong.items())[:4])}",
    )


def check_invoices(database, orders, topic, when):
    """Each order left exactly one event in the outbox, in the transaction of its effect."""
    found = dict(database.rows("SELECT CAST(key AS TEXT), count(*) FROM outbox WHERE topic = ? GROUP BY 1", topic))
    expected = {account: n for account, n in orders.orders.items() if n}
    wrong = {a: (found.get(a), expected.get(a)) for a in {*found, *expected} if found.get(a) != expected.get(a)}
    check(
        not wrong,
        f"{when}: each of {sum(expected.values())} orders has one invoice; wrong (is, should be):"
        f" {list(wrong.items())[:4]}",
    )


def check_logs_keep_secrets(run, orders):
    """No key, payload or event id of the load stands in any log line."""
    told = []
    for log in sorted(run.folder.glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()
        told += [f"{log.name}: {line[:200]}" for line in lines if orders.mark in line]
    check(not told, f"no key and no payload stands in {len(list(run.folder.glob('*.log')))} logs: {told[:3]}")
