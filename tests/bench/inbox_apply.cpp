// How fast messages are applied: a child with txbox::inbox::Consumer drains a topic of a real Kafka into a fresh file,
// timed from its first message to its exit, against hand-written loops of claim and effect in batches of the same size
// that have no Kafka to read from, timed from exec to exit. All are child processes, in alternation. The ratio speaks
// of the loop that claims by the plain SQL contract, and so has the same guards; one with a table of two columns and
// no guard is told beside it. What comes before the first message is the group's and the connection's, the same for ten
// messages and for ten million; it is told apart.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <txbox/inbox/consumer_options.hpp>

#include "tests/bench/support/accounts.hpp"
#include "tests/bench/support/arguments.hpp"
#include "tests/bench/support/child.hpp"
#include "tests/bench/support/records.hpp"
#include "tests/bench/support/statistics.hpp"
#include "tests/bench/support/topic.hpp"
#include "tests/bench/support/workspace.hpp"

namespace {

using namespace txbox::bench;

struct Options {
  std::string brokers;
  std::int64_t rows = 1'000'000;
  std::int64_t payload_bytes = 200;
  std::int64_t runs = 5;
  std::int64_t partitions = Topic::kPartitions;
  std::string folder;
};

/// One side's runs.
struct Side {
  std::vector<double> rows_per_second, cpu_us_per_row, rss_mb;
};

/// Warnings of the child may come before it.
std::string last_line(const std::string& file) {
  std::ifstream words(file);
  std::string last;
  for (std::string line; std::getline(words, line);) last = line;
  return last;
}

class InboxApply {
 public:
  explicit InboxApply(const Options& options)
      : options_(options),
        workspace_(options.folder),
        topic_(options.brokers, "apply", static_cast<std::int32_t>(options.partitions)) {
    const std::string output = workspace_.file("producer");
    Child producer(
        sibling_program("bench_bare_producer"),
        {options.brokers, topic_.name(), std::to_string(options.rows), std::to_string(options.payload_bytes)}, output,
        workspace_.file("state"));
    wait_for_success(producer, output);
    const std::int64_t records = topic_.records();
    if (records != options.rows) throw std::runtime_error(std::to_string(records) + " records in the topic");
  }

  void consumer() {
    const std::string db = next_file();
    const Cost cost = measure(ours, "bench_inbox_consumer", {options_.brokers, topic_.name(), db}, db);
    const double before = nlohmann::json::parse(last_line(output_of(db))).at("first_message_s").get<double>();
    first_message_s.push_back(before);
    ours.rows_per_second.push_back(static_cast<double>(options_.rows) / (cost.wall.count() - before));
    finish(db, "inbox");
  }

  void loop(Side& side, const std::string& table) {
    const std::string db = next_file();
    const auto batch = txbox::inbox::ConsumerOptions().batch_messages;
    const Cost cost = measure(
        side, "bench_claim_loop",
        {table, db, std::to_string(options_.rows), std::to_string(options_.payload_bytes), std::to_string(batch)}, db);
    side.rows_per_second.push_back(static_cast<double>(options_.rows) / cost.wall.count());
    finish(db, table);
  }

  Side ours, minimal, contract;
  std::vector<double> first_message_s;

 private:
  std::string next_file() { return workspace_.file("run" + std::to_string(++runs_) + ".db"); }

  static std::string output_of(const std::string& db) { return db + ".output"; }

  Cost measure(Side& side, const std::string& program, const std::vector<std::string>& arguments,
               const std::string& db) {
    const std::string output = output_of(db);
    workspace_.settle();
    Child child(sibling_program(program), arguments, output, workspace_.file("state"));
    const Cost cost = wait_for_success(child, output);
    side.cpu_us_per_row.push_back(cost.cpu.count() * 1e6 / static_cast<double>(options_.rows));
    side.rss_mb.push_back(cost.rss_mb);
    return cost;
  }

  void finish(const std::string& db, const std::string& claims) const {
    check_accounts(db, claims, options_.rows);
    std::filesystem::remove(db);
  }

  Options options_;
  Workspace workspace_;
  Topic topic_;
  int runs_ = 0;
};

void benchmark(const Options& options) {
  InboxApply apply(options);
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (std::int64_t i = 0; i < options.runs; ++i) {
    // Who goes first changes from run to run.
    if (i % 2 == 0) apply.consumer();
    apply.loop(apply.minimal, "processed");
    apply.loop(apply.contract, "inbox");
    if (i % 2 != 0) apply.consumer();
    runs.push_back({rounded(apply.ours.rows_per_second.back()), rounded(apply.contract.rows_per_second.back())});
  }
  const double ours = median(apply.ours.rows_per_second);
  const double rival = median(apply.contract.rows_per_second);
  const double minimal = median(apply.minimal.rows_per_second);
  const nlohmann::ordered_json result = {
      {"name", "inbox_apply"},
      {"unit", "rows/s"},
      {"ours", rounded(ours)},
      {"rival", rounded(rival)},
      {"ratio", rounded(ours / rival)},
      {"runs", runs},
      {"rss_mb", rounded(percentile(apply.ours.rss_mb, 100))},
      {"cpu_us_per_row", {rounded(median(apply.ours.cpu_us_per_row)), rounded(median(apply.contract.cpu_us_per_row))}},
      {"minimal_table",
       {{"rival", rounded(minimal)},
        {"ratio", rounded(ours / minimal)},
        {"cpu_us_per_row", rounded(median(apply.minimal.cpu_us_per_row))}}},
      {"first_message_s", rounded(median(apply.first_message_s))},
      {"rows", options.rows},
      {"partitions", options.partitions},
      {"payload_bytes", options.payload_bytes}};
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run("bench_inbox_apply", [&] {
    Options options;
    Arguments arguments(
        "Applies a topic's messages with txbox's consumer and with hand-written loops, in alternation.");
    arguments.text("--brokers", options.brokers, "a real Kafka");
    arguments.number("--rows", options.rows, 1, "messages of the topic");
    arguments.number("--payload", options.payload_bytes, kPayloadMin, "bytes of each payload");
    arguments.number("--runs", options.runs, 1, "of each side");
    arguments.number("--partitions", options.partitions, 1, "of the topic; a member reads one after the other");
    arguments.text("--folder", options.folder, "where the files lie (default: $TMPDIR)");
    if (!arguments.parse(argc, argv)) return;
    require_brokers(options.brokers);
    benchmark(options);
  });
}
