// What an idle relay costs: CPU time over a window in which nothing is written, after it has published a few rows.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>
#include <txbox/outbox/outbox.hpp>

#include "tests/bench/support/arguments.hpp"
#include "tests/bench/support/child.hpp"
#include "tests/bench/support/database.hpp"
#include "tests/bench/support/receiver.hpp"
#include "tests/bench/support/records.hpp"
#include "tests/bench/support/statistics.hpp"
#include "tests/bench/support/topic.hpp"
#include "tests/bench/support/workspace.hpp"

namespace {

using namespace txbox::bench;

void benchmark(const std::string& brokers, std::int64_t window_seconds, std::int64_t runs) {
  const Workspace workspace("");
  const Topic topic(brokers, "idle");
  constexpr std::int64_t kRows = 100;
  const std::string path = workspace.file("shop.db");
  fill_outbox(path, topic.name(), kRows, 200);
  Receiver receiver(brokers, topic, kRows);
  Child relay(sibling_program("outbox-relay"), {"run", "--db", path, "--brokers", brokers}, workspace.file("output"),
              workspace.file("state"));
  receiver.wait_for(kRows);
  // tidy: waits for receipts, checkpoints and connections to come to rest, which nothing outside the relay can see
  std::this_thread::sleep_for(std::chrono::seconds(2));

  std::vector<double> percents;
  for (std::int64_t i = 0; i < runs; ++i) {
    const auto before = relay.cpu_so_far();
    // tidy: waits for the time over which the relay is measured
    std::this_thread::sleep_for(std::chrono::seconds(window_seconds));
    percents.push_back(100.0 * (relay.cpu_so_far() - before).count() / static_cast<double>(window_seconds));
  }
  const Cost cost = relay.stop();
  nlohmann::ordered_json each = nlohmann::ordered_json::array();
  for (const double percent : percents) each.push_back(rounded(percent));
  const nlohmann::ordered_json result = {
      {"name", "relay_idle"}, {"unit", "% of a core"},          {"ours", rounded(median(percents))},
      {"runs", each},         {"rss_mb", rounded(cost.rss_mb)}, {"window_seconds", window_seconds}};
  std::printf("%s\n", result.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run("bench_relay_idle", [&] {
    std::string brokers;
    std::int64_t window_seconds = 10;
    std::int64_t runs = 3;
    Arguments arguments("Measures the CPU time of a relay that has nothing to do.");
    arguments.text("--brokers", brokers, "a real Kafka");
    arguments.number("--window", window_seconds, 1, "seconds of each measurement");
    arguments.number("--runs", runs, 1, "measurements, one after the other");
    if (!arguments.parse(argc, argv)) return;
    require_brokers(brokers);
    benchmark(brokers, window_seconds, runs);
  });
}
