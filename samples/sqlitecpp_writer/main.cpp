// The outbox on a connection that another library owns: SQLiteCpp here; any wrapper that shows its sqlite3* will do.
#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <exception>
#include <iostream>
#include <string>

#include <txbox/outbox/outbox.hpp>

namespace {

void place_order(SQLite::Database& db, txbox::outbox::Outbox& outbox, const std::string& account,
                 std::int64_t amount_cents) {
  SQLite::Transaction transaction(db,
                                  SQLite::TransactionBehavior::IMMEDIATE);  // Rolls back unless commit() is reached.

  const std::int64_t number = db.execAndGet("SELECT coalesce(max(rowid), 0) + 1 FROM orders").getInt64();
  const std::string id = "order-" + std::to_string(number);
  SQLite::Statement insert(db, "INSERT INTO orders VALUES (?, ?, ?)");
  insert.bind(1, id);
  insert.bind(2, account);
  insert.bind(3, amount_cents);
  insert.exec();

  outbox.add({.topic = "orders",
              .key = account,
              .payload = R"({"order_id":")" + id + R"(","account":")" + account + R"(","amount_cents":)" +
                         std::to_string(amount_cents) + "}",
              .headers = {{"type", "OrderPlaced"}}});
  transaction.commit();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: sqlitecpp_writer FILE ORDERS\n";
    return 2;
  }
  try {
    SQLite::Database db(argv[1], SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 30'000);
    db.exec("PRAGMA journal_mode=WAL");
    db.exec(
        "CREATE TABLE IF NOT EXISTS orders(id TEXT PRIMARY KEY, account TEXT NOT NULL, amount_cents INTEGER NOT NULL)");
    txbox::outbox::install(db.getHandle());
    // Declared after the database, so destroyed before it: the outbox borrows the connection.
    txbox::outbox::Outbox outbox(db.getHandle());

    const long orders = std::stol(argv[2]);
    for (long i = 0; i < orders; ++i) place_order(db, outbox, "account-" + std::to_string(i % 10 + 1), 100 + i);
    std::cout << orders << " orders placed\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "sqlitecpp_writer: " << error.what() << '\n';
    return 1;
  }
}
