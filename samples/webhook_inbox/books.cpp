#include "books.hpp"

#include <stdexcept>

namespace {

[[noreturn]] void fail(sqlite3* db, const std::string& what) {
  throw std::runtime_error(what + ": " + sqlite3_errmsg(db));
}

void exec(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(db, sql);
}

/// BEGIN IMMEDIATE: of two workers that got the same delivery, one waits here until the other's claim is committed.
class Transaction {
 public:
  explicit Transaction(sqlite3* db) : db_(db) { exec(db_, "BEGIN IMMEDIATE"); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    // After some errors, a full disk for one, SQLite has rolled back by itself and there is nothing left to end.
    if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  void commit() { exec(db_, "COMMIT"); }

 private:
  sqlite3* db_;
};

std::unique_ptr<sqlite3, Close> open(const std::string& path) {
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  std::unique_ptr<sqlite3, Close> owner(db);
  if (code != SQLITE_OK) fail(db, "opening " + path);
  sqlite3_busy_timeout(db, 30'000);
  return owner;
}

/// Write-ahead logging stays set in the file. Several workers may make a new file at once, and SQLite doesn't
/// call the busy handler for this statement, so it is tried again.
void set_wal(sqlite3* db) {
  constexpr int kTries = 500;
  for (int i = 1; sqlite3_exec(db, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr) != SQLITE_OK; ++i) {
    if (sqlite3_errcode(db) != SQLITE_BUSY || i == kTries) fail(db, "PRAGMA journal_mode=WAL");
    sqlite3_sleep(10);
  }
}

}  // namespace

Books::Books(const std::string& path) : db_(open(path)) {
  sqlite3* db = db_.get();
  set_wal(db);
  // Once it has its answer the sender forgets the delivery. At NORMAL a power cut could take back what was answered.
  exec(db, "PRAGMA synchronous=FULL");
  // STRICT: a balance that no longer fits 64 bits is an error, not silently a floating-point number.
  exec(db,
       "CREATE TABLE IF NOT EXISTS accounts(account TEXT NOT NULL PRIMARY KEY, balance_cents INTEGER NOT NULL, "
       "payments INTEGER NOT NULL) STRICT");
  txbox::inbox::install(db);
  // The group names the effect. A second effect of the same deliveries, mails for one, would be a second group.
  inbox_.emplace(db, "payments");

  constexpr const char* kCredit =
      "INSERT INTO accounts(account, balance_cents, payments) VALUES (?1, ?2, 1) ON CONFLICT(account) "
      "DO UPDATE SET balance_cents = balance_cents + excluded.balance_cents, payments = payments + 1";
  sqlite3_stmt* credit = nullptr;
  if (sqlite3_prepare_v2(db, kCredit, -1, &credit, nullptr) != SQLITE_OK) fail(db, kCredit);
  credit_.reset(credit);
}

txbox::inbox::Claim Books::apply(const Delivery& delivery) {
  Transaction transaction(db_.get());
  // The claim comes first and the effect only after it. Where the effect fails the claim is rolled back with it, so
  // that the next delivery gets another try.
  const auto claim = inbox_->claim(delivery.id);
  if (claim == txbox::inbox::Claim::first) credit(delivery);
  transaction.commit();
  return claim;
}

void Books::credit(const Delivery& delivery) {
  sqlite3_stmt* credit = credit_.get();
  sqlite3_bind_text(credit, 1, delivery.account.data(), static_cast<int>(delivery.account.size()), SQLITE_STATIC);
  sqlite3_bind_int64(credit, 2, delivery.amount_cents);
  sqlite3_step(credit);
  // A failed step is reported again by the reset, which must happen in any case.
  if (sqlite3_reset(credit) != SQLITE_OK) fail(db_.get(), "crediting an account");
}
