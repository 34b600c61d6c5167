// The example that the documents show, but for the width of its lines: it must compile as it stands and do what it
// says.
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <txbox/inbox/consumer.hpp>
#include <txbox/outbox/outbox.hpp>

#include "inbox_member.hpp"
#include "mock_kafka.hpp"

namespace {

std::string invoice = R"({"amount_cents":1250})";
std::function<void()> credited;

void credit(sqlite3* db, const txbox::inbox::Message& message) {
  txbox::test::execute(db, "INSERT INTO credits VALUES ('" + message.event_id + "')");
  credited();
}

// clang-format off
void bill(const std::string& brokers, const std::stop_token& stop_token) {
txbox::inbox::Consumer consumer({.database = "billing.db", .group = "billing",
                                 .kafka = {{"bootstrap.servers", brokers}}});
txbox::outbox::install(consumer.database());              // the consumer made its own tables; the outbox is a wish
txbox::outbox::Outbox outbox(consumer.database());        // the two libraries never see each other
consumer.on("orders", [&](sqlite3* db, const txbox::inbox::Message& message) -> txbox::inbox::Outcome {
  credit(db, message);                       // inside the open transaction
  outbox.add({.topic = "invoices", .key = message.key, .payload = invoice});   // commits with the effect, or not at all
  return txbox::inbox::done;                 // or retry_after(5s), or park("reason"); a throw is a failed attempt
});
consumer.run(stop_token);                    // commits the database first, Kafka after
}
// clang-format on

}  // namespace

TEST_CASE("the example of the documents bills an order once") {
  const txbox::test::TempDir dir;
  std::filesystem::current_path(dir.path());
  txbox::test::mock_kafka().create_topic("orders", 1);
  txbox::test::publish("orders", {txbox::test::event("order-1"), txbox::test::event("order-1")});
  txbox::test::AppDatabase(dir.file("billing.db")).run("CREATE TABLE credits(event_id TEXT)");
  std::stop_source stop;
  credited = [&stop] { stop.request_stop(); };
  bill(txbox::test::mock_kafka().bootstrap_servers(), stop.get_token());
  txbox::test::AppDatabase app(dir.file("billing.db"));
  CHECK(app.text("SELECT group_concat(event_id) FROM credits") == "order-1");
  CHECK(app.text("SELECT topic || ' ' || key FROM outbox") == "invoices k");
  CHECK(app.number("SELECT count(*) FROM outbox") == 1);
}
