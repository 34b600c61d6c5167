#!/usr/bin/python3
"""Blocked keys cost the others nothing, and one with a long tail costs little.

  rate  backlogs of other keys beside no, a thousand and a hundred thousand blocked keys, in turns
  tail  a key whose first row is refused, with very many behind it: all are listed, and go out after a retry
"""

import argparse
import json
import statistics
import time

from confluent_kafka.admin import AdminClient, ConfigResource

from support import harness, outbox_file, relay_process
from support.harness import check, note, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic

LIMIT = 20_000  # max.message.bytes of the topic: what is larger is refused
BATCH = 50_000


def write(db, rows):
    """(key, payload bytes) in commit order."""
    connection = outbox_file.connect(db)
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(
        "INSERT INTO outbox(topic, key, payload) VALUES (?, ?, ?)",
        ((topic, key, "x" * size) for topic, key, size in rows),
    )
    connection.execute("COMMIT")
    connection.close()
    return time.time()


def peak_mb(relay):
    with open(f"/proc/{relay.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def held(run, db, **wanted):
    counts = relay_process.status(run, db)
    return all(counts[state] == count for state, count in wanted.items())


def rate_beside(run, bootstrap, keys, rows, number):
    """Rows a second of free keys, beside `keys` blocked ones with two rows behind each parked one."""
    topic, db = f"blocked-{run.seed}-{number}", run.path(f"rate-{number}.db")
    create_topic(bootstrap, topic, 3)
    relay_process.init(run, db)
    if keys:
        write(db, ((topic, f"bad-{key}", 10) for key in range(keys)))
        relay_process.succeed(run, "park", "--db", db, "--all", "--yes")
        write(db, ((topic, f"bad-{row % keys}", 10) for row in range(2 * keys)))
    relay = relay_process.Relay(run, db, bootstrap)
    wait_until(lambda: held(run, db, parked=keys, blocked=2 * keys), 120, f"{keys} keys are blocked", every=0.3)
    write(db, [(topic, "warm", 100)] * 1_000)
    relay_process.wait_settled(run, db, 30, relay)
    committed = write(db, ((topic, f"good-{row % 1_000}", 100) for row in range(rows)))

    def arrived():
        harness.require(relay.alive(), "the relay lives")
        return sent(db)[0] == rows + 1_000

    wait_until(arrived, 120, "the free rows are sent", every=0.1)
    rate = rows / (sent(db)[1] / 1000 - committed)
    check(relay.terminate()[0] == 0, f"{rate:,.0f} rows/s beside {keys} blocked keys")
    return rate


def sent(db):
    connection = outbox_file.connect(db)
    answer = connection.execute("SELECT count(*), max(sent_at) FROM outbox_sent").fetchone()
    connection.close()
    return answer


def measure_rates(run, bootstrap, rows, rounds, least_ratio):
    rates = {0: [], 1_000: [], 100_000: []}
    for turn in range(rounds):
        for keys, found in rates.items():
            found.append(round(rate_beside(run, bootstrap, keys, rows, f"{turn}-{keys}")))
    medians = {keys: statistics.median(found) for keys, found in rates.items()}
    note(json.dumps({"rows": rows, "rates": rates}))
    for keys in (1_000, 100_000):
        ratio = medians[keys] / medians[0]
        check(ratio >= least_ratio, f"beside {keys} blocked keys the others flow at {ratio:.2f} of their rate")


def measure_tail(run, bootstrap, tail, memory_mb):
    topic, db = f"tail-{run.seed}", run.path("tail.db")
    create_topic(bootstrap, topic, 3, max_message_bytes=LIMIT)
    relay_process.init(run, db)
    write(db, [(topic, "long", 2 * LIMIT)])
    for first in range(0, tail, BATCH):
        write(db, ((topic, "long", 10) for _ in range(first, min(first + BATCH, tail))))
    relay = relay_process.Relay(run, db, bootstrap)
    began = time.monotonic()
    wait_until(lambda: held(run, db, parked=1, blocked=tail, ready=0), 120, "the tail is listed", every=0.2)
    listed, listed_mb = time.monotonic() - began, peak_mb(relay)
    free = write(db, [(topic, "free", 10)])
    wait_until(lambda: sent(db)[0] == 1, 10, "a row of another key goes out", every=0.02)
    note(f"{tail} rows listed in {listed:.1f} s, {listed_mb:.0f} MB")
    note(f"a row of another key meanwhile: {sent(db)[1] / 1000 - free:.3f} s")
    admin = AdminClient({"bootstrap.servers": bootstrap})
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, set_config={})
    admin.alter_configs([resource])[resource].result(30)
    began = time.monotonic()
    relay_process.succeed(run, "retry", "--db", db, "--state", "parked", "--all", "--yes")
    wait_until(lambda: sent(db)[0] == tail + 2, 400, "all of the key is sent", every=0.5)
    released = time.monotonic() - began
    note(json.dumps({"tail": tail, "listed_s": round(listed, 1), "released_s": round(released, 1),
                     "listed_mb": round(listed_mb), "released_mb": round(peak_mb(relay))}))
    check(peak_mb(relay) <= memory_mb, f"the relay took {peak_mb(relay):.0f} MB at most")
    check(relay.terminate()[0] == 0, "the relay stops with exit 0")
    order = outbox_file.connect(db)
    offsets = [o for (o,) in order.execute("SELECT offset FROM outbox_sent ORDER BY id LIMIT ?", (tail + 1,)) if o >= 0]
    check(offsets == sorted(offsets), "the key's rows stand in Kafka in commit order")
    order.close()


def body(run, chosen):
    bootstrap = shared_bootstrap()
    if chosen.rounds:
        measure_rates(run, bootstrap, chosen.rows, chosen.rounds, chosen.least_ratio)
    measure_tail(run, bootstrap, chosen.tail, chosen.memory_mb)


arguments = argparse.ArgumentParser()
arguments.add_argument("--rows", type=int, default=200_000)
arguments.add_argument("--rounds", type=int, default=3)
arguments.add_argument("--least-ratio", type=float, default=0.8)
arguments.add_argument("--tail", type=int, default=1_000_000)
arguments.add_argument("--memory-mb", type=float, default=80)
options = arguments.parse_args()
harness.main("blocked-keys", lambda run: body(run, options), 900)
