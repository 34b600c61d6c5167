#!/usr/bin/python3
"""10,000 rows by plain SQL: an independent client reads exactly the committed ones from Kafka, byte for byte."""

import json

from support import harness
from support import odd_rows
from support import outbox_file
from support import relay_process
from support.harness import check, note
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic, read_topics
from support.oracle import compare, compare_receipts, summary

ROWS = 10_000


def write(run, db, rows, names, into):
    """Transactions of 1-20 rows, one in ten rolled back. Appends what was committed to into.committed."""
    connection = outbox_file.connect(db)
    written = 0
    while written < rows:
        batch = [
            odd_rows.row(run.random, names, into.next_number())
            for _ in range(min(run.random.randint(1, 20), rows - written))
        ]
        written += len(batch)
        connection.execute("BEGIN IMMEDIATE")
        for row in batch:
            row.ident = connection.execute(row.sql, row.values).lastrowid
        if run.random.random() < 0.1:
            connection.execute("ROLLBACK")
            into.rolled_back += batch
        else:
            connection.execute("COMMIT")
            into.committed += batch
    connection.close()


class Written:
    def __init__(self):
        self.committed = []
        self.rolled_back = []

    def next_number(self):
        return len(self.committed) + len(self.rolled_back) + odd_rows.count()


def compare_file_with_memory(db, written):
    """The file must hold what was committed, in the order of the commits. Events come from memory."""
    in_file = outbox_file.committed_events(db)
    check(len(in_file) == len(written.committed), f"the outbox holds {len(in_file)} rows, as many as were committed")
    events = []
    for stored, row in zip(in_file, written.committed):
        harness.require(stored.order == row.ident, f"row {row.ident} stands where row {stored.order} was expected")
        events.append(row.event(stored.event_id, stored.created_at))
        harness.require(
            row.event_id is None or row.event_id == stored.event_id, f"row {row.ident} has event id {stored.event_id}"
        )
    check(True, "ids rise with the commits, and given event ids are kept")
    return events


def body(run):
    bootstrap = shared_bootstrap()
    names = odd_rows.Topics(few=f"bytes-few-{run.seed}", many=f"bytes-many-{run.seed}")
    create_topic(bootstrap, names.few, 3)
    create_topic(bootstrap, names.many, 12)
    db = run.path("shop.db")
    relay_process.init(run, db)

    written = Written()
    write(run, db, ROWS // 2, names, written)
    check(relay_process.drain(run, db, bootstrap) == 0, "run --drain sends a backlog and exits 0")
    relay = relay_process.Relay(run, db, bootstrap)
    write(run, db, ROWS - ROWS // 2, names, written)
    relay_process.wait_settled(run, db, 120, relay)
    code, seconds = relay.terminate()
    check(code == 0, f"SIGTERM ends the live relay with exit 0 ({seconds:.1f} s)")
    note(f"{len(written.committed)} rows committed, {len(written.rolled_back)} rolled back")

    events = compare_file_with_memory(db, written)
    partitions = {names.few: 3, names.many: 12}
    records = read_topics(bootstrap, partitions)
    findings = compare(events, records, partitions, allow_repeats=False)
    check(
        not findings,
        f"Kafka holds exactly the {len(events)} committed rows, byte for byte, in key order, in Java's partition:"
        f" {summary(findings)}",
    )
    for kind, count in sorted(odd_rows.census(written.committed).items()):
        note(f"of these {count:5} with {kind}")

    receipts = outbox_file.receipts(db)
    findings = compare_receipts(receipts, events, records)
    check(not findings, f"every receipt names its record's partition and offset: {summary(findings)}")
    check(all(offset is not None and offset >= 0 for _, offset in receipts.values()), "no receipt lacks its offset")
    compare_with_commands(run, db, events, records)


def compare_with_commands(run, db, events, records):
    counts = relay_process.status(run, db)
    zeros = {state: counts[state] for state in ("ready", "scheduled", "parked", "blocked", "skipped")}
    check(
        counts["sent"] == len(records) and not any(zeros.values()), f"status --json: {counts['sent']} sent, {zeros}"
    )
    check(counts["oldest_ready_seconds"] is None, "status --json: nothing is ready, so nothing has an age")
    listed = relay_process.rows(run, db, "--limit", 10 * ROWS)
    by_id = {row["event_id"]: row for row in listed}
    places = {record.event_id: (record.partition, record.offset) for record in records}
    check(len(by_id) == len(listed) == len(events), f"ls --json lists {len(listed)} rows, each with its own event id")
    check(
        all((by_id[name]["partition"], by_id[name]["offset"]) == place for name, place in places.items()),
        "ls --json agrees with Kafka's offsets, and its event ids with the header id",
    )
    sample = next(e for e in events if e.payload and len(e.payload) > 1000 and e.event_id.isascii())
    shown = relay_process.command(run, "show", "--db", db, sample.event_id, "--json")
    fields = json.loads(shown.stdout)
    check(
        shown.returncode == 0 and fields["event_id"] == sample.event_id and "payload" not in fields,
        "show finds a row by its event id and keeps its payload to itself",
    )


harness.main("plain-sql-bytes", body, 300)
