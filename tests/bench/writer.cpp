// What an event costs the application: commits of one business row with one event, against the same commits without.
#include <sys/resource.h>
#include <time.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <txbox/outbox/outbox.hpp>

#include "tests/bench/support/arguments.hpp"
#include "tests/bench/support/database.hpp"
#include "tests/bench/support/records.hpp"
#include "tests/bench/support/statistics.hpp"
#include "tests/bench/support/workspace.hpp"

namespace {

using namespace txbox;
using namespace txbox::bench;

struct Options {
  std::int64_t rows = 20'000;
  std::int64_t payload_bytes = 200;
  std::int64_t runs = 7;
  std::string synchronous = "normal";
  std::string folder;
};

struct Run {
  double commits_per_second = 0;
  double cpu_us_per_row = 0;
};

/// Of this thread. getrusage() counts in ticks of some ms on many kernels, and a short run may then have taken none.
double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

double most_resident_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

/// A fresh file and the commits into it. The business is a table with an index, as orders by account would be.
class Side {
 public:
  Side(const Options& options, const std::string& path, bool with_event)
      : payload_bytes_(options.payload_bytes), db_(open_database(path, options.synchronous)) {
    execute(db_.get(),
            "CREATE TABLE orders(id INTEGER PRIMARY KEY, account TEXT NOT NULL, amount_cents INTEGER NOT NULL)");
    execute(db_.get(), "CREATE INDEX orders_by_account ON orders(account)");
    if (with_event) {
      outbox::install(db_.get());
      outbox_.emplace(db_.get());
    }
    begin_ = prepare(db_.get(), "BEGIN IMMEDIATE");
    insert_ = prepare(db_.get(), "INSERT INTO orders(account, amount_cents) VALUES (?1, ?2)");
    commit_ = prepare(db_.get(), "COMMIT");
  }

  void commit(std::int64_t rows) {
    const double cpu_before = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    for (const std::int64_t end = rows_ + rows; rows_ < end; ++rows_) commit_one(rows_);
    wall_ += std::chrono::steady_clock::now() - start;
    cpu_ += cpu_seconds() - cpu_before;
  }

  [[nodiscard]] Run result() const {
    const auto rows = static_cast<double>(rows_);
    return {.commits_per_second = rows / wall_.count(), .cpu_us_per_row = cpu_ * 1e6 / rows};
  }

 private:
  void commit_one(std::int64_t i) {
    const std::string key = key_of(i);
    run_statement(db_.get(), begin_.get());
    sqlite3_bind_text(insert_.get(), 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
    sqlite3_bind_int64(insert_.get(), 2, i);
    run_statement(db_.get(), insert_.get());
    if (outbox_) outbox_->add({.topic = "orders", .key = key, .payload = payload_of(i, payload_bytes_)});
    run_statement(db_.get(), commit_.get());
  }

  std::int64_t payload_bytes_;
  Database db_;  // Before everything that borrows it.
  Statement begin_, insert_, commit_;
  std::optional<outbox::Outbox> outbox_;
  std::int64_t rows_ = 0;
  std::chrono::duration<double> wall_{0};
  double cpu_ = 0;
};

/// Both sides take turns in slices, so that a disturbance of the machine hits both.
std::pair<Run, Run> measure(const Options& options, const Workspace& workspace, std::int64_t run) {
  constexpr std::int64_t kSlices = 20;
  const std::string name = workspace.file("run" + std::to_string(run));
  workspace.settle();
  Side ours(options, name + "-with.db", true);
  Side rival(options, name + "-without.db", false);
  for (std::int64_t slice = 0; slice < kSlices; ++slice) {
    const std::int64_t rows = options.rows * (slice + 1) / kSlices - options.rows * slice / kSlices;
    Side& first = slice % 2 == 0 ? ours : rival;
    Side& second = slice % 2 == 0 ? rival : ours;
    first.commit(rows);
    second.commit(rows);
  }
  return {ours.result(), rival.result()};
}

void benchmark(const Options& options) {
  const Workspace workspace(options.folder);
  std::vector<double> ours, rival, our_cpu, rival_cpu;
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (std::int64_t i = 0; i < options.runs; ++i) {
    const auto [with, without] = measure(options, workspace, i);
    ours.push_back(with.commits_per_second);
    rival.push_back(without.commits_per_second);
    our_cpu.push_back(with.cpu_us_per_row);
    rival_cpu.push_back(without.cpu_us_per_row);
    runs.push_back({rounded(with.commits_per_second), rounded(without.commits_per_second)});
  }
  const nlohmann::ordered_json result = {{"name", "writer"},
                                         {"unit", "commits/s"},
                                         {"ours", rounded(median(ours))},
                                         {"rival", rounded(median(rival))},
                                         {"ratio", rounded(median(ours) / median(rival))},
                                         {"runs", runs},
                                         {"rss_mb", rounded(most_resident_mb())},
                                         {"cpu_us_per_row", {rounded(median(our_cpu)), rounded(median(rival_cpu))}},
                                         {"synchronous", options.synchronous},
                                         {"rows", options.rows},
                                         {"payload_bytes", options.payload_bytes}};
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run("bench_writer", [&] {
    Options options;
    std::string no_brokers_needed;
    Arguments arguments("Commits business rows with and without an event, in alternation.");
    arguments.text("--synchronous", options.synchronous, "normal or full (default normal)");
    arguments.number("--rows", options.rows, 1, "commits of each run");
    arguments.number("--payload", options.payload_bytes, kPayloadMin, "bytes of each payload");
    arguments.number("--runs", options.runs, 1, "of each side");
    arguments.text("--folder", options.folder, "where the files lie (default: $TMPDIR)");
    arguments.text("--brokers", no_brokers_needed, "taken like the other benchmarks take it, and not used");
    if (arguments.parse(argc, argv)) benchmark(options);
  });
}
