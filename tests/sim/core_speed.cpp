// How long the core takes for one row from RowsRead to Marked, alone: core_speed [ROWS] [KEYS]. Prints one JSON line.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "relay/engine/core.hpp"

using namespace txbox;
using namespace txbox::relay;

namespace {

/// As expensive as the real one: a pass over the key's bytes.
std::int32_t partition_of(std::string_view key, std::int32_t count) {
  std::uint32_t hash = 0x9747b28c;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x5bd1e995;
  return static_cast<std::int32_t>(hash % static_cast<std::uint32_t>(count));
}

std::string error_text(int error) { return std::to_string(error); }

struct Table {
  std::vector<std::string> keys;
  std::string payload = std::string(200, 'x');
  std::int64_t rows = 0;

  void read(const command::Read& read, std::vector<store::OutboxRow>& out) const {
    out.clear();
    for (std::int64_t id = read.after + 1; id <= rows && id <= read.after + read.limits.rows; ++id) {
      store::OutboxRow& row = out.emplace_back();
      row.id = id;
      row.nonce_prefix = static_cast<std::uint64_t>(id);
      row.nonce = "0123456789";
      row.topic = "orders";
      row.key = BytesView(std::string_view(keys[static_cast<std::size_t>(id) % keys.size()]));
      row.payload = BytesView(std::string_view(payload));
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  Table table;
  table.rows = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const std::int64_t key_count = argc > 2 ? std::atoll(argv[2]) : 1'000;
  for (std::int64_t key = 0; key < key_count; ++key) table.keys.push_back("customer-" + std::to_string(key));

  Core core(CoreOptions{}, partition_of, error_text);
  const WallTime wall(std::chrono::milliseconds(1'700'000'000'000));
  Commands out;
  std::vector<store::OutboxRow> rows;
  std::vector<event::Report> reports;
  std::deque<Command> todo;
  std::int64_t offset = 0;
  std::chrono::nanoseconds in_core{0};
  const auto step = [&](const Event& event) {
    out.clear();
    const auto start = std::chrono::steady_clock::now();
    core.step(start, wall, event, out);
    in_core += std::chrono::steady_clock::now() - start;
    for (Command& command : out.other) todo.push_back(std::move(command));
    for (const command::Produce& produce : out.produce) {
      reports.push_back({0, rows[produce.row_index].id, produce.producer, produce.generation, ReportKind::sent, 0,
                         produce.partition, offset++});
    }
  };
  step(event::DatabaseOpened{});
  while (core.status().settled_through[0] < table.rows) {
    if (!todo.empty()) {
      const Command command = std::move(todo.front());
      todo.pop_front();
      if (const auto* read = std::get_if<command::Read>(&command)) {
        table.read(*read, rows);
        step(event::RowsRead{0, read->after, rows, rows.empty() || rows.back().id == table.rows, table.rows});
      } else if (std::holds_alternative<command::ReadReady>(command)) {
        step(event::ReadyRead{0, 0, {}, true});
      } else if (const auto* describe = std::get_if<command::Describe>(&command)) {
        for (const std::string& topic : describe->topics) {
          step(event::TopicDescribed{
              topic, {.state = TopicFacts::State::usable, .partitions = 3, .message_bytes_max = 1'048'588}});
        }
      } else if (const auto* mark = std::get_if<command::Mark>(&command)) {
        step(event::Marked{0, mark->mark, {mark->settled_through, {}}});
      }
      continue;
    }
    if (reports.empty()) {
      step(event::Tick{});
      continue;
    }
    std::vector<event::Report> some;
    some.swap(reports);
    step(event::Reports{some});
  }
  const double seconds = std::chrono::duration<double>(in_core).count();
  std::printf("{\"name\":\"core_speed\",\"rows\":%lld,\"keys\":%lld,\"core_seconds\":%.3f,\"ns_per_row\":%.0f}\n",
              static_cast<long long>(table.rows), static_cast<long long>(key_count), seconds,
              seconds * 1e9 / static_cast<double>(table.rows));
  return 0;
}
