// A small billing service: each order that comes from Kafka credits its account once, and is invoiced once.
#include <pthread.h>

#include <csignal>
#include <cstdio>

#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>

#include <txbox/base/error.hpp>
#include <txbox/base/log.hpp>
#include <txbox/inbox/consumer.hpp>

#include "billing.hpp"
#include "options.hpp"

namespace {

/// SIGTERM and SIGINT ask the consumer to stop. They are blocked in every thread (make this object before there are
/// others) and a thread of its own takes them, since a signal handler may not call request_stop().
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    waiter_ = std::thread([this] {
      int signal = 0;
      sigwait(&signals_, &signal);
      source_.request_stop();
    });
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals() {
    // Where no signal came this ends the wait, and nothing else: it is blocked there as well.
    pthread_kill(waiter_.native_handle(), SIGINT);
    waiter_.join();
  }
  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source source_;
  std::thread waiter_;
};

void say(txbox::LogLevel level, std::string_view text) {
  const char* word = "";
  switch (level) {
    case txbox::LogLevel::debug: return;
    case txbox::LogLevel::info: break;
    case txbox::LogLevel::warning: word = "warning: "; break;
    case txbox::LogLevel::error: word = "error: "; break;
  }
  std::fprintf(stderr, "billing_service: %s%.*s\n", word, static_cast<int>(text.size()), text.data());
}

/// Another program may keep the database locked for longer than a statement waits (5 s). The consumer's run waits for
/// it, however long that takes, and so does what comes before. False: a signal came first.
bool through_locks(const std::stop_token& stop, const std::function<void()>& step) {
  bool said = false;
  while (true) {
    try {
      step();
      return true;
    } catch (const txbox::Error& error) {
      if (error.code() != txbox::ErrorCode::busy) throw;
    }
    if (stop.stop_requested()) return false;
    if (!std::exchange(said, true)) {
      say(txbox::LogLevel::warning, "another program keeps the database locked; waiting for it");
    }
  }
}

void serve(const Options& options) {
  const StopSignals stop;
  auto kafka = options.kafka;
  kafka.emplace_back("bootstrap.servers", options.brokers);
  std::optional<txbox::inbox::Consumer> consumer;
  std::optional<Billing> billing;  // After the consumer, so destroyed before it: it borrows the connection.
  const bool ready = through_locks(stop.token(), [&] {
    if (!consumer) {
      consumer.emplace(
          txbox::inbox::ConsumerOptions{.database = options.db, .group = options.group, .kafka = kafka, .log = say});
    }
    billing.emplace(consumer->database(), options.invoices);
  });
  if (!ready) return;
  consumer->on(options.topic, [&](sqlite3*, const txbox::inbox::Message& message) { return billing->handle(message); });
  if (options.drain) {
    consumer->drain(stop.token());
  } else {
    consumer->run(stop.token());
  }
  const auto counts = consumer->counts();
  std::printf("%lld orders applied, %lld copies of them skipped, %lld messages given up\n",
              static_cast<long long>(counts.applied), static_cast<long long>(counts.duplicates),
              static_cast<long long>(counts.dead_lettered));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = parse_options(argc, argv);
    if (!options) {
      std::fputs(kUsage, stdout);
      return 0;
    }
    serve(*options);
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "billing_service: %s\n\n%s", error.what(), kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "billing_service: %s\n", error.what());
    return 1;
  }
}
