#include <array>

#include "schema/objects.hpp"

namespace txbox::store::schema {

namespace {

// One row a (group, event id): `epoch` is the newest replay that applied it, 0 for the ordinary run, so that an
// ordinary claim conflicts with a claim of any epoch. cluster is null for rows of the plain SQL contract. parked marks
// an event that was given up as a dead letter: a later copy of it is handled again and may turn it into an applied one.
// The checks run for every claim, so that they ask by comparisons: `x < x''` means text, for the column's affinity has
// made numbers text. Text is above every number, so that what lies between two is one, and equal to its CAST a whole
// one.
constexpr std::string_view kInbox = R"((
  consumer_group TEXT NOT NULL
    CHECK (consumer_group < x'' AND length(CAST(consumer_group AS BLOB)) BETWEEN 1 AND 255),
  event_id TEXT NOT NULL CHECK (event_id < x'' AND length(CAST(event_id AS BLOB)) BETWEEN 1 AND 255),
  epoch INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0 AND epoch = CAST(epoch AS INTEGER)),
  parked INTEGER NOT NULL DEFAULT 0 CHECK (parked IN (0, 1)),
  cluster INTEGER,
  topic TEXT,
  partition INTEGER,
  offset INTEGER,
  processed_at INTEGER NOT NULL
    DEFAULT (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
    CHECK (processed_at BETWEEN 100000000000 AND 99999999999999 AND processed_at = CAST(processed_at AS INTEGER)),
  PRIMARY KEY (consumer_group, event_id)
) WITHOUT ROWID)";

// Without it `INSERT OR IGNORE` with a null id would look like a duplicate and lose the message, and 'x' and x'78'
// would be two ids. WHEN is the short way for a row that is surely good (`x < x''` means: not a blob, not null; the
// bytes are looked at as blobs, since functions of text make copies); whatever else comes is judged below.
constexpr std::string_view kInboxGuard = R"( BEFORE INSERT ON inbox
  WHEN (NEW.consumer_group < x'' AND length(CAST(NEW.consumer_group AS BLOB)) BETWEEN 1 AND 255
    AND instr(CAST(NEW.consumer_group AS BLOB), x'00') = 0
    AND NEW.event_id < x'' AND length(CAST(NEW.event_id AS BLOB)) BETWEEN 1 AND 255
    AND instr(CAST(NEW.event_id AS BLOB), x'00') = 0
    AND NEW.epoch = 0 AND NEW.parked IN (0, 1)
    AND NEW.processed_at BETWEEN 100000000000 AND 99999999999999
    AND NEW.processed_at = CAST(NEW.processed_at AS INTEGER)
  ) IS NOT TRUE BEGIN SELECT CASE
  WHEN NEW.consumer_group IS NULL OR typeof(NEW.consumer_group) <> 'text'
    OR length(CAST(NEW.consumer_group AS BLOB)) NOT BETWEEN 1 AND 255 OR instr(NEW.consumer_group, char(0)) THEN
    RAISE(ABORT, 'txbox: consumer_group must be text of 1 to 255 bytes without NUL')
  WHEN NEW.event_id IS NULL OR typeof(NEW.event_id) <> 'text'
    OR length(CAST(NEW.event_id AS BLOB)) NOT BETWEEN 1 AND 255 OR instr(NEW.event_id, char(0)) THEN
    RAISE(ABORT, 'txbox: event_id must be text of 1 to 255 bytes without NUL: park a message that has none')
  WHEN NEW.epoch IS NULL OR typeof(NEW.epoch) <> 'integer' OR NEW.epoch < 0 THEN
    RAISE(ABORT, 'txbox: epoch must be an integer from 0: leave the column out')
  WHEN NEW.parked IS NULL OR typeof(NEW.parked) <> 'integer' OR NEW.parked NOT IN (0, 1) THEN
    RAISE(ABORT, 'txbox: parked must be 0 or 1: leave the column out')
  WHEN NEW.processed_at IS NULL OR typeof(NEW.processed_at) <> 'integer'
    OR NEW.processed_at NOT BETWEEN 100000000000 AND 99999999999999 THEN
    RAISE(ABORT, 'txbox: processed_at must be ms since 1970: leave the column out')
  END; END)";

