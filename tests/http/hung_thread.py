#!/usr/bin/python3
"""A thread of the relay that hangs makes /livez fail, while the pages are served as before."""

import uuid

from support import harness, outbox_file, relay_process
from support.harness import check, wait_until
from support.http_client import Pages
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic

HUNG_AFTER = 30
SECONDS = 60


def body(run):
    bootstrap = shared_bootstrap()
    topic = f"hung-{uuid.uuid4().hex[:8]}"
    create_topic(bootstrap, topic, 1)
    db = run.path("shop.db")
    relay_process.init(run, db)
    relay = relay_process.Relay(run, db, bootstrap, "--http", "127.0.0.1:0", TXBOX_FAILPOINT="relay:before_mark",
                                TXBOX_FAILPOINT_ACTION="hang")
    pages = Pages.of(relay)
    wait_until(pages.ready, SECONDS, "a relay that is ready")
    check(pages.ask("/livez")[0] == 200, "a relay is alive before anything hangs")
    connection = outbox_file.connect(db)
    connection.execute("INSERT INTO outbox(topic, payload) VALUES (?, 'x')", (topic,))
    connection.close()
    wait_until(lambda: pages.ask("/livez")[0] == 503, HUNG_AFTER + SECONDS, "a thread that is seen to hang", every=0.5)
    check(pages.metrics().get("txbox_relay_loop_still_seconds") >= HUNG_AFTER,
          f"the thread that writes marks hung, and /livez says so: {pages.ask('/livez')[2].strip()}")


if __name__ == "__main__":
    harness.main("hung_thread", body, 200)
