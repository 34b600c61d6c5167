// How fast the store reads and marks, in CPU time so that a busy machine does not matter:
// `store_speed FILE [ROWS]` fills a new file with rows of 200 bytes and prints one JSON line.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <txbox/base/error.hpp>
#include <txbox/store/statement.hpp>

#include "support/relay_store.hpp"

namespace {

using txbox::store::Connection;

double cpu_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

void fill(const std::string& path, std::int64_t rows) {
  const Connection app = Connection::open(path, {.purpose = txbox::store::OpenPurpose::create});
  txbox::store::install(app.handle(), {});
  const std::string text = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                           std::to_string(rows) +
                           ") INSERT INTO outbox(topic, key, payload)"
                           " SELECT 'orders', 'account-' || (i % 1000), substr(hex(zeroblob(100)), 1, 190) FROM n";
  txbox::store::execute(app.handle(), text.c_str());
}

struct Speed {
  double read_rows_per_s = 0;
  double mark_rows_per_s = 0;
  double mark_ms_p50 = 0;
  double mark_ms_p99 = 0;
};

Speed measure(txbox::test::RelaySide& relay, std::int64_t rows) {
  std::vector<double> marks;
  double read_ms = 0;
  double mark_ms = 0;
  std::int64_t cursor = 0;
  std::vector<txbox::store::Receipt> receipts;
  while (cursor < rows) {
    double began = cpu_ms();
    relay.reader.read_after(cursor, {}, relay.batch);
    read_ms += cpu_ms() - began;
    receipts.clear();
    for (const auto& row : relay.batch.rows()) {
      receipts.push_back(
          {.id = row.id, .nonce_prefix = row.nonce_prefix, .partition = 1, .offset = row.id, .sent_at_ms = 1});
    }
    cursor = relay.batch.rows().back().id;
    began = cpu_ms();
    relay.marker.mark({.receipts = receipts, .holds = {}, .settled_through = cursor, .lanes = {}});
    marks.push_back(cpu_ms() - began);
    mark_ms += marks.back();
  }
  std::sort(marks.begin(), marks.end());
  const auto all = static_cast<double>(rows);
  return {all / read_ms * 1e3, all / mark_ms * 1e3, marks[marks.size() / 2], marks[marks.size() * 99 / 100]};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "store_speed FILE [ROWS]\n");
    return 2;
  }
  try {
    const std::int64_t rows = argc > 2 ? std::atoll(argv[2]) : 500'000;
    fill(argv[1], rows);
    txbox::test::RelaySide relay(argv[1]);
    const Speed speed = measure(relay, rows);
    std::printf(R"({"name":"store_speed","rows":%lld,"read_rows_per_cpu_s":%.0f,"mark_rows_per_cpu_s":%.0f,)"
                R"("mark_2000_ms_p50":%.2f,"mark_2000_ms_p99":%.2f})"
                "\n",
                static_cast<long long>(rows), speed.read_rows_per_s, speed.mark_rows_per_s, speed.mark_ms_p50,
                speed.mark_ms_p99);
    return 0;
  } catch (const txbox::Error& error) {
    std::fprintf(stderr, "store_speed: %s\n", error.what());
    return 1;
  }
}
