#!/usr/bin/python3
"""Another cluster that mirrors the topic, an older copy of the database: offsets mean something else, claims hold."""

import shutil

from support import harness
from support.billing import Database, check_balances, check_logs_keep_secrets, drain
from support.harness import check, note, require
from support.kafka import Cluster, shared_bootstrap
from support.kafka_log import TopicReader, create_topic, read_topics
from support.order_load import Orders

PARTITIONS = 3
ORDERS = 400


def mirror(records, orders):
    """Copies them to the other cluster as a mirror does: same bytes, other offsets. One in three was there before."""
    for record in records:
        for _ in range(orders.random.choice([1, 1, 2])):
            orders.send((record.key, record.value, record.headers), record.partition)
    orders.flush()


def failover(run, bootstrap):
    """Consumers move to another cluster and back again; each cluster's positions are its own."""
    other = Cluster()
    run.at_end(other.close)
    other.start()
    topic = f"orders-moved-{run.seed}"
    for place in (bootstrap, other.bootstrap):
        create_topic(place, topic, PARTITIONS)
    path = run.path("moved.db")
    database = Database(path)
    run.at_end(database.close)
    orders = Orders(run, bootstrap, topic, PARTITIONS)
    elsewhere = Orders(run, other.bootstrap, topic, PARTITIONS)
    elsewhere.expected, elsewhere.orders = orders.expected, orders.orders  # one set of books
    orders.send_some(ORDERS)
    orders.flush()
    drain(run, path, bootstrap, topic)
    check_balances(database, orders, "in the first cluster")

    mirror(read_topics(bootstrap, {topic: PARTITIONS}), elsewhere)
    elsewhere.random.seed(f"elsewhere {run.seed}")  # orders of its own, not those of the first cluster again
    elsewhere.send_some(ORDERS)
    elsewhere.flush()
    drain(run, path, other.bootstrap, topic)
    check_balances(database, orders, "after a failover to a cluster that mirrors it")

    orders.send_some(ORDERS)
    orders.flush()
    drain(run, path, bootstrap, topic)
    check_balances(database, orders, "back in the first cluster")
    reader = TopicReader(bootstrap, {topic: PARTITIONS})
    ends = reader.ends()
    reader.close()
    found = database.rows('SELECT partition, next_offset FROM inbox_offsets WHERE topic = ?', topic)
    check(
        len(found) == 2 * PARTITIONS and all((p, end) in found for (_, p), end in ends.items()),
        f"each cluster has positions of its own: {sorted(found)}",
    )
    return orders


def restored(run, bootstrap):
    """A database that is older than what Kafka was told: what it does not know of is applied again, once."""
    topic, group = f"orders-restored-{run.seed}", f"billing-restored-{run.seed}"
    create_topic(bootstrap, topic, PARTITIONS)
    path = run.path("restored.db")
    orders = Orders(run, bootstrap, topic, PARTITIONS)

    def load_and_drain():
        orders.send_some(ORDERS)
        orders.flush()
        return drain(run, path, bootstrap, topic, group=group)

    load_and_drain()
    backup = run.path("backup.db")
    wal = run.path("restored.db-wal")
    require(not wal.exists() or wal.stat().st_size == 0, "a WAL is left")
    shutil.copy(path, backup)
    load_and_drain()
    shutil.copy(backup, path)
    database = Database(path, group)
    before = database.orders_applied()
    database.close()
    require(before < orders.count, "the copy is not older")
    life = load_and_drain()
    note(f"it says: {life.text().splitlines()[:1]}")
    database = Database(path, group)
    run.at_end(database.close)
    check_balances(database, orders, "with a database that was restored from an older copy")
    said = [line for line in life.text().splitlines() if f"{topic}[" in line]
    check(said, f"its log says that Kafka was ahead of the database: {said[:1]}")
    quiet = load_and_drain()
    said = [line for line in quiet.text().splitlines() if f"{topic}[" in line]
    check(not said, "and the next life has nothing to say about it")
    check_balances(database, orders, "and goes on")
    return orders


def body(run):
    bootstrap = shared_bootstrap()
    check_logs_keep_secrets(run, restored(run, bootstrap))
    check_logs_keep_secrets(run, failover(run, bootstrap))


harness.main("other-copies", body, 240)
