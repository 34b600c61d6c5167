#include "relay/demo/story.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <txbox/base/error.hpp>
#include <txbox/store/outbox_queries.hpp>

#include "relay/demo/books_file.hpp"
#include "relay/demo/number_text.hpp"

namespace txbox::relay::demo {
namespace {

using std::chrono::steady_clock;

constexpr int kPartitions = 3;
constexpr const char* kTopic = "orders";
constexpr const char* kGroup = "billing";
constexpr double kOpeningHoursSeconds = 10;  ///< The orders are spread over this time, few of them over less.
constexpr double kFewOrdersPerSecond = 100;
/// The mock cluster keeps 5 MiB of a partition, and the consumer must find what came while it was dead.
constexpr double kManyOrdersPerSecond = 3000;
/// Nothing moves for so long: somebody is stuck, and the balance says so. A rejoin on the mock cluster takes five.
constexpr std::chrono::seconds kStall(15);
constexpr std::chrono::milliseconds kGlance(20);

OrderDeskOptions desk_options(const std::string& db, const Story::Options& options) {
  const double per_second = static_cast<double>(options.orders) / kOpeningHoursSeconds;
  return {.db = db,
          .topic = kTopic,
          .orders = options.orders,
          .seed = options.seed,
          .orders_per_second = std::clamp(per_second, kFewOrdersPerSecond, kManyOrdersPerSecond)};
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
  } else if (fault != "double" && fault != "skip" && fault != "short") {
    throw Error(ErrorCode::invalid_argument,
                "TXBOX_DEMO_FAULT is lose, invent, alter or reorder, or for the billing double, skip or short");
  }
#endif
}

}  // namespace

Story::Story(const Options& options, Narrator& narrator, const StopRequest& stop)
    : options_(options), narrator_(narrator), stop_(stop), desk_(desk_options(shop_db_, options)) {
  progress_.of = options.orders;
}

Outcome Story::tell() {
  open();
  publish_everything();
  settle_relay();
  apply_everything();
  return take_stock();
}

void Story::open() {
  SeededRandom random(options_.seed ^ 0x6b696c6c);  // Another stream than the orders'.
  std::vector<PlannedKill> relay_kills = plan_relay_kills(options_.orders, random);
  std::vector<PlannedKill> billing_kills = plan_consumer_kills(options_.orders, random);
  const auto times = [](const std::vector<PlannedKill>& plan) {
    return counted(static_cast<std::int64_t>(plan.size()), "time");
  };
  narrator_.headline("txbox demo: " + counted(options_.orders, "order") +
                     " from a shop's database through Kafka into the accounts of another one.\n"
                     "The relay is killed " +
                     times(relay_kills) + ", the consumer " + times(billing_kills) +
                     ", and every event is sent up to three times.");
  const std::string brokers = broker_.bootstrap_servers();
  broker_.create_topic(kTopic, kPartitions);
  narrator_.say(Actor::broker, "plays Kafka (librdkafka's mock cluster): topic " + std::string(kTopic) + ", " +
                                   std::to_string(kPartitions) + " partitions, at " + brokers);
  topic_.emplace(brokers, kTopic, kPartitions);
  copier_.emplace(brokers, kTopic, options_.seed);
  make_billing_file(billing_db_);

  const std::string state = folder_.file("state");
  const auto player = [&](Actor actor, const char* log) {
    return Player({.actor = actor, .log_file = folder_.file(log), .state_directory = state}, narrator_);
  };
  const std::string tally = folder_.file("tally");
  billing_.emplace(BillingRole::Options{.command = {"demo", "billing", "--db", billing_db_, "--brokers", brokers,
                                                    "--topic", kTopic, "--group", kGroup, "--tally", tally},
                                        .db = billing_db_,
                                        .tally_file = tally,
                                        .plan = std::move(billing_kills)},
                   player(Actor::billing, "billing.log"));
  positions_.emplace(billing_db_,
                     Positions::Group{.name = kGroup, .cluster_id = copier_->cluster_id(), .topic = kTopic});
  relay_.emplace(RelayRole::Options{.db = shop_db_, .brokers = brokers, .plan = std::move(relay_kills)},
                 player(Actor::relay, "relay.log"));

  narrator_.say(Actor::shop, "opens: each order commits together with its event; one in ten rolls back");
  desk_.open();
  relay_->start();
  billing_->start();
  narrator_.say(Actor::copier, "reads along, and sends events once or twice more, as a careless producer would");
  relay_plays_ = billing_plays_ = true;
  last_step_ = steady_clock::now();
}

