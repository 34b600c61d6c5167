#!/usr/bin/python3
"""Retention at its shortest beside everything that can happen to a row: nothing that is not in Kafka ever goes.

An application writes for some seconds, rows are scheduled, parked, skipped and retried, receipts get times of a clock
that jumps, the relay is killed in the middle: each event must be in the topic, or still in the file.
"""

import threading
import time

from support import harness, outbox_file, relay_process
from support.harness import check, let_pass, note, require, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic, read_topics

SECONDS = 8
COMMITS_A_SECOND = 200
ROWS_A_COMMIT = 10
KILLS = 3


class Application(threading.Thread):
    """Commits at a steady pace until it is told to stop; `committed` has the event ids."""

    def __init__(self, db, topic, chance):
        super().__init__(daemon=True)
        self.db, self.topic, self.chance = db, topic, chance
        self.committed = []
        self.stopping = threading.Event()

    def run(self):
        connection = outbox_file.connect(self.db)
        while not self.stopping.wait(1 / COMMITS_A_SECOND):
            ids = [f"e{len(self.committed) + n}" for n in range(ROWS_A_COMMIT)]
            connection.execute("BEGIN IMMEDIATE")
            for event_id in ids:
                later = self.chance.random() < 0.05
                due = time.time_ns() // 1_000_000 + self.chance.randrange(2000) if later else None
                connection.execute(
                    "INSERT INTO outbox(event_id, topic, key, payload, deliver_at) VALUES (?, ?, ?, ?, ?)",
                    (event_id, self.topic, f"key-{self.chance.randrange(40)}", "x" * 300, due),
                )
            connection.execute("COMMIT")
            self.committed += ids
        connection.close()

    def stop(self):
        self.stopping.set()
        self.join()


class Trouble:
    """What a person, and a clock, do to the rows meanwhile."""

    def __init__(self, run, db, application):
        self.run, self.db, self.application = run, db, application
        self.connection = outbox_file.connect(db)
        self.parked, self.skipped = set(), set()

    def strike(self):
        newest = self.application.committed[-50:]
        if not newest:
            return
        event_id = self.run.random.choice(newest)
        deed = self.run.random.choice(["park", "skip", "retry", "clock"])
        if deed == "clock":
            jump = self.run.random.choice([-3_600_000, 3_600_000, 40_000_000_000])
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.execute("UPDATE outbox_sent SET sent_at = sent_at + ? WHERE id % 7 = 0", (jump,))
            self.connection.execute("COMMIT")
            return
        if deed == "retry" and self.parked:
            event_id = self.parked.pop()
        # Whether it was still there, and not sent, the command itself says by its exit code; the file is the judge.
        relay_process.command(self.run, deed, "--db", self.db, event_id, "--yes")
        if deed == "park":
            self.parked.add(event_id)
        if deed == "skip":
            self.skipped.add(event_id)


def in_file(db):
    connection = outbox_file.connect(db)
    found = {
        event_id.decode(): state.decode()
        for event_id, state in connection.execute("SELECT event_id, state FROM outbox_status")
    }
    connection.close()
    return found


def pages(db):
    connection = outbox_file.connect(db)
    (count,) = connection.execute("PRAGMA page_count").fetchone()
    connection.close()
    return count


def body(run):
    bootstrap = shared_bootstrap()
    topic = f"retention-{run.seed}"
    create_topic(bootstrap, topic, 3)
    db = run.path("shop.db")
    relay_process.init(run, db)
    start = lambda: relay_process.Relay(run, db, bootstrap, "--keep-sent", "200ms")
    application = Application(db, topic, run.random)
    trouble = Trouble(run, db, application)
    relay = start()
    application.start()
    sizes = []
    for kill in range(KILLS + 1):
        end = time.monotonic() + SECONDS / (KILLS + 1)
        while time.monotonic() < end:
            trouble.strike()
            let_pass(0.05, "the pace of these people")
        sizes.append(pages(db))
        if kill < KILLS:
            relay.kill()
            relay = start()
    application.stop()
    settled(run, db, relay)
    judge(run, db, bootstrap, topic, application, trouble, sizes)
    check(relay.terminate()[0] == 0, "the relay stops with exit 0")


def settled(run, db, relay):
    """Nothing waits but what a person holds back, and retention has come to its end."""

    def quiet():
        require(relay.alive(), "the relay ended")
        counts = relay_process.status(run, db)
        return counts["ready"] == 0 and counts["scheduled"] == 0

    wait_until(quiet, 60, "everything sent that may be", every=0.2)
    # The newest row stays, and receipts of a clock that was ahead.
    connection = outbox_file.connect(db)
    left = "SELECT count(*) FROM outbox_sent WHERE sent_at < ? AND id < (SELECT max(id) FROM outbox)"
    now = time.time_ns() // 1_000_000
    wait_until(lambda: connection.execute(left, (now,)).fetchone()[0] == 0, 30, "old sent rows gone", every=0.2)
    connection.close()


def judge(run, db, bootstrap, topic, application, trouble, sizes):
    arrived = {dict(record.headers)["id"].decode() for record in read_topics(bootstrap, {topic: 3})}
    rows = in_file(db)
    lost = [event_id for event_id in application.committed if event_id not in arrived and event_id not in rows]
    check(not lost, f"each of {len(application.committed)} events is in Kafka or in the file {lost[:3]}")
    unsent = {event_id for event_id, state in rows.items() if state != "sent"}
    check(unsent <= set(application.committed), "what is held are events of the application")
    note(f"{len(arrived)} arrived, {len(rows)} rows left, {len(unsent)} of them held, pages {sizes}")
    check(len(rows) < len(application.committed) / 2, "most of what was sent is gone")
    check(sizes[-1] < 1.5 * sizes[1] + 100, f"the file stopped growing: {sizes} pages")
    gone = trouble.skipped - arrived
    check(gone <= set(rows), f"{len(gone)} skipped rows that never went out are all there")
    status = relay_process.status(run, db)
    check(sum(state == "sent" for state in rows.values()) == status["sent"], "status counts what is there")


harness.main("retention", body, 150)
