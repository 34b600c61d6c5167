"""The relay's pages without a broker: what they answer, whom they refuse, and what a bad client costs."""

import contextlib
import os
import shutil
import socket
import sqlite3
import stat
import time
import unittest

from support import relay_process
from support.harness import Run, wait_until
from support.http_client import Pages

SECONDS = 60
DOWN = "127.0.0.1:1"  # no broker is needed


class PagesTest(unittest.TestCase):
    def setUp(self):
        self.run_ = Run("pages")
        self.addCleanup(shutil.rmtree, self.run_.folder, ignore_errors=True)
        self.addCleanup(self.run_.stop_all)
        self.db = self.run_.path("shop.db")
        relay_process.init(self.run_, self.db)

    def start(self, *more, listen="127.0.0.1:0"):
        return relay_process.Relay(self.run_, self.db, DOWN, "--http", listen, *more)

    def pages(self, *more):
        self.relay = self.start(*more)
        return Pages.of(self.relay)

    def stop(self):
        self.assertEqual(self.relay.terminate()[0], 0)

    def add(self, topic):
        with contextlib.closing(sqlite3.connect(self.db, timeout=20)) as application:
            application.execute("INSERT INTO outbox(topic, key, payload) VALUES (?, 'a', 'b')", (topic,))
            application.commit()

    def refusal(self, *arguments, code=relay_process.CONFIGURATION):
        done = relay_process.command(self.run_, "run", "--db", self.db, "--brokers", DOWN, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def test_metrics_are_as_prometheus_wants_them(self):
        pages = self.pages()
        wait_until(lambda: pages.metrics().get("txbox_outbox_rows", db=self.db, state="ready") == 0, SECONDS, "a count")
        scrape = pages.metrics()
        scrape.check()
        self.assertEqual(len(scrape.all("txbox_build_info")), 1)
        self.assertEqual(scrape.get("txbox_relay_active", db=self.db), 1)
        status, headers, _ = pages.ask("/metrics")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertEqual((headers["Cache-Control"], headers["X-Content-Type-Options"]), ("no-store", "nosniff"))
        self.stop()

    def test_what_retention_deletes_is_counted(self):
        for _ in range(5):
            self.add("orders")
        with contextlib.closing(sqlite3.connect(self.db, timeout=20)) as application:
            application.execute("INSERT INTO outbox_sent SELECT id, substr(nonce, 1, 8), 1, 0, id, 1 FROM outbox")
            application.execute("UPDATE outbox_progress SET settled_through = 5")
            application.commit()
        pages = self.pages("--keep-sent", "1d")
        wait_until(lambda: pages.metrics().get("txbox_relay_pruned_total", db=self.db) == 4, SECONDS, "four of five")
        wait_until(
            lambda: pages.metrics().get("txbox_outbox_rows", db=self.db, state="sent") == 1, SECONDS, "a new count"
        )
        pruned_at = pages.metrics().get("txbox_relay_last_prune_timestamp_seconds", db=self.db)
        self.assertLess(abs(time.time() - pruned_at), SECONDS)
        self.stop()

    def test_a_relay_without_a_broker_is_alive_and_not_ready(self):
        pages = self.pages()
        self.assertEqual(pages.ask("/livez")[0], 200)
        wait_until(lambda: "cannot be reached" in pages.ask("/readyz")[2], SECONDS, "the trouble")
        self.assertEqual(pages.ask("/readyz")[0], 503)
        self.assertEqual(pages.metrics().get("txbox_relay_broker_trouble", kind="unreachable"), 1)
        self.stop()

    def test_only_looking_is_allowed(self):
        pages = self.pages()
        status, headers, body = pages.ask("/metrics", method="HEAD")
        self.assertEqual((status, body), (200, ""))
        self.assertGreater(int(headers["Content-Length"]), 100)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            status, headers, _ = pages.ask("/metrics", method=method, body="x")
            self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"), method)
        self.assertEqual(pages.ask("/nothing")[0], 404)
        self.assertEqual(pages.ask("/livez?verbose=1")[0], 200)
        self.stop()

    def test_a_web_site_that_leads_browsers_here_by_its_own_name_reads_nothing(self):
        pages = self.pages()
        for path in ("/metrics", "/livez", "/readyz"):
            status, _, body = pages.ask(path, headers={"Host": "evil.example"})
            self.assertEqual(status, 403, path)
            self.assertNotIn("txbox_", body)
        with pages.connect() as bare:  # two names at once
            bare.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
            self.assertIn(bare.recv(100).split()[1], (b"400", b"403"))
        with pages.connect() as bare:  # a simple health check
            bare.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
            self.assertEqual(bare.recv(100).split()[1], b"200")
        self.assertEqual(pages.ask("/livez", headers={"Host": "localhost:1"})[0], 200)
        self.stop()

    def test_slow_clients_and_a_thousand_connections_keep_nobody_else_away_for_long(self):
        pages = self.pages()
        slow = [pages.connect() for _ in range(10)]
        for client in slow:
            client.sendall(b"GET /metrics HT")
        self.assertEqual(pages.ask("/livez", timeout=2)[0], 200)
        crowd = []
        for _ in range(1000):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(pages.where)
            crowd.append(client)
        # The crowd says nothing, and is dropped for it.
        wait_until(lambda: self.answers(pages), SECONDS, "an answer beside the crowd", every=0.5)
        descriptors = len(os.listdir(f"/proc/{self.relay.pid}/fd"))
        self.assertLess(descriptors, 200)
        for client in slow + crowd:
            client.close()
        self.stop()

    def answers(self, pages):
        try:
            return pages.ask("/livez", timeout=2)[0] == 200
        except OSError:
            return False

    def test_a_request_that_is_too_large_is_refused(self):
        pages = self.pages()
        for request in (b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                        b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Large: " + b"x" * 100_000 + b"\r\n\r\n"):
            with pages.connect() as bare:
                try:
                    bare.sendall(request)
                    answer = bare.recv(100)
                except ConnectionError:
                    answer = b""
            self.assertTrue(answer == b"" or answer.split()[1][:1] == b"4", answer)
        self.assertEqual(pages.ask("/livez")[0], 200)
        self.stop()

    def test_a_unix_socket_is_the_users_own_and_outlives_no_relay(self):
        path = self.run_.path("relay.sock")
        self.relay = self.start(listen=f"unix:{path}")
        wait_until(path.exists, SECONDS, "the socket")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        pages = Pages(path)
        wait_until(lambda: self.answers(pages), SECONDS, "an answer")
        self.assertEqual(pages.ask("/livez", headers={"Host": "anything"})[0], 200)
        self.assertIn("is in use by another program", self.refusal("--standby", "--http", f"unix:{path}"))
        self.relay.kill()  # leaves its socket behind
        self.assertTrue(path.exists())
        self.relay = self.start(listen=f"unix:{path}")
        wait_until(lambda: self.answers(pages), SECONDS, "an answer of the next one")
        self.stop()
        self.assertFalse(path.exists())

    def test_an_address_that_may_not_be_had_stops_the_start(self):
        pages = self.pages()
        taken = f"127.0.0.1:{pages.where[1]}"
        self.assertIn(f"{taken} is in use by another program", self.refusal("--standby", "--http", taken))
        self.stop()
        told = self.refusal("--http", "0.0.0.0:0")
        self.assertIn("--http-any-address", told)
        for wrong in ("9464", "example.com:9464", "unix:x"):
            self.assertIn("127.0.0.1:9464", self.refusal("--http", wrong, code=relay_process.USAGE))
        path = self.run_.path("relay.toml")
        path.write_text('[http]\nlisten = "nowhere"\n')
        self.assertIn(f"{path}:2", self.refusal("--config", path))

    def test_other_machines_may_ask_where_that_was_allowed(self):
        pages = self.pages("--http-any-address")
        self.stop()
        self.relay = self.start("--http-any-address", listen="0.0.0.0:0")
        pages = Pages.of(self.relay)
        self.assertEqual(pages.ask("/livez", headers={"Host": "10.1.2.3:9464"})[0], 200)
        self.assertEqual(pages.ask("/livez", headers={"Host": "evil.example"})[0], 403)
        self.stop()

    def test_without_the_option_nothing_is_open(self):
        relay = relay_process.Relay(self.run_, self.db, DOWN)
        wait_until(lambda: "outbox-relay " in relay.text(), SECONDS, "the start")
        with open(f"/proc/{relay.pid}/net/tcp", encoding="ascii") as table:
            inodes = {line.split()[9] for line in table.readlines()[1:] if line.split()[3] == "0A"}
        links = [os.readlink(f"/proc/{relay.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{relay.pid}/fd")]
        self.assertFalse([link for link in links if link.removeprefix("socket:[").rstrip("]") in inodes])
        self.assertEqual(relay.terminate()[0], 0)


if __name__ == "__main__":
    unittest.main()