void Story::glance() {
  if (stop_.signal() != 0) throw Interrupted{stop_.signal()};
  const Progress before = progress_;
  const std::int64_t delivered = standing_.delivered;
  topic_->poll(kGlance, [this](const TopicWatch::Seen& seen) {
    if (!seen.copied) relay_->saw(seen);
    if (seen.first) copier_->plan(seen.record);
  });
  copier_->work();
  standing_ = positions_->against(topic_->ends());
  if (billing_plays_) billing_plays_ = billing_->act(standing_.taken);
  progress_.committed = desk_.committed();
  progress_.published = topic_->published();
  progress_.applied = billing_->applied();
  narrator_.progress(progress_);
  const bool moved = progress_.published != before.published || progress_.applied != before.applied ||
                     standing_.delivered != delivered;
  if (moved) last_step_ = steady_clock::now();
}

bool Story::stalled() const { return steady_clock::now() - last_step_ > kStall; }

void Story::publish_everything() {
  bool shop_is_open = true;
  while (shop_is_open || progress_.published < progress_.committed) {
    glance();
    if (shop_is_open && desk_.done()) {
      shop_is_open = false;
      desk_.close();
      narrator_.say(Actor::shop, "closes: " + counted(desk_.committed(), "order") + " committed, " +
                                     with_commas(desk_.rolled_back()) + " rolled back");
    }
    relay_plays_ = relay_->act(progress_.committed, progress_.published);
    if (!relay_plays_) break;
    if (stalled()) {
      relay_->stalled(kStall);
      break;
    }
  }
  desk_.close();
}

void Story::settle_relay() {
  relay_->stop();
  relay_->drain();
  while (!relay_->drained()) glance();
  relay_->end_drain();
}

void Story::apply_everything() {
  while (!copier_->done()) glance();
  narrator_.say(Actor::copier, "is done: " + counted(copier_->sent(), "copy", "copies") + " sent");
  topic_->read_to_end(std::chrono::seconds(10));
  last_step_ = steady_clock::now();
  do {
    glance();
    if (!stalled()) continue;
    billing_->stalled(kStall);
    break;
  } while (billing_plays_ && (standing_.unread > 0 || billing_->busy()));
  billing_->stop();
}

Outcome Story::take_stock() {
  narrator_.say(Actor::reader, "has read topic " + std::string(kTopic) + " from its beginning to its end: " +
                                   counted(static_cast<std::int64_t>(topic_->events().size()), "record"));
  const Ledger& ledger = desk_.close();
  std::vector<PublishedEvent> events = topic_->events();
  put_in_fault(events, ledger);
  const store::Connection shop = store::Connection::open(shop_db_, {.purpose = store::OpenPurpose::reader});

  Outcome outcome;
  outcome.topic = balance_of(ledger, events);
  outcome.books = balance_of(read_books(shop_db_, billing_db_));
  outcome.receipts = store::count_outbox(shop.handle()).sent;
  outcome.relay = relay_->lives();
  outcome.consumer = billing_->lives();
  const Standing standing = positions_->against(topic_->ends());
  outcome.consumer.delivered = standing.delivered;
  outcome.consumer.unread = standing.unread;
  outcome.seed = options_.seed;
  outcome.took = narrator_.elapsed();
  return outcome;
}

}  // namespace txbox::relay::demo
