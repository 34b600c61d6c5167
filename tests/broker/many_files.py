#!/usr/bin/python3
"""One relay for many files: what idle ones cost, how soon rows of a few reach Kafka; a backlog starves nobody."""

import argparse
import pathlib

from support import harness, relay_process
from support.file_crowd import Crowd, acknowledged_after_ms, add, sent, trickle
from support.harness import check, let_pass, note, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic

IDLE_SECONDS = 20
IDLE_SHARE = 0.02  # of one core
WRITTEN_FILES = 20
COMMITS_PER_SECOND = 200
LOAD_SECONDS = 15
P99_MS = 50
BACKLOG_ROWS = 100_000


def cpu_seconds(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def memory_mb(pid, field):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


def idle(relay, limit):
    before = cpu_seconds(relay.pid)
    let_pass(IDLE_SECONDS, "the time that is measured")
    used = cpu_seconds(relay.pid) - before
    share = used / IDLE_SECONDS
    check(0 < share < limit, f"idle files take {100 * share:.2f} % of a core, limit {100 * limit} %")


def percentile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))]


def written_to(crowd, topic, p99_limit):
    committed = trickle(crowd.paths[:WRITTEN_FILES], topic, LOAD_SECONDS, COMMITS_PER_SECOND)
    for path, rows in committed.items():
        wait_until(lambda path=path, rows=rows: sent(path) == 1 + len(rows), 30, f"{path.name} is drained")
    waits = acknowledged_after_ms(committed)
    p50, p99 = percentile(waits, 0.50), percentile(waits, 0.99)
    check(
        p99 <= p99_limit,
        f"{len(waits)} commits to {WRITTEN_FILES} files were acknowledged after {p50:.0f} ms at p50,"
        f" {p99:.0f} ms at p99 (limit {p99_limit}), {waits[-1]:.0f} ms at most",
    )


def beside_a_backlog(crowd, topic):
    """A file with much to do, and one with a single row that comes after it."""
    large, small = crowd.paths[-1], crowd.paths[-2]
    add(large, topic, BACKLOG_ROWS)
    add(small, topic, 1)
    wait_until(lambda: sent(small) == 2, 60, "the one row of the small file", every=0.01)
    done = sent(large) or 0
    check(done < BACKLOG_ROWS, f"one row of a small file went out while {done} of {BACKLOG_ROWS} beside it had")
    wait_until(lambda: sent(large) == 1 + BACKLOG_ROWS, 120, "the backlog of the large file", every=0.2)


def body(run):
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--files", type=int, default=200)
    arguments.add_argument("--strict", action="store_true", help="hold the limits that a machine of its own can hold")
    arguments.add_argument("--memory-mb", type=int, default=256)
    options = arguments.parse_args()
    bootstrap = shared_bootstrap()
    topic = f"crowd-{run.seed}"
    create_topic(bootstrap, topic, 3)
    crowd = Crowd(run, options.files)
    note(f"{options.files} files are there")
    relay = relay_process.Relay(run, crowd.pattern, bootstrap)
    for path in crowd.paths:
        add(path, topic, 1)
    for path in crowd.paths:
        wait_until(lambda path=path: sent(path) == 1, 60, f"the row of {path.name}")
    check(relay.alive(), f"a row of each of {options.files} files went out")
    let_pass(15, "what follows the last row is not idleness yet")
    idle(relay, IDLE_SHARE if options.strict else 2 * IDLE_SHARE)
    written_to(crowd, topic, P99_MS if options.strict else 10 * P99_MS)
    beside_a_backlog(crowd, topic)
    check(
        memory_mb(relay.pid, "VmHWM") <= options.memory_mb,
        f"at most {memory_mb(relay.pid, 'VmHWM'):.0f} MB were resident, {memory_mb(relay.pid, 'VmRSS'):.0f} MB are",
    )
    check(relay.terminate()[0] == 0, "it stops with exit 0")


harness.main("many-files", body, 900)
