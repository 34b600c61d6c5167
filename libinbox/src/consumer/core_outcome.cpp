#include <algorithm>

#include "libinbox/src/consumer/core_state.hpp"
#include "libinbox/src/consumer/dead_letter.hpp"

namespace txbox::inbox::consumer {

using namespace std::chrono_literals;

namespace {

constexpr Backoff kStoreAgain{50ms, 5'000ms};
/// Without a commit or an assignment between them; with the waits in between more than a minute. A rebalance is over by
/// then, so that this is none of the conflicts that one brings.
constexpr unsigned kMostConflicts = 20;

std::string after(int attempts) {
  if (attempts == 0) return " untried";
  return " after " + std::to_string(attempts) + (attempts == 1 ? " attempt" : " attempts");
}

/// The reason is not in it: it is the handler's text and may hold anything.
std::string words_of_dead_letter(const CoreOptions& options, const Batch::Finish& finish) {
  using Kept = event::DeadLettered::Kept;
  const Place& place = finish.partition->place;
  const std::string message = name_of(place) + " " + std::to_string(finish.offset);
  std::string given_up = message + " was given up" + after(finish.attempts);
  switch (finish.kept) {
    case Kept::outbox: {
      const std::string topic = dead_letter_topic(place.topic.text());
      return given_up + " and goes to " + topic + " through the outbox, the reason in its headers; " +
             "`outbox-relay ls --db FILE --topic " + topic + "` shows it";
    }
    case Kept::parked:
      return given_up + " and is kept in this database (inbox_parked), the reason beside it; " +
             "`outbox-relay inbox ls --db FILE --group " + options.group + " --parked` shows it";
    case Kept::given_up_before: return message + " is a copy of an event that was given up before";
    case Kept::applied_before: return message + " is a copy of an event that was applied before";
  }
  return given_up;
}

}  // namespace

/// The batch never was: what it did not finish in the store is in hand as before.
void Core::State::undo() {
  for (auto& [place, partition] : partitions) {
    partition.touched = false;
    partition.stopped = false;
    partition.done = 0;
  }
  batch = Batch{};
}

void Core::State::on_closed(const event::Closed& what) {
  const bool inside = batch.doing == Doing::applying || batch.doing == Doing::giving_up;
  if (batch.doing != Doing::closing && !inside) return;
  switch (what.result) {
    case event::Closed::Result::committed: return committed();
    case event::Closed::Result::failed: return rolled_back(what.reason);
    case event::Closed::Result::conflict:
      ++counts.conflicts;
      undo();
      if (++conflicts_in_row >= kMostConflicts) {
        failure = command::Fail{ErrorCode::refused, "the positions of group " + options.group +
                                                        " are moved by somebody else each time that this consumer " +
                                                        "moves them: does another program write to inbox_offsets?"};
        return want(Leave::stop);
      }
      say(LogLevel::info, "another consumer moved a position of this one; reading all of them again");
      return want(Leave::reload);
    case event::Closed::Result::unknown:
      // A try that was recorded as started was made, whatever became of its end.
      if (batch.single != nullptr && batch.messages > 0) batch.single->hand.front().start_recorded = false;
      undo();
      say(LogLevel::warning, "a commit may have happened or not (" + what.reason + "); reading the positions again");
      return want(Leave::reload);
  }
}

void Core::State::rolled_back(const std::string& reason) {
  Partition* in_message = batch.doing == Doing::applying ? batch.current : nullptr;
  const bool was_alone = in_message != nullptr && batch.messages == 0;
  Message* message = in_message == nullptr ? nullptr : &in_message->hand[in_message->done];
  undo();
  if (store_failures == 0) say(LogLevel::warning, "the transaction was rolled back: " + reason + "; tried again");
  if (message != nullptr && !was_alone) {
    // Perhaps that message is the reason: what came before it is done without it, and then it by itself.
    message->alone = true;
    glanced = true;
    return;
  }
  const SteadyTime again = now + kStoreAgain.wait(store_failures++, random);
  if (message != nullptr) message->alone = true;
  if (message != nullptr && !message->start_recorded) {
    wait(*in_message, again);
  } else {
    // Also for a message whose start is recorded: a crash in another one would count for it.
    begin_at = again;
  }
}

void Core::State::count(const Batch::Finish& finish) {
  switch (finish.ending) {
    case Ending::applied: ++counts.applied; return;
    case Ending::duplicate: ++counts.duplicates; return;
    case Ending::given_up:
      ++(finish.kept == event::DeadLettered::Kept::outbox ? counts.dead_letters_to_outbox : counts.dead_letters_parked);
      say(LogLevel::warning, words_of_dead_letter(options, finish));
      return;
  }
}

void Core::State::committed() {
  for (const Batch::Finish& finish : batch.finished) {
    count(finish);
    finish.partition->tries.erase(finish.offset);
  }
  for (auto& [place, partition] : partitions) {
    if (!partition.touched) continue;
    partition.position = partition.next;
    partition.suspects -= std::min(partition.suspects, partition.done);
    for (; partition.done > 0; --partition.done) {
      out->emplace_back(command::Forget{place, partition.hand.front().offset});
      partition.hand_bytes -= partition.hand.front().bytes;
      partition.hand.pop_front();
    }
  }
  for (const Batch::Retry& retry : batch.retries) {
    Message& message = retry.partition->hand.front();
    Tries& tries = retry.partition->tries[retry.offset];
    ++tries.failed;
    if (retry.was_started) --tries.started;
    tries.not_before = retry.until;
    message.start_recorded = false;
    message.failure.reset();
    message.to_prepare = message.has_prepare;
    ++counts.retried;
    wait(*retry.partition, retry.until);
  }
  if (batch.started != nullptr) {
    Message& message = batch.started->hand.front();
    message.start_recorded = true;
    ++batch.started->tries[message.offset].started;
    glanced = true;  // It is tried at once: nothing else may crash in between.
  }
  if (batch.current != nullptr) last_served = batch.current->place;
  undo();
  store_failures = 0;
  upsets = 0;
  progressed = true;
  conflicts_in_row = 0;
  recount();
  for (auto& [place, partition] : partitions) look_at_head(partition);
  let_on();
}

}  // namespace txbox::inbox::consumer
