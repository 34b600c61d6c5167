#!/usr/bin/python3
"""The relay dies at each of its named failpoints, at the first passage and at later ones; nothing is lost."""

import re
import signal
import subprocess

from support import harness, relay_process
from support.harness import ROOT, check, note, require
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic
from support.load_writer import Writers
from support.oracle import compare, summary

# What `run` never passes: other programs and commands do, and have their own tests.
NOT_OF_RUN = ("adopt", "inbox", "outbox", "prune", "tools")
FOLDERS = ("libbase", "libstore", "libkafka", "relay")  # what the relay is made of
PASSAGES = (1, 2, 7)


def names_in_tree():
    """Read from the source, so that a failpoint cannot be added or renamed without being tested."""
    found = set()
    for folder in FOLDERS:
        for source in (ROOT / folder).rglob("*.cpp"):
            found |= set(re.findall(r'TXBOX_FAILPOINT\("([^"]+)"\)', source.read_text()))
    return sorted(name for name in found if name.split(":")[0] not in NOT_OF_RUN)


def die_at(run, db, bootstrap, name, passage):
    """True when the relay reached that passage; false where it does not pass there so often."""
    relay = relay_process.Relay(run, db, bootstrap, TXBOX_FAILPOINT=f"{name}={passage}")
    try:
        relay.process.wait(8)
    except subprocess.TimeoutExpired:
        code, _ = relay.terminate()
        require(code == 0, f"armed at {name}={passage}, never killed, and yet exit {code}")
        return False
    code = relay.wait(1)
    require(code == -signal.SIGKILL, f"armed at {name}={passage} the relay ended with {code}")
    return True


def body(run):
    bootstrap = shared_bootstrap()
    topics = {f"failpoints-{run.seed}": 3}
    for topic, count in topics.items():
        create_topic(bootstrap, topic, count)
    names = names_in_tree()
    check(len(names) >= 3, f"failpoints of the relay: {', '.join(names)}")
    db = run.path("shop.db")
    relay_process.init(run, db)
    reader = TopicReader(bootstrap, topics)
    run.at_end(reader.close)
    writers = Writers(run, db, topics, count=2)
    for name in names:
        reached = [passage for passage in PASSAGES if die_at(run, db, bootstrap, name, passage)]
        writers.tend()
        check(reached, f"killed at {name}, passage {', '.join(map(str, reached))}")
    writers.stop()
    check(relay_process.drain(run, db, bootstrap) == 0, "the next relay drains what is left and exits 0")
    events = writers.check_file()
    records = reader.read_all()
    findings = compare(events, records, topics, allow_repeats=True)
    check(not findings, f"nothing lost, nothing invented, order per key holds: {summary(findings)}")
    note(f"{len(events)} events, {len(records)} records")


harness.main("failpoints", body, 300)
