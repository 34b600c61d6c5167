#!/usr/bin/python3
"""Topics change under load: one gets more partitions, one is deleted and made anew. Nothing is lost, order holds."""

import collections

from confluent_kafka.admin import AdminClient, NewPartitions

from support import harness, outbox_file, relay_process
from support.harness import check, let_pass, require, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic, read_topics
from support.load_writer import Writers
from support.murmur2 import partition_of
from support.oracle import compare, summary

FEW, MANY = 3, 6
ROWS = 300


def judge_grown(events, records):
    """Bytes as ever; each key first in the partition of the old count, then in that of the new one, never back."""
    findings = compare(events, records, {events[0].topic: MANY}, allow_repeats=True)
    bad = [f for f in findings if f.kind not in ("misplaced", "reordered")]
    check(not bad, f"the grown topic holds its {len(events)} events, byte for byte: {summary(bad)}")
    by_id = {event.event_id: event for event in events}
    places = collections.defaultdict(dict)  # lane -> order -> partition of the first occurrence
    for record in records:
        event = by_id[record.event_id]
        if event.lane is not None and event.partition is None:
            places[event.lane].setdefault(event.order, record.partition)
    moved = 0
    for (_topic, _partition, key), by_order in places.items():
        old, new = partition_of(key, FEW), partition_of(key, MANY)
        walked = [by_order[order] for order in sorted(by_order)]
        switch = next((n for n, partition in enumerate(walked) if partition != old), len(walked))
        require(all(partition == new for partition in walked[switch:]), f"a key of {len(walked)} rows goes {walked}")
        moved += old != new and switch < len(walked)
    check(moved > 0, f"{moved} keys changed their partition once, the others stayed")
    for partition in range(MANY):
        here = [r for r in records if r.partition == partition]
        present = [by_id[name] for name in {r.event_id for r in here}]
        late = [f for f in compare(present, here, {events[0].topic: MANY}, True) if f.kind == "reordered"]
        require(not late, f"partition {partition}: {summary(late)}")
    check(True, "and order holds in each partition")


def swiftly_remade(run, bootstrap):
    """Deleted and there again before anyone looked: offsets that go back stop the topic, and a restart goes on."""
    topic = f"swift-{run.seed}"
    create_topic(bootstrap, topic, FEW)
    db = run.path("swift.db")
    relay_process.init(run, db)
    relay = relay_process.Relay(run, db, bootstrap)
    add(db, topic, ROWS)
    relay_process.wait_settled(run, db, 60, relay)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic])[topic].result(30)
    create_topic(bootstrap, topic, FEW)
    for _ in range(2):  # the first batch finds out, or the topic was seen missing; the second finds the topic stopped
        add(db, topic, ROWS)
        counts = relay_process.wait_settled(run, db, 60, relay)
    waiting, said = counts["waiting"], "the topic was recreated" in relay.text()
    check(relay.alive() and counts["parked"] == 0, "the relay lives on and parks nothing")
    check(said == (waiting > 0), f"{waiting} rows wait, and {'a line says why' if said else 'no line says otherwise'}")
    require(relay.terminate()[0] == 0, "the relay did not stop")
    check(relay_process.drain(run, db, bootstrap) == 0, "a restart goes on with it")
    later = outbox_file.committed_events(db)[ROWS:]
    records = [r for r in read_topics(bootstrap, {topic: FEW}) if r.event_id in {e.event_id for e in later}]
    findings = compare(later, records, {topic: FEW}, allow_repeats=True)
    check(not findings, f"each of {len(later)} later rows is in the new topic, in order: {summary(findings)}")


def add(db, topic, rows):
    connection = outbox_file.connect(db)
    connection.execute("BEGIN IMMEDIATE")
    for number in range(rows):
        connection.execute("INSERT INTO outbox(topic, key, payload) VALUES (?, ?, ?)", (topic, number % 7, number))
    connection.execute("COMMIT")
    connection.close()


def body(run):
    bootstrap = shared_bootstrap()
    grown, remade = f"grown-{run.seed}", f"remade-{run.seed}"
    for topic in (grown, remade):
        create_topic(bootstrap, topic, FEW)
    db = run.path("shop.db")
    relay_process.init(run, db)
    writers = Writers(run, db, {grown: FEW, remade: FEW}, count=2, rollback_share=0.05)
    relay = relay_process.Relay(run, db, bootstrap)
    wait_until(lambda: relay_process.status(run, db)["sent"] > 100, 60, "rows are sent", every=0.2)

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(grown, MANY)])[grown].result(30)
    admin.delete_topics([remade])[remade].result(30)
    wait_until(lambda: relay_process.status(run, db)["waiting"] > 50, 60, "rows of the deleted topic wait", every=0.2)
    before = {name for name, (state, _error) in outbox_file.states(db).items() if state == "sent"}
    create_topic(bootstrap, remade, FEW)
    wait_until(lambda: relay_process.status(run, db)["waiting"] == 0, 90, "they go on once it is there", every=0.5)
    let_pass(3, "load on the changed topics")
    writers.stop()
    counts = relay_process.wait_settled(run, db, 60, relay)
    check(counts["parked"] == 0 and counts["blocked"] == 0, "nothing was parked for a topic's sake")

    events = writers.check_file()
    records = read_topics(bootstrap, {grown: MANY, remade: FEW})
    judge_grown([e for e in events if e.topic == grown], [r for r in records if r.topic == grown])
    after = [e for e in events if e.topic == remade and e.event_id not in before]
    findings = compare(after, [r for r in records if r.topic == remade], {remade: FEW}, allow_repeats=True)
    check(not findings, f"the remade topic holds the {len(after)} rows that were not sent before: {summary(findings)}")
    check(relay.terminate()[0] == 0, "the relay that saw it all stops with exit 0")
    swiftly_remade(run, bootstrap)


harness.main("topic-changes", body, 240)
