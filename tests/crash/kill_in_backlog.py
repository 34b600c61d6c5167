#!/usr/bin/python3
"""A relay at full speed through a backlog, killed with many batches in flight: order holds, and the file agrees."""

from support import harness, outbox_file, relay_process
from support.harness import check, let_pass, note, require, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic
from support.oracle import compare, compare_receipts, summary

ROWS = 40_000  # Of a backlog; a life may drain it, and the next one finds another.
KEYS = 50
KILLS = 12
PARTITIONS = 3


def write_backlog(db, topic):
    connection = outbox_file.connect(db)
    connection.execute("BEGIN IMMEDIATE")
    rows = ((topic, f"key-{number % KEYS}", f"{number:0200}") for number in range(ROWS))
    connection.executemany("INSERT INTO outbox(topic, key, payload) VALUES (?, ?, ?)", rows)
    connection.execute("COMMIT")
    connection.close()


def one_life(run, db, topic, bootstrap, reader):
    """Ends within 80 ms of the first record, when thousands are under way."""
    if not relay_process.status(run, db)["ready"]:
        write_backlog(db, topic)
    before = reader.end_sum()
    relay = relay_process.Relay(run, db, bootstrap)
    wait_until(lambda: reader.end_sum() > before, 30, "a relay publishes something", every=0.001)
    let_pass(run.random.uniform(0, 0.08), "a random moment")
    require(relay.alive(), f"the relay ended by itself with exit {relay.process.poll()}")
    relay.kill()


def body(run):
    bootstrap = shared_bootstrap()
    topic = f"backlog-{run.seed}"
    create_topic(bootstrap, topic, PARTITIONS)
    db = run.path("shop.db")
    relay_process.init(run, db)
    reader = TopicReader(bootstrap, {topic: PARTITIONS})
    run.at_end(reader.close)
    for _ in range(KILLS):
        one_life(run, db, topic, bootstrap, reader)
    note(f"{KILLS} relays were killed after they had published")
    check(relay_process.drain(run, db, bootstrap) == 0, "the next relay drains what is left and exits 0")
    events, records = outbox_file.committed_events(db), reader.read_all()
    findings = compare(events, records, {topic: PARTITIONS}, allow_repeats=True)
    check(not findings, f"all {len(events)} events are in Kafka, in order, nothing else: {summary(findings)}")
    findings = compare_receipts(outbox_file.receipts(db), events, records)
    check(not findings, f"every receipt names a record of its event: {summary(findings)}")
    note(f"{len(records)} records: {len(records) - len(events)} repeats")
    require(len(records) > len(events), "no kill came between a publish and its receipt: the test proved too little")


harness.main("kill-in-backlog", body, 240)
