// How long after its COMMIT an event can be read from Kafka, at a steady rate of single-row commits, against a bare
// producer with linger 0. One clock measures both: from the return of COMMIT (or of produce()) to the moment when an
// independent consumer in this process holds the record, so both figures contain the same consumer. What the bare
// producer's own delivery reports say, without any consumer, is given beside it.
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
#include "tests/bench/support/child.hpp"
#include "tests/bench/support/database.hpp"
#include "tests/bench/support/receiver.hpp"
#include "tests/bench/support/records.hpp"
#include "tests/bench/support/statistics.hpp"
#include "tests/bench/support/topic.hpp"
#include "tests/bench/support/workspace.hpp"

namespace {

using namespace txbox;
using namespace txbox::bench;
using Time = std::chrono::steady_clock::time_point;

struct Options {
  std::string brokers;
  std::int64_t rows = 10'000;
  std::int64_t payload_bytes = 200;
  std::int64_t runs = 3;
  std::int64_t rate_per_second = 1000;
  std::string synchronous = "normal";
  std::string folder;
};

/// The first records of each run find cold caches and connections, and are not counted.
constexpr std::int64_t kWarmUp = 200;

struct Percentiles {
  std::vector<double> p50, p99;  ///< In ms, one of each run.

  void add(const std::vector<Time>& begin, const std::vector<Time>& end) {
    std::vector<double> ms;
    for (std::size_t i = kWarmUp; i < begin.size(); ++i) {
      ms.push_back(std::chrono::duration<double, std::milli>(end[i] - begin[i]).count());
    }
    p50.push_back(percentile(ms, 50));
    p99.push_back(percentile(ms, 99));
  }
  [[nodiscard]] nlohmann::ordered_json last() const {
    return {{"p50", rounded(p50.back())}, {"p99", rounded(p99.back())}};
  }
  [[nodiscard]] nlohmann::ordered_json medians() const {
    return {{"p50", rounded(median(p50))}, {"p99", rounded(median(p99))}};
  }
};

/// Calls `step(i)` for each row on time; late ones follow at once. Returns the rate that was really reached.
template <typename Step>
double at_rate(const Options& options, std::int64_t rows, Step step) {
  const auto interval = std::chrono::nanoseconds(1'000'000'000 / options.rate_per_second);
  const Time start = std::chrono::steady_clock::now();
  for (std::int64_t i = 1; i < rows; ++i) {               // Row 0 was sent before, to wake everything up.
    std::this_thread::sleep_until(start + interval * i);  // tidy: waits for the moment that the rate asks for
    step(i);
  }
  return static_cast<double>(rows - 1) /
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class CommitToAck {
 public:
  explicit CommitToAck(const Options& options)
      : options_(options),
        rows_(options.rows + kWarmUp),
        workspace_(options.folder),
        topic_(options.brokers, "latency") {}

  void run_ours() {
    const std::string run = std::to_string(++relays_);
    const std::string path = workspace_.file("shop" + run + ".db");
    const std::string output = workspace_.file("output");
    const Database db = open_database(path, options_.synchronous);
    outbox::install(db.get());
    outbox::Outbox outbox(db.get());
    std::vector<Time> committed(static_cast<std::size_t>(rows_));
    const auto commit = [&](std::int64_t i) {
      execute(db.get(), "BEGIN IMMEDIATE");
      outbox.add({.topic = topic_.name(), .key = key_of(i), .payload = payload_of(i, options_.payload_bytes)});
      execute(db.get(), "COMMIT");
      committed[static_cast<std::size_t>(i)] = std::chrono::steady_clock::now();
    };

    workspace_.settle();
    Receiver receiver(options_.brokers, topic_, rows_);
    Child relay(sibling_program("outbox-relay"), {"run", "--db", path, "--brokers", options_.brokers}, output,
                workspace_.file("state" + run));
    commit(0);
    receiver.wait_for(1);
    rates_.push_back(at_rate(options_, rows_, commit));
    receiver.wait_for(rows_);
    const Cost cost = relay.stop();
    if (cost.exit_code != 0) throw std::runtime_error("outbox-relay ended with " + std::to_string(cost.exit_code));
    rss_mb_.push_back(cost.rss_mb);
    cpu_us_per_row_.push_back(cost.cpu.count() * 1e6 / static_cast<double>(rows_));
    ours_.add(committed, receiver.arrivals());
  }

  void run_rival() {
    workspace_.settle();
    std::vector<Time> acknowledged(static_cast<std::size_t>(rows_));
    std::vector<Time> produced(static_cast<std::size_t>(rows_));
    Receiver receiver(options_.brokers, topic_, rows_);
    {
      const Client producer =
          make_client(RD_KAFKA_PRODUCER, producer_properties(options_.brokers), note_delivery, &acknowledged);
      std::jthread reports([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) rd_kafka_poll(producer.get(), 50);
      });
      const auto produce = [&](std::int64_t i) {
        produce_one(producer.get(), i);
        produced[static_cast<std::size_t>(i)] = std::chrono::steady_clock::now();
      };
      produce(0);
      receiver.wait_for(1);
      at_rate(options_, rows_, produce);
      receiver.wait_for(rows_);
      reports.request_stop();
      reports.join();
      rd_kafka_flush(producer.get(), 10'000);
    }
    rival_.add(produced, receiver.arrivals());
    rival_reports_.add(produced, acknowledged);
  }

  [[nodiscard]] nlohmann::ordered_json last_run() const { return {ours_.last(), rival_.last()}; }

  [[nodiscard]] nlohmann::ordered_json result(const nlohmann::ordered_json& runs) const {
    return {{"name", "commit_to_ack"},
            {"unit", "ms"},
            {"ours", ours_.medians()},
            {"rival", rival_.medians()},
            {"rival_delivery_report", rival_reports_.medians()},
            {"runs", runs},
            {"rss_mb", rounded(percentile(rss_mb_, 100))},
            {"relay_cpu_us_per_row", rounded(median(cpu_us_per_row_))},
            {"rows_per_second", rounded(median(rates_))},
            {"synchronous", options_.synchronous},
            {"rows", options_.rows},
            {"payload_bytes", options_.payload_bytes}};
  }

 private:
  static void note_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
    const std::int64_t number = number_in(message->payload, message->len);
    (*static_cast<std::vector<Time>*>(opaque))[static_cast<std::size_t>(number)] = std::chrono::steady_clock::now();
  }

  void produce_one(rd_kafka_t* producer, std::int64_t i) {
    const std::string key = key_of(i);
    std::string payload = payload_of(i, options_.payload_bytes);
    const std::string id = event_id_header(i);
    const std::string created_at = created_at_header();
    const rd_kafka_resp_err_t error = rd_kafka_producev(
        producer, RD_KAFKA_V_TOPIC(topic_.name().c_str()), RD_KAFKA_V_KEY(key.data(), key.size()),
        RD_KAFKA_V_VALUE(payload.data(), payload.size()), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_HEADER("id", id.data(), static_cast<ssize_t>(id.size())),
        RD_KAFKA_V_HEADER("txbox-created-at", created_at.data(), static_cast<ssize_t>(created_at.size())),
        RD_KAFKA_V_END);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error(rd_kafka_err2str(error));
  }

  Options options_;
  std::int64_t rows_;
  Workspace workspace_;
  Topic topic_;
  int relays_ = 0;
  Percentiles ours_, rival_, rival_reports_;
  std::vector<double> rss_mb_, cpu_us_per_row_, rates_;
};

void benchmark(const Options& options) {
  CommitToAck commit_to_ack(options);
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (std::int64_t i = 0; i < options.runs; ++i) {
    if (i % 2 == 0) {
      commit_to_ack.run_ours();
      commit_to_ack.run_rival();
    } else {
      commit_to_ack.run_rival();
      commit_to_ack.run_ours();
    }
    runs.push_back(commit_to_ack.last_run());
  }
  std::printf("%s\n", commit_to_ack.result(runs).dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run("bench_commit_to_ack", [&] {
    Options options;
    Arguments arguments("Measures from COMMIT to a consumer, beside a bare producer, in alternation.");
    arguments.text("--brokers", options.brokers, "a real Kafka");
    arguments.number("--rows", options.rows, 1, "commits of each run");
    arguments.number("--payload", options.payload_bytes, kPayloadMin, "bytes of each payload");
    arguments.number("--runs", options.runs, 1, "of each side");
    arguments.number("--rate", options.rate_per_second, 1, "commits a second");
    arguments.text("--synchronous", options.synchronous,
                   "of the application's connection: normal or full (default normal)");
    arguments.text("--folder", options.folder, "where the files lie (default: $TMPDIR)");
    if (!arguments.parse(argc, argv)) return;
    require_brokers(options.brokers);
    benchmark(options);
  });
}
