#include "libinbox/src/consumer/database_side.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include <sqlite3.h>

#include <txbox/base/clock.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/statement.hpp>

#include "libinbox/src/consumer/database_trouble.hpp"
#include "libinbox/src/consumer/dead_letter.hpp"
#include "libinbox/src/consumer/error_text.hpp"
#include "libinbox/src/consumer/positions.hpp"

namespace txbox::inbox::consumer {

namespace {

using Kept = event::DeadLettered::Kept;

store::InboxPlace to_store(const Place& place) { return {.topic = place.topic, .partition = place.partition}; }

Error transaction_was_ended(const Message& message) {
  return {ErrorCode::no_transaction,
          "the handler of topic '" + message.topic +
              "' ended the transaction that it ran in, so that its effect and the claim of the event no longer commit "
              "together: leave BEGIN, COMMIT and ROLLBACK to the consumer (savepoints are free)"};
}

event::Applied applied(event::Applied::Kind kind, std::string reason = {}, std::chrono::milliseconds delay = {}) {
  return {.kind = kind, .delay = delay, .reason = std::move(reason)};
}

event::Closed closed(event::Closed::Result result, std::string reason = {}) {
  return {.result = result, .reason = std::move(reason)};
}

}  // namespace

DatabaseSide::DatabaseSide(store::Connection& connection, const ConsumerOptions& options)
    : connection_(connection), options_(options), store_(connection, options.group) {}

const store::InboxPlace& DatabaseSide::place_of(const Message& message) {
  place_.partition = message.partition;
  if (place_.topic != message.topic) place_.topic = message.topic;
  return place_;
}

void DatabaseSide::check_ready() {
  if (sqlite3_get_autocommit(connection_.handle()) == 0) {
    throw Error(ErrorCode::invalid_argument,
                "a transaction is open on the consumer's connection: commit it before run()", true);
  }
  store::Statement pragma(connection_.handle(), "PRAGMA synchronous");
  const store::ResetGuard guard(pragma);
  if (pragma.step() && pragma.column_int64(0) == 0) {
    throw Error(ErrorCode::configuration,
                "synchronous=OFF on the consumer's connection: after a power cut Kafka would be ahead of the database; "
                "leave it at FULL, or set NORMAL");
  }
  if (options_.dead_letters == DeadLetters::outbox && !store::has_outbox(connection_.handle())) {
    throw Error(ErrorCode::not_installed, connection_.path() +
                                              ": dead letters are to go through the outbox, and there is none: call "
                                              "txbox::outbox::install, or choose DeadLetters::automatic");
  }
}

bool DatabaseSide::use_cluster(const std::string& cluster_id) {
  try {
    store_.use_cluster(cluster_id);
    return true;
  } catch (const Error& error) {
    if (!may_be_done_again(error.code())) throw;
    return false;
  }
}

void DatabaseSide::load(event::PositionsLoaded::Loaded& loaded) {
  const store::InboxPlace place = to_store(loaded.place);
  std::int64_t from_offset = 0;
  if (const auto position = store_.position(place)) {
    loaded.stored = {
        .next_offset = position->next_offset, .reset_to = position->reset_to, .assignment = position->assignment};
    from_offset = position->next_offset;
  }
  for (const store::InboxStore::Attempts& attempts : store_.attempts(place, from_offset)) {
    loaded.tries.push_back({.offset = attempts.offset,
                            .started = attempts.started,
                            .failed = attempts.failed,
                            .next_try_at_ms = attempts.next_try_at_ms,
                            .recorded_at_ms = attempts.updated_at_ms});
  }
}

Event DatabaseSide::take(const command::Take& take) {
  std::vector<store::InboxStore::Take> takes;
  for (const command::Take::One& one : take.places) {
    takes.push_back({.place = to_store(one.place),
                     .set_next = one.set_next,
                     .reset_to = one.reset_to,
                     .loaded_next = one.loaded_next,
                     .loaded_assignment = one.loaded_assignment});
  }
  event::Taken taken{.round = take.round, .positions = {}};
  try {
    const auto positions = store_.take(takes);
    for (std::size_t at = 0; at < positions.size(); ++at) {
      taken.positions.push_back({.place = take.places[at].place,
                                 .next_offset = positions[at].next_offset,
                                 .clean_before = positions[at].clean,
                                 .assignment = positions[at].assignment,
                                 .left = positions[at].left});
    }
  } catch (const Error& error) {
    if (!may_be_done_again(error.code())) throw;
    return event::LoadFailed{.round = take.round, .reason = error.what()};
  }
  return taken;
}

void DatabaseSide::give_up(const command::GiveUp& give_up) {
  std::vector<store::InboxStore::GiveUp> places;
  for (const command::GiveUp::One& one : give_up.places) {
    places.push_back({.place = to_store(one.place),
                      .expected_next = one.expected,
                      .assignment = one.assignment,
                      .clean = one.clean,
                      .not_tried = one.not_tried});
  }
  store_.give_up(places);
}

Event DatabaseSide::begin() {
  trouble_.reset();
  try {
    store_.begin();
    return event::Begun{};
  } catch (const Error& error) {
    roll_back();
    if (!passes_by_itself(error.code())) throw;
    return event::BeginFailed{.reason = error.what()};
  }
}

Event DatabaseSide::apply(const Message& message, const Handler& handler) {
  if (trouble_) return closed(event::Closed::Result::failed, *trouble_);
  const store::InboxPlace& place = place_of(message);
  store::InboxClaim claim = store::InboxClaim::first;
  try {
    store_.savepoint();
    claim = store_.claim(message.event_id, {.place = place, .offset = message.offset});
    if (claim == store::InboxClaim::duplicate) {
      store_.release();
      return applied(event::Applied::Kind::duplicate);
    }
  } catch (const Error& error) {
    return batch_failed(error);
  }
  return call_handler(message, handler, claim);
}

Event DatabaseSide::call_handler(const Message& message, const Handler& handler, store::InboxClaim claim) {
  Outcome outcome;
  std::exception_ptr thrown;
  try {
    outcome = handler(connection_.handle(), message);
  } catch (...) {
    thrown = std::current_exception();
  }
  TXBOX_FAILPOINT("consumer:after_handler");
  if (thrown || !store_.transaction_open()) {
    if (auto reason = trouble_of_database(connection_.handle(), thrown)) return batch_failed(std::move(*reason));
  }
  if (!store_.transaction_open()) return transaction_ended(message, thrown);
  try {
    if (thrown) return undo(applied(event::Applied::Kind::failed, reason_of(thrown)));
    switch (outcome.kind()) {
      case Outcome::Kind::done: return keep(message, claim);
      case Outcome::Kind::retry_after: return undo(applied(event::Applied::Kind::retry_after, {}, outcome.delay()));
      case Outcome::Kind::park: break;
    }
    std::string reason = tidy_reason(outcome.reason());
    if (reason.empty()) reason = "the handler gave it up without a reason";
    return undo(applied(event::Applied::Kind::park, std::move(reason)));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::no_transaction) return batch_failed(error);
    // It ended the transaction and began one of its own, whatever it returned.
    roll_back();
    throw transaction_was_ended(message);
  }
}

