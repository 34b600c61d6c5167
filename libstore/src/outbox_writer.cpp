#include <array>

#include <sqlite3.h>

#include <txbox/base/clock.hpp>
#include <txbox/base/error.hpp>
#include <txbox/base/event_id.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/base/utf8.hpp>
#include <txbox/store/headers_json.hpp>
#include <txbox/store/outbox_writer.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/statement.hpp>

#include "guest.hpp"

namespace txbox::store {

namespace {

// main. everywhere: a TEMP table or an ATTACHed file may carry the same name. nonce and created_at are given here so
// that the event id is known without reading the row back; the guards check them like anybody's.
constexpr std::string_view kInsert =
    "INSERT INTO main.outbox(event_id, nonce, topic, partition, key, payload, headers, created_at, deliver_at, as_is)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

constexpr std::string_view kRemove = "DELETE FROM main.outbox WHERE id = ?1";

/// Text where it is text, so that people can read the table; the same bytes go to Kafka either way.
void bind_bytes(Statement& statement, int index, BytesView bytes) {
  const bool has_nul = bytes.view().find('\0') != std::string_view::npos;
  const bool text = !bytes.is_null() && !has_nul && base::is_utf8(bytes.view());
  if (text) {
    statement.bind(index, bytes.view());
  } else {
    statement.bind_blob(index, bytes);
  }
}

}  // namespace

struct OutboxWriter::State {
  explicit State(sqlite3* connection) : db(connection), insert(connection, kInsert) {}

  void run(const NewEvent& event, BytesView nonce, std::int64_t created_at_ms) {
    std::string headers;
    const ResetGuard guard(insert);
    if (!event.event_id.empty()) insert.bind(1, event.event_id);
    insert.bind_blob(2, nonce)
        .bind(3, event.topic)
        .bind(4, event.partition ? std::optional<std::int64_t>(*event.partition) : std::nullopt);
    bind_bytes(insert, 5, event.key);
    bind_bytes(insert, 6, event.payload);
    if (event.headers != nullptr && !event.headers->empty()) {
      headers = headers_to_json(*event.headers, event.as_is);
      insert.bind(7, std::string_view(headers));
    }
    insert.bind(8, created_at_ms).bind(9, event.deliver_at_ms).bind(10, std::int64_t{event.as_is});
    TXBOX_FAILPOINT("outbox:insert");
    while (insert.step()) {
    }
  }

  /// SQLite compiles the statement anew when the schema changed under it, which an init with another limit does. The
  /// row is in by then, so a schema that lost its guards is found afterwards and the row taken out again.
  void check_changed_schema() {
    const int prepared_again = insert.times_prepared_again();
    if (prepared_again == known_prepared_again) return;
    try {
      verify_outbox_schema(db);
    } catch (const Error& error) {
      // A newer txbox keeps the plain SQL contract, and this was a plain INSERT.
      if (error.code() != ErrorCode::schema_newer) {
        throw Error(error.code(), error.what() + std::string(take_out_again()), sqlite3_get_autocommit(db) == 0);
      }
    }
    known_prepared_again = prepared_again;
  }

  /// Words to add where it did not work: the guard against DELETE may still be there while another one is lost.
  std::string_view take_out_again() {
    try {
      Statement remove(db, kRemove);
      remove.bind(1, sqlite3_last_insert_rowid(db));
      remove.execute();
    } catch (const Error&) {
      return "; roll this transaction back, the event is still in it";
    }
    return "";
  }

  sqlite3* db;
  Statement insert;
  int known_prepared_again = 0;
};

OutboxWriter::OutboxWriter(sqlite3* db) {
  try {
    verify_outbox_schema(db);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_installed) refuse_attached(db, "outbox");
    throw Error(error.code(), error.what(), sqlite3_get_autocommit(db) == 0);
  }
  state_ = std::make_unique<State>(db);
}

OutboxWriter::~OutboxWriter() = default;

std::string OutboxWriter::insert(const NewEvent& event) {
  sqlite3* db = state_->db;
  require_transaction(db, "adding an event");
  const KeepLastRowid keep(db);
  std::array<std::uint8_t, kNonceSize> nonce{};
  // SQLite's own generator, as the column's default uses: it is seeded anew in a process that was forked.
  sqlite3_randomness(static_cast<int>(nonce.size()), nonce.data());
  const std::int64_t created_at_ms = to_ms(system_clock().wall_now());
  try {
    state_->run(event, BytesView(nonce.data(), nonce.size()), created_at_ms);
    state_->check_changed_schema();
  } catch (const Error& error) {
    rethrow_to_guest(db, error, "adding an event");
  }
  if (!event.event_id.empty()) return std::string(event.event_id);
  return event_id_from(created_at_ms, nonce);
}

}  // namespace txbox::store
