#include "schema/check.hpp"

#include <txbox/base/error.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/statement.hpp>

namespace txbox::store {

namespace schema {

namespace {

/// SQLite compares names without case, so a foreign "Outbox" is found as well.
constexpr std::string_view kFind =
    "SELECT sql FROM main.sqlite_schema WHERE name = ?1 COLLATE NOCASE AND (type = 'trigger') = ?2";

}  // namespace

Match match_of(sqlite3* db, const Object& object, std::int64_t max_record_bytes) {
  Statement find(db, kFind);
  find.bind(1, object.name).bind(2, std::int64_t{object.kind == Kind::trigger});
  if (!find.step()) return Match::missing;
  return find.column_text(0) == stored_text(object, max_record_bytes) ? Match::same : Match::different;
}

Presence presence_of(sqlite3* db, const Part& part) {
  int tables = 0;
  int found = 0;
  for (const Object& object : part.objects) {
    if (object.kind != Kind::table) continue;
    ++tables;
    if (match_of(db, object, 0) != Match::missing) ++found;
  }
  if (found == 0) return Presence::absent;
  return found == tables ? Presence::whole : Presence::partial;
}

void require_same_text(sqlite3* db, const Part& part, std::int64_t max_record_bytes) {
  for (const Object& object : part.objects) {
    const Match match = match_of(db, object, max_record_bytes);
    if (match == Match::same) continue;
    throw Error(ErrorCode::schema_differs,
                std::string(type_word(object.kind)) + " " + std::string(object.name) +
                    (match == Match::missing ? " is missing" : " was altered") +
                    ": run `outbox-relay init`, which puts triggers, indexes and views back");
  }
}

std::int64_t meta_integer(sqlite3* db, std::string_view name, std::int64_t otherwise) {
  Statement read(db, "SELECT value FROM main.txbox_meta WHERE name = ?1");
  read.bind(1, name);
  return read.step() ? read.column_int64(0) : otherwise;
}

void require_known_version(sqlite3* db) {
  const std::int64_t version = meta_integer(db, "schema_version", 0);
  if (version > kSchemaVersion) {
    throw Error(ErrorCode::schema_newer, "the file has txbox schema " + std::to_string(version) +
                                             ", this program knows up to " + std::to_string(kSchemaVersion) +
                                             ": use a newer txbox");
  }
  if (version < 1)
    throw Error(ErrorCode::schema_differs, "txbox_meta names no schema version: restore the row or a backup");
}

}  // namespace schema

namespace {

std::string way_to_install(const schema::Part& part) {
  return "run `outbox-relay init --db FILE`, or call txbox::" + std::string(part.name) + "::install in C++";
}

void verify(sqlite3* db, const schema::Part& part) {
  // A lone table of one of our names is not an installation; init says whose it is.
  if (schema::presence_of(db, schema::shared_part()) != schema::Presence::whole ||
      schema::presence_of(db, part) == schema::Presence::absent) {
    throw Error(ErrorCode::not_installed,
                "the tables of the " + std::string(part.name) + " are missing: " + way_to_install(part));
  }
  schema::require_known_version(db);
  if (schema::meta_integer(db, "schema_version", 0) < kSchemaVersion) {
    throw Error(ErrorCode::not_installed, "the tables are of an older schema: " + way_to_install(part));
  }
  const std::int64_t limit = schema::meta_integer(db, "max_record_bytes", kDefaultMaxRecordBytes);
  schema::require_same_text(db, schema::shared_part(), limit);
  schema::require_same_text(db, part, limit);
}

}  // namespace

void verify_outbox_schema(sqlite3* db) { verify(db, schema::outbox_part()); }

void verify_inbox_schema(sqlite3* db) { verify(db, schema::inbox_part()); }

Boxes verify_boxes(sqlite3* db) {
  Boxes boxes;
  boxes.outbox = schema::presence_of(db, schema::outbox_part()) != schema::Presence::absent;
  boxes.inbox = schema::presence_of(db, schema::inbox_part()) != schema::Presence::absent;
  // Of a file with neither box the outbox is named, which is what most files have.
  if (boxes.outbox || !boxes.inbox) verify_outbox_schema(db);
  if (boxes.inbox) verify_inbox_schema(db);
  return boxes;
}

StoreIdentity read_identity(sqlite3* db) {
  schema::require_known_version(db);
  StoreIdentity identity;
  Statement read(db, "SELECT value FROM main.txbox_meta WHERE name = 'store_uuid'");
  if (!read.step() || read.column_is_null(0)) {
    throw Error(ErrorCode::schema_differs, "txbox_meta has no store_uuid: restore the row or a backup");
  }
  identity.store_uuid = read.column_text(0);
  read.reset();
  identity.incarnation = schema::meta_integer(db, "incarnation", identity.incarnation);
  identity.schema_version = schema::meta_integer(db, "schema_version", identity.schema_version);
  identity.max_record_bytes = schema::meta_integer(db, "max_record_bytes", identity.max_record_bytes);
  return identity;
}

}  // namespace txbox::store
