#include "relay/demo/order_desk.hpp"

#include <chrono>
#include <utility>

#include <txbox/base/random.hpp>
#include <txbox/outbox/outbox.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/statement.hpp>

namespace txbox::relay::demo {
namespace {

constexpr std::uint64_t kAccounts = 20;
constexpr std::uint64_t kOneInRollsBack = 10;

store::Connection open_shop(const std::string& path) {
  return store::Connection::open(path,
                                 {.purpose = store::OpenPurpose::create, .busy_deadline = std::chrono::seconds(30)});
}

struct Order {
  std::string id;
  std::string account;
  std::int64_t amount_cents = 0;
  bool rolls_back = false;  ///< The customer changes their mind before the COMMIT.

  [[nodiscard]] std::string to_json() const {
    return R"({"order_id":")" + id + R"(","account":")" + account + R"(","amount_cents":)" +
           std::to_string(amount_cents) + "}";
  }
};

Order next_order(Random& random, std::int64_t number) {
  return {.id = "order-" + std::to_string(number),
          .account = "account-" + std::to_string(random.below(kAccounts) + 1),
          .amount_cents = static_cast<std::int64_t>(random.below(20'000) + 100),
          .rolls_back = random.below(kOneInRollsBack) == 0};
}

}  // namespace

OrderDesk::OrderDesk(const OrderDeskOptions& options) : options_(options) {
  const store::Connection shop = open_shop(options.db);
  store::execute(shop.handle(),
                 "CREATE TABLE orders(id TEXT PRIMARY KEY, account TEXT NOT NULL, amount_cents INTEGER NOT NULL)");
  outbox::install(shop.handle());
}

OrderDesk::~OrderDesk() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void OrderDesk::open() {
  thread_ = std::thread([this] {
    try {
      serve();
    } catch (...) {
      failure_ = std::current_exception();
    }
    done_ = true;
  });
}

const Ledger& OrderDesk::close() {
  if (thread_.joinable()) thread_.join();
  if (failure_) std::rethrow_exception(failure_);
  return ledger_;
}

void OrderDesk::serve() {
  const store::Connection shop = open_shop(options_.db);
  outbox::Outbox outbox(shop.handle());
  store::Statement insert(shop.handle(), "INSERT INTO orders VALUES (?1, ?2, ?3)");
  SeededRandom random(options_.seed);

  const std::chrono::duration<double> interval(1.0 / options_.orders_per_second);
  auto due = std::chrono::steady_clock::now();
  for (std::int64_t number = 1; committed_ < options_.orders; ++number) {
    const Order order = next_order(random, number);
    const std::string payload = order.to_json();

    store::execute(shop.handle(), "BEGIN IMMEDIATE");
    insert.bind(1, order.id).bind(2, order.account).bind(3, order.amount_cents).execute();
    std::string event_id = outbox.add(
        {.topic = options_.topic, .key = order.account, .payload = payload, .headers = {{"type", "OrderPlaced"}}});
    store::execute(shop.handle(), order.rolls_back ? "ROLLBACK" : "COMMIT");

    if (order.rolls_back) {
      ledger_.rolled_back = ++rolled_back_;
    } else {
      ledger_.committed.push_back({std::move(event_id), order.account, payload});
      ++committed_;
    }
    due += std::chrono::duration_cast<std::chrono::steady_clock::duration>(interval);
    std::unique_lock lock(mutex_);
    if (wake_.wait_until(lock, due, [this] { return stopping_; })) return;
  }
}

}  // namespace txbox::relay::demo
