#!/usr/bin/python3
"""SIGTERM ends a relay cleanly: under load, without a broker, while it starts; a second one ends it at once."""

import signal
import time

from support import harness, relay_process
from support.harness import check, let_pass, wait_until
from support.kafka import Cluster
from support.kafka_log import TopicReader, create_topic
from support.load_writer import Writers
from support.oracle import compare, summary
from support.relay_process import Relay

QUICK_SECONDS = 5
GRACE_SECONDS = 30  # a broker that does not answer is waited for, but not for ever


def under_load(run, db, cluster, reader, writers):
    for number in range(6):
        before = reader.end_sum()
        relay = Relay(run, db, cluster.bootstrap)
        wait_until(lambda: reader.end_sum() > before, 30, "a relay publishes something", every=0.01)
        let_pass(run.random.uniform(0, 0.4), "a random moment under load")
        code, seconds = relay.terminate()
        writers.tend()
        check(
            code == 0 and seconds < QUICK_SECONDS,
            f"SIGTERM {number + 1} under load: exit {code} after {seconds:.2f} s",
        )


def interrupted(run, db, cluster, reader):
    before = reader.end_sum()
    relay = Relay(run, db, cluster.bootstrap)
    wait_until(lambda: reader.end_sum() > before, 30, "a relay publishes something", every=0.01)
    relay.process.send_signal(signal.SIGINT)
    code = relay.wait(QUICK_SECONDS)
    check(code == 0, f"SIGINT under load: exit {code}")


def without_broker(run, db, cluster, writers):
    relay = Relay(run, db, cluster.bootstrap)
    let_pass(1, "it publishes")
    cluster.pause()
    let_pass(2, "rows pile up in flight")
    code, seconds = relay.terminate(GRACE_SECONDS)
    check(code == 0, f"SIGTERM with a frozen broker: exit {code} after {seconds:.1f} s")
    relay = Relay(run, db, cluster.bootstrap)
    let_pass(0.3, "it starts, and finds no broker")
    code, seconds = relay.terminate(GRACE_SECONDS)
    check(code == 0, f"SIGTERM while it starts without a broker: exit {code} after {seconds:.1f} s")
    cluster.resume()

    relay = Relay(run, db, cluster.bootstrap)
    before = relay_process.status(run, db)["sent"]
    wait_until(lambda: relay_process.status(run, db)["sent"] > before, 60, "the thawed broker takes rows", every=0.2)
    cluster.pause()
    let_pass(1, "rows pile up in flight")
    relay.process.send_signal(signal.SIGTERM)
    let_pass(0.3, "the first signal was taken")
    if relay.alive():
        relay.process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    code = relay.wait(GRACE_SECONDS)
    seconds = time.monotonic() - began
    check(seconds < 2, f"a second SIGTERM ends it at once: exit {code} after {seconds:.2f} s")
    cluster.resume()
    writers.tend()


def body(run):
    with Cluster(1) as cluster:
        topics = {"signals": 3}
        create_topic(cluster.bootstrap, "signals", 3)
        db = run.path("shop.db")
        relay_process.init(run, db)
        reader = TopicReader(cluster.bootstrap, topics)
        run.at_end(reader.close)
        writers = Writers(run, db, topics, count=2, transactions_per_second=80)
        under_load(run, db, cluster, reader, writers)
        interrupted(run, db, cluster, reader)
        writers.stop()
        check(
            relay_process.drain(run, db, cluster.bootstrap) == 0,
            "what is left is simply unsent, and the next relay sends it",
        )
        findings = compare(writers.check_file(), reader.read_all(), topics, allow_repeats=False)
        check(not findings, f"clean stops cost neither a loss nor a repeat: {summary(findings)}")

        writers = Writers(run, db, topics, count=2, transactions_per_second=80, first_transaction=500_000)
        without_broker(run, db, cluster, writers)
        writers.stop()
        check(relay_process.drain(run, db, cluster.bootstrap) == 0, "after the outage the next relay sends all")
        findings = compare(writers.check_file(), reader.read_all(), topics, allow_repeats=True)
        check(not findings, f"stops in an outage lose nothing and keep the order: {summary(findings)}")


harness.main("signals", body, 300)
