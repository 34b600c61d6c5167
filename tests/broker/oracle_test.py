#!/usr/bin/python3
"""The judge is judged first: made-up logs that break one promise each must be told apart, and good ones accepted."""

import dataclasses

from support import harness
from support.harness import check
from support.murmur2 import GOLDEN, GOLDEN_PARTITION_COUNTS, partition_of
from support.oracle import Event, Record, compare, compare_receipts, event_id_of
from support.outbox_file import headers_of
from support.system_calls import unsynced_markers

PARTITIONS = {"orders": 12}


def event(order, key=b"A1", partition=None, scheduled=False):
    return Event(
        order,
        f"e{order}",
        "orders",
        key,
        b"payload %d" % order,
        (("type", b"x"), ("type", None), ("e", b"")),
        1000 + order,
        partition,
        scheduled,
    )


def record(source, offset, partition=None):
    own = (("id", source.event_id.encode()), ("txbox-created-at", str(source.created_at).encode()))
    place = source.partition if source.partition is not None else partition_of(source.key or b"", 12)
    return Record(
        "orders", place if partition is None else partition, offset, source.key, source.payload, source.headers + own
    )


def log(events, orders):
    by_order = {e.order: e for e in events}
    return [record(by_order[order], offset) for offset, order in enumerate(orders)]


def kinds(events, records, allow_repeats=True):
    return sorted({f.kind for f in compare(events, records, PARTITIONS, allow_repeats)})


def order_is_judged():
    events = [event(n) for n in (1, 2, 3, 4)]
    for orders in (
        [1, 2, 3, 4],
        [1, 2, 3, 2, 3, 4],
        [1, 1, 2, 3, 4],
        [1, 2, 3, 4, 1, 2, 3, 4],
        [1, 2, 1, 2, 3, 1, 2, 3, 4],
    ):
        check(kinds(events, log(events, orders)) == [], f"accepted: {orders}")
    for orders in ([1, 3, 2, 4], [2, 1, 3, 4], [1, 2, 4, 3], [1, 2, 3, 1, 3, 4], [1, 4, 2, 3, 4]):
        check(kinds(events, log(events, orders)) == ["reordered"], f"refused as reordered: {orders}")
    check(kinds(events, log(events, [1, 2, 3])) == ["lost"], "a missing last row is lost, not reordered")
    check(
        kinds(events, log(events, [1, 2, 4])) == ["lost", "reordered"], "a hole is lost, and its successor overtook"
    )
    check(
        kinds(events, log(events, [1, 2, 2, 3, 4]), allow_repeats=False) == ["repeated"],
        "repeats are counted where none may be",
    )


def lanes_are_kept_apart():
    two_keys = [event(1, b"A"), event(2, b"B"), event(3, b"A")]
    check(kinds(two_keys, log(two_keys, [2, 1, 3])) == [], "keys do not order each other")
    no_key = [event(1, None), event(2, None)]
    check(
        kinds(no_key, [record(no_key[1], 0, 3), record(no_key[0], 0, 7)]) == [],
        "rows without a key have no order and any partition",
    )
    scheduled = [event(1), event(2, scheduled=True), event(3)]
    check(kinds(scheduled, log(scheduled, [1, 3, 2])) == [], "a scheduled row stands outside the order")
    explicit = [event(1, partition=5), event(2)]
    check(kinds(explicit, log(explicit, [2, 1])) == [], "an explicit partition is a lane of its own")


def bytes_are_judged():
    one = event(1)
    good = record(one, 0)
    changes = {
        "key null": {"key": None},
        "key empty": {"key": b""},
        "payload null": {"value": None},
        "payload empty": {"value": b""},
        "payload cut": {"value": one.payload[:-1]},
        "header order": {"headers": good.headers[1::-1] + good.headers[2:]},
        "header null became empty": {"headers": (("type", b"x"), ("type", b""), ("e", b"")) + good.headers[3:]},
        "header empty became null": {"headers": (("type", b"x"), ("type", None), ("e", None)) + good.headers[3:]},
        "created-at missing": {"headers": good.headers[:-1]},
        "created-at wrong": {"headers": good.headers[:-1] + (("txbox-created-at", b"1"),)},
        "header added": {"headers": good.headers + (("extra", b""),)},
    }
    for name, change in changes.items():
        found = kinds([one], [dataclasses.replace(good, **change)])
        check("changed" in found, f"noticed: {name} ({found})")
    check(kinds([one], [good, record(event(9), 1)]) == ["invented"], "a record of no committed row is invented")
    twice = dataclasses.replace(good, headers=good.headers + (("id", b"e1"),))
    check(kinds([one], [twice]) == ["invented", "lost"], "two id headers identify nothing")
    check(
        kinds([one], [record(one, 0, partition=(partition_of(b"A1", 12) + 1) % 12)]) == ["misplaced"],
        "another partition is noticed",
    )


