#!/usr/bin/python3
"""One writing application as a process of its own, and (imported) the group of them with the judgement of their work.

A transaction writes business rows (table orders) and their events together, then commits, rolls back, or dies by
SIGKILL before either. The journal says, before and after, what was meant, to be compared with file and topic.
"""

import collections
import dataclasses
import json
import os
import random
import signal
import sys
import time

from support import outbox_file
from support.harness import check, let_pass, note, require, spawn

BUSINESS_TABLE = (
    "CREATE TABLE IF NOT EXISTS orders(id INTEGER PRIMARY KEY AUTOINCREMENT, marker TEXT NOT NULL UNIQUE, event_id"
    " TEXT)"
)
DUE_WITHIN_MS = 300


@dataclasses.dataclass
class Plan:
    db: str
    journal: str
    writer: int
    seed: int
    topics: list  # of [name, partitions]
    keys: int = 20
    transactions_per_second: float = 40
    rollback_share: float = 0.1
    crash_share: float = 0.0  # of the transactions; the group starts a successor
    payload_bytes: int = 200
    keyless_share: float = 0.05
    scheduled_share: float = 0.05
    first_transaction: int = 0


def run_writer(plan):
    """Writes until SIGTERM. It keeps its pace, so that load and faults overlap for the whole test."""
    chance = random.Random(f"{plan.seed}-{plan.writer}-{plan.first_transaction}")
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    db = outbox_file.connect(plan.db)
    with open(plan.journal, "a", encoding="ascii") as journal:

        def say(number, fate, markers=()):
            journal.write(json.dumps({"tx": number, "fate": fate, "markers": list(markers)}) + "\n")
            journal.flush()

        number = plan.first_transaction
        while not stopping:
            write_transaction(db, plan, chance, number, say)
            number += 1
            let_pass(chance.expovariate(plan.transactions_per_second), "the pace of this application")
    db.close()


def write_transaction(db, plan, chance, number, say):
    markers = [f"w{plan.writer}-{number}-{n}" for n in range(chance.randint(1, 4))]
    fate = chance.random()
    say(number, "begun", markers)
    db.execute("BEGIN IMMEDIATE")
    for marker in markers:
        insert(db, plan, chance, marker)
        if fate < plan.crash_share:
            os.kill(os.getpid(), signal.SIGKILL)  # in the middle: later markers are not even written
    if fate < plan.crash_share + plan.rollback_share:
        db.execute("ROLLBACK")
        say(number, "rolled back")
    else:
        db.execute("COMMIT")
        say(number, "committed")


def insert(db, plan, chance, marker):
    topic, partitions = chance.choice(plan.topics)
    key = None if chance.random() < plan.keyless_share else f"key-{chance.randrange(plan.keys)}"
    event_id = f"id-{marker}" if chance.random() < 0.3 else None
    partition = chance.randrange(partitions) if chance.random() < 0.05 else None
    scheduled = chance.random() < plan.scheduled_share
    due = time.time_ns() // 1_000_000 + chance.randrange(DUE_WITHIN_MS) if scheduled else None
    order = db.execute("INSERT INTO orders(marker, event_id) VALUES (?, ?)", (marker, event_id)).lastrowid
    payload = json.dumps({"order": order, "marker": marker, "fill": "x" * plan.payload_bytes})
    db.execute(
        "INSERT INTO outbox(topic, partition, key, payload, headers, event_id, deliver_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (topic, partition, key, payload, json.dumps({"marker": marker}), event_id, due),
    )


class Writers:
    """The group: keeps `count` writers alive until stop(); a crashed one gets a successor at the next tend()."""

    def __init__(self, run, db, topics, count=4, **plan):
        self.run = run
        self.db = db
        connection = outbox_file.connect(db)
        connection.execute(BUSINESS_TABLE)
        connection.close()
        self.journals = [run.path(f"writer-{n}.journal") for n in range(count)]
        self.plans = [
            Plan(str(db), str(self.journals[n]), n, run.seed, [list(t) for t in topics.items()], **plan)
            for n in range(count)
        ]
        self.processes = [self.start(p) for p in self.plans]
        self.crashes = 0
        run.at_end(self.kill)

    def start(self, plan):
        return spawn([sys.executable, __file__, json.dumps(dataclasses.asdict(plan))])

    def tend(self):
        for number, process in enumerate(self.processes):
            code = process.poll()
            if code is None:
                continue
            require(code == -signal.SIGKILL, f"writer {number} ended with {code}")
            self.crashes += 1
            self.plans[number].first_transaction += 1_000_000  # its numbers cannot meet those of the dead one
            self.processes[number] = self.start(self.plans[number])

    def stop(self):
        """SIGTERM: each ends its transaction."""
        self.tend()
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            # One that draws a crash in its last transaction dies by its own hand.
            require(process.wait(60) in (0, -signal.SIGKILL, -signal.SIGTERM), "a writer failed")
        let_pass(DUE_WITHIN_MS / 1000, "what they scheduled becomes due")

    def kill(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def journal_fates(self):
        """{marker: 'committed' | 'rolled back' | 'begun'}; begun: the writer died, or was about to say more."""
        fates = {}
        for journal in self.journals:
            meant = {}
            for line in journal.read_text().splitlines():
                entry = json.loads(line)
                if entry["fate"] == "begun":
                    meant[entry["tx"]] = entry["markers"]
                fates.update({marker: entry["fate"] for marker in meant[entry["tx"]]})
        return fates

    def check_file(self):
        """P1 in the file itself: business rows and events stand and fall together. Returns the committed events."""
        fates = self.journal_fates()
        db = outbox_file.connect(self.db)
        orders = [
            (marker.decode(), ident) for marker, ident in db.execute("SELECT marker, id FROM orders ORDER BY id")
        ]
        db.close()
        events = outbox_file.committed_events(self.db)
        markers = [json.loads(e.payload)["marker"] for e in events]
        check(
            markers == [marker for marker, _ in orders],
            f"{len(events)} events stand beside {len(orders)} business rows, in the same order",
        )
        present = set(markers)
        lost = [m for m, fate in fates.items() if fate == "committed" and m not in present]
        kept = [m for m, fate in fates.items() if fate == "rolled back" and m in present]
        check(
            not lost and not kept,
            f"the writers' journals agree with the file ({len(lost)} lost, {len(kept)} kept in spite of a rollback)",
        )
        note(
            f"fates of {len(fates)} rows: {dict(collections.Counter(fates.values()))}; {self.crashes} writers crashed"
        )
        return events


if __name__ == "__main__":
    run_writer(Plan(**json.loads(sys.argv[1])))
