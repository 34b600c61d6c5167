"""Rows as awkward as a real application's, each with the bytes that Kafka must show for it."""

import base64
import collections
import dataclasses
import itertools
import json
from typing import Any, Optional

from support.oracle import Event

_numbers = itertools.count()


def count():
    return next(_numbers)


@dataclasses.dataclass(frozen=True)
class Topics:
    few: str  # 3 partitions
    many: str  # 12


@dataclasses.dataclass
class Row:
    topic: str
    sql: str
    values: tuple
    key: Optional[bytes]
    payload: Optional[bytes]
    headers: tuple
    event_id: Optional[str]
    partition: Optional[int]
    scheduled: bool
    kinds: tuple
    ident: int = 0

    def event(self, event_id, created_at):
        return Event(
            self.ident,
            event_id,
            self.topic,
            self.key,
            self.payload,
            self.headers,
            created_at,
            self.partition,
            self.scheduled,
        )


@dataclasses.dataclass(frozen=True)
class Value:
    """A value as bound, the SQL around it, and its bytes."""

    kind: str
    bound: Any
    expected: Optional[bytes]
    sql: str = "?"


NOT_UTF8 = bytes.fromhex("fffe80c3286100ff")
NUMBERS = [
    (0, b"0"),
    (42, b"42"),
    (-7, b"-7"),
    (9223372036854775807, b"9223372036854775807"),
    (1.5, b"1.5"),
    (2.0, b"2.0"),
    (-0.25, b"-0.25"),
    (1e100, b"1.0e+100"),
]
TEXTS = [
    "18446744073709551616",
    "1.10",
    "1E400",
    '{"a":1,"a":2}',
    '{"z":0,"a":0}',
    "\ufeffwith a mark",
    "trailing spaces   ",
    "\n\t\r",
    "é 😀 \u2028",
    "null",
    "NULL",
    "'; DROP TABLE outbox; --",
]


def values(random, what):
    """One value of each kind that a key or a payload may have."""
    text = random.choice(TEXTS)
    number, number_text = random.choice(NUMBERS)
    blob = random.randbytes(random.randint(1, 60))
    return [
        Value(f"{what} null", None, None),
        Value(f"{what} empty text", "", b""),
        Value(f"{what} empty blob", b"", b""),
        Value(f"{what} text", text, text.encode()),
        Value(f"{what} text with NUL", "a\0b\0", b"a\0b\0"),
        Value(f"{what} text that is not UTF-8", NOT_UTF8, NOT_UTF8, "CAST(? AS TEXT)"),
        Value(f"{what} blob", blob, blob),
        Value(f"{what} blob with NUL", b"\0\0", b"\0\0"),
        Value(f"{what} number", number, number_text),
    ]


def key(random):
    if random.random() < 0.6:  # few keys with many rows each: order is about them
        name = f"customer-{random.randrange(40)}"
        return (
            Value("key of many rows", name, name.encode())
            if random.random() < 0.5
            else Value("key of many rows, as blob", name.encode(), name.encode())
        )
    if random.random() < 0.03:
        long = random.randbytes(2000)
        return Value("key of 2,000 bytes", long, long)
    return random.choice(values(random, "key"))


def payload(random, number):
    if number % 400 == 0:
        big = random.randbytes(1024) * 900
        return Value("payload of 900 KB", big[:900_000], big[:900_000])
    if random.random() < 0.5:
        text = json.dumps({"number": number, "fill": "x" * random.randrange(400)})
        return Value("payload JSON", text, text.encode())
    return random.choice(values(random, "payload"))


def pairs(random, length):
    names = ["a", "a", "b", "type", "ünï", "", "Content-Type", "A"]
    options = ["", "1", "two words", "\0", "é😀", None, b"", b"\0\xff", bytes(range(256))]
    return tuple((random.choice(names), random.choice(options)) for _ in range(length))


FIXED_HEADERS = {
    "headers absent": (None, ()),
    "headers, empty object": (" {} ", ()),
    "headers, empty pairs": ("[]", ()),
    "headers, repeated in an object": ('{"r":"1","r":null,"r":"2"}', (("r", b"1"), ("r", None), ("r", b"2"))),
    "headers, escapes": ('[["e","\\u0041\\ud83d\\ude00\\/\\n\\u0000"]]', (("e", "A😀/\n\0".encode()),)),
    # A surrogate without its partner stands for no character; bytes that are not UTF-8 stay what they are.
    "headers, half a surrogate": ('{"s":"a\\ud800b"}', (("s", "a\ufffdb".encode()),)),
    "headers that are not UTF-8": (b'{"raw":"' + NOT_UTF8[:3] + b'"}', (("raw", NOT_UTF8[:3]),)),
}


def headers(random):
    """(kind, JSON text, what Kafka must show)."""
    kind = random.choice([*FIXED_HEADERS, "headers absent", "object", "pairs", "pairs", "many"])
    if kind in FIXED_HEADERS:
        return kind, *FIXED_HEADERS[kind]
    if kind == "object":
        plain = {name: value for name, value in pairs(random, 3) if not isinstance(value, bytes)}
        return "headers, object", json.dumps(plain, ensure_ascii=random.random() < 0.5), as_expected(plain.items())
    chosen = pairs(random, 100 if kind == "many" and random.random() < 0.2 else random.randint(1, 6))
    coded = [[n, {"base64": base64.b64encode(v).decode()} if isinstance(v, bytes) else v] for n, v in chosen]
    return "headers, pairs", json.dumps(coded), as_expected(chosen)


def as_expected(items):
    return tuple((name, value.encode() if isinstance(value, str) else value) for name, value in items)


def event_id(random, number):
    if random.random() > 0.2:
        return None
    start = f"event-{number}-"
    return random.choice(
        [start, start + "é😀", start + "x" * (255 - len(start)), start + "with spaces 'quotes' \"too\""]
    )


def row(random, topics, number):
    topic, partitions = random.choice([(topics.few, 3), (topics.many, 12)])
    chosen_key, chosen_payload = key(random), payload(random, number)
    header_kind, header_text, expected_headers = headers(random)
    columns = {"topic": topic}
    marks = {"key": chosen_key.sql, "payload": chosen_payload.sql, "headers": "CAST(? AS TEXT)"}
    kinds = [chosen_key.kind, chosen_payload.kind, header_kind]
    partition = random.randrange(partitions) if random.random() < 0.1 else None
    identity = event_id(random, number)
    scheduled = random.random() < 0.02
    optional = {
        "key": chosen_key.bound,
        "payload": chosen_payload.bound,
        "headers": header_text,
        "partition": partition,
        "event_id": identity,
        "deliver_at": 1_700_000_000_000 if scheduled else None,
        "created_at": 1_600_000_000_000 + number if random.random() < 0.05 else None,
    }
    for name, value in optional.items():
        # A column left out and one set to null must be the same; created_at alone has a default.
        if value is not None or name != "created_at" and random.random() < 0.5:
            columns[name] = value
    kinds += [
        text
        for text, there in (
            ("an explicit partition", partition is not None),
            ("an event id", identity is not None),
            ("a due time", scheduled),
            ("a given created_at", "created_at" in columns),
        )
        if there
    ]
    sql = f"INSERT INTO outbox({', '.join(columns)}) VALUES ({', '.join(marks.get(name, '?') for name in columns)})"
    return Row(
        topic,
        sql,
        tuple(columns.values()),
        chosen_key.expected,
        chosen_payload.expected,
        expected_headers,
        identity,
        partition,
        scheduled,
        tuple(kinds),
    )


def census(rows):
    return collections.Counter(kind for row in rows for kind in row.kinds)
