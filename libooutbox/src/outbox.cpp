#include <txbox/outbox/outbox.hpp>

#include <txbox/store/outbox_writer.hpp>
#include <txbox/store/schema.hpp>

namespace txbox::outbox {

void install(sqlite3* db, const InstallOptions& options) {
  store::install(db, {.max_record_bytes = options.max_record_bytes});
}

struct Outbox::State {
  explicit State(sqlite3* db) : writer(db) {}
  store::OutboxWriter writer;
};

Outbox::Outbox(sqlite3* db) : state_(std::make_unique<State>(db)) {}

Outbox::~Outbox() = default;

std::string Outbox::add(const Event& event) {
  return state_->writer.insert({.event_id = event.event_id,
                                .topic = event.topic,
                                .partition = event.partition,
                                .key = event.key,
                                .payload = event.payload,
                                .headers = &event.headers,
                                .deliver_at_ms = event.deliver_at_ms});
}

}  // namespace txbox::outbox
