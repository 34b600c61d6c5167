// The child that bench_inbox_apply times: txbox::inbox::Consumer as an application would use it, with a handler that
// credits one account, draining a topic into a file. `bench_inbox_consumer BROKERS TOPIC FILE`; prints one line of
// JSON: when the first message came, in seconds since the start of main.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <txbox/inbox/consumer.hpp>

#include "tests/bench/support/accounts.hpp"
#include "tests/bench/support/arguments.hpp"
#include "tests/bench/support/records.hpp"

namespace {

using namespace txbox::bench;
using Clock = std::chrono::steady_clock;

void drain(const std::string& brokers, const std::string& topic, const std::string& file) {
  const Clock::time_point start = Clock::now();
  txbox::inbox::ConsumerOptions options;
  options.database = file;
  // Of its own for every run, since the committed offsets of a group outlive the file.
  options.group = topic + "-" + std::to_string(getpid());
  options.kafka = {{"bootstrap.servers", brokers}};
  options.log = [](txbox::LogLevel level, std::string_view text) {
    if (level != txbox::LogLevel::info) std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  };
  txbox::inbox::Consumer consumer(options);
  Accounts accounts(consumer.database());
  std::optional<Clock::time_point> first;
  consumer.on(topic, [&](sqlite3*, const txbox::inbox::Message& message) {
    if (!first) first = Clock::now();
    const std::int64_t number = number_in(message.payload.view().data(), message.payload.size());
    accounts.credit(message.key.view(), number);
    return txbox::inbox::done;
  });
  consumer.drain(std::stop_token());
  if (!first) throw std::runtime_error("no message came");
  const std::chrono::duration<double> waited = *first - start;
  std::printf("%s\n", nlohmann::json{{"first_message_s", waited.count()}}.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return run("bench_inbox_consumer", [&] {
    if (argc != 4) throw std::invalid_argument("usage: bench_inbox_consumer BROKERS TOPIC FILE");
    drain(argv[1], argv[2], argv[3]);
  });
}
