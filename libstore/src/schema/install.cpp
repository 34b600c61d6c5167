#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <sqlite3.h>

#include <txbox/base/backoff.hpp>
#include <txbox/base/error.hpp>
#include <txbox/base/random.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

#include "guest.hpp"
#include "schema/check.hpp"
#include "schema/migrations.hpp"
#include "schema/objects.hpp"

namespace txbox::store {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kLockDeadline = 5000ms;
constexpr std::int64_t kMaxRecordBytesCeiling = 1'000'000'000;  // SQLite's own limit for one value.

std::string pragma_text(sqlite3* db, const char* sql) {
  Statement statement(db, sql);
  return statement.step() ? std::string(statement.column_text(0)) : std::string();
}

void require_usable(sqlite3* db, const InstallOptions& options) {
  if (options.max_record_bytes < 0 || options.max_record_bytes > kMaxRecordBytesCeiling) {
    throw Error(ErrorCode::invalid_argument, "max_record_bytes must be from 1 to " +
                                                 std::to_string(kMaxRecordBytesCeiling) + ", or 0 for the default");
  }
  if (sqlite3_get_autocommit(db) == 0) {
    throw Error(ErrorCode::invalid_argument,
                "the tables are not made inside an open transaction: COMMIT or ROLLBACK first", true);
  }
  const char* file = sqlite3_db_filename(db, "main");
  if (file == nullptr || *file == '\0') {
    throw Error(ErrorCode::unsupported_file,
                "the connection's main database is in memory or temporary: the boxes need a file");
  }
  if (sqlite3_db_readonly(db, "main") == 1) {
    throw Error(ErrorCode::unsupported_file,
                std::string(file) + " is open for reading only: open it for writing to make the tables");
  }
  const std::string mode = pragma_text(db, "PRAGMA main.journal_mode");
  if (mode != "wal") {
    throw Error(ErrorCode::not_wal,
                std::string(file) + " is in journal mode " + mode + ", not WAL: run PRAGMA journal_mode=WAL first");
  }
  const std::string encoding = pragma_text(db, "PRAGMA main.encoding");
  if (encoding != "UTF-8") {
    throw Error(ErrorCode::unsupported_file,
                std::string(file) + " is encoded as " + encoding + ": the boxes need a UTF-8 database");
  }
}

/// Does it again while another connection holds the file: a writer, or for a moment one that recovers the log or closes
/// as the last. Where the application has a busy handler, SQLite has already waited through it.
template <typename Action>
void wait_while_busy(Action action) {
  SeededRandom random(random_seed());
  const Backoff backoff{.first = 1ms, .most = 20ms};
  const auto deadline = std::chrono::steady_clock::now() + kLockDeadline;
  for (unsigned attempt = 0;; ++attempt) {
    const auto wait = backoff.wait(attempt, random);
    try {
      return action();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::busy || std::chrono::steady_clock::now() + wait > deadline) throw;
    }
    std::this_thread::sleep_for(wait);
  }
}

void begin(sqlite3* db) {
  wait_while_busy([db] {
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK) return;
    throw_sqlite_error(db, sqlite3_extended_errcode(db), "waiting for the write lock to make the tables");
  });
}

