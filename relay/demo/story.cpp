#include "relay/demo/story.hpp"

#include <algorithm>
#include <csignal>
#include <deque>
#include <fstream>

#include <txbox/base/error.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/outbox_queries.hpp>
#include <txbox/store/statement.hpp>

#include "relay/demo/number_text.hpp"

namespace txbox::relay::demo {
namespace {

using std::chrono::steady_clock;

constexpr int kPartitions = 3;
constexpr const char* kTopic = "orders";
constexpr double kOpeningHoursSeconds = 7;  ///< The orders are spread over this time, few of them over less.
constexpr double kFewOrdersPerSecond = 100;
constexpr std::chrono::seconds kStall(15);  ///< Nothing moves for so long: the relay is stuck, and the balance says so.
constexpr std::chrono::seconds kDrainTimeout(15);
constexpr std::chrono::milliseconds kGlance(20);

OrderDeskOptions desk_options(const std::string& db, const Story::Options& options) {
  const double per_second = static_cast<double>(options.orders) / kOpeningHoursSeconds;
  return {.db = db,
          .topic = kTopic,
          .orders = options.orders,
          .seed = options.seed,
          .orders_per_second = std::max(per_second, kFewOrdersPerSecond)};
}

std::vector<std::string> last_lines(const std::string& path, std::size_t count) {
  std::ifstream file(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() > count) lines.pop_front();
  }
  return {lines.begin(), lines.end()};
}

PublishedEvent to_event(const kafka::TopicRecord& record) {
  const Header* id = record.headers.last("id");
  return {.partition = record.partition,
          .offset = record.offset,
          .event_id = id != nullptr ? std::string(id->value.view()) : "",
          .key = record.key,
          .payload = record.payload};
}

/// Puts a fault into what was read from the topic, so that a test sees the balance fail.
void put_in_fault([[maybe_unused]] std::vector<PublishedEvent>& events, [[maybe_unused]] const Ledger& ledger) {
#ifdef TXBOX_FAILPOINTS
  const char* variable = std::getenv("TXBOX_DEMO_FAULT");
  const std::string_view fault = variable != nullptr ? variable : "";
  if (fault.empty() || events.empty()) return;
  const std::string victim = ledger.committed.at(ledger.committed.size() / 2).event_id;
  if (fault == "lose") {
    std::erase_if(events, [&](const PublishedEvent& event) { return event.event_id == victim; });
  } else if (fault == "invent") {
    events.push_back(events.front());
    events.back().event_id = "an order that was rolled back";
  } else if (fault == "alter") {
    events.front().payload = Bytes(nullptr);
  } else if (fault == "reorder") {
    // The whole log backwards: whoever came last in an account now comes first.
    for (PublishedEvent& event : events) event.offset = -event.offset;
  } else {
    throw Error(ErrorCode::invalid_argument, "TXBOX_DEMO_FAULT is lose, invent, alter or reorder");
  }
#endif
}

}  // namespace

Story::Story(const Options& options, Narrator& narrator, const StopRequest& stop)
    : options_(options), narrator_(narrator), stop_(stop), desk_(desk_options(db_, options)) {
  SeededRandom random(options.seed ^ 0x6b696c6c);  // Another stream than the orders'.
  plan_ = plan_relay_kills(options.orders, random);
}

Outcome Story::tell() {
  open();
  publish_everything();
  settle();
  return take_stock();
}

void Story::open() {
  narrator_.headline("txbox demo: " + with_commas(options_.orders) +
                     " orders go through an outbox to Kafka, and the relay between them is killed " +
                     std::to_string(plan_.size()) + (plan_.size() == 1 ? " time" : " times"));
  broker_.create_topic(kTopic, kPartitions);
  narrator_.say(Actor::broker, "Kafka's stand-in (librdkafka's mock cluster) serves topic " + std::string(kTopic) +
                                   ", " + std::to_string(kPartitions) + " partitions, at " +
                                   broker_.bootstrap_servers());
  // The mock cluster answers an empty fetch only after its full wait, so that is kept short: kills hit closer that way.
  reader_.emplace(kafka::Properties{{"bootstrap.servers", broker_.bootstrap_servers()}, {"fetch.wait.max.ms", "10"}},
                  kTopic, std::chrono::seconds(10));
  narrator_.say(Actor::shop, "opens: each order commits together with its event in " + db_ + "; one in ten rolls back");
  desk_.open();
  start_relay();
  last_progress_ = steady_clock::now();
}

void Story::start_relay() {
  const bool again = relay_.has_value();
  relay_.emplace(ChildProcess::Options{.arguments = {"run", "--db", db_, "--brokers", broker_.bootstrap_servers()},
                                       .output_file = folder_.file("relay.log"),
                                       .state_directory = folder_.file("state")});
  restart_at_.reset();
  life_began_ = steady_clock::now();
  life_has_published_ = false;
  repeats_in_life_ = 0;
  if (!again) narrator_.say(Actor::relay, "starts as process " + std::to_string(relay_->pid()));
}

