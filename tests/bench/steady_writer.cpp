// An application that keeps committing at one rate: how long it waits for the write lock, and how long its commits
// take. Whoever calls it puts a relay, or a bare producer, at its side and compares.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>
#include <txbox/outbox/outbox.hpp>

#include "tests/bench/support/arguments.hpp"
#include "tests/bench/support/database.hpp"
#include "tests/bench/support/records.hpp"
#include "tests/bench/support/statistics.hpp"

namespace {

using namespace txbox;
using namespace txbox::bench;
using Time = std::chrono::steady_clock::time_point;
using std::chrono::steady_clock;

struct Options {
  std::string db;
  std::string topic = "orders";
  std::int64_t rate_per_second = 2000;
  std::int64_t seconds = 60;
  std::int64_t warm_up_seconds = 2;
  std::int64_t payload_bytes = 200;
  std::int64_t checkpoint_pages = 1000;
  std::string synchronous = "normal";
};

/// In ms, one of each commit after the warm-up.
struct Times {
  std::vector<double> lock_wait, commit, transaction;

  static nlohmann::ordered_json summary(const std::vector<double>& ms) {
    return {{"p50", rounded(percentile(ms, 50))},
            {"p99", rounded(percentile(ms, 99))},
            {"p999", rounded(percentile(ms, 99.9))},
            {"most", rounded(percentile(ms, 100))}};
  }
};

class Writer {
 public:
  explicit Writer(const Options& options) : options_(options), db_(open_database(options.db, options.synchronous)) {
    execute(db_.get(), "PRAGMA wal_autocheckpoint=" + std::to_string(options.checkpoint_pages));
    execute(db_.get(),
            "CREATE TABLE IF NOT EXISTS orders(id INTEGER PRIMARY KEY, account TEXT NOT NULL, amount_cents INTEGER "
            "NOT NULL)");
    execute(db_.get(), "CREATE INDEX IF NOT EXISTS orders_by_account ON orders(account)");
    begin_ = prepare(db_.get(), "BEGIN IMMEDIATE");
    // As many orders as accounts: the business does not grow, so that a file that does tells of the outbox.
    insert_ = prepare(db_.get(), "INSERT OR REPLACE INTO orders(id, account, amount_cents) VALUES (?1, ?2, ?3)");
    commit_ = prepare(db_.get(), "COMMIT");
  }

  void commit_one(std::int64_t i, Times* times) {
    const Time start = steady_clock::now();
    run_statement(db_.get(), begin_.get());
    const Time locked = steady_clock::now();
    const std::string key = key_of(i);
    sqlite3_bind_int64(insert_.get(), 1, i % kKeys);
    sqlite3_bind_text(insert_.get(), 2, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
    sqlite3_bind_int64(insert_.get(), 3, i);
    run_statement(db_.get(), insert_.get());
    outbox_.add({.topic = options_.topic, .key = key, .payload = payload_of(i, options_.payload_bytes)});
    const Time written = steady_clock::now();
    run_statement(db_.get(), commit_.get());
    const Time end = steady_clock::now();
    if (times == nullptr) return;
    const auto ms = [](auto duration) { return std::chrono::duration<double, std::milli>(duration).count(); };
    times->lock_wait.push_back(ms(locked - start));
    times->commit.push_back(ms(end - written));
    times->transaction.push_back(ms(end - start));
  }

 private:
  const Options& options_;
  Database db_;  // Before everything that borrows it.
  Statement begin_, insert_, commit_;
  outbox::Outbox outbox_{db_.get()};
};

void benchmark(const Options& options) {
  Writer writer(options);
  Times times;
  const Time start = steady_clock::now();
  const Time counted_from = start + std::chrono::seconds(options.warm_up_seconds);
  const Time end = counted_from + std::chrono::seconds(options.seconds);
  std::int64_t commits = 0;
  for (Time due = start; due < end && steady_clock::now() < end; ++commits) {
    if (options.rate_per_second > 0) {
      due = start + std::chrono::nanoseconds(1'000'000'000 / options.rate_per_second) * commits;
      std::this_thread::sleep_until(due);  // tidy: waits for the moment that the rate asks for
    }
    writer.commit_one(commits, steady_clock::now() >= counted_from ? &times : nullptr);
  }
  if (times.commit.empty()) throw std::runtime_error("no commit in the time that counts");
  const nlohmann::ordered_json result = {
      {"name", "steady_writer"},
      {"unit", "ms"},
      {"commits", commits},
      {"commits_per_second", rounded(static_cast<double>(times.commit.size()) / static_cast<double>(options.seconds))},
      {"lock_wait", Times::summary(times.lock_wait)},
      {"commit", Times::summary(times.commit)},
      {"transaction", Times::summary(times.transaction)},
      {"synchronous", options.synchronous},
      {"checkpoint_pages", options.checkpoint_pages}};
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run("bench_steady_writer", [&] {
    Options options;
    Arguments arguments("Commits business rows with events at one rate, and tells how long that takes.");
    arguments.text("--db", options.db, "a file with an outbox");
    arguments.text("--topic", options.topic, "of the events (default orders)");
    arguments.number("--rate", options.rate_per_second, 0, "commits a second (default 2000; 0: without a pause)");
    arguments.number("--seconds", options.seconds, 1, "that count (default 60)");
    arguments.number("--warm-up", options.warm_up_seconds, 0, "seconds before them (default 2)");
    arguments.number("--payload", options.payload_bytes, kPayloadMin, "bytes of each payload");
    arguments.number("--checkpoint-pages", options.checkpoint_pages, 0,
                     "the application's wal_autocheckpoint (default 1000, SQLite's own; 0: never)");
    arguments.text("--synchronous", options.synchronous, "normal or full (default normal)");
    if (!arguments.parse(argc, argv)) return;
    if (options.db.empty()) throw std::invalid_argument("--db names the file");
    benchmark(options);
  });
}
