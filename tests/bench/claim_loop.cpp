// The rivals of bench_inbox_apply: claim and effect in batches as one would write them by hand, without Kafka: the
// records are made in memory. `bench_claim_loop TABLE FILE ROWS PAYLOAD_BYTES BATCH`, where TABLE is `inbox`, txbox's
// table through the plain SQL contract, or `processed`, a minimal table of its own.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <sqlite3.h>
#include <txbox/inbox/inbox.hpp>

#include "tests/bench/support/accounts.hpp"
#include "tests/bench/support/arguments.hpp"
#include "tests/bench/support/database.hpp"
#include "tests/bench/support/records.hpp"

namespace {

using namespace txbox::bench;

void install(sqlite3* db, const std::string& table) {
  if (table == "inbox") return txbox::inbox::install(db);
  if (table != "processed") throw std::invalid_argument("TABLE is processed or inbox");
  execute(db,
          "CREATE TABLE processed(consumer_group TEXT NOT NULL, event_id TEXT NOT NULL, "
          "PRIMARY KEY (consumer_group, event_id)) WITHOUT ROWID");
}

void apply(const std::string& table, const std::string& file, std::int64_t rows, std::int64_t payload_bytes,
           std::int64_t rows_per_batch) {
  // As the consumer's connection is opened.
  const Database db = open_database(file, "full");
  install(db.get(), table);
  Accounts accounts(db.get());
  const Statement begin = prepare(db.get(), "BEGIN IMMEDIATE");
  const Statement commit = prepare(db.get(), "COMMIT");
  const Statement claim =
      prepare(db.get(), "INSERT INTO " + table + "(consumer_group, event_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING");
  sqlite3_bind_text(claim.get(), 1, "bench", -1, SQLITE_STATIC);
  for (std::int64_t i = 0; i < rows;) {
    run_statement(db.get(), begin.get());
    for (const std::int64_t end = std::min(i + rows_per_batch, rows); i < end; ++i) {
      const std::string id = event_id_header(i);
      const std::string key = key_of(i);
      const std::string payload = payload_of(i, payload_bytes);
      sqlite3_bind_text(claim.get(), 2, id.data(), static_cast<int>(id.size()), SQLITE_STATIC);
      run_statement(db.get(), claim.get());
      if (sqlite3_changes(db.get()) == 1) accounts.credit(key, number_in(payload.data(), payload.size()));
    }
    run_statement(db.get(), commit.get());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run("bench_claim_loop", [&] {
    if (argc != 6) throw std::invalid_argument("usage: bench_claim_loop TABLE FILE ROWS PAYLOAD_BYTES BATCH");
    apply(argv[1], argv[2], std::stoll(argv[3]), std::stoll(argv[4]), std::stoll(argv[5]));
  });
}