void Story::publish_everything() {
  while (!desk_.done() || static_cast<std::int64_t>(published_.size()) < desk_.committed()) {
    if (stop_.signal() != 0) throw Interrupted{stop_.signal()};
    look_at_topic(kGlance);
    narrator_.progress(desk_.committed(), static_cast<std::int64_t>(published_.size()), options_.orders);
    if (restart_at_) {
      restart_when_due();
    } else if (const auto result = relay_->result()) {
      report_end("ended by itself", *result);
      break;
    } else if (kill_is_due()) {
      kill_relay();
    }
    if (steady_clock::now() - last_progress_ > kStall) {
      narrator_.bad(Actor::relay, "has published nothing for " + in_seconds(kStall));
      break;
    }
  }
  desk_.close();
  narrator_.say(Actor::shop, "closes: " + with_commas(desk_.committed()) + " orders committed, " +
                                 with_commas(desk_.rolled_back()) + " rolled back");
}

void Story::look_at_topic(std::chrono::milliseconds timeout) {
  std::vector<kafka::TopicRecord> records;
  reader_->poll(timeout, records);
  bool news = false;
  for (const kafka::TopicRecord& record : records) {
    events_.push_back(to_event(record));
    if (published_.insert(events_.back().event_id).second) {
      news = true;
    } else {
      ++repeats_in_life_;
    }
  }
  if (!news) return;
  last_progress_ = steady_clock::now();
  if (!restart_at_ && !life_has_published_) {
    life_has_published_ = true;
    if (next_kill_ > 0) {
      narrator_.say(
          Actor::relay,
          "publishes again " +
              in_seconds(std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - life_began_)) +
              " after its start; events sent once more: " + with_commas(repeats_in_life_));
    }
  }
}

bool Story::kill_is_due() {
  // A life that has published nothing would prove nothing by its end.
  return life_has_published_ && next_kill_ < plan_.size() &&
         static_cast<std::int64_t>(published_.size()) >= plan_[next_kill_].when_done;
}

void Story::kill_relay() {
  const pid_t pid = relay_->pid();
  relay_->end_with(SIGKILL);
  kills_after_publishing_ += life_has_published_ ? 1 : 0;
  const PlannedKill& kill = plan_[next_kill_++];
  restart_at_ = steady_clock::now() + kill.pause;
  narrator_.say(Actor::relay, "killed with SIGKILL (process " + std::to_string(pid) + "), " +
                                  with_commas(static_cast<std::int64_t>(published_.size())) + " of " +
                                  with_commas(desk_.committed()) + " committed orders are in Kafka");
}

void Story::restart_when_due() {
  if (steady_clock::now() < *restart_at_) return;
  const std::int64_t waiting = desk_.committed() - static_cast<std::int64_t>(published_.size());
  start_relay();
  narrator_.say(Actor::relay, "starts again as process " + std::to_string(relay_->pid()) + "; the shop went on, " +
                                  with_commas(waiting) + " orders wait");
}

void Story::settle() {
  if (!restart_at_ && !relay_->result()) {
    const int result = relay_->end_with(SIGTERM);
    // A life too short to have published may have ended before it could answer a signal.
    const bool too_short = !life_has_published_ && result == 128 + SIGTERM;
    report_end("stops on SIGTERM", too_short ? 0 : result);
  }
  relay_.emplace(
      ChildProcess::Options{.arguments = {"run", "--db", db_, "--brokers", broker_.bootstrap_servers(), "--drain",
                                          "--timeout", std::to_string(kDrainTimeout.count()) + "s"},
                            .output_file = folder_.file("relay.log"),
                            .state_directory = folder_.file("state")});
  const auto deadline = steady_clock::now() + kDrainTimeout + kStall;
  while (!relay_->result() && steady_clock::now() < deadline) {
    if (stop_.signal() != 0) throw Interrupted{stop_.signal()};
    look_at_topic(kGlance);
  }
  report_end("`run --drain` looks for anything left", relay_->end_with(SIGKILL));
}

void Story::report_end(std::string_view what, int result) {
  const std::string text = std::string(what) + ": exit code " + std::to_string(result);
  if (result == 0) {
    narrator_.say(Actor::relay, text);
    return;
  }
  ++failures_;
  narrator_.bad(Actor::relay, text + "; its log ends with:");
  constexpr std::size_t kLines = 15;
  for (const std::string& line : last_lines(folder_.file("relay.log"), kLines)) {
    narrator_.bad(Actor::relay, "  " + line);
  }
}

Outcome Story::take_stock() {
  std::vector<kafka::TopicRecord> rest;
  reader_->read_to_end(std::chrono::seconds(10), rest);
  for (const kafka::TopicRecord& record : rest) events_.push_back(to_event(record));
  narrator_.say(Actor::reader, "has read topic " + std::string(kTopic) + " from its beginning to its end: " +
                                   with_commas(static_cast<std::int64_t>(events_.size())) + " records");
  const Ledger& ledger = desk_.close();
  put_in_fault(events_, ledger);

  const store::Connection shop = store::Connection::open(db_, {.purpose = store::OpenPurpose::reader});
  store::Statement count(shop.handle(), "SELECT count(*) FROM orders");
  count.step();
  Outcome outcome;
  outcome.balance = balance_of(ledger, events_);
  outcome.receipts = store::count_outbox(shop.handle()).sent;
  outcome.orders_in_file = count.column_int64(0);
  outcome.kills = static_cast<int>(next_kill_);
  outcome.kills_after_publishing = kills_after_publishing_;
  outcome.relay_failures = failures_;
  outcome.seed = options_.seed;
  outcome.took = narrator_.elapsed();
  return outcome;
}

}  // namespace txbox::relay::demo
