#include "tests/bench/support/accounts.hpp"

#include <stdexcept>

namespace txbox::bench {
namespace {

Statement prepare_credit(sqlite3* db) {
  execute(db,
          "CREATE TABLE IF NOT EXISTS accounts(account TEXT PRIMARY KEY, balance INTEGER NOT NULL, "
          "credits INTEGER NOT NULL) WITHOUT ROWID");
  return prepare(db,
                 "INSERT INTO accounts VALUES (?1, ?2, 1) ON CONFLICT(account) DO UPDATE "
                 "SET balance = balance + excluded.balance, credits = credits + 1");
}

std::int64_t number_from(sqlite3* db, const std::string& sql) {
  const Statement statement = prepare(db, sql);
  if (sqlite3_step(statement.get()) != SQLITE_ROW) throw std::runtime_error(sql + ": " + sqlite3_errmsg(db));
  return sqlite3_column_int64(statement.get(), 0);
}

void require_equal(const std::string& what, std::int64_t found, std::int64_t wanted) {
  if (found == wanted) return;
  throw std::runtime_error(what + " is " + std::to_string(found) + ", not " + std::to_string(wanted));
}

}  // namespace

Accounts::Accounts(sqlite3* db) : db_(db), credit_(prepare_credit(db)) {}

void Accounts::credit(std::string_view account, std::int64_t amount) {
  sqlite3_bind_text(credit_.get(), 1, account.data(), static_cast<int>(account.size()), SQLITE_STATIC);
  sqlite3_bind_int64(credit_.get(), 2, amount);
  run_statement(db_, credit_.get());
}

void check_accounts(const std::string& path, const std::string& claims, std::int64_t rows) {
  const Database db = open_database(path, "normal");
  require_equal("the sum of the balances", number_from(db.get(), "SELECT sum(balance) FROM accounts"),
                rows * (rows - 1) / 2);
  require_equal("the count of the credits", number_from(db.get(), "SELECT sum(credits) FROM accounts"), rows);
  require_equal("the count of the claims", number_from(db.get(), "SELECT count(*) FROM " + claims), rows);
}

}  // namespace txbox::bench
