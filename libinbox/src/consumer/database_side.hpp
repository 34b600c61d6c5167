#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include <txbox/inbox/consumer_options.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/inbox_store.hpp>
#include <txbox/store/outbox_writer.hpp>

#include "libinbox/src/consumer/core.hpp"

namespace txbox::inbox::consumer {

/// What the core's commands do to the database, on the connection that the handlers use too. What passes by itself (a
/// lock, a full disk) becomes an answer for the core; what does not (a damaged or moved file, an altered schema, a
/// handler that ended its transaction) is thrown and ends the run, with nothing of the batch left. One thread.
class DatabaseSide {
 public:
  /// Borrows both. Throws what InboxStore does.
  DatabaseSide(store::Connection& connection, const ConsumerOptions& options);
  DatabaseSide(const DatabaseSide&) = delete;
  DatabaseSide& operator=(const DatabaseSide&) = delete;

  /// What only a run can check: synchronous is not OFF, no transaction is open, the outbox is there where it is
  /// demanded. Throws configuration, invalid_argument, not_installed.
  void check_ready();
  /// False while the lock is not free.
  [[nodiscard]] bool use_cluster(const std::string& cluster_id);

  /// The store's part of event::PositionsLoaded. Throws Error; busy passes.
  void load(event::PositionsLoaded::Loaded& place);
  [[nodiscard]] Event take(const command::Take& take);
  /// Throws Error; what is not given up only makes the next owner careful.
  void give_up(const command::GiveUp& give_up);

  [[nodiscard]] Event begin();
  [[nodiscard]] Event apply(const Message& message, const Handler& handler);
  void record_failed(const command::RecordFailed& failed);
  void record_started(const command::RecordStarted& started);
  [[nodiscard]] Event dead_letter(const command::DeadLetter& letter, const Message& message);
  [[nodiscard]] Event close(const command::Close& close);
  void roll_back() noexcept;

  /// Throws corrupt.
  void barrier() { store_.barrier(); }

 private:
  /// Good until the next call.
  [[nodiscard]] const store::InboxPlace& place_of(const Message& message);
  [[nodiscard]] Event call_handler(const Message& message, const Handler& handler, store::InboxClaim claim);
  [[nodiscard]] Event keep(const Message& message, store::InboxClaim claim);
  [[nodiscard]] Event undo(event::Applied&& outcome);
  [[nodiscard]] Event transaction_ended(const Message& message, const std::exception_ptr& thrown);
  void check_not_committed(const Message& message);
  void check_moved_by_another(const command::Close::Advance& advance);
  [[nodiscard]] Event batch_failed(const Error& error);
  [[nodiscard]] Event batch_failed(std::string reason);
  [[nodiscard]] std::optional<event::DeadLettered::Kept> kept_before(const Message& message,
                                                                     const store::InboxStore::Origin& origin);
  [[nodiscard]] bool to_outbox(const Message& message, const command::DeadLetter& letter, std::string_view reason);
  void park(const Message& message, const command::DeadLetter& letter, std::string_view reason);

  store::Connection& connection_;
  const ConsumerOptions& options_;
  store::InboxStore store_;
  std::optional<store::OutboxWriter> outbox_;
  store::InboxPlace place_;  ///< Of the message under way; kept for its memory.
  /// Why nothing of the batch is left; told with the next answer that the core waits for.
  std::optional<std::string> trouble_;
};

}  // namespace txbox::inbox::consumer
