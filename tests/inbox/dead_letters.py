#!/usr/bin/python3
"""Malformed messages among good ones, each twice: each is a dead letter once, whole, and the rest is applied.

What the outbox can carry ends in `<topic>.dlq`, with every header it came with; what it cannot stands in inbox_parked.
"""

import base64
import collections
import json
import re
import subprocess
import uuid

from support import harness, relay_process
from support.billing import Billing, Database, check_balances, check_invoices, check_logs_keep_secrets, drain
from support.harness import check, let_pass, note, require
from support.kafka import shared_bootstrap
from support.kafka_log import create_topic, read_topics
from support.order_load import Orders

PARTITIONS = 3
KILLS = 3
GOOD_ORDERS = 600
ADDED = re.compile(r"__dlq\.errors\.")
NOT_UTF8 = b"\xff\xfe"
OVERSIZED = 1_010_000  # bytes of payload: more than a row of the outbox may have, less than a batch in Kafka
HEADERS = (
    (),
    (("type", b"OrderPlaced"), ("txbox-created-at", b"1700000000000")),
    (("none", None), ("empty", b""), ("binary", bytes(range(256))), ("", b"no name")),
    (("again", b"1"), ("again", None), ("again", b"2"), ("Again", b"1"), ("again", b"1")),
    (("ünï", "é😀".encode()), ("not utf-8", NOT_UTF8 * 3), ("zeros", bytes(40))),
)


def payloads(mark):
    """What no order looks like. Each carries `mark` where it can, to be searched for in the logs."""
    good = {"order_id": f"{mark}-o", "account": f"{mark}-a", "amount_cents": 5}
    yield from (None, b"", b" ", b"null", b"[]", b"{}", b"5", f'"{mark}"'.encode(), f"not JSON {mark}".encode())
    yield from (json.dumps(good).encode()[:-1], json.dumps(good).encode() + b"}", b"\xef\xbb\xbf\xff" + mark.encode())
    for name in good:
        yield json.dumps({key: value for key, value in good.items() if key != name}).encode()
    for name, value in (
        ("account", ""),
        ("account", 5),
        ("account", None),
        ("account", [mark]),
        ("account", mark * 40),
        ("amount_cents", "5"),
        ("amount_cents", 12.5),
        ("amount_cents", -1),
        ("amount_cents", True),
        ("amount_cents", None),
        ("amount_cents", 10**9 + 1),
        ("amount_cents", 2**63),
        ("amount_cents", 2**64 + 5),
        ("amount_cents", {"cents": 5}),
    ):
        yield json.dumps({**good, name: value}).encode()
    yield b'{"a":' * 5000 + b"1" + b"}" * 5000
    yield b"[" * 100_000


