#include <txbox/inbox/inbox.hpp>

#include <txbox/store/inbox_claims.hpp>
#include <txbox/store/schema.hpp>

namespace txbox::inbox {

void install(sqlite3* db) { store::install(db, {.outbox = false}); }

struct Inbox::State {
  State(sqlite3* db, std::string_view consumer_group) : claims(db, consumer_group) {}
  store::InboxClaims claims;
};

Inbox::Inbox(sqlite3* db, std::string_view consumer_group) : state_(std::make_unique<State>(db, consumer_group)) {}

Inbox::~Inbox() = default;

Claim Inbox::claim(std::string_view event_id) {
  return state_->claims.claim(event_id) ? Claim::first : Claim::duplicate;
}

}  // namespace txbox::inbox
