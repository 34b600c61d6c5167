#!/usr/bin/python3
"""The reading side is checked itself: what was written is read back, and kcat sees the same."""

import json
import subprocess

from confluent_kafka import Producer

from support import harness
from support.harness import check
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic, read_topics

# (key, value, headers): null, empty and bytes in every place.
RECORDS = [
    (None, None, ()),
    (b"", b"", ()),
    (b"k", None, (("a", None), ("b", b""), ("a", b"1"))),
    (None, b"v", (("ünï", "é".encode()),)),
    (b"\0\xff", b"\0" * 5, (("bytes", b"\0\xff\0"), ("", b"nameless"))),
    (b"big", bytes(900_000), ()),
]


def kcat_lines(bootstrap, topic):
    done = subprocess.run(
        ["kcat", "-b", bootstrap, "-C", "-t", topic, "-e", "-q", "-J"], capture_output=True, timeout=60
    )
    harness.require(done.returncode == 0, f"kcat: {done.stderr[-500:]}")
    return [json.loads(line.decode("utf-8", "replace")) for line in done.stdout.splitlines()]


def body(run):
    bootstrap = shared_bootstrap()
    topic = f"reader-{run.seed}"
    create_topic(bootstrap, topic, 1)
    producer = Producer({"bootstrap.servers": bootstrap, "message.max.bytes": 1_500_000})
    for key, value, headers in RECORDS:
        producer.produce(topic, value=value, key=key, headers=list(headers))
    harness.require(producer.flush(30) == 0, "the test's own records were not sent")
    records = read_topics(bootstrap, {topic: 1})
    seen = [(r.key, r.value, r.headers) for r in records]
    for wanted, found in zip(RECORDS, seen):
        check(found == wanted, f"read back as written: {str(wanted):.90}")
    check(len(seen) == len(RECORDS), "nothing more and nothing less")
    lines = kcat_lines(bootstrap, topic)
    check(
        [line["key"] is None for line in lines] == [key is None for key, _, _ in RECORDS],
        "kcat sees the same null keys",
    )
    check(
        [line["payload"] is None for line in lines] == [value is None for _, value, _ in RECORDS],
        "kcat sees the same null values",
    )


harness.main("reader", body, 60)
