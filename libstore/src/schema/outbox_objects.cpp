#include <array>

#include "schema/objects.hpp"

// Why the refusals are RAISE(ABORT) in triggers: only they hold under every conflict clause (OR REPLACE, OR IGNORE,
// OR FAIL, UPSERT), also where an application's own trigger writes the event and the outer statement's clause wins.
// CHECK, NOT NULL and UNIQUE stand behind them for writers whose triggers are off.
// Times are milliseconds since 1970; the expression avoids julianday(), which is 1 ms low for half of all values.

namespace txbox::store::schema {

namespace {

constexpr std::string_view kOutbox = R"((
  id INTEGER PRIMARY KEY,
  event_id TEXT
    CHECK (event_id IS NULL OR (typeof(event_id) = 'text' AND length(CAST(event_id AS BLOB)) BETWEEN 1 AND 255)),
  nonce BLOB NOT NULL DEFAULT (randomblob(10)) CHECK (typeof(nonce) = 'blob' AND length(nonce) = 10),
  topic TEXT NOT NULL CHECK (typeof(topic) = 'text' AND length(topic) BETWEEN 1 AND 249),
  partition INTEGER CHECK (partition IS NULL OR (typeof(partition) = 'integer' AND partition BETWEEN 0 AND 2147483647)),
  key TEXT,
  payload TEXT,
  headers TEXT,
  created_at INTEGER NOT NULL
    DEFAULT (CAST(strftime('%s','now') AS INTEGER) * 1000 + CAST(substr(strftime('%f','now'), 4) AS INTEGER))
    CHECK (typeof(created_at) = 'integer' AND created_at BETWEEN 100000000000 AND 99999999999999),
  deliver_at INTEGER CHECK (deliver_at IS NULL
    OR (typeof(deliver_at) = 'integer' AND deliver_at BETWEEN 100000000000 AND 99999999999999)),
  as_is INTEGER NOT NULL DEFAULT 0 CHECK (as_is IN (0, 1))
))";

// NEW.id is -1 where the statement gives no id.
constexpr std::string_view kOutboxGuard = R"( BEFORE INSERT ON outbox BEGIN SELECT CASE
  WHEN NEW.topic IS NULL THEN
    RAISE(ABORT, 'txbox: topic is missing: every event needs the name of its Kafka topic')
  WHEN typeof(NEW.topic) <> 'text' OR length(CAST(NEW.topic AS BLOB)) NOT BETWEEN 1 AND 249
    OR length(CAST(NEW.topic AS BLOB)) <> length(NEW.topic) OR NEW.topic GLOB '*[^A-Za-z0-9._-]*'
    OR NEW.topic IN ('.', '..') THEN
    RAISE(ABORT, 'txbox: topic is not a Kafka topic name: give 1 to 249 of A-Z a-z 0-9 . _ - as text, not . or ..')
  WHEN NEW.id IS NOT NULL AND NEW.id <> -1 THEN
    RAISE(ABORT, 'txbox: never set id yourself: leave the column out, it is the commit order')
  WHEN NEW.event_id IS NOT NULL AND (typeof(NEW.event_id) <> 'text'
    OR length(CAST(NEW.event_id AS BLOB)) NOT BETWEEN 1 AND 255 OR instr(NEW.event_id, char(0))) THEN
    RAISE(ABORT, 'txbox: event_id must be text of 1 to 255 bytes without NUL: leave it null to have one made')
  WHEN NEW.event_id IS NOT NULL AND EXISTS (SELECT 1 FROM outbox WHERE event_id = NEW.event_id) THEN
    RAISE(ABORT, 'txbox: event_id is already there: this event was added before, so do not add it again')
  WHEN NEW.nonce IS NULL OR typeof(NEW.nonce) <> 'blob' OR length(NEW.nonce) <> 10 THEN
    RAISE(ABORT, 'txbox: nonce must be 10 random bytes: leave the column out (null is not the same)')
  WHEN NEW.nonce = (SELECT nonce FROM outbox ORDER BY id DESC LIMIT 1) THEN
    RAISE(ABORT, 'txbox: nonce is a copy of the row before: leave the column out, its default makes new random bytes')
  WHEN NEW.partition IS NOT NULL
    AND (typeof(NEW.partition) <> 'integer' OR NEW.partition NOT BETWEEN 0 AND 2147483647) THEN
    RAISE(ABORT, 'txbox: partition must be an integer from 0 to 2147483647: leave it null to choose by key')
  WHEN NEW.created_at IS NULL OR typeof(NEW.created_at) <> 'integer'
    OR NEW.created_at NOT BETWEEN 100000000000 AND 99999999999999 THEN
    RAISE(ABORT, 'txbox: created_at must be ms since 1970, not seconds, microseconds or text: leave the column out')
  WHEN NEW.deliver_at IS NOT NULL AND (typeof(NEW.deliver_at) <> 'integer'
    OR NEW.deliver_at NOT BETWEEN 100000000000 AND 99999999999999) THEN
    RAISE(ABORT, 'txbox: deliver_at must be ms since 1970, not seconds, microseconds or text: null publishes at once')
  WHEN NEW.as_is IS NULL OR NEW.as_is NOT IN (0, 1) THEN
    RAISE(ABORT, 'txbox: as_is must be 0 or 1: leave the column out')
  WHEN ifnull(length(CAST(NEW.key AS BLOB)), 0) + ifnull(length(CAST(NEW.payload AS BLOB)), 0)
    + ifnull(length(CAST(NEW.headers AS BLOB)), 0) > {limit} THEN
    RAISE(ABORT, 'txbox: record is too large: key, payload and headers together may have {limit} bytes )"
                                          R"((outbox-relay init --max-record-bytes changes it)')
  END; END)";

