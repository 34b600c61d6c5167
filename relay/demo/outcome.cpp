#include "relay/demo/outcome.hpp"

#include "relay/demo/number_text.hpp"

namespace txbox::relay::demo {
namespace {

class Faults {
 public:
  void add(std::int64_t count, const std::string& noun, const std::string& what) {
    if (count != 0) add(counted(count, noun) + " " + what);
  }
  void add(const std::string& text) { text_ += (text_.empty() ? "" : "; ") + text; }
  [[nodiscard]] std::string text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

bool Outcome::holds() const noexcept {
  return topic.holds() && books.holds() && relay.failures == 0 && consumer.failures == 0 && consumer.unread == 0 &&
         receipts == topic.committed && books.orders == topic.committed;
}

std::string Outcome::faults() const {
  Faults faults;
  faults.add(topic.lost, "committed order", "missing in Kafka");
  faults.add(topic.invented, "record", "in Kafka that nobody committed");
  faults.add(topic.altered, "record", "in Kafka other than committed");
  faults.add(topic.out_of_order, "record", "out of order");
  if (receipts != topic.committed) faults.add(receipts - topic.committed, "receipt", "too many");
  if (books.orders != topic.committed)
    faults.add(books.orders - topic.committed, "row", "too many in the table orders");
  faults.add(books.never_applied, "order", "never applied");
  faults.add(books.applied_twice, "order", "applied once more");
  faults.add(books.never_ordered, "credit", "of no committed order");
  faults.add(books.misbilled, "credit", "of another account or amount");
  faults.add(books.accounts_off, "account", "wrong");
  if (books.billing_cents != books.shop_cents) {
    const std::int64_t off = books.billing_cents - books.shop_cents;
    faults.add("the accounts are " + as_money(off < 0 ? -off : off) + (off < 0 ? " short" : " too high"));
  }
  faults.add(consumer.unread, "record", "never read by the billing");
  faults.add(relay.failures, "failure", "of the relay");
  faults.add(consumer.failures, "failure", "of the billing");
  return faults.text();
}

}  // namespace txbox::relay::demo
