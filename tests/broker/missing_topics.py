#!/usr/bin/python3
"""A missing topic is told with the command that makes it, and that command works as it is printed; with
--create-topics the relay makes it, and says why where the brokers refuse."""

import re
import shlex
import sqlite3

from confluent_kafka.admin import AdminClient

from support import harness, relay_process
from support.harness import check, wait_until
from support.kafka import shared_bootstrap
from support.kafka_tools import Tools

SECONDS = 60


def add(db, topic):
    with sqlite3.connect(db) as connection:
        connection.execute("INSERT INTO outbox(topic, key, payload) VALUES (?, 'k', 'v')", (topic,))
    connection.close()


def partitions(bootstrap, topic):
    return len(AdminClient({"bootstrap.servers": bootstrap}).list_topics(topic, timeout=30).topics[topic].partitions)


def new_file(run, name):
    db = run.path(name)
    relay_process.init(run, db)
    return db


def told_with_its_command(run, bootstrap):
    db, topic = new_file(run, "told.db"), f"told-{run.seed}"
    add(db, topic)
    relay = relay_process.Relay(run, db, bootstrap)
    found = wait_until(lambda: re.search(r"create it: kafka-topics\.sh (.+)$", relay.text(), re.MULTILINE), SECONDS,
                       "the command that makes the topic")
    words = shlex.split(found.group(1))
    check(words[:3] == ["--bootstrap-server", bootstrap.split(",")[0], "--create"], f"the command: {found.group(1)}")
    Tools(run, bootstrap).run("topics", *words[2:])
    wait_until(lambda: relay_process.status(run, db)["sent"] == 1, SECONDS, "the row that waited for its topic")
    check(relay.terminate()[0] == 0, "the command makes the topic as it is printed, and the row goes out by itself")


def made_by_the_relay(run, bootstrap):
    db, topics = new_file(run, "made.db"), {f"made-{run.seed}-{number}" for number in range(3)}
    for topic in topics:
        add(db, topic)
    relay = relay_process.Relay(run, db, bootstrap, "--create-topics", "4:1", "--drain", "--timeout", "60s")
    check(relay.wait(90) == 0, "with --create-topics a drain makes what is missing and publishes")
    check({partitions(bootstrap, topic) for topic in topics} == {4}, "each topic has the partitions that were wished")
    check(relay.text().count(" created") == len(topics), "each is told once")
    check("is paused" not in relay.text(), "and none was paused meanwhile")


def refused_by_the_brokers(run, bootstrap):
    db = new_file(run, "refused.db")
    add(db, f"refused-{run.seed}")
    relay = relay_process.Relay(run, db, bootstrap, "--create-topics", "1:99")
    wait_until(lambda: "--create-topics could not: INVALID_REPLICATION_FACTOR" in relay.text(), SECONDS,
               "why the topic could not be made")
    parked = relay_process.status(run, db)["parked"]
    check(parked == 0, "where the brokers refuse, the reason is told and the row waits")


def body(run):
    bootstrap = shared_bootstrap()
    told_with_its_command(run, bootstrap)
    made_by_the_relay(run, bootstrap)
    refused_by_the_brokers(run, bootstrap)


harness.main("missing-topics", body, 250)
