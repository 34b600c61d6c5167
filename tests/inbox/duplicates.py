#!/usr/bin/python3
"""A thousand duplicates are nothing to worry anybody about: no word of a warning, one count at the end."""

import re

from support import harness
from support.billing import Database, check_balances, check_invoices, check_logs_keep_secrets, drain
from support.harness import check
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic
from support.order_load import Orders

PARTITIONS = 3
ORDERS, COPIES = 200, 6
ALARM = re.compile(r"(?i)\b(?:warn|warning|error|critical|fail\w*)\b")


def body(run):
    bootstrap = shared_bootstrap()
    topic, group = f"orders-copies-{run.seed}", f"billing-copies-{run.seed}"
    create_topic(bootstrap, topic, PARTITIONS)
    orders = Orders(run, bootstrap, topic, PARTITIONS)
    orders.send_some(ORDERS, copies=(COPIES, COPIES))
    orders.flush()
    path = run.path("billing.db")
    life = drain(run, path, bootstrap, topic, "--invoices", "invoices", group=group)
    database = Database(path, group)
    run.at_end(database.close)
    check_balances(database, orders, f"{COPIES} copies of each order")
    check_invoices(database, orders, "invoices", f"{COPIES} copies of each order")
    text = life.text()
    alarms = [line for line in text.splitlines() if ALARM.search(line)]
    check(not alarms, f"{ORDERS * (COPIES - 1)} duplicates give no warning and no error: {alarms[:3]}")
    check(
        str(ORDERS * (COPIES - 1)) in text and len(text.splitlines()) < 30,
        f"they are counted in a word, not told one by one: {text.splitlines()[-1:]}",
    )
    check_logs_keep_secrets(run, orders)


harness.main("duplicates", body, 120)
