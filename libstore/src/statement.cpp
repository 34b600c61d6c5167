#include <utility>

#include <sqlite3.h>

#include <txbox/base/error.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/statement.hpp>

namespace txbox::store {

namespace {

/// The first words of a statement name it in an error; statements of ours never contain values.
std::string name_of(const char* sql) {
  static constexpr std::size_t kNameLimit = 60;
  std::string name;
  for (const char* at = sql == nullptr ? "" : sql; *at != '\0' && name.size() < kNameLimit; ++at) {
    const bool space = *at == ' ' || *at == '\n' || *at == '\t';
    if (space && (name.empty() || name.back() == ' ')) continue;
    name += space ? ' ' : *at;
  }
  return name;
}

}  // namespace

Statement::Statement(sqlite3* db, std::string_view sql) : db_(db) {
  const int code =
      sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) throw_sqlite_error(db, code, "preparing \"" + name_of(std::string(sql).c_str()) + "\"");
}

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_), statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(statement_, other.statement_);
  return *this;
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::check_bound(int code) const {
  if (code != SQLITE_OK)
    throw_sqlite_error(db_, code, "binding a value of \"" + name_of(sqlite3_sql(statement_)) + "\"");
}

Statement& Statement::bind(int index, std::int64_t value) {
  check_bound(sqlite3_bind_int64(statement_, index, value));
  return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
  const char* data = text.data() == nullptr ? "" : text.data();
  check_bound(sqlite3_bind_text64(statement_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_blob(int index, BytesView bytes) {
  if (bytes.is_null()) return bind_null(index);
  check_bound(sqlite3_bind_blob64(statement_, index, bytes.data(), bytes.size(), SQLITE_STATIC));
  return *this;
}

Statement& Statement::bind_null(int index) {
  check_bound(sqlite3_bind_null(statement_, index));
  return *this;
}

Statement& Statement::bind(int index, std::optional<std::int64_t> value) {
  return value ? bind(index, *value) : bind_null(index);
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  // The reset comes first so that no path leaves the statement open; it keeps the error's text.
  reset();
  if (code == SQLITE_DONE) return false;
  throw_sqlite_error(db_, code, "\"" + name_of(sqlite3_sql(statement_)) + "\"");
}

void Statement::execute() {
  // The last step resets, whatever its end.
  while (step()) {
  }
}

void Statement::execute_again() {
  int code = SQLITE_ROW;
  while (code == SQLITE_ROW) code = sqlite3_step(statement_);
  sqlite3_reset(statement_);
  if (code != SQLITE_DONE) throw_sqlite_error(db_, code, "\"" + name_of(sqlite3_sql(statement_)) + "\"");
}

void Statement::reset() noexcept {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

bool Statement::column_is_null(int column) const { return column_type(column) == SQLITE_NULL; }

std::int64_t Statement::column_int64(int column) const { return sqlite3_column_int64(statement_, column); }

std::optional<std::int64_t> Statement::column_optional(int column) const {
  if (column_is_null(column)) return std::nullopt;
  return column_int64(column);
}

std::string_view Statement::column_text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

BytesView Statement::column_bytes(int column) const {
  if (column_is_null(column)) return {};
  // Reading text as a blob gives its bytes without conversion; a null pointer here means empty (x'').
  const void* bytes = sqlite3_column_blob(statement_, column);
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

int Statement::column_type(int column) const { return sqlite3_column_type(statement_, column); }

int Statement::times_prepared_again() const noexcept {
  return sqlite3_stmt_status(statement_, SQLITE_STMTSTATUS_REPREPARE, 0);
}

void execute(sqlite3* db, const char* sql) {
  const int code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw_sqlite_error(db, sqlite3_extended_errcode(db), "\"" + name_of(sql) + "\"");
}

}  // namespace txbox::store
