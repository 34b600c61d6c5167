"""Many databases in one folder, as an application with one file a tenant has them."""

import concurrent.futures
import sqlite3
import time

from support import outbox_file, relay_process
from support.harness import require


class Crowd:
    """`count` files tenant-0000.db and so on, made by `init`, below the run's folder."""

    def __init__(self, run, count, folder="tenants"):
        self.run = run
        self.folder = run.path(folder)
        self.folder.mkdir()
        self.paths = [self.folder / f"tenant-{number:04}.db" for number in range(count)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda path: relay_process.init(run, path), self.paths))

    @property
    def pattern(self):
        return self.folder / "*.db"


def add(path, topic, rows, key="k"):
    """Commits `rows` rows in one transaction."""
    db = outbox_file.connect(path)
    db.execute("BEGIN IMMEDIATE")
    values = [(topic, key, str(number)) for number in range(rows)]
    db.executemany("INSERT INTO outbox(topic, key, payload) VALUES (?, ?, ?)", values)
    db.execute("COMMIT")
    db.close()


def sent(path):
    """Rows with a receipt; None while the file cannot be read."""
    try:
        db = outbox_file.connect(path)
        try:
            return db.execute("SELECT count(*) FROM outbox_sent").fetchone()[0]
        finally:
            db.close()
    except sqlite3.OperationalError:
        return None


def trickle(paths, topic, seconds, per_second):
    """Single commits, spread evenly over the files; returns {path: {row: wall clock in ms after its commit}}."""
    connections = {path: outbox_file.connect(path) for path in paths}
    committed = {path: {} for path in paths}
    began = time.monotonic()
    for number in range(int(seconds * per_second)):
        due = began + number / per_second
        time.sleep(max(0.0, due - time.monotonic()))  # tidy: waits for the next commit's turn, which time alone brings
        path = paths[number % len(paths)]
        row = connections[path].execute(
            "INSERT INTO outbox(topic, key, payload) VALUES (?, ?, 'p')", (topic, str(number))
        )
        committed[path][row.lastrowid] = time.time() * 1000
    for connection in connections.values():
        connection.close()
    return committed


def acknowledged_after_ms(committed):
    """From each commit to the moment when the relay heard of Kafka's acknowledgement, sorted."""
    waits = []
    for path, rows in committed.items():
        db = outbox_file.connect(path)
        times = dict(db.execute("SELECT id, sent_at FROM outbox_sent"))
        db.close()
        require(all(row in times for row in rows), f"{path}: a row has no receipt")
        waits += [times[row] - at for row, at in rows.items()]
    return sorted(waits)