/// Rolls back what was not committed. transaction.hpp's class would begin by itself, without the wait above.
class Installation {
 public:
  explicit Installation(sqlite3* db) : db_(db) { begin(db); }
  Installation(const Installation&) = delete;
  Installation& operator=(const Installation&) = delete;
  ~Installation() {
    if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  void commit() { execute(db_, "COMMIT"); }

 private:
  sqlite3* db_;
};

/// What stands in the way of making a part: other people's objects, or remains of ours.
[[noreturn]] void refuse_remains(sqlite3* db, const schema::Part& part, std::int64_t limit) {
  for (const schema::Object& object : part.objects) {
    if (object.kind == schema::Kind::table && schema::match_of(db, object, limit) == schema::Match::different) {
      throw Error(ErrorCode::foreign_table, "the file has a " + std::string(object.name) +
                                                " that is not txbox's: rename it (ALTER TABLE " +
                                                std::string(object.name) + " RENAME TO ...), then try again");
    }
  }
  throw Error(ErrorCode::schema_differs,
              "only some tables of the " + std::string(part.name) +
                  " are there: nothing is made beside them; restore the missing ones from a backup");
}

/// Makes what is missing of a part and puts altered triggers, indexes and views back. A table that is there is never
/// touched, since its rows are events: one that differs is refused. True when anything was made.
bool complete(sqlite3* db, const schema::Part& part, std::int64_t limit) {
  bool changed = false;
  for (const schema::Object& object : part.objects) {
    const schema::Match match = schema::match_of(db, object, limit);
    if (match == schema::Match::same) continue;
    if (match == schema::Match::different) {
      if (object.kind == schema::Kind::table) {
        throw Error(ErrorCode::schema_differs,
                    "table " + std::string(object.name) +
                        " was altered: copy its rows into a file that `outbox-relay init` made, or restore a backup");
      }
      execute(db,
              ("DROP " + std::string(schema::type_word(object.kind)) + " main." + std::string(object.name)).c_str());
    }
    execute(db, schema::create_text(object, limit).c_str());
    changed = true;
  }
  return changed;
}

/// A foreign object may hold a name of ours that is no table (an index or view "outbox_status"): DROP would destroy it.
void refuse_foreign_names(sqlite3* db, const schema::Part& part) {
  for (const schema::Object& object : part.objects) {
    if (schema::match_of(db, object, 0) == schema::Match::missing) continue;
    throw Error(ErrorCode::foreign_table, "the file has a " + std::string(object.name) +
                                              " that is not txbox's: rename or drop it, then try again");
  }
}

void fill_new_store(sqlite3* db, std::int64_t limit) {
  schema::set_meta(db, "schema_version", kSchemaVersion);
  schema::set_meta(db, "incarnation", 1);
  schema::set_meta(db, "max_record_bytes", limit);
  execute(db,
          "INSERT INTO main.txbox_meta(name, value) SELECT 'store_uuid', substr(h, 1, 8) || '-' || substr(h, 9, 4) || "
          "'-4' || substr(h, 14, 3)"
          " || '-' || substr('89ab', 1 + abs(random() % 4), 1) || substr(h, 18, 3) || '-' || substr(h, 21, 12)"
          " FROM (SELECT lower(hex(randomblob(16))) AS h)");
}

bool add_row(sqlite3* db, const char* sql) {
  execute(db, sql);
  return sqlite3_changes64(db) > 0;
}

/// The part as it should be, from whatever is there.
void install_part(sqlite3* db, const schema::Part& part, std::int64_t limit, InstallResult& result) {
  const schema::Presence presence = schema::presence_of(db, part);
  if (presence == schema::Presence::partial) refuse_remains(db, part, limit);
  if (presence == schema::Presence::absent) refuse_foreign_names(db, part);
  const bool changed = complete(db, part, limit);
  if (presence == schema::Presence::absent) {
    result.created = true;
  } else {
    result.repaired |= changed;
  }
}

InstallResult install_all(sqlite3* db, const InstallOptions& options) {
  InstallResult result;
  const schema::Presence shared = schema::presence_of(db, schema::shared_part());
  const bool fresh = shared == schema::Presence::absent;
  if (fresh) {
    // Without txbox_meta nothing of those names can be ours, or it lost its identity: both are refused before anything
    // is made.
    for (const schema::Part* part : {&schema::outbox_part(), &schema::inbox_part()}) {
      if (schema::presence_of(db, *part) != schema::Presence::absent) refuse_remains(db, *part, kDefaultMaxRecordBytes);
    }
    result.max_record_bytes = options.max_record_bytes != 0 ? options.max_record_bytes : kDefaultMaxRecordBytes;
    result.old_max_record_bytes = result.max_record_bytes;
    install_part(db, schema::shared_part(), result.max_record_bytes, result);
    fill_new_store(db, result.max_record_bytes);
  } else {
    if (shared == schema::Presence::partial) refuse_remains(db, schema::shared_part(), 0);
    if (schema::match_of(db, schema::shared_part().objects.front(), 0) == schema::Match::different)
      refuse_remains(db, schema::shared_part(), 0);
    schema::require_known_version(db);
    schema::run_migrations(db, schema::meta_integer(db, "schema_version", 0), schema::migrations());
    result.old_max_record_bytes = schema::meta_integer(db, "max_record_bytes", kDefaultMaxRecordBytes);
    result.max_record_bytes = options.max_record_bytes != 0 ? options.max_record_bytes : result.old_max_record_bytes;
    result.repaired |= complete(db, schema::shared_part(), result.max_record_bytes);
    // A witness of a later incarnation will ask for `adopt`, which is what a lost number deserves.
    result.repaired |=
        add_row(db, "INSERT INTO main.txbox_meta(name, value) VALUES ('incarnation', 1) ON CONFLICT(name) DO NOTHING");
  }
  const bool want_outbox = options.outbox || schema::presence_of(db, schema::outbox_part()) != schema::Presence::absent;
  const bool want_inbox = options.inbox || schema::presence_of(db, schema::inbox_part()) != schema::Presence::absent;
  if (want_outbox) {
    const bool there = schema::presence_of(db, schema::outbox_part()) != schema::Presence::absent;
    install_part(db, schema::outbox_part(), result.max_record_bytes, result);
    // It is only a hint of where to begin: from 0 the relay finds every receipt again.
    const bool added = add_row(db, "INSERT OR IGNORE INTO main.outbox_progress DEFAULT VALUES");
    result.repaired |= there && added;
  }
  if (want_inbox) install_part(db, schema::inbox_part(), result.max_record_bytes, result);
  if (result.max_record_bytes != result.old_max_record_bytes)
    schema::set_meta(db, "max_record_bytes", result.max_record_bytes);
  return result;
}

bool all_the_same(sqlite3* db, const schema::Part& part, std::int64_t limit) {
  return std::all_of(part.objects.begin(), part.objects.end(), [&](const schema::Object& object) {
    return schema::match_of(db, object, limit) == schema::Match::same;
  });
}

/// Whether everything stands as it should, in one snapshot and without the write lock: a program that starts beside a
/// long transaction of another one must not wait for it, or fail, only to find that there was nothing to make. In any
/// doubt the answer is no, and the installation says what is wrong.
std::optional<InstallResult> installed_already(sqlite3* db, const InstallOptions& options) {
  const ReadTransaction snapshot(db);
  if (schema::presence_of(db, schema::shared_part()) != schema::Presence::whole) return std::nullopt;
  if (!all_the_same(db, schema::shared_part(), 0)) return std::nullopt;
  if (schema::meta_integer(db, "schema_version", 0) != kSchemaVersion) return std::nullopt;
  if (schema::meta_integer(db, "incarnation", 0) == 0) return std::nullopt;
  const std::int64_t limit = schema::meta_integer(db, "max_record_bytes", 0);
  if (limit == 0 || (options.max_record_bytes != 0 && options.max_record_bytes != limit)) return std::nullopt;
  if (options.outbox || schema::presence_of(db, schema::outbox_part()) != schema::Presence::absent) {
    if (!all_the_same(db, schema::outbox_part(), limit)) return std::nullopt;
    Statement progress(db, "SELECT 1 FROM main.outbox_progress");
    if (!progress.step()) return std::nullopt;
  }
  if (options.inbox || schema::presence_of(db, schema::inbox_part()) != schema::Presence::absent) {
    if (!all_the_same(db, schema::inbox_part(), limit)) return std::nullopt;
  }
  InstallResult result;
  result.old_max_record_bytes = limit;
  result.max_record_bytes = limit;
  return result;
}

}  // namespace

InstallResult install(sqlite3* db, const InstallOptions& options) {
  std::optional<InstallResult> before;
  wait_while_busy([&] {
    require_usable(db, options);
    before = installed_already(db, options);
  });
  if (before) return *before;
  const KeepLastRowid keep(db);
  Installation installation(db);
  const InstallResult result = install_all(db, options);
  installation.commit();
  return result;
}

}  // namespace txbox::store
