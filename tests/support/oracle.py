"""Judges a topic's records against the committed rows. It knows the promises, not the product.

compare() returns findings; none means that the log is what was promised. Each finding has a kind:
  lost       a committed row is not in Kafka
  invented   a record that belongs to no committed row
  changed    key, payload or headers are not the bytes that were written
  misplaced  the record is not in the partition that was asked for, or that Java's client would choose
  reordered  first occurrences of a lane are not in commit order, or a repeat does not replay a run
  repeated   a record came twice where the caller allows no repeats
"""

import collections
import dataclasses
import uuid
from typing import Optional

from support.murmur2 import partition_of

OWN_HEADERS = ("id", "txbox-created-at", "txbox-redriven")


@dataclasses.dataclass(frozen=True)
class Event:
    """A committed row, in the bytes that Kafka must show. `order` rises with the commits."""

    order: int
    event_id: str
    topic: str
    key: Optional[bytes]
    payload: Optional[bytes]
    headers: tuple = ()  # of (name, bytes or None)
    created_at: int = 0
    partition: Optional[int] = None
    scheduled: bool = False

    @property
    def lane(self):
        """What keeps its order; None for a row that waits for nobody."""
        return None if self.key is None or self.scheduled else (self.topic, self.partition, self.key)


@dataclasses.dataclass(frozen=True)
class Record:
    topic: str
    partition: int
    offset: int
    key: Optional[bytes]
    value: Optional[bytes]
    headers: tuple = ()
    timestamp: int = 0

    @property
    def event_id(self):
        values = [value for name, value in self.headers if name == "id"]
        return values[0].decode("utf-8", "replace") if len(values) == 1 and values[0] is not None else None


@dataclasses.dataclass(frozen=True)
class Finding:
    kind: str
    text: str


def event_id_of(created_at_ms: int, nonce: bytes) -> str:
    """The UUIDv7 (RFC 9562, 5.7) of a row that was given no event id. The nonce's fourth digit gives two bits only."""
    digits = nonce.hex()
    variant = "89ab"[int(digits[3], 16) & 3]
    return str(uuid.UUID(f"{created_at_ms:012x}7{digits[0:3]}{variant}{digits[4:7]}{digits[7:19]}"))


def compare(events, records, partitions, allow_repeats):
    """`records` come in offset order per partition; `partitions` gives each topic's count."""
    by_id = {event.event_id: event for event in events}
    assert len(by_id) == len(events), "the test's own event ids are not unique"
    findings = []
    seen = collections.Counter()
    lanes = collections.defaultdict(list)
    for record in records:
        event = by_id.get(record.event_id)
        where = f"{record.topic}[{record.partition}]@{record.offset}"
        if event is None:
            findings.append(Finding("invented", f"{where} has id {record.event_id}, which no committed row has"))
            continue
        seen[event.event_id] += 1
        findings += [Finding("changed", f"{where} ({event.event_id}): {what}") for what in differences(event, record)]
        findings += misplaced(event, record, where, partitions)
        if event.lane is not None:
            lanes[event.lane].append((event.order, where))
    findings += [Finding("lost", f"row {e.order} ({e.event_id})") for e in events if seen[e.event_id] == 0]
    if not allow_repeats:
        findings += [Finding("repeated", f"{name} came {n} times") for name, n in seen.items() if n > 1]
    orders = collections.defaultdict(list)
    for event in sorted(events, key=lambda e: e.order):
        orders[event.lane].append(event.order)
    for lane, arrivals in lanes.items():
        findings += reordered(orders[lane], arrivals)
    return findings


def differences(event, record):
    """What of the record is not as it was written. Lengths and names only: a diff of 900 KB helps nobody."""
    if record.key != event.key:
        yield f"key is {shape(record.key)}, written was {shape(event.key)}"
    if record.value != event.payload:
        yield f"payload is {shape(record.value)}, written was {shape(event.payload)}"
    written = tuple(h for h in record.headers if h[0] not in OWN_HEADERS)
    if written != event.headers:
        yield f"headers are {written!r:.300}, written were {event.headers!r:.300}"
    added = sorted(h for h in record.headers if h[0] in OWN_HEADERS)
    if added != [("id", event.event_id.encode()), ("txbox-created-at", str(event.created_at).encode())]:
        yield f"the added headers are {added!r:.300}"


def shape(data):
    return "null" if data is None else f"{len(data)} bytes {data[:24]!r}"


def misplaced(event, record, where, partitions):
    wanted = event.partition
    if wanted is None and event.key is not None:
        wanted = partition_of(event.key, partitions[event.topic])
    if record.topic != event.topic:
        return [Finding("misplaced", f"{where} belongs to topic {event.topic}")]
    if wanted is not None and record.partition != wanted:
        return [Finding("misplaced", f"{where} belongs to partition {wanted}")]
    return []


def reordered(committed, arrivals):
    """P4: `1 2 3 2 3 4` may happen, `1 3 2` never. Each record is the next new one, or one sent before."""
    place = {order: index for index, order in enumerate(committed)}
    sent = 0  # how many of the lane have occurred
    last = -1
    for order, where in arrivals:
        index = place[order]
        if index > sent:
            missing = committed[sent]
            return [Finding("reordered", f"{where}: row {order} overtook row {missing} of its lane")]
        if index > last + 1:
            return [
                Finding("reordered", f"{where}: row {order} repeats out of its run (after row {committed[last]})")
            ]
        sent = max(sent, index + 1)
        last = index
    return []


def compare_receipts(receipts, events, records):
    """Receipts: {event id: (partition, offset)}. Each names a record of its event; offset -1 or None: not known."""
    at = {(r.topic, r.partition, r.offset): r.event_id for r in records}
    topics = {e.event_id: e.topic for e in events}
    findings = [Finding("lost", f"{name} has no receipt") for name in topics if name not in receipts]
    for name, (partition, offset) in receipts.items():
        if name not in topics:
            findings.append(Finding("invented", f"a receipt for {name}, which was not committed"))
        elif offset is not None and offset >= 0 and at.get((topics[name], partition, offset)) != name:
            findings.append(
                Finding(
                    "misplaced", f"the receipt of {name} says [{partition}]@{offset}, where another record stands"
                )
            )
    return findings


def summary(findings, limit=8):
    counts = collections.Counter(f.kind for f in findings)
    lines = [f"  {f.kind}: {f.text}" for f in findings[:limit]]
    return "\n".join([", ".join(f"{n} {kind}" for kind, n in counts.items()) or "none", *lines])