// How many events were given up is asked often, and there are few of them among many claims.
constexpr std::string_view kInboxGivenUp = R"( ON inbox(consumer_group) WHERE parked = 1)";

// clean is set when a partition is given up in order and cleared when it is taken: 0 at a start means that the
// process ended in the middle. reset_to records a person's reset of the group, honoured once. assignment counts how
// often the partition was taken, so that a former owner's late "given up in order" does not speak for a newer one.
constexpr std::string_view kInboxOffsets = R"((
  consumer_group TEXT NOT NULL,
  cluster INTEGER NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL CHECK (partition >= 0),
  next_offset INTEGER NOT NULL CHECK (next_offset >= 0),
  clean INTEGER NOT NULL DEFAULT 0 CHECK (clean IN (0, 1)),
  reset_to INTEGER,
  assignment INTEGER NOT NULL DEFAULT 0 CHECK (assignment >= 0),
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (consumer_group, cluster, topic, partition)
) WITHOUT ROWID)";

constexpr std::string_view kInboxCluster = R"((
  number INTEGER PRIMARY KEY,
  cluster_id TEXT NOT NULL UNIQUE
))";

// started is committed before the handler runs, so that a message that kills the process counts.
constexpr std::string_view kInboxAttempts = R"((
  consumer_group TEXT NOT NULL,
  cluster INTEGER NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  started INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  next_try_at INTEGER,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (consumer_group, cluster, topic, partition, offset)
) WITHOUT ROWID)";

// key and payload keep their bytes and null; headers are JSON pairs, where a name that is not UTF-8 is
// {"base64":"..."}. The timestamp (-1: none) is part of the key because a topic that was deleted and made again has
// other records at the same offsets.
constexpr std::string_view kInboxParked = R"((
  id INTEGER PRIMARY KEY,
  consumer_group TEXT NOT NULL,
  cluster INTEGER NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  event_id TEXT,
  key BLOB,
  payload BLOB,
  headers TEXT,
  timestamp INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL,
  parked_at INTEGER NOT NULL,
  replayed_at INTEGER,
  UNIQUE (consumer_group, cluster, topic, partition, offset, timestamp)
))";

// A replay belongs to a range of offsets, both ends included; records outside of it are claimed as ever.
constexpr std::string_view kInboxEpochs = R"((
  epoch INTEGER NOT NULL CHECK (epoch > 0),
  consumer_group TEXT NOT NULL,
  cluster INTEGER NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  from_offset INTEGER NOT NULL,
  to_offset INTEGER NOT NULL CHECK (to_offset >= from_offset),
  created_at INTEGER NOT NULL,
  PRIMARY KEY (consumer_group, cluster, topic, partition, epoch)
) WITHOUT ROWID)";

constexpr std::array kInboxPart{
    Object{Kind::table, "inbox", kInbox},
    Object{Kind::trigger, "inbox_guard", kInboxGuard},
    Object{Kind::index, "inbox_given_up", kInboxGivenUp},
    Object{Kind::table, "inbox_offsets", kInboxOffsets},
    Object{Kind::table, "inbox_cluster", kInboxCluster},
    Object{Kind::table, "inbox_attempts", kInboxAttempts},
    Object{Kind::table, "inbox_parked", kInboxParked},
    Object{Kind::table, "inbox_epochs", kInboxEpochs},
};

constexpr std::string_view kMeta = R"((
  name TEXT NOT NULL PRIMARY KEY,
  value NOT NULL
) WITHOUT ROWID)";

// What people did to rows and to the store: never a key or a payload.
constexpr std::string_view kAudit = R"((
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL
    DEFAULT (CAST(strftime('%s','now') AS INTEGER) * 1000 + CAST(substr(strftime('%f','now'), 4) AS INTEGER)),
  who TEXT NOT NULL,
  action TEXT NOT NULL,
  event_id TEXT,
  detail TEXT
))";

constexpr std::array kSharedPart{
    Object{Kind::table, "txbox_meta", kMeta},
    Object{Kind::table, "txbox_audit", kAudit},
};

}  // namespace

const Part& inbox_part() noexcept {
  static constexpr Part kPart{"inbox", kInboxPart};
  return kPart;
}

const Part& shared_part() noexcept {
  static constexpr Part kPart{"shared", kSharedPart};
  return kPart;
}

}  // namespace txbox::store::schema
