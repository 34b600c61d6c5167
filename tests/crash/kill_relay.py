#!/usr/bin/python3
"""Four writers, and a relay killed by SIGKILL again and again: all that was committed arrives, in order, no more."""

import argparse

from support import harness, relay_process
from support.harness import check, let_pass, note, require
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic
from support.load_writer import Writers
from support.oracle import compare, compare_receipts, summary
from support.outbox_file import receipts

BEFORE_PUBLISHING = 0.2  # of the lives end at any moment, start-up included; the others after something was published


def one_life(run, db, bootstrap, reader, writers):
    """Returns True when the relay had published something before it was killed."""
    before = reader.end_sum()
    relay = relay_process.Relay(run, db, bootstrap)
    if run.random.random() < BEFORE_PUBLISHING:
        let_pass(run.random.uniform(0, 0.3), "a random moment of its start")
    else:
        harness.wait_until(lambda: reader.end_sum() > before, 30, "a relay publishes something", every=0.002)
        let_pass(run.random.choice([0, run.random.uniform(0, 0.05), run.random.uniform(0, 0.6)]), "a random moment")
    require(relay.alive(), f"the relay ended by itself with exit {relay.process.poll()}")
    relay.kill()
    writers.tend()
    return reader.end_sum() > before


def body(run, kills):
    bootstrap = shared_bootstrap()
    topics = {f"kill-a-{run.seed}": 3, f"kill-b-{run.seed}": 5}
    for name, count in topics.items():
        create_topic(bootstrap, name, count)
    db = run.path("shop.db")
    relay_process.init(run, db)
    reader = TopicReader(bootstrap, topics)
    run.at_end(reader.close)
    writers = Writers(run, db, topics, crash_share=0.003)

    published = sum(one_life(run, db, bootstrap, reader, writers) for _ in range(kills))
    check(published > kills / 2, f"{kills} relays were killed, {published} of them after they had published")
    writers.stop()
    check(relay_process.drain(run, db, bootstrap) == 0, "the next relay drains what is left and exits 0")

    events = writers.check_file()
    records = reader.read_all()
    findings = compare(events, records, topics, allow_repeats=True)
    check(
        not findings,
        f"every committed event is in Kafka, none that was not, order per key holds: {summary(findings)}",
    )
    findings = compare_receipts(receipts(db), events, records)
    check(not findings, f"every receipt names a record of its event: {summary(findings)}")
    note(f"{len(events)} events, {len(records)} records: {len(records) - len(events)} repeats")
    require(len(records) > len(events), "no kill came between a publish and its receipt: the test proved too little")


arguments = argparse.ArgumentParser()
arguments.add_argument("--kills", type=int, default=60)
kills_wanted = arguments.parse_args().kills
harness.main("kill-relay", lambda run: body(run, kills_wanted), 240 + kills_wanted * 5)