Event DatabaseSide::keep(const Message& message, store::InboxClaim claim) {
  // SQLite would say so at the COMMIT, of the whole batch, and of every batch that this message is in.
  if (breaks_a_foreign_key(connection_.handle())) {
    return undo(applied(event::Applied::Kind::failed, "the handler's effect breaks a deferred foreign key"));
  }
  if (claim == store::InboxClaim::parked_before) {
    const store::InboxPlace& place = place_of(message);
    store_.settle_parked(message.event_id, {.place = place, .offset = message.offset});
  }
  store_.release();
  return applied(event::Applied::Kind::applied);
}

Event DatabaseSide::undo(event::Applied&& outcome) {
  store_.roll_back_to_savepoint();
  return std::move(outcome);
}

/// The transaction is over. SQLite itself does that for a statement of the handler that says ROLLBACK in a conflict
/// clause or a trigger, and the statement then fails: a message that does it is a failed attempt. But a handler that
/// returned as if all were well, or committed, does it to every message.
Event DatabaseSide::transaction_ended(const Message& message, const std::exception_ptr& thrown) {
  roll_back();
  if (!thrown) throw transaction_was_ended(message);
  check_not_committed(message);
  return applied(event::Applied::Kind::rolled_back, reason_of(thrown));
}

void DatabaseSide::check_not_committed(const Message& message) {
  const store::InboxPlace& place = place_of(message);
  store::InboxClaim claim = store::InboxClaim::duplicate;
  try {
    store_.begin();
    claim = store_.claim(message.event_id, {.place = place, .offset = message.offset});
  } catch (const Error& error) {
    roll_back();
    if (!passes_by_itself(error.code())) throw;
  }
  roll_back();
  if (claim == store::InboxClaim::duplicate) throw transaction_was_ended(message);
}

void DatabaseSide::record_failed(const command::RecordFailed& failed) {
  if (trouble_) return;
  try {
    store_.record_failed(to_store(failed.place), failed.offset, failed.error, failed.next_try_at_ms,
                         failed.was_started);
  } catch (const Error& error) {
    static_cast<void>(batch_failed(error));
  }
}

void DatabaseSide::record_started(const command::RecordStarted& started) {
  if (trouble_) return;
  try {
    store_.record_started(to_store(started.place), started.offset);
  } catch (const Error& error) {
    static_cast<void>(batch_failed(error));
  }
}

