#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/engine/core.hpp"

namespace txbox::test {

/// A row with its memory.
struct TestRow {
  std::int64_t id = 0;
  std::string topic = "orders";
  std::optional<std::string> key = "A1";
  std::string payload = "{}";
  std::optional<std::int32_t> partition = std::nullopt;
  std::optional<std::int64_t> deliver_at_ms = std::nullopt;
  std::string nonce = "0123456789";
  bool sent = false;
  std::optional<store::HeldState> held = std::nullopt;
  std::optional<store::Lane> held_lane = std::nullopt;
  std::int32_t attempts = 0;
  [[nodiscard]] store::OutboxRow view() const;
  [[nodiscard]] store::Lane lane() const { return store::lane_of(topic, partition, *key); }
};

/// A row that was handed to a producer.
struct Handed {
  std::int64_t row = 0;
  relay::ProducerKind producer = relay::ProducerKind::main;
  std::uint32_t generation = 0;
  std::int32_t partition = 0;
  friend bool operator==(const Handed&, const Handed&) = default;
};

/// Drives one core by hand: each call is one event, the answers are sorted by kind for the test to look at.
/// Topics are described as usable with 4 partitions unless the test says otherwise.
class CoreFixture {
 public:
  explicit CoreFixture(relay::CoreOptions options = {}, bool open = true);

  void step(const relay::Event& event);
  void advance(std::chrono::milliseconds time);
  /// Answers the outstanding reading with these rows (those above its `after`), in one batch that ends the table.
  void read(const std::vector<TestRow>& rows, bool exhausted = true);
  void read_ready(const std::vector<TestRow>& rows, bool exhausted = true);
  void report(std::int64_t row, relay::ReportKind kind, int error = 0);
  void ack(std::initializer_list<std::int64_t> rows);
  void producer_ready(relay::ProducerKind kind = relay::ProducerKind::main);
  void describe(const std::string& topic, const relay::TopicFacts& facts);
  void wake(bool changed_by_others = false) { step(relay::event::Woken{0, changed_by_others}); }
  /// Answers the oldest mark.
  void marked(std::vector<store::Lane> clear_lanes = {});
  void released(std::int64_t rows, bool more = false, std::int64_t through = 0);

  [[nodiscard]] std::vector<std::int64_t> take_handed_ids();
  [[nodiscard]] bool said(std::string_view part) const;
  template <typename What>
  [[nodiscard]] std::vector<What> take() {
    std::vector<What> found;
    for (auto next = commands.begin(); next != commands.end();) {
      if (const auto* what = std::get_if<What>(&*next)) {
        found.push_back(*what);
        next = commands.erase(next);
      } else {
        ++next;
      }
    }
    return found;
  }

  relay::Core core;
  SteadyTime steady{std::chrono::hours(1)};
  WallTime wall{std::chrono::milliseconds(1'700'000'000'000)};
  std::vector<Handed> handed;                  ///< Since the test last took them.
  std::map<std::int64_t, Handed> last_handed;  ///< Of each row, ever.
  std::deque<relay::Command> commands;         ///< All but those below.
  std::deque<relay::command::Mark> marks;      ///< Not yet answered.
  std::vector<relay::command::Mark> all_marks;
  std::optional<relay::command::Read> reading;
  std::optional<relay::command::ReadReady> reading_ready;
  std::vector<relay::command::Rebuild> rebuilds;
  std::vector<std::string> words;
  std::map<std::string, relay::TopicFacts> facts;  ///< Answered by itself when asked; unset: `usable`.
  bool answer_descriptions = true;
  int descriptions = 0;  ///< Answered so far.
  std::int64_t next_offset = 0;

 private:
  void sort_out(const relay::Commands& out, const relay::Event& event);
};

[[nodiscard]] std::int32_t test_partitioner(std::string_view key, std::int32_t count);
[[nodiscard]] std::string test_error_text(int error);
[[nodiscard]] relay::TopicFacts usable_topic(std::int32_t partitions = 4, std::int64_t message_bytes_max = 1'048'588);
[[nodiscard]] relay::TopicFacts missing_topic();
/// Rows `first` to `last`, all of one key.
[[nodiscard]] std::vector<TestRow> rows_of_key(std::int64_t first, std::int64_t last, const std::string& key = "A1");

}  // namespace txbox::test
