#!/usr/bin/python3
"""P3, seen by strace: no row goes to Kafka before the WAL that holds it was synced, and none when that sync fails."""

import os
import shutil

from support import harness, outbox_file, relay_process
from support.harness import check, note, require, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic
from support.relay_process import CORRUPT, Relay
from support.system_calls import unsynced_markers

ONE_BY_ONE = 20
IN_A_BURST = 200
STRACE = ("strace", "-D", "-f", "-y", "-s", "100000")
TRACED = "trace=pread64,fsync,fdatasync,sendmsg,sendto,write,writev"


def add(connection, topic, marker):
    connection.execute("INSERT INTO outbox(topic, key, payload) VALUES (?, 'k', ?)", (topic, marker))


def traced_run(run, bootstrap):
    topic = f"barrier-{run.seed}"
    create_topic(bootstrap, topic, 1)
    db = run.path("shop.db")
    relay_process.init(run, db)
    reader = TopicReader(bootstrap, {topic: 1})
    run.at_end(reader.close)
    trace = run.path("strace.out")
    relay = Relay(run, db, bootstrap, prefix=(*STRACE, "-e", TRACED, "-o", trace))
    connection = outbox_file.connect(db)
    connection.execute("PRAGMA synchronous=NORMAL")  # the application's own commits sync nothing
    markers = [f"marker-{n:05}-of-{run.seed}" for n in range(ONE_BY_ONE + IN_A_BURST)]
    for sent, marker in enumerate(markers[:ONE_BY_ONE]):
        add(connection, topic, marker)
        wait_until(lambda: reader.end_sum() > sent, 30, "a row arrives", every=0.005)
    for marker in markers[ONE_BY_ONE:]:
        add(connection, topic, marker)
    relay_process.wait_settled(run, db, 60, relay)
    connection.close()
    require(relay.terminate()[0] == 0, "the traced relay did not stop")
    return trace, markers


def body(run):
    require(shutil.which("strace"), "strace is not installed (scripts/install-deps brings it)")
    bootstrap = shared_bootstrap()
    trace, markers = traced_run(run, bootstrap)
    lines = trace.read_text(errors="replace").splitlines()
    note(f"{len(lines)} system calls")
    bad = unsynced_markers(lines, "shop.db-wal", markers)
    check(
        not bad,
        f"each of {len(markers)} rows was sent after a sync of the WAL that followed its reading:"
        f" {dict(list(bad.items())[:3])}",
    )
    without_syncs = [line for line in lines if "sync(" not in line and "sync resumed" not in line]
    check(
        len(unsynced_markers(without_syncs, "shop.db-wal", markers)) == len(markers),
        "and the same trace without its syncs is refused",
    )

    failing_sync(run, bootstrap)


def failing_sync(run, bootstrap):
    topic = f"barrier-fails-{run.seed}"
    create_topic(bootstrap, topic, 1)
    reader = TopicReader(bootstrap, {topic: 1})
    run.at_end(reader.close)
    db = run.path("failing.db")
    relay_process.init(run, db)
    connection = outbox_file.connect(db)  # stays open, so that the WAL is there
    add(connection, topic, "first")
    require(relay_process.drain(run, db, bootstrap) == 0, "the first row was not sent")
    add(connection, topic, "second")  # a first run writes more than receipts; now the barrier's sync is the first one
    inject = ("-P", f"{db}-wal", "-e", "inject=fdatasync,fsync:error=EIO", "-o", os.devnull)
    code = Relay(run, db, bootstrap, prefix=(*STRACE, *inject)).wait(20)
    check(code == CORRUPT, f"a sync that fails ends the relay with exit {code}")
    check(reader.end_sum() == 1, "and nothing of what it could not make durable was sent")
    connection.close()


harness.main("barrier", body, 120)
