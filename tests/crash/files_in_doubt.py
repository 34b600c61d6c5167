#!/usr/bin/python3
"""P9: where the file is in doubt the relay stops with the exit code that names the doubt, and changes no byte."""

import hashlib
import os
import shutil
import sqlite3

from support import harness, outbox_file, relay_process
from support.harness import check, let_pass, note, require, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic
from support.relay_process import CONFIGURATION, CORRUPT, MOVED, NEWER, OWNED, RESTORED, TRY_LATER, Relay

STOP_SECONDS = 15


def fingerprint(db):
    """Of the database and its WAL. A missing WAL is an empty one; the -shm is an index that any reader may rebuild."""
    files = [db.parent / (db.name + suffix) for suffix in ("", "-wal")]
    return [hashlib.sha256(file.read_bytes() if file.exists() else b"").hexdigest() for file in files]


class Bench:
    """A file with some rows, one after the other, and the topic they go to."""

    def __init__(self, run):
        self.run = run
        self.bootstrap = shared_bootstrap()
        self.topic = f"doubt-{run.seed}"
        create_topic(self.bootstrap, self.topic, 1)
        self.reader = TopicReader(self.bootstrap, {self.topic: 1})
        run.at_end(self.reader.close)
        self.files = 0

    def file(self, rows=5):
        self.files += 1
        folder = self.run.path(f"file-{self.files}")
        folder.mkdir()
        db = folder / "shop.db"
        relay_process.init(self.run, db)
        self.add(db, rows)
        return db

    def add(self, db, rows=5):
        connection = outbox_file.connect(db)
        for _ in range(rows):
            connection.execute("INSERT INTO outbox(topic, key, payload) VALUES (?, 'k', 'p')", (self.topic,))
        connection.close()

    def relay(self, db, *more):
        return Relay(self.run, db, self.bootstrap, *more)

    def settled_relay(self, db):
        relay = self.relay(db)
        relay_process.wait_settled(self.run, db, 30, relay)
        return relay

    def check_refused(self, db, code, what, words=()):
        """At the start: this exit code, these words, nothing published, no byte changed."""
        before, end = fingerprint(db), self.reader.end_sum()
        relay = self.relay(db)
        got = relay.wait(STOP_SECONDS)
        check(got == code, f"{what}: exit {got}, expected {code}")
        check(fingerprint(db) == before, f"{what}: the file is as it was, byte for byte")
        check(self.reader.end_sum() == end, f"{what}: nothing was published")
        for word in words:
            check(word in relay.text(), f"{what}: the message names {word!r}")


def raw_rows(db):
    """Leaves a WAL that was not checkpointed, as an application that was killed does."""
    copy = db.parent / "copy"
    copy.mkdir()
    connection = outbox_file.connect(db)
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute("CREATE TABLE filler(x)")
    connection.execute("INSERT INTO filler VALUES (1)")
    for suffix in ("", "-wal"):
        shutil.copy(f"{db}{suffix}", copy / (db.name + suffix))
    connection.close()
    return copy / db.name


def refused_at_start(bench):
    missing = bench.run.path("nowhere.db")
    bench.check_refused(missing, MOVED, "no such file")
    check(not missing.exists(), "no such file: and none was made")

    plain = bench.run.path("plain.db")
    connection = outbox_file.connect(plain)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE business(x)")
    connection.close()
    bench.check_refused(plain, CONFIGURATION, "a file without the tables", ["init"])

    older = bench.file()
    set_version(older, 0)
    bench.check_refused(older, CONFIGURATION, "a schema older than any")
    newer = bench.file()
    set_version(newer, 999)
    bench.check_refused(newer, NEWER, "a newer schema")
    newer_with_wal = raw_rows(newer)
    bench.check_refused(newer_with_wal, NEWER, "a newer schema and a WAL that a killed application left")

    noise = bench.run.path("noise.db")
    noise.write_bytes(bench.run.random.randbytes(40_960))
    bench.check_refused(noise, CORRUPT, "a file of noise")
    torn = bench.file(rows=200)
    content = torn.read_bytes()
    torn.write_bytes(content[:16] + bytes(84) + content[100:4096] + bench.run.random.randbytes(len(content) - 4096))
    bench.check_refused(torn, CORRUPT, "a database whose pages are noise")


def set_version(db, version):
    connection = outbox_file.connect(db)
    changed = connection.execute("UPDATE txbox_meta SET value = ? WHERE name = 'schema_version'", (version,)).rowcount
    connection.close()
    require(changed == 1, "txbox_meta holds no schema_version")