// json_each is the one JSON function that works in a trigger on a connection with trusted_schema off. It takes a lone
// scalar as well and stops at a NUL byte, so both are refused by hand. A string with an escaped NUL ends there in
// SQL, so a base64 text is not judged by what SQL shows of it then.
constexpr std::string_view kOutboxHeaders = R"( BEFORE INSERT ON outbox WHEN NEW.headers IS NOT NULL BEGIN
  SELECT RAISE(ABORT, 'txbox: headers must be JSON text: {"name":"value","other":null} or [["name","value"]]')
    WHERE typeof(NEW.headers) <> 'text' OR instr(NEW.headers, char(0))
      OR substr(ltrim(NEW.headers, ' ' || char(9, 10, 13)), 1, 1) NOT IN ('{', '[');
  SELECT RAISE(ABORT, 'txbox: headers must be JSON like {"name":"value","other":null} or )"
                                            R"([["name","value"],["name",{"base64":"AAE="}]]: names are strings, )"
                                            R"(values strings or null, bytes need pairs')
    WHERE EXISTS (SELECT 1 FROM json_each(NEW.headers) AS e
      WHERE CASE WHEN typeof(e.key) = 'text' THEN e.type NOT IN ('text', 'null')
        WHEN e.type <> 'array' THEN 1
        ELSE (SELECT count(*) <> 2 OR sum(CASE
            WHEN p.key = 0 THEN p.type = 'text'
            WHEN p.type IN ('text', 'null') THEN 1
            WHEN p.type <> 'object' OR instr(p.value, '\u0000') THEN 0
            ELSE (SELECT count(*) = 1 AND max(b.key = 'base64' AND b.type = 'text' AND length(b.value) % 4 = 0
                AND rtrim(b.value, '=') NOT GLOB '*[^A-Za-z0-9+/]*'
                AND length(b.value) - length(rtrim(b.value, '=')) <= 2
                AND b.value NOT GLOB '*[^AQgw]==' AND b.value NOT GLOB '*[^AEIMQUYcgkosw048=]=')
              FROM json_each(p.value) AS b)
            END) <> 2 FROM json_each(e.value) AS p)
        END);
  SELECT RAISE(ABORT, 'txbox: header names id and txbox-* are reserved: choose another (the event id is a column)')
    WHERE NEW.as_is = 0 AND EXISTS (SELECT 1 FROM (
        SELECT CASE WHEN typeof(e.key) = 'text' THEN e.key
          ELSE (SELECT p.value FROM json_each(e.value) AS p WHERE p.key = 0) END AS name
        FROM json_each(NEW.headers) AS e)
      WHERE name = 'id' OR substr(name, 1, 6) = 'txbox-');
  END)";

// The newest row is never deleted, so ids rise by one and the row before is always there. A predecessor alone would
// also be found by an id in a gap that retention left.
constexpr std::string_view kOutboxOrder = R"( AFTER INSERT ON outbox BEGIN
  SELECT RAISE(ABORT, 'txbox: never set id yourself: leave the column out, it is the commit order')
    WHERE NEW.id <> (SELECT max(id) FROM outbox) OR NEW.id < 1
      OR (NEW.id > 1 AND NOT EXISTS (SELECT 1 FROM outbox WHERE id = NEW.id - 1));
  END)";

constexpr std::string_view kOutboxNoUpdate = R"( BEFORE UPDATE ON outbox BEGIN
  SELECT RAISE(ABORT, 'txbox: an event is never changed: add another one (outbox-relay has park, retry and skip)');
  END)";

constexpr std::string_view kOutboxNoDelete = R"( BEFORE DELETE ON outbox BEGIN
  SELECT RAISE(ABORT, 'txbox: an event is never deleted: outbox-relay prune removes sent ones, skip gives one up');
  END)";