def receipts_are_judged():
    events = [event(1), event(2)]
    records = log(events, [1, 2, 1])
    place = records[0].partition

    def found(receipts):
        return sorted({f.kind for f in compare_receipts(receipts, events, records)})

    check(found({"e1": (place, 2), "e2": (place, 1)}) == [], "a receipt may name any occurrence of its event")
    check(found({"e1": (place, 0), "e2": (place, -1)}) == [], "an unknown offset is accepted")
    check(
        found({"e1": (place, 1), "e2": (place, 1)}) == ["misplaced"],
        "a receipt that names another's record is noticed",
    )
    check(found({"e1": (place, 0)}) == ["lost"], "a missing receipt is noticed")
    check(
        found({"e1": (place, 0), "e2": (place, 1), "e3": (place, 1)}) == ["invented"],
        "a receipt of nothing is noticed",
    )


def golden_values_hold():
    for key, *answers in GOLDEN:
        for count, answer in zip(GOLDEN_PARTITION_COUNTS, answers):
            harness.require(
                partition_of(bytes.fromhex(key), count) == answer, f"murmur2 of {key} over {count} partitions"
            )
    check(True, f"{len(GOLDEN)} keys fall where Java's client puts them")
    composed = event_id_of(0x017F22E279B0, bytes.fromhex("123456789abcdef00fed"))  # time: RFC 9562, A.6
    check(composed == "017f22e2-79b0-7123-8567-89abcdef00fe", f"the composed event id: {composed}")
    parsed = headers_of(b'[["a","1"],["a",null],["b",{"base64":"AAE="}]]')
    check(parsed == (("a", b"1"), ("a", None), ("b", b"\0\1")), "pairs of headers are read")
    check(
        headers_of(b'{"a":"1","a":null,"":""}') == (("a", b"1"), ("a", None), ("", b"")),
        "an object's repeated names are kept",
    )


READ, SYNC, SEND = (
    '10 pread64(5</d/x.db-wal>, "..m1..", 4096, 56) = 4096',
    "11 fdatasync(5</d/x.db-wal>) = 0",
    '12 sendmsg(9<TCP:[1->2]>, {msg_iov=[{iov_base="m1"}]}, 0) = 80',
)
SYNC_BEGINS, SYNC_ENDS = "11 fdatasync(5</d/x.db-wal> <unfinished ...>", "11 <... fdatasync resumed>) = 0"


def traces_are_judged():
    def bad(*lines):
        return list(unsynced_markers(lines, "x.db-wal", ["m1"]))

    check(bad(READ, SYNC, SEND) == [], "a sync between reading and sending is seen")
    check(
        bad(READ, SYNC_BEGINS, SYNC_ENDS, SEND) == [],
        "also where another thread's call came between its begin and end",
    )
    for name, lines in {
        "no sync": (READ, SEND),
        "a sync too late": (READ, SEND, SYNC),
        "a sync too early": (SYNC, READ, SEND),
        "a sync that began before the read": (SYNC_BEGINS, READ, SYNC_ENDS, SEND),
        "a sync unfinished at the send": (READ, SYNC_BEGINS, SEND, SYNC_ENDS),
        "a sync that failed": (READ, SYNC.replace("= 0", "= -1 EIO"), SEND),
        "a sync of another file": (READ, SYNC.replace("-wal", ""), SEND),
        "never sent": (READ, SYNC),
    }.items():
        check(bad(*lines) == ["m1"], f"refused: {name}")


def body(_run):
    order_is_judged()
    lanes_are_kept_apart()
    bytes_are_judged()
    receipts_are_judged()
    golden_values_hold()
    traces_are_judged()


harness.main("oracle", body, 30)
