#include "relay/demo/final_table.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "relay/demo/number_text.hpp"

namespace txbox::relay::demo {
namespace {

void row(Narrator& narrator, std::string_view name, std::int64_t count, std::string_view remark, bool good = true) {
  narrator.row({.name = name, .value = with_commas(count), .remark = remark, .good = good});
}

void tell_orders(Narrator& narrator, const Outcome& outcome) {
  const Balance& topic = outcome.topic;
  const BooksBalance& books = outcome.books;
  row(narrator, "orders committed", topic.committed, "by the shop, each together with its event",
      books.orders == topic.committed);
  row(narrator, "rolled back", topic.rolled_back, "with their events: nobody may ever see them");
  row(narrator, "published", topic.published, "committed orders that Kafka holds at least once", topic.lost == 0);
  row(narrator, "receipts", outcome.receipts, "rows that the shop's outbox itself calls sent",
      outcome.receipts == topic.committed);
  row(narrator, "applied", books.applied, "orders that the billing has credited", books.never_applied == 0);
  narrator.row({});
}

void tell_copies(Narrator& narrator, const Outcome& outcome) {
  const Balance& topic = outcome.topic;
  const ConsumerLives& consumer = outcome.consumer;
  row(narrator, "records in Kafka", topic.records, "");
  row(narrator, "  sent again by relay", topic.duplicates - topic.copies, "after a kill, when it could not know");
  row(narrator, "  sent by copier", topic.copies, "with the same id, key and payload");
  row(narrator, "delivered to billing", consumer.delivered, "read, and committed with their effect",
      consumer.unread == 0);
  row(narrator, "  duplicates skipped", outcome.skipped(), "their id had been claimed before");
  narrator.row({});
}

void tell_kills(Narrator& narrator, const Outcome& outcome) {
  const ConsumerLives& consumer = outcome.consumer;
  row(narrator, "relay killed", outcome.relay.kills,
      "with SIGKILL, " + std::to_string(outcome.relay.kills_after_publishing) + " of them after it had published");
  row(narrator, "billing killed", consumer.kills,
      "with SIGKILL, " + std::to_string(consumer.kills_after_applying) + " of them after it had applied");
  row(narrator, "  effects undone", consumer.undone, "their transaction was open when the kill came");
  narrator.row({});
}

void tell_money(Narrator& narrator, const Outcome& outcome) {
  const BooksBalance& books = outcome.books;
  const bool even = books.shop_cents == books.billing_cents;
  narrator.row({.name = "sold by the shop", .value = as_money(books.shop_cents), .remark = "the orders in shop.db"});
  const std::string accounts = counted(books.accounts, "account") + " in billing.db";
  narrator.row({.name = "billed",
                .value = as_money(books.billing_cents),
                .remark = accounts,
                .good = even && books.accounts_off == 0});
  narrator.row({});
}

void tell_faults(Narrator& narrator, const Outcome& outcome) {
  const Balance& topic = outcome.topic;
  const BooksBalance& books = outcome.books;
  const auto fault = [&narrator](std::string_view name, std::int64_t count, std::string_view remark) {
    row(narrator, name, count, remark, count == 0);
  };
  fault("lost", topic.lost, "committed, but not in Kafka");
  fault("never applied", books.never_applied, "committed, but not credited");
  fault("applied twice", books.applied_twice, "credits beyond the first of an order");
  fault("invented", topic.invented + books.never_ordered, "in Kafka or credited, but never committed");
  fault("altered", topic.altered + books.misbilled, "other than was committed, in Kafka or in a credit");
  fault("out of order", topic.out_of_order, "within an account, by first occurrence in Kafka");
  fault("accounts off", books.accounts_off, "by a cent or more, or by an order");
}

}  // namespace

void tell_outcome(Narrator& narrator, const Outcome& outcome) {
  narrator.heading("The balance");
  tell_orders(narrator, outcome);
  tell_copies(narrator, outcome);
  tell_kills(narrator, outcome);
  tell_money(narrator, outcome);
  tell_faults(narrator, outcome);
  const std::string aside = "  (" + in_seconds(outcome.took) + ", --seed " + std::to_string(outcome.seed) + ")";
  if (outcome.holds()) {
    narrator.verdict("The balance holds: every order applied exactly once, to the cent.", aside, true);
  } else {
    narrator.verdict("The balance does not hold: " + outcome.faults() + ".", aside, false);
  }
  if (!narrator.json()) return;
  std::printf("%s\n", to_json(outcome).c_str());
  std::fflush(stdout);
}

std::string to_json(const Outcome& outcome) {
  const Balance& topic = outcome.topic;
  const BooksBalance& books = outcome.books;
  const ConsumerLives& consumer = outcome.consumer;
  const nlohmann::ordered_json object = {{"committed", topic.committed},
                                         {"published", topic.published},
                                         {"receipts", outcome.receipts},
                                         {"records", topic.records},
                                         {"duplicates", topic.duplicates},
                                         {"copies", topic.copies},
                                         {"rolled_back", topic.rolled_back},
                                         {"accounts", topic.accounts},
                                         {"kills", outcome.relay.kills},
                                         {"kills_after_publishing", outcome.relay.kills_after_publishing},
                                         {"relay_failures", outcome.relay.failures},
                                         {"delivered", consumer.delivered},
                                         {"unread", consumer.unread},
                                         {"applied", books.applied},
                                         {"skipped", outcome.skipped()},
                                         {"consumer_kills", consumer.kills},
                                         {"consumer_kills_after_applying", consumer.kills_after_applying},
                                         {"undone", consumer.undone},
                                         {"consumer_failures", consumer.failures},
                                         {"shop_cents", books.shop_cents},
                                         {"billing_cents", books.billing_cents},
                                         {"lost", topic.lost},
                                         {"invented", topic.invented},
                                         {"altered", topic.altered},
                                         {"out_of_order", topic.out_of_order},
                                         {"never_applied", books.never_applied},
                                         {"applied_twice", books.applied_twice},
                                         {"never_ordered", books.never_ordered},
                                         {"misbilled", books.misbilled},
                                         {"accounts_off", books.accounts_off},
                                         {"holds", outcome.holds()},
                                         {"seed", outcome.seed},
                                         {"seconds", static_cast<double>(outcome.took.count()) / 1000.0}};
  return object.dump();
}

}  // namespace txbox::relay::demo
