// How fast a backlog reaches Kafka: `outbox-relay run --drain` from exec to exit, against a bare producer of the same
// records. Both are child processes, in alternation on one topic; each run of the relay gets a fresh copy of the file.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/bench/support/arguments.hpp"
#include "tests/bench/support/child.hpp"
#include "tests/bench/support/database.hpp"
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
  std::string folder;
};

struct Run {
  double rows_per_second = 0;
  double cpu_us_per_row = 0;
  double rss_mb = 0;
};

class RelayDrain {
 public:
  explicit RelayDrain(const Options& options)
      : options_(options), workspace_(options.folder), topic_(options.brokers, "drain") {
    fill_outbox(backlog_, topic_.name(), options_.rows, options_.payload_bytes);
  }

  Run ours() {
    const std::string run = std::to_string(++relays_);
    const std::string db = workspace_.file("shop" + run + ".db");
    std::filesystem::copy_file(backlog_, db);
    const Run result =
        measure("outbox-relay", {"run", "--drain", "--db", db, "--brokers", options_.brokers}, "state" + run);
    std::filesystem::remove(db);
    return result;
  }

  Run rival() {
    return measure(
        "bench_bare_producer",
        {options_.brokers, topic_.name(), std::to_string(options_.rows), std::to_string(options_.payload_bytes)},
        "rival");
  }

 private:
  Run measure(const std::string& program, const std::vector<std::string>& arguments, const std::string& state) {
    const std::string output = workspace_.file("output");
    const std::int64_t before = topic_.records();
    workspace_.settle();
    Child child(sibling_program(program), arguments, output, workspace_.file(state));
    const Cost cost = wait_for_success(child, output);
    const std::int64_t arrived = topic_.records() - before;
    if (arrived != options_.rows) {
      throw std::runtime_error(program + " left " + std::to_string(arrived) + " records, not " +
                               std::to_string(options_.rows));
    }
    const auto rows = static_cast<double>(options_.rows);
    return {.rows_per_second = rows / cost.wall.count(),
            .cpu_us_per_row = cost.cpu.count() * 1e6 / rows,
            .rss_mb = cost.rss_mb};
  }

  Options options_;
  Workspace workspace_;
  Topic topic_;
  std::string backlog_ = workspace_.file("backlog.db");
  int relays_ = 0;
};

void benchmark(const Options& options) {
  RelayDrain drain(options);
  std::vector<double> ours, rival, our_cpu, rival_cpu, our_rss;
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (std::int64_t i = 0; i < options.runs; ++i) {
    // Who goes first changes from run to run, so that neither always finds the broker warm.
    const bool relay_first = i % 2 == 0;
    Run of_rival = relay_first ? Run{} : drain.rival();
    const Run of_relay = drain.ours();
    if (relay_first) of_rival = drain.rival();
    ours.push_back(of_relay.rows_per_second);
    rival.push_back(of_rival.rows_per_second);
    our_cpu.push_back(of_relay.cpu_us_per_row);
    rival_cpu.push_back(of_rival.cpu_us_per_row);
    our_rss.push_back(of_relay.rss_mb);
    runs.push_back({rounded(of_relay.rows_per_second), rounded(of_rival.rows_per_second)});
  }
  const nlohmann::ordered_json result = {{"name", "relay_drain"},
                                         {"unit", "rows/s"},
                                         {"ours", rounded(median(ours))},
                                         {"rival", rounded(median(rival))},
                                         {"ratio", rounded(median(ours) / median(rival))},
                                         {"runs", runs},
                                         {"rss_mb", rounded(percentile(our_rss, 100))},
                                         {"cpu_us_per_row", {rounded(median(our_cpu)), rounded(median(rival_cpu))}},
                                         {"rows", options.rows},
                                         {"payload_bytes", options.payload_bytes}};
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run("bench_relay_drain", [&] {
    Options options;
    Arguments arguments("Drains a backlog with outbox-relay and with a bare producer, in alternation.");
    arguments.text("--brokers", options.brokers, "a real Kafka");
    arguments.number("--rows", options.rows, 1, "rows of the backlog");
    arguments.number("--payload", options.payload_bytes, kPayloadMin, "bytes of each payload");
    arguments.number("--runs", options.runs, 1, "of each side");
    arguments.text("--folder", options.folder, "where the files lie (default: $TMPDIR)");
    if (!arguments.parse(argc, argv)) return;
    require_brokers(options.brokers);
    benchmark(options);
  });
}
