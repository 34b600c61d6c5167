// What a savepoint a message costs a consumer: batches of claim and one-row effect with a savepoint around each
// message, against the same batches without, which one failing message would have rolled back and run again one by one.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <txbox/inbox/inbox.hpp>

#include "tests/bench/support/arguments.hpp"
#include "tests/bench/support/database.hpp"
#include "tests/bench/support/records.hpp"
#include "tests/bench/support/statistics.hpp"
#include "tests/bench/support/workspace.hpp"

namespace {

using namespace txbox::bench;

struct Options {
  std::int64_t rows = 200'000;
  std::int64_t batch = 500;
  std::int64_t runs = 7;
  std::string folder;
};

/// One side's file and its consumer loop without Kafka.
class Side {
 public:
  Side(const std::string& path, bool savepoints) : savepoints_(savepoints), db_(open_database(path, "full")) {
    execute(db_.get(), "CREATE TABLE accounts(account TEXT PRIMARY KEY, balance INTEGER) WITHOUT ROWID");
    txbox::inbox::install(db_.get());
    inbox_.emplace(db_.get(), "bench");
    const auto make = [this](const char* sql) { return prepare(db_.get(), sql); };
    begin_ = make("BEGIN IMMEDIATE");
    savepoint_ = make("SAVEPOINT message");
    effect_ = make(
        "INSERT INTO accounts VALUES (?1, ?2) ON CONFLICT(account) DO UPDATE SET balance = balance + excluded.balance");
    release_ = make("RELEASE message");
    commit_ = make("COMMIT");
  }

  void apply(std::int64_t rows) {
    const auto start = std::chrono::steady_clock::now();
    run_statement(db_.get(), begin_.get());
    for (const std::int64_t end = row_ + rows; row_ < end; ++row_) apply_one();
    run_statement(db_.get(), commit_.get());
    wall_ += std::chrono::steady_clock::now() - start;
  }

  [[nodiscard]] double us_per_row() const { return wall_.count() * 1e6 / static_cast<double>(row_); }

 private:
  void apply_one() {
    if (savepoints_) run_statement(db_.get(), savepoint_.get());
    if (inbox_->claim(event_id_header(row_)) == txbox::inbox::Claim::first) {
      const std::string key = key_of(row_);
      sqlite3_bind_text(effect_.get(), 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
      sqlite3_bind_int64(effect_.get(), 2, row_);
      run_statement(db_.get(), effect_.get());
    }
    if (savepoints_) run_statement(db_.get(), release_.get());
  }

  bool savepoints_;
  Database db_;  // Before everything that borrows it.
  Statement begin_, savepoint_, effect_, release_, commit_;
  std::optional<txbox::inbox::Inbox> inbox_;
  std::int64_t row_ = 0;
  std::chrono::duration<double> wall_{0};
};

void benchmark(const Options& options) {
  const Workspace workspace(options.folder);
  std::vector<double> with, without;
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (std::int64_t run = 0; run < options.runs; ++run) {
    const std::string name = workspace.file("run" + std::to_string(run));
    workspace.settle();
    Side ours(name + "-with.db", true);
    Side rival(name + "-without.db", false);
    // In turns, so that a disturbance of the machine hits both.
    for (std::int64_t row = 0; row < options.rows; row += options.batch) {
      const std::int64_t rows = std::min(options.batch, options.rows - row);
      ours.apply(rows);
      rival.apply(rows);
    }
    with.push_back(ours.us_per_row());
    without.push_back(rival.us_per_row());
    runs.push_back({rounded(with.back()), rounded(without.back())});
  }
  const nlohmann::ordered_json result = {{"name", "savepoint"},
                                         {"unit", "us/message"},
                                         {"ours", rounded(median(with))},
                                         {"rival", rounded(median(without))},
                                         {"ratio", rounded(median(with) / median(without))},
                                         {"runs", runs},
                                         {"rows", options.rows},
                                         {"batch", options.batch}};
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run("bench_savepoint", [&] {
    Options options;
    Arguments arguments("Claims and applies in batches with and without a savepoint a message, in alternation.");
    arguments.number("--rows", options.rows, 1, "messages of each run");
    arguments.number("--batch", options.batch, 1, "messages of each transaction");
    arguments.number("--runs", options.runs, 1, "of each side");
    arguments.text("--folder", options.folder, "where the files lie (default: $TMPDIR)");
    if (arguments.parse(argc, argv)) benchmark(options);
  });
}
