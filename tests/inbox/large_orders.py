#!/usr/bin/python3
"""Orders of 900 KB, also behind one that waits for its next try: the memory of billing stays bounded."""

from support import harness
from support.billing import Billing, Database, check_balances, check_invoices, drain
from support.harness import check, note, wait_until
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.order_load import Orders

PARTITIONS = 3
LARGE_ORDERS = 150  # 135 MB of them
PAYLOAD_BYTES = 900_000
MOST_KILOBYTES = 64 << 10


def peak_kilobytes(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def body(run):
    bootstrap = shared_bootstrap()
    topic, group = f"orders-large-{run.seed}", f"billing-large-{run.seed}"
    create_topic(bootstrap, topic, PARTITIONS)
    path = run.path("billing.db")
    arguments = (run, path, bootstrap, topic, "--invoices", "invoices")
    database = Database(path, group)
    run.at_end(database.close)
    orders = Orders(run, bootstrap, topic, PARTITIONS)
    poisoned = f"{orders.mark}-poisoned"
    drain(*arguments, group=group)  # makes the tables
    database.rows(
        f"CREATE TRIGGER poison BEFORE INSERT ON accounts WHEN NEW.account = '{poisoned}' BEGIN SELECT"
        " RAISE(ABORT, 'this account is closed'); END"
    )
    orders.send(orders.order(poisoned), 0)
    del orders.expected[poisoned], orders.orders[poisoned]
    for number in range(LARGE_ORDERS):
        key, payload, headers = orders.order()
        orders.send((key, payload[:-1] + b" " * PAYLOAD_BYTES + b"}", headers), number % PARTITIONS)
        if number % 10 == 9:
            orders.flush()
    orders.flush()

    billing = Billing(*arguments, group=group)
    peak = 0

    def all_applied():
        nonlocal peak
        billing.require_alive()
        peak = max(peak, peak_kilobytes(billing))
        return database.orders_applied() == orders.count

    wait_until(all_applied, 90, "all large orders are applied", every=0.01)
    check(billing.terminate() == 0, f"{LARGE_ORDERS} orders of {PAYLOAD_BYTES} bytes are applied")
    note(f"peak: {peak} KB resident")
    check(peak <= MOST_KILOBYTES, f"never more than {MOST_KILOBYTES} KB were resident ({peak})")
    check_balances(database, orders, "with large orders")
    check_invoices(database, orders, "invoices", "with large orders")


harness.main("large-orders", body, 180)
