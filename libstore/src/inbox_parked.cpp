#include <txbox/base/failpoint.hpp>
#include <txbox/store/headers_json.hpp>

#include "inbox_sql.hpp"
#include "inbox_state.hpp"
#include "schema/check.hpp"
#include "schema/objects.hpp"

namespace txbox::store {

void InboxStore::park_message(const ParkedMessage& message) {
  State& state = *state_;
  state.require_batch("parking a message");
  const std::string headers = message.headers.empty() ? std::string() : foreign_headers_to_json(message.headers);
  Statement park(state.db(), sql::kParkMessage);
  state.bind_place(park, message.place).bind(5, message.offset);
  if (message.event_id) park.bind(6, *message.event_id);
  park.bind_blob(7, message.key).bind_blob(8, message.payload);
  if (!headers.empty()) park.bind(9, std::string_view(headers));
  park.bind(10, message.timestamp_ms).bind(11, std::int64_t{message.attempts}).bind(12, bounded_text(message.reason));
  park.bind(13, inbox_now_ms());
  park.execute();
  TXBOX_FAILPOINT("inbox:parked");
}

bool has_outbox(sqlite3* db) {
  return schema::presence_of(db, schema::shared_part()) == schema::Presence::whole &&
         schema::presence_of(db, schema::outbox_part()) == schema::Presence::whole;
}

}  // namespace txbox::store
