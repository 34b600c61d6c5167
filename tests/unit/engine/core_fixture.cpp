#include "core_fixture.hpp"

#include <utility>

#include <doctest/doctest.h>

namespace txbox::test {

using namespace relay;

store::OutboxRow TestRow::view() const {
  store::OutboxRow row;
  row.id = id;
  row.nonce_prefix = static_cast<std::uint64_t>(id) * 1000;
  row.nonce = nonce;
  row.topic = topic;
  row.partition = partition;
  if (key) row.key = BytesView(std::string_view(*key));
  row.payload = BytesView(std::string_view(payload));
  row.created_at_ms = 1'700'000'000'000;
  row.deliver_at_ms = deliver_at_ms;
  row.sent = sent;
  row.held = held;
  row.held_lane = held_lane;
  row.attempts = attempts;
  return row;
}

std::int32_t test_partitioner(std::string_view key, std::int32_t count) {
  std::uint32_t sum = 0;
  for (const char c : key) sum = sum * 31 + static_cast<unsigned char>(c);
  return static_cast<std::int32_t>(sum % static_cast<std::uint32_t>(count));
}

std::string test_error_text(int error) {
  switch (error) {
    case 5: return "LEADER_NOT_AVAILABLE: Broker: Leader not available";
    case 10: return "MSG_SIZE_TOO_LARGE: Broker: Message size too large";
    case 17: return "INVALID_TOPIC_EXCEPTION: Broker: Invalid topic";
    case 29: return "TOPIC_AUTHORIZATION_FAILED: Broker: Topic authorization failed";
    case 87: return "INVALID_RECORD: Broker: Broker failed to validate record";
    case -190: return "_UNKNOWN_PARTITION: Local: Unknown partition";
    default: return "E" + std::to_string(error) + ": some error";
  }
}

TopicFacts usable_topic(std::int32_t partitions, std::int64_t message_bytes_max) {
  TopicFacts facts;
  facts.partitions = partitions;
  facts.message_bytes_max = message_bytes_max;
  return facts;
}

TopicFacts missing_topic() {
  TopicFacts facts;
  facts.state = TopicFacts::State::missing;
  facts.reason = "UNKNOWN_TOPIC_OR_PART: Broker: Unknown topic or partition";
  return facts;
}

std::vector<TestRow> rows_of_key(std::int64_t first, std::int64_t last, const std::string& key) {
  std::vector<TestRow> rows;
  for (std::int64_t id = first; id <= last; ++id) {
    TestRow row;
    row.id = id;
    row.key = key;
    rows.push_back(row);
  }
  return rows;
}

CoreFixture::CoreFixture(CoreOptions options, bool open) : core(options, test_partitioner, test_error_text) {
  if (!open) return;
  step(event::DatabaseOpened{});
  read_ready({});
}

void CoreFixture::step(const Event& event) {
  Commands out;
  core.step(steady, wall, event, out);
  sort_out(out, event);
}

void CoreFixture::sort_out(const Commands& out, const Event& event) {
  for (const command::Produce& produce : out.produce) {
    std::int64_t id = 0;
    if (const auto* rows = std::get_if<event::RowsRead>(&event)) id = rows->rows[produce.row_index].id;
    if (const auto* rows = std::get_if<event::ReadyRead>(&event)) id = rows->rows[produce.row_index].id;
    REQUIRE(id != 0);
    const Handed now{id, produce.producer, produce.generation, produce.partition};
    handed.push_back(now);
    last_handed[id] = now;
  }
  std::vector<std::string> asked;
  for (const Command& command : out.other) {
    if (const auto* mark = std::get_if<command::Mark>(&command)) {
      marks.push_back(*mark);
      all_marks.push_back(*mark);
    } else if (const auto* read = std::get_if<command::Read>(&command)) {
      REQUIRE_FALSE(reading);
      reading = *read;
    } else if (const auto* ready = std::get_if<command::ReadReady>(&command)) {
      REQUIRE_FALSE(reading_ready);
      reading_ready = *ready;
    } else if (const auto* rebuild = std::get_if<command::Rebuild>(&command)) {
      rebuilds.push_back(*rebuild);
    } else if (const auto* say = std::get_if<command::Say>(&command)) {
      words.push_back(say->text);
    } else if (const auto* describe = std::get_if<command::Describe>(&command);
               describe != nullptr && answer_descriptions) {
      asked.insert(asked.end(), describe->topics.begin(), describe->topics.end());
    } else {
      commands.push_back(command);
    }
  }
  for (const std::string& topic : asked) {
    ++descriptions;
    const auto known = facts.find(topic);
    step(event::TopicDescribed{topic, known != facts.end() ? known->second : usable_topic()});
  }
}

void CoreFixture::advance(std::chrono::milliseconds time) {
  steady += time;
  wall += time;
  step(event::Tick{});
}

void CoreFixture::read(const std::vector<TestRow>& rows, bool exhausted) {
  if (!reading && reading_ready) read_ready({});
  REQUIRE(reading);
  // A scan that met an unknown topic asks, is answered, and reads the same rows again.
  while (reading) {
    const command::Read now = *std::exchange(reading, std::nullopt);
    std::vector<store::OutboxRow> views;
    for (const TestRow& row : rows) {
      if (row.id > now.after) views.push_back(row.view());
    }
    const int asked_before = descriptions;
    step(event::RowsRead{now.database, now.after, views, exhausted, 0});
    if (asked_before == descriptions) return;
  }
}

void CoreFixture::read_ready(const std::vector<TestRow>& rows, bool exhausted) {
  if (!reading_ready && reading) read({});
  REQUIRE(reading_ready);
  while (reading_ready) {
    const command::ReadReady now = *std::exchange(reading_ready, std::nullopt);
    std::vector<store::OutboxRow> views;
    for (const TestRow& row : rows) views.push_back(row.view());
    const int asked_before = descriptions;
    step(event::ReadyRead{now.database, now.after, views, exhausted});
    if (asked_before == descriptions) return;
  }
}

void CoreFixture::report(std::int64_t row, ReportKind kind, int error) {
  const Handed& last = last_handed.at(row);
  event::Report report;
  report.row = row;
  report.producer = last.producer;
  report.generation = last.generation;
  report.kind = kind;
  report.error = error;
  report.partition = last.partition;
  if (kind == ReportKind::sent) report.offset = next_offset++;
  step(event::Reports{{&report, 1}});
}

void CoreFixture::ack(std::initializer_list<std::int64_t> rows) {
  for (const std::int64_t row : rows) report(row, ReportKind::sent);
}

void CoreFixture::producer_ready(ProducerKind kind) {
  REQUIRE_FALSE(rebuilds.empty());
  const command::Rebuild rebuild = rebuilds.front();
  REQUIRE(rebuild.producer == kind);
  rebuilds.erase(rebuilds.begin());
  step(event::ProducerReady{kind, rebuild.next_generation});
}

void CoreFixture::describe(const std::string& topic, const TopicFacts& facts_now) {
  facts[topic] = facts_now;
  step(event::TopicDescribed{topic, facts_now});
}

void CoreFixture::marked(std::vector<store::Lane> clear_lanes) {
  REQUIRE_FALSE(marks.empty());
  const command::Mark mark = marks.front();
  marks.pop_front();
  step(event::Marked{mark.database, mark.mark, {mark.settled_through, std::move(clear_lanes)}});
}

void CoreFixture::released(std::int64_t rows, bool more, std::int64_t through) {
  step(event::Released{0, rows, more, std::nullopt, through});
}

std::vector<std::int64_t> CoreFixture::take_handed_ids() {
  std::vector<std::int64_t> ids;
  for (const Handed& row : handed) ids.push_back(row.row);
  handed.clear();
  return ids;
}

bool CoreFixture::said(std::string_view part) const {
  for (const std::string& text : words) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace txbox::test
