#include "shop.hpp"

#include <stdexcept>
#include <utility>

namespace {

[[noreturn]] void fail(sqlite3* db, const std::string& what) {
  throw std::runtime_error(what + ": " + sqlite3_errmsg(db));
}

void exec(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(db, sql);
}

/// BEGIN IMMEDIATE: a file with an outbox has a second writer, the relay, and only a transaction that takes the
/// write lock at its start can wait for it (a deferred one that has read fails at once, whatever its timeout).
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

/// Write-ahead logging stays set in the file. Several services may make a new file at once, and SQLite doesn't
/// call the busy handler for this statement, so it is tried again.
void set_wal(sqlite3* db) {
  constexpr int kTries = 500;
  for (int i = 1; sqlite3_exec(db, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr) != SQLITE_OK; ++i) {
    if (sqlite3_errcode(db) != SQLITE_BUSY || i == kTries) fail(db, "PRAGMA journal_mode=WAL");
    sqlite3_sleep(10);
  }
}

// The account names are this service's own and need no escaping; use a JSON library for anything else.
std::string to_json(const std::string& id, const Order& order) {
  return R"({"order_id":")" + id + R"(","account":")" + order.account + R"(","amount_cents":)" +
         std::to_string(order.amount_cents) + "}";
}

}  // namespace

Shop::Shop(const std::string& path, std::string topic) : db_(open(path)), topic_(std::move(topic)) {
  sqlite3* db = db_.get();
  set_wal(db);
  exec(db,
       "CREATE TABLE IF NOT EXISTS orders(id TEXT PRIMARY KEY, account TEXT NOT NULL, amount_cents INTEGER NOT NULL)");
  txbox::outbox::install(db);
  outbox_.emplace(db);

  // Orders are numbered under the write lock, so that any number of services may share the file.
  constexpr const char* kInsert =
      "INSERT INTO orders(id, account, amount_cents) SELECT 'order-' || (coalesce(max(rowid), 0) + 1), ?1, ?2 "
      "FROM orders RETURNING id";
  sqlite3_stmt* insert = nullptr;
  if (sqlite3_prepare_v2(db, kInsert, -1, &insert, nullptr) != SQLITE_OK) fail(db, kInsert);
  insert_order_.reset(insert);
}

std::string Shop::place(const Order& order) {
  Transaction transaction(db_.get());
  std::string id = insert_order(order);
  // Key = account: the events of one account reach Kafka in the order in which its orders were committed.
  outbox_->add(
      {.topic = topic_, .key = order.account, .payload = to_json(id, order), .headers = {{"type", "OrderPlaced"}}});
  transaction.commit();
  return id;
}

std::string Shop::insert_order(const Order& order) {
  sqlite3_stmt* insert = insert_order_.get();
  sqlite3_bind_text(insert, 1, order.account.data(), static_cast<int>(order.account.size()), SQLITE_STATIC);
  sqlite3_bind_int64(insert, 2, order.amount_cents);
  std::string id;
  if (sqlite3_step(insert) == SQLITE_ROW) id = reinterpret_cast<const char*>(sqlite3_column_text(insert, 0));
  // A failed step is reported again by the reset, which must happen in any case.
  if (sqlite3_reset(insert) != SQLITE_OK) fail(db_.get(), "inserting an order");
  return id;
}
