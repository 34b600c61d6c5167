#pragma once

#include <cstdint>
#include <optional>

namespace txbox::relay::demo {

struct DemoOptions {
  std::int64_t orders = 1500;  ///< Committed ones; about one in ten more is rolled back.
  std::optional<std::uint64_t>
      seed;           ///< The same seed: the same orders, roll-backs and moments to kill. None: a new one.
  bool json = false;  ///< The balance as one JSON object on stdout, the words on stderr.
};

/// `outbox-relay demo`, the whole story: an order service, a careless second producer and Kafka as librdkafka's mock
/// cluster in this process; the relay (`run`) and the consumer (a hidden command) as child processes, this very
/// executable, that are killed with SIGKILL again and again. At the end the topic is read from its beginning and held
/// against the orders, and so are the accounts in the consumer's database. Everything lives in a folder that is
/// removed. Returns the exit code: 0 when the balance holds, 1 when anything was lost, invented, altered, out of order,
/// not applied or applied twice. Throws what keeps the story from being told. One call at a time; it handles SIGINT and
/// SIGTERM while it runs.
int run_demo(const DemoOptions& options);

}  // namespace txbox::relay::demo
