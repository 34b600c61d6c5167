#!/usr/bin/python3
"""P9, fault by fault: put in before the start, and while the relay is publishing. Each has its exit code or is waited
out, and the file stays as it was."""

import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

from support import harness, outbox_file, relay_process
from support.harness import check, let_pass, note, require, spawn, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import TopicReader, create_topic
from support.own_mounts import forbid_writing, in_a_namespace_of_its_own, mount_disk
from support.relay_process import CONFIGURATION, CORRUPT, MOVED, NEWER, OK, RESTORED, TRY_LATER, Relay

STOP_SECONDS = 20
BACKLOG = 60_000  # several windows: the relay is in the middle of it when the fault is put in
DISK_BYTES = 24 << 20


def hash_of(path):
    return hashlib.sha256(path.read_bytes() if path.is_file() else b"").hexdigest()


def hashes(db, wal_too=True):
    """A missing WAL is an empty one; the -shm is an index that any reader may rebuild."""
    return [hash_of(db.parent / (db.name + suffix)) for suffix in (("", "-wal") if wal_too else ("",))]


def execute(db, *statements):
    connection = outbox_file.connect(db)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def back_up(db):
    source, target = sqlite3.connect(db), sqlite3.connect(db.parent / "backup.db")
    source.backup(target)
    source.close()
    target.close()