constexpr std::string_view kOutboxSent = R"((
  id INTEGER PRIMARY KEY,
  nonce BLOB NOT NULL CHECK (typeof(nonce) = 'blob' AND length(nonce) = 8),
  cluster INTEGER NOT NULL,
  partition INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  sent_at INTEGER NOT NULL
))";

// lane is null for a row that blocks nobody.
constexpr std::string_view kOutboxHeld = R"((
  id INTEGER PRIMARY KEY,
  nonce BLOB NOT NULL CHECK (typeof(nonce) = 'blob' AND length(nonce) = 8),
  state TEXT NOT NULL CHECK (state IN ('parked', 'blocked', 'scheduled', 'waiting', 'ready', 'skipped')),
  lane INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER,
  last_error TEXT,
  redriven INTEGER NOT NULL DEFAULT 0 CHECK (redriven IN (0, 1))
))";

constexpr std::string_view kOutboxProgress = R"((
  one INTEGER PRIMARY KEY DEFAULT 1 CHECK (one = 1),
  settled_through INTEGER NOT NULL DEFAULT 0,
  pruned_through INTEGER NOT NULL DEFAULT 0
))";

constexpr std::string_view kOutboxCluster = R"((
  number INTEGER PRIMARY KEY,
  cluster_id TEXT NOT NULL UNIQUE
))";

// The effective event id is composed exactly as txbox::event_id_from() does.
constexpr std::string_view kOutboxStatus =
    R"((id, event_id, topic, key, state, attempts, due_at, last_error, partition, offset, created_at, sent_at) AS
  SELECT o.id,
    coalesce(o.event_id, substr(printf('%012x', o.created_at), 1, 8)
      || '-' || substr(printf('%012x', o.created_at), 9, 4) || '-7' || substr(lower(hex(o.nonce)), 1, 3)
      || '-' || substr('89ab', 1 + (instr('0123456789ABCDEF', substr(hex(o.nonce), 4, 1)) - 1) % 4, 1)
      || substr(lower(hex(o.nonce)), 5, 3) || '-' || substr(lower(hex(o.nonce)), 8, 12)),
    o.topic, o.key,
    CASE WHEN s.id IS NOT NULL THEN 'sent' WHEN h.id IS NOT NULL THEN h.state
      WHEN o.deliver_at > CAST(strftime('%s','now') AS INTEGER) * 1000
        + CAST(substr(strftime('%f','now'), 4) AS INTEGER) THEN 'scheduled' ELSE 'ready' END,
    coalesce(h.attempts, 0), CASE WHEN s.id IS NULL THEN coalesce(h.due_at, o.deliver_at) END, h.last_error,
    coalesce(s.partition, o.partition), nullif(s.offset, -1), o.created_at, s.sent_at
  FROM outbox AS o
  LEFT JOIN outbox_sent AS s ON s.id = o.id AND s.nonce = substr(o.nonce, 1, 8)
  LEFT JOIN outbox_held AS h ON h.id = o.id AND h.nonce = substr(o.nonce, 1, 8))";

constexpr std::array kObjects{
    Object{Kind::table, "outbox", kOutbox},
    Object{Kind::unique_index, "outbox_event_id", " ON outbox(event_id) WHERE event_id IS NOT NULL"},
    // So that `status` counts what is due later without walking the backlog; it costs an ordinary event nothing.
    Object{Kind::index, "outbox_deliver_at", " ON outbox(deliver_at) WHERE deliver_at IS NOT NULL"},
    Object{Kind::trigger, "outbox_guard", kOutboxGuard},
    Object{Kind::trigger, "outbox_headers", kOutboxHeaders},
    Object{Kind::trigger, "outbox_order", kOutboxOrder},
    Object{Kind::trigger, "outbox_no_update", kOutboxNoUpdate},
    Object{Kind::trigger, "outbox_no_delete", kOutboxNoDelete},
    Object{Kind::table, "outbox_sent", kOutboxSent},
    Object{Kind::table, "outbox_held", kOutboxHeld},
    Object{Kind::index, "outbox_held_lane", " ON outbox_held(lane, id)"},
    Object{Kind::index, "outbox_held_ready", " ON outbox_held(id) WHERE state = 'ready'"},
    Object{Kind::index, "outbox_held_scheduled", " ON outbox_held(due_at) WHERE state = 'scheduled'"},
    Object{Kind::index, "outbox_held_waiting", " ON outbox_held(id) WHERE state = 'waiting'"},
    Object{Kind::table, "outbox_progress", kOutboxProgress},
    Object{Kind::table, "outbox_cluster", kOutboxCluster},
    Object{Kind::view, "outbox_status", kOutboxStatus},
};

}  // namespace

const Part& outbox_part() noexcept {
  static constexpr Part kPart{"outbox", kObjects};
  return kPart;
}

}  // namespace txbox::store::schema
