"""The outbox as an application in any language sees it: plain SQL, nothing of ours."""

import base64
import json
import sqlite3

from support.oracle import Event, event_id_of


def connect(path, timeout=30.0):
    """Transactions are written out, as BEGIN IMMEDIATE."""
    db = sqlite3.connect(str(path), timeout=timeout, isolation_level=None)
    db.text_factory = bytes
    return db


def as_bytes(value):
    """A column's value as Kafka must show it."""
    if value is None or isinstance(value, bytes):
        return value
    return str(value).encode()


def headers_of(text):
    """The headers that a JSON text of the column asks for, read by Python's own parser."""
    if text is None:
        return ()
    parsed = json.loads(text.decode("utf-8", "surrogateescape"), object_pairs_hook=lambda pairs: pairs)
    return tuple((name, header_value(value)) for name, value in parsed)


def header_value(value):
    if isinstance(value, list):  # {"base64": "..."} as pairs
        return base64.b64decode(value[0][1])
    return None if value is None else b"".join(map(encoded, value))


def encoded(letter):
    """Bytes that are not UTF-8 were carried as U+DC80 to U+DCFF and stay bytes; half a surrogate stands for nothing."""
    try:
        return letter.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return "\ufffd".encode()


def committed_events(path):
    """Every row of the file as an Event, in commit order. The effective event id is composed here, not by the view."""
    db = connect(path)
    answer = []
    for row in db.execute(
        "SELECT id, event_id, nonce, topic, partition, key, payload, headers, created_at, deliver_at"
        " FROM outbox ORDER BY id"
    ):
        ident, event_id, nonce, topic, partition, key, payload, headers, created_at, deliver_at = row
        answer.append(
            Event(
                order=ident,
                event_id=event_id.decode() if event_id else event_id_of(created_at, nonce),
                topic=topic.decode(),
                key=key,
                payload=payload,
                headers=headers_of(headers),
                created_at=created_at,
                partition=partition,
                scheduled=deliver_at is not None,
            )
        )
    db.close()
    return answer


def receipts(path):
    """{effective event id: (partition, offset)} of what is sent, from the view that people read."""
    db = connect(path)
    found = {
        event_id.decode(): (partition, offset)
        for event_id, partition, offset in db.execute(
            "SELECT event_id, partition, \"offset\" FROM outbox_status WHERE state = 'sent'"
        )
    }
    db.close()
    return found


def states(path):
    """{effective event id: (state, last error)}."""
    db = connect(path)
    found = {
        event_id.decode(): (state.decode(), error.decode() if error else None)
        for event_id, state, error in db.execute("SELECT event_id, state, last_error FROM outbox_status")
    }
    db.close()
    return found
