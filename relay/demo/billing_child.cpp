#include "relay/demo/billing_child.hpp"

#include <csignal>
#include <cstdio>
#include <ctime>
#include <stop_token>
#include <string_view>
#include <thread>

#include <txbox/inbox/consumer.hpp>
#include <txbox/store/statement.hpp>

#include "relay/demo/billing_desk.hpp"
#include "relay/demo/handler_tally.hpp"

namespace txbox::relay::demo {
namespace {

/// SIGTERM and SIGINT as a stop token. Make it before any other thread, which then inherits the blocked signals.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    waiter_ = std::jthread([this](const std::stop_token& over) { wait(over); });
  }
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  void wait(const std::stop_token& over) {
    constexpr timespec kPatience{.tv_sec = 0, .tv_nsec = 100'000'000};
    while (!over.stop_requested()) {
      if (sigtimedwait(&signals_, nullptr, &kPatience) > 0) stop_.request_stop();
    }
  }

  sigset_t signals_{};
  std::stop_source stop_;
  std::jthread waiter_;
};

void log_line(LogLevel level, std::string_view text) {
  if (level == LogLevel::debug) return;
  const char* word = level == LogLevel::info ? "" : level == LogLevel::warning ? "warning: " : "error: ";
  std::fprintf(stderr, "%s%.*s\n", word, static_cast<int>(text.size()), text.data());
}

}  // namespace

void run_billing(const BillingOptions& options) {
  const StopOnSignal stop;
  HandlerTally tally(options.tally);
  inbox::Consumer consumer({
      .database = options.db,
      .group = options.group,
      // The mock cluster's groups wait for three seconds at first, so a session must be longer. Its brokers answer an
      // empty fetch only after the whole wait. Without sparse connections a start is not a second late now and then.
      .kafka = {{"bootstrap.servers", options.brokers},
                {"session.timeout.ms", "4000"},
                {"heartbeat.interval.ms", "300"},
                {"fetch.wait.max.ms", "10"},
                {"enable.sparse.connections", "false"}},
      // After a kill the first messages of a partition commit one by one, as many as make a batch.
      .batch_messages = 200,
      .log = log_line,
  });
  // A kill is no power cut, so a slow disk need not set the pace. Kafka hears of a position after a sync in any case.
  store::execute(consumer.database(), "PRAGMA synchronous=NORMAL");
  BillingDesk desk(consumer.database());
  consumer.on(options.topic, [&](sqlite3*, const inbox::Message& message) {
    desk.apply(message.payload, message.offset == 0);
    tally.add();
    return inbox::done;
  });
  consumer.run(stop.token());
}

}  // namespace txbox::relay::demo
