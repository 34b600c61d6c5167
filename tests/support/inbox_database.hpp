#pragma once

#include <string>

#include <txbox/store/connection.hpp>
#include <txbox/store/inbox_store.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/statement.hpp>

#include "support/app_database.hpp"
#include "support/temp_dir.hpp"

namespace txbox::test {

/// A consumer's connection to a file, with the store of the group `billing` in the cluster `c1`.
struct InboxSide {
  explicit InboxSide(const std::string& path, const std::string& group = "billing",
                     std::chrono::milliseconds busy_deadline = std::chrono::milliseconds(20))
      : connection(
            store::Connection::open(path, {.purpose = store::OpenPurpose::consumer, .busy_deadline = busy_deadline})),
        inbox(connection, group) {
    inbox.use_cluster("c1");
  }

  /// What a handler does: plain SQL on the consumer's connection.
  void handle(const std::string& sql) const { store::execute(connection.handle(), sql.c_str()); }

  [[nodiscard]] bool any_statement_busy() const noexcept {
    sqlite3* db = connection.handle();
    for (sqlite3_stmt* at = sqlite3_next_stmt(db, nullptr); at != nullptr; at = sqlite3_next_stmt(db, at)) {
      if (sqlite3_stmt_busy(at) != 0) return true;
    }
    return false;
  }

  /// Takes a partition for the first time, or again.
  store::InboxPosition take(const store::InboxPlace& place, std::optional<std::int64_t> first = std::nullopt) {
    const store::InboxStore::Take wish{.place = place, .set_next = first, .reset_to = {}, .loaded_next = {}};
    return inbox.take({&wish, 1}).at(0);
  }

  store::Connection connection;
  store::InboxStore inbox;
};

/// A fresh file with both boxes and an application's table, an outsider's connection and a consumer's side.
struct InboxDatabase {
  InboxDatabase() : path(dir.file("billing.db")), app(path), side(installed()) {}

  std::string& installed() {
    store::install(app, {});
    app.run("CREATE TABLE effect(x)");
    return path;
  }

  TempDir dir;
  std::string path;
  AppDatabase app;
  InboxSide side;
  store::InboxPlace place{"orders", 3};
};

}  // namespace txbox::test