class Faults:
    """What may happen to a file. Each returns where the file is then."""

    def __init__(self, bench):
        self.bench = bench

    def moved(self, db):
        os.rename(db, db.parent / "elsewhere.db")
        return db.parent / "elsewhere.db"

    def deleted(self, db):
        os.link(db, db.parent / "kept.db")  # only to look at what becomes of it
        os.unlink(db)
        return db.parent / "kept.db"

    def replaced(self, db):
        os.rename(self.bench.file(rows=3), db)
        return db

    def folder_moved(self, db):
        os.rename(db.parent, f"{db.parent}-elsewhere")
        return db.parent.parent / f"{db.parent.name}-elsewhere" / db.name

    def wal_deleted(self, db):
        os.unlink(f"{db}-wal")
        return db

    def shm_deleted(self, db):
        os.unlink(f"{db}-shm")
        return db

    def restored(self, db):
        source, target = sqlite3.connect(db.parent / "backup.db"), sqlite3.connect(db)
        source.backup(target)  # onto the live file: the inode stays
        source.close()
        target.close()
        return db

    def emptied(self, db):
        os.truncate(db, 0)
        return db

    def cut_in_half(self, db):
        os.truncate(db, db.stat().st_size // 8192 * 4096)
        return db

    def pages_of_noise(self, db):
        size = db.stat().st_size
        with open(db, "r+b") as file:
            file.seek(size // 8192 * 4096)
            file.write(self.bench.run.random.randbytes(size - size // 8192 * 4096))
        return db

    def schema_newer(self, db):
        execute(db, "UPDATE txbox_meta SET value = '999' WHERE name = 'schema_version'")
        return db

    def schema_older(self, db):
        execute(db, "UPDATE txbox_meta SET value = '0' WHERE name = 'schema_version'")
        return db

    def table_gone(self, db):
        execute(db, "DROP TABLE outbox_held")
        return db

    def guard_gone(self, db):
        execute(db, "DROP TRIGGER outbox_guard")
        return db

    def not_wal(self, db):
        execute(db, "PRAGMA journal_mode=DELETE")
        return db

    def hard_link(self, db):
        os.link(db, db.parent / "other-name.db")
        return db

    def a_folder(self, db):
        os.rename(db, db.parent / "kept.db")
        db.mkdir()
        return db


# fault, exit code before the start, exit code while publishing (None: it cannot happen then).
TABLE = (
    ("moved", MOVED, MOVED),
    ("deleted", MOVED, MOVED),
    ("replaced", OK, MOVED),  # before the start it is just another file
    ("folder_moved", MOVED, MOVED),
    ("wal_deleted", None, MOVED),
    ("shm_deleted", None, MOVED),
    ("restored", None, RESTORED),  # before the start: files_in_doubt.py
    ("emptied", CONFIGURATION, CORRUPT),
    ("cut_in_half", CORRUPT, CORRUPT),
    ("pages_of_noise", CORRUPT, CORRUPT),
    ("schema_newer", NEWER, NEWER),
    ("schema_older", CONFIGURATION, CONFIGURATION),
    ("table_gone", CONFIGURATION, CONFIGURATION),
    ("guard_gone", CONFIGURATION, CONFIGURATION),
    ("not_wal", CONFIGURATION, None),
    ("hard_link", CONFIGURATION, None),
    ("a_folder", CONFIGURATION, None),
)
# The relay finds these when it reads so far; until then it marks what it sent, in the WAL.
FOUND_BY_READING = ("cut_in_half", "pages_of_noise")


class Bench:
    def __init__(self, run):
        self.run = run
        self.bootstrap = shared_bootstrap()
        self.topic = f"faults-{run.seed}"
        create_topic(self.bootstrap, self.topic, 1)
        self.reader = TopicReader(self.bootstrap, {self.topic: 1})
        run.at_end(self.reader.close)
        self.faults = Faults(self)
        self.files = 0

    def file(self, rows, folder=None):
        self.files += 1
        folder = folder or self.run.path(f"file-{self.files}")
        folder.mkdir(exist_ok=True)
        db = folder / "shop.db"
        relay_process.init(self.run, db)
        self.add(db, rows)
        return db

    def add(self, db, rows):
        connection = outbox_file.connect(db)
        connection.execute("BEGIN IMMEDIATE")
        sql = "INSERT INTO outbox(topic, key, payload) VALUES (?, ?, ?)"
        connection.executemany(sql, ((self.topic, f"k{n % 50}", "p" * 100) for n in range(rows)))
        connection.execute("COMMIT")
        connection.close()  # the last one: all of it is in the database file

    def relay(self, db, *more):
        return Relay(self.run, db, self.bootstrap, *more)

    def before_the_start(self, name, expected):
        what = f"{name} before the start"
        db = self.file(rows=3_000)
        place = getattr(self.faults, name)(db)
        before, end = hashes(place, name not in FOUND_BY_READING), self.reader.end_sum()
        code = self.relay(db, "--drain", "--timeout", "30s").wait(STOP_SECONDS)
        check(code == expected, f"{what}: exit {code}, expected {expected}")
        if expected == OK:
            return
        check(hashes(place, name not in FOUND_BY_READING) == before, f"{what}: the file is as it was")
        if name not in FOUND_BY_READING:
            check(self.reader.end_sum() == end, f"{what}: nothing was published")

    def while_publishing(self, name, expected):
        what = f"{name} while publishing"
        db = self.file(rows=3)
        back_up(db)
        self.add(db, BACKLOG)
        relay = self.relay(db)
        application = outbox_file.connect(db)
        receipts = "SELECT count(*) FROM outbox_sent"
        wait_until(lambda: application.execute(receipts).fetchone()[0] > 0, 30, "it publishes", every=0.005)
        application.execute("BEGIN IMMEDIATE")  # so that it does not stand still with the write lock in its hand
        relay.process.send_signal(signal.SIGSTOP)
        sent = application.execute(receipts).fetchone()[0]
        application.execute("ROLLBACK")
        require(sent < BACKLOG, "the backlog was over before the fault came")
        if name in FOUND_BY_READING:
            application.close()
        place = getattr(self.faults, name)(db)
        before = hashes(place, name not in FOUND_BY_READING)
        relay.process.send_signal(signal.SIGCONT)
        code = relay.wait(STOP_SECONDS)
        check(code == expected, f"{what}, {sent} rows sent: exit {code}, expected {expected}")
        check(hashes(place, name not in FOUND_BY_READING) == before, f"{what}: the file is as it was")
        application.close()


HOLD = """
import sqlite3, sys
holder = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
holder.execute("PRAGMA locking_mode=EXCLUSIVE")
holder.execute("CREATE TABLE locked(x)")
print("held", flush=True)
sys.stdin.read()
"""


def locked_as_a_whole(bench):
    """Waited for as long as there is time."""
    db = bench.file(rows=5)
    # A process of its own: to look at the bytes closes the file, and would drop the locks of this one.
    holder = spawn([sys.executable, "-c", HOLD, db], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    bench.run.at_end(holder.kill)
    require(holder.stdout.readline() == b"held\n", "the lock was not taken")
    before = hashes(db)
    code = bench.relay(db, "--drain", "--timeout", "2s").wait(STOP_SECONDS)
    check(code == TRY_LATER, f"locked as a whole for longer than --timeout: exit {code}")
    check(hashes(db) == before, "locked as a whole: the file is as it was")
    relay = bench.relay(db, "--drain", "--timeout", "30s")
    let_pass(1, "it meets the lock")
    require(relay.alive(), "a drain waits for the lock while it has time")
    holder.communicate()
    code = relay.wait(STOP_SECONDS)
    check(code == OK, f"locked as a whole for a second: the drain goes on, exit {code}")


def locked_again_and_again(bench):
    """The lock comes and goes, so that it is met at other steps: opening, the first reading, the count at the end."""
    rounds = 15
    for number in range(rounds):
        db = bench.file(rows=5)
        relay = bench.relay(db, "--drain", "--timeout", "30s")
        deadline_met = False
        while relay.alive():
            holder = outbox_file.connect(db, timeout=0)
            try:
                holder.execute("PRAGMA locking_mode=EXCLUSIVE")
                holder.execute("BEGIN EXCLUSIVE")
                deadline_met = True
                let_pass(bench.run.random.uniform(0.01, 0.4), "the lock is held for a while")
                holder.execute("COMMIT")
            except sqlite3.OperationalError:
                pass  # the relay has it just now
            holder.close()
            let_pass(bench.run.random.uniform(0, 0.02), "and then it is free")
        code = relay.wait(STOP_SECONDS)
        require(code == OK, f"round {number}: a lock that comes and goes ended the drain with {code} ({deadline_met})")
    check(True, f"a lock on the whole file that comes and goes ended none of {rounds} drains")


def read_only(bench):
    folder = mount_disk(bench.run, "read-only", DISK_BYTES)
    db = bench.file(rows=5, folder=folder)
    before = hashes(db)
    forbid_writing(folder)
    code = bench.relay(db).wait(STOP_SECONDS)
    check(code == CONFIGURATION, f"a read-only file system before the start: exit {code}")
    check(hashes(db) == before, "a read-only file system: the file is as it was")


def without_rights(bench):
    """As another user than the file's, before the start and while it runs."""
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    if subprocess.run([*nobody, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        note("this user can start nothing as another one: rights are not tried")
        return
    db, state = bench.file(rows=5), bench.run.path("state-of-nobody")
    state.mkdir()
    bench.run.folder.chmod(0o755)

    def rights(file_mode):
        db.chmod(file_mode)
        for path in (db.parent, state):
            path.chmod(0o777)

    def relay():
        return Relay(bench.run, db, bench.bootstrap, prefix=nobody, STATE_DIRECTORY=str(state))

    rights(0o644)
    before = hashes(db)
    code = relay().wait(STOP_SECONDS)
    check(code == CONFIGURATION, f"a file that its user may not write: exit {code}")
    check(hashes(db) == before, "a file that its user may not write: it is as it was")
    rights(0o666)
    running = relay()
    relay_process.wait_settled(bench.run, db, 30, running)
    rights(0o644)
    bench.add(db, 5)
    relay_process.wait_settled(bench.run, db, 30, running)
    check(running.terminate()[0] == OK, "whose file is open goes on with it, and stops with exit 0")


def full_disk(bench):
    folder = mount_disk(bench.run, "full", DISK_BYTES)
    db = bench.file(rows=200, folder=folder)
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(folder).free))
    before = hashes(db)
    code = bench.relay(db, "--drain", "--timeout", "3s").wait(STOP_SECONDS)
    check(code == TRY_LATER, f"a full disk before the start: exit {code}")
    check(hashes(db) == before, "a full disk before the start: the file is as it was")
    relay = bench.relay(db)
    let_pass(2, "it meets the full disk")
    require(relay.alive(), "the relay ended on the full disk")
    ballast.unlink()
    relay_process.wait_settled(bench.run, db, 60, relay)
    check(relay.alive(), "a full disk before the start is waited out")
    end = bench.reader.end_sum()
    application = outbox_file.connect(db)
    application.execute("PRAGMA wal_autocheckpoint=0")
    ballast.write_bytes(bytes(shutil.disk_usage(folder).free - (200 << 10)))
    rows = 0
    try:
        while True:
            application.execute(
                "INSERT INTO outbox(topic, key, payload) VALUES (?, 'k', ?)", (bench.topic, "p" * 1000)
            )
            rows += 1
    except sqlite3.OperationalError as error:
        require("full" in str(error), f"the application met {error}")
    wait_until(lambda: bench.reader.end_sum() >= end + rows, 30, "what was committed is published")
    let_pass(3, "it tries to mark on the full disk")
    check(relay.alive(), f"a disk that fills up while publishing stops nothing: {rows} rows are out")
    ballast.unlink()
    relay_process.wait_settled(bench.run, db, 60, relay)
    check(bench.reader.end_sum() == end + rows, "with room again the marks are written, and no row was sent twice")
    check(relay.terminate()[0] == OK, "and the relay stops with exit 0")
    application.close()


def body(run):
    bench = Bench(run)
    for name, before, meanwhile in TABLE:
        if before is not None:
            bench.before_the_start(name, before)
        if meanwhile is not None:
            bench.while_publishing(name, meanwhile)
    locked_as_a_whole(bench)
    locked_again_and_again(bench)
    read_only(bench)
    without_rights(bench)
    full_disk(bench)


in_a_namespace_of_its_own()
harness.main("file-faults", body, 400)
