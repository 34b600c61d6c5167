#pragma once

#include <cstdint>
#include <span>
#include <string_view>

struct sqlite3;

namespace txbox::store::schema {

/// One step of the persistent format: the SQL that turns version `to - 1` into `to`, over the tables only.
/// Triggers, indexes and views are compared and made anew after the last step.
struct Migration {
  int to;
  const char* sql;
};

/// The steps of this build, ascending. Version 1 is made whole, so the first step leads to 2.
[[nodiscard]] std::span<const Migration> migrations() noexcept;

/// Runs the steps above `from` in order, inside the caller's write transaction, and records each version.
void run_migrations(sqlite3* db, std::int64_t from, std::span<const Migration> steps);

/// Writes one row of txbox_meta.
void set_meta(sqlite3* db, std::string_view name, std::int64_t value);

}  // namespace txbox::store::schema
