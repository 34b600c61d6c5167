"""A relay one of whose threads hangs, while the others go on, must not tell the watchdog that all is well."""

import sqlite3

from support import harness, relay_process
from support.harness import check, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.notify_socket import NotifySocket

SECONDS = 60
WATCHDOG = 4


def hang(run, brokers, topic, place):
    name = place.replace(":", "-")
    db = run.path(f"{name}.db")
    relay_process.init(run, db)
    notify = NotifySocket(run, name)
    relay = relay_process.Relay(run, db, brokers, TXBOX_FAILPOINT=place, TXBOX_FAILPOINT_ACTION="hang",
                                **notify.environment(WATCHDOG))
    notify.receive_until(lambda message: "WATCHDOG" in message, SECONDS)
    with sqlite3.connect(db) as connection:
        connection.execute("INSERT INTO outbox(topic, key, payload) VALUES (?, 'k', 'v')", (topic,))
    # The time that the watchdog gives passes without a sign, however often it was heard before.
    wait_until(lambda: silent(notify), SECONDS, f"{WATCHDOG} s without a sign of a relay that hangs at {place}")
    check(relay.alive(), f"a relay that hangs at {place} is still there, and misses the watchdog")
    relay.kill()


def silent(notify):
    while (message := notify.receive(WATCHDOG)) is not None:
        if "WATCHDOG" in message:
            return False
    return True


def body(run):
    brokers, topic = shared_bootstrap(), f"watchdog-{run.seed}"
    create_topic(brokers, topic, 1)
    for place in ("relay:after_produce", "relay:before_mark"):
        hang(run, brokers, topic, place)


harness.main("watchdog", body, 200)
