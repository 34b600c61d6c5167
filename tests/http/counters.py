#!/usr/bin/python3
"""What the relay shows is what happened: rows, topics, refusals, who holds the file, before and after a takeover."""

import uuid

from support import harness, outbox_file, relay_process
from support.harness import check, wait_until
from support.http_client import Pages
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic

ORDERS, BILLS = 500, 40
SECONDS = 60
KEY, PAYLOAD = "key-of-a-person", "payload-of-a-person"


def write(db, topic, count, size=20, key=KEY):
    connection = outbox_file.connect(db)
    connection.execute("BEGIN IMMEDIATE")
    for number in range(count):
        connection.execute("INSERT INTO outbox(topic, key, payload, event_id) VALUES (?, ?, ?, ?)",
                           (topic, f"{key}-{number % 20}", PAYLOAD.ljust(size, "x"), f"event-of-{uuid.uuid4()}"))
    connection.execute("COMMIT")
    connection.close()


def settled(pages, db, sent):
    """The newest scrape once it has seen so many sent rows."""
    def seen():
        scrape = pages.metrics()
        return scrape if scrape.get("txbox_outbox_rows", db=db, state="sent") == sent else None

    return wait_until(seen, SECONDS, f"{sent} sent rows in the metrics")


def counts_agree(run, db, pages, orders, bills):
    scrape = settled(pages, db, ORDERS + BILLS)
    scrape.check()
    status = relay_process.status(run, db)
    for state in ("ready", "scheduled", "sent", "parked", "blocked", "waiting", "skipped"):
        harness.require(scrape.get("txbox_outbox_rows", db=db, state=state) == status[state],
                        f"{state}: {scrape.get('txbox_outbox_rows', db=db, state=state)} is not {status[state]}")
    check(True, "the rows by state are those of `status`")
    published = {labels: value for labels, value in scrape.all("txbox_relay_published_total").items()}
    check(published == {frozenset({("db", str(db)), ("topic", orders)}): ORDERS,
                        frozenset({("db", str(db)), ("topic", bills)}): BILLS},
          "each acknowledged row is counted once, at its topic")
    check(scrape.get("txbox_relay_commit_to_ack_seconds_count") == ORDERS + BILLS
          == scrape.get("txbox_relay_commit_to_ack_seconds_bucket", le="+Inf"),
          "the histogram from commit to acknowledgement has every row")
    check(scrape.get("txbox_store_lock_wait_seconds_count") > 0, "the waits for the lock are counted")
    check(scrape.get("txbox_relay_last_mark_timestamp_seconds", db=db) > 1.7e9, "the last mark has its time")
    check(scrape.get("txbox_store_wal_bytes", db=db) is not None, "the WAL's size is there")
    check(scrape.get("txbox_relay_duplicates_possible_total", db=db) == 0, "nothing went out twice")
    for text in (KEY, PAYLOAD, "event-of-"):
        for path in ("/metrics", "/status.json", "/"):
            harness.require(text not in pages.text(path), f"{path} shows {text}")
    check(True, "no page shows a key, a payload or an event id")


def refusal_is_seen(db, pages, small):
    write(db, small, 1, size=50_000, key="poison")
    wait_until(lambda: pages.metrics().get("txbox_relay_blocked_keys", db=db) == 1, SECONDS, "a blocked key")
    write(db, small, 1, key="poison")
    wait_until(lambda: pages.metrics().get("txbox_outbox_rows", db=db, state="blocked") == 1, SECONDS, "a blocked row")
    check(pages.metrics().get("txbox_outbox_rows", db=db, state="parked") == 1,
          "a refused row is parked, and its key counts as blocked")


def paused_topic_is_seen(db, pages, missing):
    write(db, missing, 1)
    wait_until(lambda: pages.metrics().get("txbox_relay_topics_paused") == 1, SECONDS, "a paused topic")
    paused = pages.status()["topics_paused"]
    check([topic["topic"] for topic in paused] == [missing] and "UNKNOWN_TOPIC" in paused[0]["reason"],
          f"a missing topic is named with Kafka's reason: {paused}")


def takeover_is_seen(run, db, bootstrap, holder, pages):
    standby = relay_process.Relay(run, db, bootstrap, "--standby", "--http", "127.0.0.1:0")
    waiting = Pages.of(standby)
    wait_until(lambda: waiting.metrics().get("txbox_relay_standby", db=db) == 1, SECONDS, "a standby")
    check(waiting.metrics().get("txbox_relay_active", db=db) == 0, "a standby is not active")
    code, _, reason = waiting.ask("/readyz")
    check(code == 503 and "another relay" in reason, f"and not ready, with the reason: {reason.strip()}")
    check(waiting.ask("/livez")[0] == 200, "and alive")
    status = waiting.status()
    check(status["role"] == "standby" and status["files"][0]["relay_pid"] == holder.pid, "it names who holds the file")
    holder.kill()
    wait_until(waiting.ready, SECONDS, "the standby is ready after the holder's death")
    scrape = waiting.metrics()
    check((scrape.get("txbox_relay_active", db=db), scrape.get("txbox_relay_standby", db=db)) == (1, 0),
          "after the takeover it is active")
    check(waiting.status()["files"][0]["relay_pid"] == standby.pid, "and says that it holds the file")
    check(standby.terminate()[0] == 0, "SIGTERM ends it in order")


def body(run):
    bootstrap = shared_bootstrap()
    suffix = uuid.uuid4().hex[:8]
    orders, bills, small = f"orders-{suffix}", f"bills-{suffix}", f"small-{suffix}"
    create_topic(bootstrap, orders, 3)
    create_topic(bootstrap, bills, 1)
    create_topic(bootstrap, small, 1, max_message_bytes=20_000)
    db = run.path("shop.db")
    relay_process.init(run, db)
    relay = relay_process.Relay(run, db, bootstrap, "--http", "127.0.0.1:0")
    pages = Pages.of(relay)
    wait_until(pages.ready, SECONDS, "a relay that is ready")
    check(pages.status()["role"] == "active", "a relay with its file and a broker is ready and active")
    write(db, orders, ORDERS)
    write(db, bills, BILLS)
    counts_agree(run, db, pages, orders, bills)
    refusal_is_seen(db, pages, small)
    paused_topic_is_seen(db, pages, f"missing-{suffix}")
    takeover_is_seen(run, db, bootstrap, relay, pages)


if __name__ == "__main__":
    harness.main("counters", body, 240)
