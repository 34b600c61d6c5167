#!/usr/bin/python3
"""What people see with the tools at hand: kcat, and with --java the console consumer that comes with Kafka."""

import argparse
import json
import subprocess

from support import harness, outbox_file, relay_process
from support.harness import check
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.kafka_tools import Tools
from support.murmur2 import partition_of

KEYS = ["A1", "user42", "order-1", "", "é"]


def publish(run, bootstrap, topic):
    db = run.path("shop.db")
    relay_process.init(run, db)
    connection = outbox_file.connect(db)
    for number, key in enumerate(KEYS):
        connection.execute(
            "INSERT INTO outbox(topic, key, payload, headers, event_id) VALUES (?, ?, ?, ?, ?)",
            (topic, key, json.dumps({"quantity": number}), '{"type":"OrderPlaced"}', f"event-{number}"),
        )
    connection.execute("INSERT INTO outbox(topic, event_id) VALUES (?, 'tombstone')", (topic,))
    connection.close()
    check(relay_process.drain(run, db, bootstrap) == 0, f"{len(KEYS) + 1} rows are published")


def kcat(bootstrap, topic):
    done = subprocess.run(
        ["kcat", "-b", bootstrap, "-C", "-t", topic, "-e", "-q", "-J"], capture_output=True, text=True, timeout=60
    )
    harness.require(done.returncode == 0, f"kcat: {done.stderr[-500:]}")
    seen = {}
    for line in map(json.loads, done.stdout.splitlines()):
        headers = dict(zip(line["headers"][::2], line["headers"][1::2]))
        seen[headers["id"]] = (line, headers)
    check(
        sorted(seen) == sorted([*(f"event-{n}" for n in range(len(KEYS))), "tombstone"]),
        "kcat shows every event id in header id",
    )
    for number, key in enumerate(KEYS):
        line, headers = seen[f"event-{number}"]
        check(
            line["key"] == key
            and json.loads(line["payload"]) == {"quantity": number}
            and headers["type"] == "OrderPlaced"
            and headers["txbox-created-at"].isdigit()
            and line["partition"] == partition_of(key.encode(), 12),
            f"kcat shows key {key!r}, payload and headers, in the partition of Java's client",
        )
    check(
        seen["tombstone"][0]["payload"] is None and seen["tombstone"][0]["key"] is None,
        "kcat shows a tombstone without key",
    )


def java(run, bootstrap, topic):
    tools = Tools(run, bootstrap)
    out = tools.run(
        "consume",
        "--topic",
        topic,
        "--from-beginning",
        "--max-messages",
        str(len(KEYS) + 1),
        "--timeout-ms",
        "30000",
        *(
            word
            for name in ("key", "headers", "partition")
            for word in ("--formatter-property", f"print.{name}=true")
        ),
    )
    for number, key in enumerate(KEYS):
        line = next((text for text in out.splitlines() if f"id:event-{number}," in text), "")
        check(
            f"type:OrderPlaced" in line
            and f"\t{key}\t" in line
            and f'{{"quantity": {number}}}' in line
            and f"Partition:{partition_of(key.encode(), 12)}\t" in line,
            f"Java's console consumer shows {line!r}",
        )

    golden = f"golden-{run.seed}"
    create_topic(bootstrap, golden, 12)
    tools.run(
        "produce",
        "--topic",
        golden,
        "--reader-property",
        "parse.key=true",
        "--reader-property",
        "key.separator=|",
        text="".join(f"{key}|x\n" for key in KEYS),
    )
    done = subprocess.run(
        ["kcat", "-b", bootstrap, "-C", "-t", golden, "-e", "-q", "-J"], capture_output=True, text=True, timeout=60
    )
    placed = {line["key"]: line["partition"] for line in map(json.loads, done.stdout.splitlines())}
    check(
        placed == {key: partition_of(key.encode(), 12) for key in KEYS},
        f"Java's console producer puts the same keys there too: {placed}",
    )


def body(run, with_java):
    bootstrap = shared_bootstrap()
    topic = f"consoles-{run.seed}"
    create_topic(bootstrap, topic, 12)
    publish(run, bootstrap, topic)
    kcat(bootstrap, topic)
    if with_java:
        java(run, bootstrap, topic)


arguments = argparse.ArgumentParser()
arguments.add_argument("--java", action="store_true")
chosen = arguments.parse_args()
harness.main("consoles", lambda run: body(run, chosen.java), 240)