class Bad:
    """The malformed messages, by the id that both copies share; and those that stand for themselves."""

    def __init__(self, run, bootstrap, orders):
        self.run = run
        self.bootstrap = bootstrap
        self.orders = orders
        self.chance = run.random
        self.letters = {}  # id: (key, payload, headers)
        self.parked = {}  # id: (key, payload, headers), for inbox_parked
        self.without_id = []  # (key, payload, headers)
        self.sends = []  # what is to be sent, in any order
        self.places = collections.defaultdict(set)  # id: where its copies came to stand

    def key(self):
        mark = self.orders.mark.encode()
        return self.chance.choice([None, b"", mark, mark + b"\0\xff", b"k" * 300])

    def new_id(self):
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def twice(self, ident, record):
        for _ in range(2):
            self.sends.append((record, self.chance.randrange(PARTITIONS), self.places[ident].add))

    def make(self):
        for number, payload in enumerate(payloads(self.orders.mark)):
            for headers in (HEADERS[number % len(HEADERS)], self.chance.choice(HEADERS)):
                ident = self.new_id()
                placed = self.chance.randint(0, len(headers))  # `id` need not come first
                whole = (*headers[:placed], ("id", ident.encode()), *headers[placed:])
                self.letters[ident] = (self.key(), payload, whole)
                self.twice(ident, self.letters[ident])
        for filler in (b"x", b"\0"):
            ident = self.new_id()
            self.parked[ident] = (self.key(), filler * OVERSIZED, (("id", ident.encode()), *HEADERS[3]))
            self.twice(ident, self.parked[ident])
        self.make_without_id()

    def make_without_id(self):
        """Good orders all of them, but nothing says which: two that look alike are two, and none is applied."""
        payload = json.dumps(
            {"order_id": f"{self.orders.mark}-n", "account": f"{self.orders.mark}-nobody", "amount_cents": 7}
        ).encode()
        for headers in (
            (),
            (("Id", b"other name"),),
            (("id", b""),),
            (("id", None), ("type", b"x")),
            (("id", b"x" * 256),),
            (("id", b"a\0b"),),
        ):
            self.without_id += [(self.key(), payload, headers)] * 2
        for record in self.without_id:
            self.sends.append((record, self.chance.randrange(PARTITIONS), None))

    def send(self):
        """All of it, shuffled, with good orders between; an oversized good order, too: size alone is no fault."""
        self.chance.shuffle(self.sends)
        each = max(1, GOOD_ORDERS // len(self.sends))
        for record, partition, landed in self.sends:
            self.orders.send(record, partition, landed)
            self.orders.send_some(each)
        key, payload, headers = self.orders.order()
        self.orders.send((key, payload[:-1] + b" " * OVERSIZED + b"}", headers))
        self.orders.flush()
        self.send_odd_names()

    def send_odd_names(self):
        """Header names that are not UTF-8, which no Python client sends: kcat passes on the bytes of its arguments."""
        for number in range(2):
            ident = self.new_id()
            headers = (("id", ident.encode()), (NOT_UTF8 + b"name", b"value"), ("plain", b"1"))
            payload = f"{self.orders.mark}, malformed {number}".encode()
            self.parked[ident] = (b"odd", payload, headers)
            path = self.run.path("kcat-payload")
            path.write_bytes(payload)
            words = [b"-H%s=%s" % (name if isinstance(name, bytes) else name.encode(), v) for name, v in headers]
            for partition in (0, 1):
                done = subprocess.run(
                    ["kcat", "-P", "-b", self.bootstrap, "-t", self.orders.topic, "-p", str(partition), "-k", "odd"]
                    + [*words, str(path)],
                    capture_output=True,
                    timeout=60,
                )
                require(done.returncode == 0, f"kcat: {done.stderr[-500:]!r}")


def headers_from_json(text):
    """inbox_parked keeps headers as pairs; a name or a value that is not text is {"base64": ...}."""

    def plain(value):
        if isinstance(value, dict):
            return base64.b64decode(value["base64"])
        return value if value is None else value.encode()

    return tuple((plain(name), plain(value)) for name, value in json.loads(text or "[]"))


def as_bytes(headers):
    return tuple((name if isinstance(name, bytes) else name.encode(), value) for name, value in headers)


def shape(record):
    key, payload, headers = record
    return f"key {key!r:.40}, payload {payload!r:.60}, headers {headers!r:.200}"


def check_letters(bad, letters):
    """Each once, byte for byte, with where it came from."""
    times = collections.Counter(letter.event_id for letter in letters)
    wrong = [f"{shape(bad.letters[i])} came {times[i]} times" for i in bad.letters if times[i] != 1]
    check(not wrong, f"each of {len(bad.letters)} malformed messages ended once in the dead letters: {wrong[:3]}")
    for letter in letters:
        if letter.event_id not in bad.letters:
            continue
        key, payload, headers = bad.letters[letter.event_id]
        kept = tuple(header for header in letter.headers if not ADDED.match(header[0]))
        require(
            (letter.key, letter.value, kept) == (key, payload, headers),
            f"a dead letter is not as it came: {shape((letter.key, letter.value, kept))}, not"
            f" {shape((key, payload, headers))}",
        )
        require_origin(letter, bad.places[letter.event_id], bad.orders.mark)
    check(True, "each is byte for byte as it came, every header in its place, and says where it came from")


def require_origin(letter, places, mark):
    names = [name for name, _ in letter.headers if ADDED.match(name)]
    require(len(names) == len(set(names)), f"a header was added twice: {names}")
    said = {name[len("__dlq.errors.") :]: value for name, value in letter.headers if ADDED.match(name)}
    place = (said["topic"].decode(), int(said["partition"]), int(said["offset"]))
    require(place in places, f"a dead letter says it came from {place}; its copies are at {places}")
    reason = said["message"].decode()
    require(reason and mark not in reason, f"the reason of a dead letter: {reason!r}")


def check_parked(bad, database, letters):
    parked = database.parked()
    places = {place: row["event_id"] for place, row in parked.items()}
    times = collections.Counter(places.values())
    wrong = [f"{shape(bad.parked[i])}: {times[i]}" for i in bad.parked if times[i] != 1]
    check(not wrong, f"each of {len(bad.parked)} that no outbox can carry is parked once: {wrong}")
    for place, row in parked.items():
        if row["event_id"] in bad.parked:
            key, payload, headers = bad.parked[row["event_id"]]
            found = (row["key"], row["payload"], headers_from_json(row["headers"]))
            require(found == (key, payload, as_bytes(headers)), f"parked, but not whole: {shape(found)}")
            require(place in bad.places.get(row["event_id"], [place]), f"{place} is not where it came from")
            require(row["reason"] and row["reason"].find(bad.orders.mark) < 0, f"its reason: {row['reason']!r}")
    check(True, "each of them whole: key, payload, headers, and where it came from")

    found = collections.Counter()
    for row in parked.values():
        if row["event_id"] not in bad.parked:
            found[(row["key"], row["payload"], headers_from_json(row["headers"]))] += 1
    for letter in letters:
        if letter.event_id not in bad.letters:
            kept = tuple(header for header in letter.headers if not ADDED.match(header[0]))
            found[(letter.key, letter.value, as_bytes(kept))] += 1
    expected = collections.Counter((k, p, as_bytes(h)) for k, p, h in bad.without_id)
    wrong = [f"{shape(record)}: {found[record]} instead of {n}" for record, n in expected.items() if found[record] != n]
    check(
        found == expected,
        f"each of {len(bad.without_id)} messages without a usable id is kept once, whole, none folded: {wrong[:3]}"
        f" {[shape(record) for record in found if record not in expected][:3]}",
    )


class Stage:
    def __init__(self, run):
        self.run = run
        self.bootstrap = shared_bootstrap()
        self.topic = f"orders-bad-{run.seed}"
        self.invoices = f"invoices-{run.seed}"
        for name, partitions in ((self.topic, PARTITIONS), (f"{self.topic}.dlq", 2), (self.invoices, 1)):
            create_topic(self.bootstrap, name, partitions)
        self.path = run.path("billing.db")
        self.group = f"billing-bad-{run.seed}"
        self.database = Database(self.path, self.group)
        run.at_end(self.database.close)
        self.arguments = (run, self.path, self.bootstrap, self.topic, "--invoices", self.invoices)

    def killed_in_the_middle(self):
        before = self.database.orders_applied()
        billing = Billing(*self.arguments, group=self.group)
        harness.wait_until(lambda: self.database.orders_applied() > before, 30, "it applies something", every=0.002)
        billing.require_alive()
        billing.kill()

    def drain(self):
        """Billing to the end of the topic, then the relay to the end of billing's outbox; all dead letters of now."""
        life = drain(*self.arguments, group=self.group)
        note(f"billing says: {life.text().splitlines()[-1:]}")
        require(relay_process.drain(self.run, self.path, self.bootstrap) == 0, "the relay could not publish the outbox")
        return read_topics(self.bootstrap, {f"{self.topic}.dlq": 2})


def send_repaired(run, bad, orders):
    """People repair dead letters and send them back under their ids, twice: that is applied once, and stays applied."""
    repaired = sorted(bad.letters)[:3]
    for ident in repaired:
        key, payload, _ = orders.order()
        for _ in range(2):
            orders.send((key, payload, [("id", ident.encode())]), run.random.randrange(PARTITIONS))
    orders.flush()
    for ident in repaired:
        orders.send(bad.letters[ident], run.random.randrange(PARTITIONS))  # the malformed one once more
    orders.flush()


def body(run):
    stage = Stage(run)
    orders = Orders(run, stage.bootstrap, stage.topic, PARTITIONS)
    bad = Bad(run, stage.bootstrap, orders)
    bad.make()
    bad.send()
    for _ in range(KILLS):
        stage.killed_in_the_middle()
    letters = stage.drain()
    check_balances(stage.database, orders, "beside the malformed ones")
    check_invoices(stage.database, orders, stage.invoices, "beside the malformed ones")
    check_letters(bad, letters)
    check_parked(bad, stage.database, letters)

    send_repaired(run, bad, orders)
    again = stage.drain()
    check_balances(stage.database, orders, "after dead letters were repaired and sent back")
    check(len(again) == len(letters), "no message became a dead letter a second time")
    check_logs_keep_secrets(run, orders)


harness.main("dead-letters", body, 240)