Event DatabaseSide::dead_letter(const command::DeadLetter& letter, const Message& message) {
  if (trouble_) return closed(event::Closed::Result::failed, *trouble_);
  const store::InboxPlace& place = place_of(message);
  const store::InboxStore::Origin origin{.place = place, .offset = message.offset};
  const std::string reason = tidy_reason(letter.reason);
  try {
    std::optional<Kept> kept;
    if (!message.event_id.empty()) kept = kept_before(message, origin);
    if (!kept && to_outbox(message, letter, reason)) kept = Kept::outbox;
    if (!kept) park(message, letter, reason);
    if (!message.event_id.empty()) store_.claim_parked(message.event_id, origin);
    return event::DeadLettered{.kept = kept.value_or(Kept::parked)};
  } catch (const Error& error) {
    return batch_failed(error);
  }
}

/// A copy of an event that was given up before makes no second letter; one that somebody sent back does.
std::optional<Kept> DatabaseSide::kept_before(const Message& message, const store::InboxStore::Origin& origin) {
  store_.savepoint();
  const store::InboxClaim claim = store_.claim(message.event_id, origin);
  store_.roll_back_to_savepoint();
  if (claim == store::InboxClaim::duplicate) return Kept::applied_before;
  if (claim == store::InboxClaim::parked_before && !was_dead_letter(message.headers)) return Kept::given_up_before;
  return std::nullopt;
}

bool DatabaseSide::to_outbox(const Message& message, const command::DeadLetter& letter, std::string_view reason) {
  if (options_.dead_letters == DeadLetters::park) return false;
  if (!outbox_) {
    if (!store::has_outbox(connection_.handle())) return false;
    outbox_.emplace(connection_.handle());
  }
  const std::string topic = dead_letter_topic(message.topic);
  const Headers headers = dead_letter_headers(message, {.group = options_.group,
                                                        .reason = reason,
                                                        .attempts = letter.attempts,
                                                        .now_ms = to_ms(system_clock().wall_now())});
  store_.savepoint();
  try {
    store::NewEvent event;
    event.topic = topic;
    event.key = message.key;
    event.payload = message.payload;
    event.headers = &headers;
    event.as_is = true;
    outbox_->insert(event);
    store_.release();
    return true;
  } catch (const Error& error) {
    // Too large, a topic's name too long, a header's name that is not UTF-8: it is kept in the database instead.
    if (error.code() != ErrorCode::refused && error.code() != ErrorCode::invalid_argument) throw;
    store_.roll_back_to_savepoint();
    return false;
  }
}

void DatabaseSide::park(const Message& message, const command::DeadLetter& letter, std::string_view reason) {
  const store::InboxPlace& place = place_of(message);
  store_.park_message(
      {.place = place,
       .offset = message.offset,
       .event_id = message.event_id.empty() ? std::nullopt : std::optional<std::string_view>(message.event_id),
       .key = message.key,
       .payload = message.payload,
       .headers = message.headers,
       .timestamp_ms = message.timestamp_ms,
       .attempts = letter.attempts,
       .reason = reason});
}

Event DatabaseSide::close(const command::Close& close) {
  if (trouble_) return closed(event::Closed::Result::failed, *trouble_);
  try {
    for (const command::Close::Finished& finished : close.forget) {
      store_.forget_attempts(to_store(finished.place), finished.offset);
    }
    for (const command::Close::Advance& advance : close.advance) {
      if (store_.advance(to_store(advance.place), advance.expected, advance.next)) continue;
      roll_back();
      check_moved_by_another(advance);
      return closed(event::Closed::Result::conflict);
    }
    TXBOX_FAILPOINT("consumer:before_commit");
    store_.commit();
    TXBOX_FAILPOINT("consumer:after_commit");
    return closed(event::Closed::Result::committed);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::commit_unknown) return batch_failed(error);
    roll_back();
    return closed(event::Closed::Result::unknown, error.what());
  }
}

/// With the batch undone the position is where it is for everybody. Is that where this consumer left it, then nobody
/// else moved it: the batch itself did, and would do it again after every look at the positions.
void DatabaseSide::check_moved_by_another(const command::Close::Advance& advance) {
  const auto position = store_.position(to_store(advance.place));
  if (!position || position->next_offset != advance.expected) return;
  throw Error(ErrorCode::refused,
              "a handler, or a trigger on what it writes, changed the position of " + name_of(advance.place) +
                  " in inbox_offsets: leave that table to the consumer, which moves its positions itself");
}

void DatabaseSide::roll_back() noexcept { store_.rollback(); }

Event DatabaseSide::batch_failed(const Error& error) {
  if (!passes_by_itself(error.code())) {
    roll_back();
    throw error;
  }
  return batch_failed(std::string(error.what()));
}

Event DatabaseSide::batch_failed(std::string reason) {
  roll_back();
  trouble_ = std::move(reason);
  return closed(event::Closed::Result::failed, *trouble_);
}

}  // namespace txbox::inbox::consumer