def stopped_while_running(bench):
    def moved(db):
        new = db.parent / "elsewhere.db"
        for suffix in ("-wal", "-shm", ""):
            if os.path.exists(f"{db}{suffix}"):
                os.rename(f"{db}{suffix}", f"{new}{suffix}")
        return new

    def deleted(db):
        kept = db.parent / "kept.db"
        os.link(db, kept)
        os.unlink(db)
        return kept

    def replaced(db):
        stranger = bench.file(rows=3)
        kept = db.parent / "kept.db"
        os.link(db, kept)
        os.rename(stranger, db)
        return db

    def restored(db):
        source = sqlite3.connect(db.parent / "backup.db")
        target = sqlite3.connect(db)
        source.backup(target)  # onto the live file: the inode stays
        target.close()
        source.close()
        return db

    def upgraded(db):
        set_version(db, 999)
        return db

    for action, code in (
        (moved, MOVED),
        (deleted, MOVED),
        (replaced, MOVED),
        (restored, RESTORED),
        (upgraded, NEWER),
    ):
        what = f"{action.__name__} while the relay runs"
        db = bench.file()
        back_up(db)
        bench.add(db)
        relay = bench.settled_relay(db)
        end = bench.reader.end_sum()
        place = action(db)
        before = fingerprint(place)
        got = relay.wait(STOP_SECONDS)
        check(got == code, f"{what}: exit {got}, expected {code}")
        check(fingerprint(place) == before, f"{what}: the file is as it was, byte for byte")
        check(bench.reader.end_sum() == end, f"{what}: nothing more was published")


def back_up(db):
    source = sqlite3.connect(db)
    target = sqlite3.connect(db.parent / "backup.db")
    source.backup(target)
    target.close()
    source.close()


def restored_while_stopped(bench):
    db = bench.file()
    back_up(db)
    bench.add(db)
    relay = bench.settled_relay(db)
    require(relay.terminate()[0] == 0, "the relay did not stop")
    for suffix in ("-wal", "-shm"):
        if os.path.exists(f"{db}{suffix}"):
            os.unlink(f"{db}{suffix}")
    shutil.copy(db.parent / "backup.db", db)
    bench.check_refused(db, RESTORED, "an older copy put back while no relay ran", ["adopt"])


def second_relay(bench):
    db = bench.file()
    first = bench.settled_relay(db)
    bench.check_refused(db, OWNED, "a second relay")
    link = db.parent / "link.db"
    link.symlink_to(db)
    second = bench.relay(link)
    code = second.wait(STOP_SECONDS)
    check(code == OWNED, f"a second relay by a symbolic link: exit {code}")
    standby = bench.relay(db, "--standby")
    bench.add(db)
    relay_process.wait_settled(bench.run, db, 30, first)
    check(first.alive() and standby.alive(), "the first goes on undisturbed, a standby waits")
    first.kill()
    bench.add(db)
    relay_process.wait_settled(bench.run, db, 30, standby)
    check(standby.terminate()[0] == 0, "the standby took over when the first was killed, and stops with exit 0")


def locked_file(bench):
    db = bench.file()
    holder = outbox_file.connect(db)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("CREATE TABLE locked(x)")
    relay = bench.relay(db)
    let_pass(3, "it may wait or give up for now; it may not do anything else")
    code = relay.process.poll()
    check(
        code in (None, TRY_LATER),
        f"a file that is locked as a whole: the relay {'waits' if code is None else f'exits {code}'}",
    )
    holder.close()
    if code is not None:
        relay = bench.relay(db)
    relay_process.wait_settled(bench.run, db, 60, relay)
    check(relay.alive(), "after the lock is gone the rows are sent")

    end = bench.reader.end_sum()
    bench.add(db)
    writer = outbox_file.connect(db)
    writer.execute("BEGIN IMMEDIATE")
    wait_until(
        lambda: bench.reader.end_sum() >= end + 5, 20, "rows are published while an application holds the write lock"
    )
    let_pass(6, "longer than any busy deadline of the relay")
    check(relay.alive(), "an application that holds the write lock for seconds stops nothing; only the receipts wait")
    writer.execute("COMMIT")
    writer.close()
    relay_process.wait_settled(bench.run, db, 30, relay)
    check(bench.reader.end_sum() == end + 5, "the marking alone was repeated: no row was sent twice")
    check(relay.terminate()[0] == 0, "and the relay stops with exit 0")


def body(run):
    bench = Bench(run)
    refused_at_start(bench)
    stopped_while_running(bench)
    restored_while_stopped(bench)
    second_relay(bench)
    locked_file(bench)
    note(f"{bench.files} files were put in doubt")


harness.main("files-in-doubt", body, 300)
