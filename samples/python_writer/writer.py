#!/usr/bin/env python3
"""Places orders with Python's own sqlite3: each order and its event in one transaction, by plain SQL."""
import argparse
import json
import random
import sqlite3
import sys
from urllib.parse import quote

OUTBOX = "INSERT INTO outbox(topic, key, payload, headers) VALUES (?, ?, ?, ?)"


def connect(path):
    # isolation_level=None: this program says BEGIN and COMMIT itself. The module's own way, a deferred
    # transaction, can't wait for the other writers of the file. mode=rw: don't make a file that isn't there.
    db = sqlite3.connect(f"file:{quote(path)}?mode=rw", uri=True, isolation_level=None, timeout=30)
    if not db.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'outbox'").fetchone():
        raise SystemExit(f"{path} has no outbox: run `outbox-relay init --db {path}` first")
    db.execute("CREATE TABLE IF NOT EXISTS orders"
               "(id TEXT PRIMARY KEY, account TEXT NOT NULL, amount_cents INTEGER NOT NULL)")
    return db


def place_order(db, topic, account, amount_cents):
    """Commits the order together with its event and returns the order's id; after an exception neither is there."""
    db.execute("BEGIN IMMEDIATE")
    try:
        number, = db.execute("SELECT coalesce(max(rowid), 0) + 1 FROM orders").fetchone()
        order_id = f"order-{number}"
        db.execute("INSERT INTO orders VALUES (?, ?, ?)", (order_id, account, amount_cents))
        event = {"order_id": order_id, "account": account, "amount_cents": amount_cents}
        db.execute(OUTBOX, (topic, account, json.dumps(event, separators=(",", ":")), '{"type":"OrderPlaced"}'))
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # After some errors SQLite has rolled back by itself.
            db.execute("ROLLBACK")
        raise
    return order_id


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", required=True, metavar="FILE", help="made by `outbox-relay init` or by order_service")
    parser.add_argument("--orders", type=int, default=100, metavar="N")
    parser.add_argument("--accounts", type=int, default=100, metavar="A")
    parser.add_argument("--seed", type=int, help="the same accounts and amounts again")
    parser.add_argument("--topic", default="orders")
    options = parser.parse_args()

    choose = random.Random(options.seed)
    try:
        db = connect(options.db)
        for _ in range(options.orders):
            place_order(db, options.topic, f"account-{choose.randint(1, options.accounts)}", choose.randint(100, 20099))
        db.close()
    except sqlite3.Error as error:  # What the outbox refuses begins with "txbox: " and says what to do.
        sys.exit(f"{options.db}: {error}")
    print(f"{options.orders} orders placed")


if __name__ == "__main__":
    main()
