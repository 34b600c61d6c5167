#!/usr/bin/python3
"""One relay for the files of a pattern: they come later, vanish, break, and none of that touches another one."""

import os
import sqlite3

from support import harness, relay_process
from support.file_crowd import Crowd, add, sent
from support.harness import check, require, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.relay_process import Relay


def arrives(path, rows, relay, what):
    def there():
        require(relay.alive(), f"the relay ended: {what}")
        return sent(path) == rows

    wait_until(there, 30, what)
    check(True, what)


def said(relay, text, times=1):
    wait_until(lambda: relay.text().count(text) >= times, 20, f"the log says {text!r}")
    check(relay.text().count(text) == times, f"the log says {text!r} {times} time(s)")


def come(run, crowd, relay, topic):
    late = crowd.folder / "late.db"
    # As an application makes it: the file first, empty of any outbox, and that a while later.
    application = sqlite3.connect(str(late), isolation_level=None)
    application.execute("PRAGMA journal_mode=WAL")
    application.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY)")
    said(relay, f"{late}: the tables of the outbox are missing")
    relay_process.init(run, late)
    add(late, topic, 3)
    application.close()
    arrives(late, 3, relay, "a file that came later, and got its tables later still, is served")
    built = run.path("built.db")
    relay_process.init(run, built)
    add(built, topic, 2)
    moved_in = crowd.folder / "moved-in.db"
    os.rename(built, moved_in)
    arrives(moved_in, 2, relay, "a file that was moved into the folder is served")


def go(run, crowd, relay, topic):
    gone, left = crowd.paths[0], crowd.paths[1]
    before = open_descriptors(relay)
    for path in (gone, f"{gone}-wal", f"{gone}-shm"):
        if os.path.exists(path):
            os.unlink(path)
    said(relay, f"{gone}: is not there any more")
    add(left, topic, 1)
    arrives(left, 2, relay, "the others are served after a file was deleted")
    wait_until(lambda: open_descriptors(relay) < before, 10, "nothing of a deleted file stays open")
    check(not deleted_files(relay), "and no deleted file keeps its space on the disk")
    relay_process.init(run, gone)
    add(gone, topic, 4)
    arrives(gone, 4, relay, "another file under the old name is served")


def open_descriptors(relay):
    return len(os.listdir(f"/proc/{relay.pid}/fd"))


def deleted_files(relay):
    links = (os.readlink(f"/proc/{relay.pid}/fd/{number}") for number in os.listdir(f"/proc/{relay.pid}/fd"))
    return [link for link in links if link.endswith(" (deleted)") and ".db" in link]


def body(run):
    bootstrap = shared_bootstrap()
    topic = f"come-and-go-{run.seed}"
    create_topic(bootstrap, topic, 3)
    crowd = Crowd(run, 6)
    os.symlink(crowd.paths[5], crowd.folder / "another-name.db")
    (crowd.folder / "broken.db").write_text("no database, and long enough to be sure of that")
    relay = Relay(run, crowd.pattern, bootstrap)
    for path in crowd.paths:
        add(path, topic, 1)
    for path in crowd.paths:
        arrives(path, 1, relay, f"{path.name} is served")
    said(relay, "is served once")
    said(relay, "broken.db: not an SQLite database")
    come(run, crowd, relay, topic)
    go(run, crowd, relay, topic)
    check(relay.terminate()[0] == 0, "it stops with exit 0")

    for path in crowd.paths:
        add(path, topic, 5)
    drain = Relay(run, crowd.pattern, bootstrap, "--drain")
    check(drain.wait(60) == relay_process.CORRUPT, "a drain of them all names the broken one by its exit code")
    check(all(relay_process.status(run, path)["ready"] == 0 for path in crowd.paths), "and drained the others")


harness.main("files-come-and-go", body, 240)
