#include <algorithm>
#include <utility>

#include "libinbox/src/consumer/core_state.hpp"

namespace txbox::inbox::consumer {

using namespace std::chrono_literals;

namespace {

constexpr Backoff kBeginAgain{20ms, 1'000ms};
/// So long may a batch be prepared, and suspects follow each other, before the group is looked after again.
constexpr std::chrono::milliseconds kWithoutPoll{500};
constexpr std::chrono::milliseconds kSlowHandler{250};
constexpr std::chrono::minutes kSlowSaidEvery{1};

}  // namespace

bool Core::State::needs_start(const Partition& partition, const Message& message) const {
  if (partition.suspects > partition.done) return true;
  const Tries* tries = partition.tries_of(message.offset);
  return tries != nullptr && tries->started > 0;
}

std::optional<std::string> Core::State::unseen_end(const Partition& partition, const Message& message) const {
  if (!message.has_id && options.missing_id != MissingId::reject) {
    return "it has no event id: no id header is there, or what it holds cannot be one";
  }
  const Tries* tries = partition.tries_of(message.offset);
  if (tries == nullptr || message.start_recorded || tries->count() < options.attempts) return std::nullopt;
  const std::string starts = std::to_string(tries->started) + (tries->started == 1 ? " time" : " times");
  if (tries->failed == 0) return "it ended the process " + starts;
  if (tries->started == 0) return "it failed " + std::to_string(tries->failed) + " times";
  return "it was tried " + std::to_string(tries->count()) + " times and ended the process " + starts;
}

std::map<Place, Partition>::iterator Core::State::after_last() {
  const auto next = partitions.upper_bound(last_served);
  return next == partitions.end() ? partitions.begin() : next;
}

void Core::State::start_batch() {
  glanced = false;
  if (partitions.empty()) return;
  batch = Batch{};
  batch.at = after_last();
  prepare_since = now;
  Partition* first = nullptr;
  bool ends = false;
  for (std::size_t visited = 0; visited < partitions.size(); ++visited) {
    Partition& partition = batch.at->second;
    if (++batch.at == partitions.end()) batch.at = partitions.begin();
    if (partition.end_to_store()) ends = true;
    if (!partition.ready()) continue;
    // A start that stands in the store is of the very next message, or a crash in another one would count for it.
    if (partition.hand.front().start_recorded) {
      first = batch.single = &partition;
      break;
    }
    if (first == nullptr) first = &partition;
  }
  if (first == nullptr) {
    if (ends) begin();
    return;
  }
  batch.at = partitions.find(first->place);
  const Message& head = first->hand.front();
  if (!head.start_recorded && !head.failure && head.has_id && !unseen_end(*first, head) && needs_start(*first, head)) {
    batch.single = first;
    batch.start_only = true;
    return begin();
  }
  prepare_or_begin();
}

bool Core::State::next_to_prepare_of(Partition& partition, std::size_t& seen) {
  for (std::size_t index = 0; index < partition.hand.size() && seen < options.batch_messages; ++index, ++seen) {
    Message& message = partition.hand[index];
    if (!message.has_id || unseen_end(partition, message)) continue;
    const Tries* tries = partition.tries_of(message.offset);
    const bool suspect = partition.suspects > index || (tries != nullptr && tries->started > 0);
    if (message.failure || (suspect && !message.start_recorded)) return false;
    if (tries != nullptr && tries->not_before > now) return false;
    if (!message.to_prepare) continue;
    batch.current = &partition;
    batch.index = index;
    return true;
  }
  return false;
}

bool Core::State::next_to_prepare() {
  if (!any_prepare || now - prepare_since >= kWithoutPoll) return false;
  std::size_t seen = 0;
  if (batch.single != nullptr) {
    seen = options.batch_messages - 1;
    return next_to_prepare_of(*batch.single, seen);
  }
  auto at = batch.at;
  for (std::size_t visited = 0; visited < partitions.size(); ++visited) {
    if (at->second.ready() && next_to_prepare_of(at->second, seen)) return true;
    if (++at == partitions.end()) at = partitions.begin();
  }
  return false;
}

void Core::State::prepare_or_begin() {
  if (!next_to_prepare()) return begin();
  batch.doing = Doing::preparing;
  const Message& message = batch.current->hand[batch.index];
  out->emplace_back(command::Prepare{batch.current->place, message.offset, attempt_of(*batch.current, message)});
}

void Core::State::on_prepared(const event::Prepared& what) {
  if (batch.doing != Doing::preparing) return;
  Message& message = batch.current->hand[batch.index];
  message.to_prepare = false;
  if (what.failed) message.failure = what.reason;
  batch.doing = Doing::nothing;
  if (leave == Leave::no) prepare_or_begin();
}

void Core::State::begin() {
  batch.doing = Doing::beginning;
  out->emplace_back(command::Begin{});
}

void Core::State::on_begin_failed(const std::string& reason) {
  if (batch.doing != Doing::beginning) return;
  if (store_failures == 0) say(LogLevel::warning, "no transaction could be begun: " + reason + "; tried again");
  undo();
  begin_at = now + kBeginAgain.wait(store_failures++, random);
}

void Core::State::on_begun() {
  if (batch.doing != Doing::beginning) return;
  batch.doing = Doing::choosing;
  batch.began = now;
  choose();
}

void Core::State::choose() {
  if (leave != Leave::no) return close();
  if (batch.start_only) {
    batch.started = batch.single;
    batch.single->touched = true;
    batch.single->next = batch.single->position;
    out->emplace_back(command::RecordStarted{batch.single->place, batch.single->hand.front().offset});
    return close();
  }
  if (batch.single != nullptr) {
    if (batch.messages == 0 && serve(*batch.single)) return;
    return close();
  }
  const bool long_enough = batch.messages > 0 && now - batch.began >= options.batch_lock_hold;
  while (!long_enough && batch.messages < options.batch_messages && batch.visited < partitions.size()) {
    if (serve(batch.at->second)) return;
    if (leave != Leave::no || batch.single != nullptr) break;
    if (++batch.at == partitions.end()) batch.at = partitions.begin();
    ++batch.visited;
  }
  close();
}

int Core::State::attempt_of(const Partition& partition, const Message& message) const {
  const Tries* tries = partition.tries_of(message.offset);
  const int before = tries == nullptr ? 0 : tries->count();
  return message.start_recorded ? before : before + 1;
}

/// True when a command is under way for its next message; otherwise it has nothing more for this batch.
bool Core::State::serve(Partition& partition) {
  if (partition.stopped || partition.wait_until || partition.done >= partition.hand.size()) return false;
  Message& message = partition.hand[partition.done];
  batch.current = &partition;
  if (const auto reason = unseen_end(partition, message)) {
    dead_letter(partition, *reason, attempt_of(partition, message) - 1);
    return true;
  }
  if (!message.has_id) {
    failure = command::Fail{ErrorCode::refused, name_of(partition.place) + " has a message without an event id at " +
                                                    std::to_string(message.offset) +
                                                    " (missing_id = reject); skip it with the group's offset, or " +
                                                    "choose missing_id = park or coordinates"};
    want(Leave::stop);
    return false;
  }
  if (message.failure) return failed_try(partition, *message.failure, std::nullopt);
  const Tries* tries = partition.tries_of(message.offset);
  const bool not_due = tries != nullptr && tries->not_before > now;
  const bool not_started = !message.start_recorded && needs_start(partition, message);
  if (not_due || not_started || message.to_prepare || (message.alone && batch.messages > 0)) {
    partition.stopped = true;
    return false;
  }
  if (message.alone) batch.single = &partition;
  batch.doing = Doing::applying;
  batch.asked = now;
  out->emplace_back(command::Apply{partition.place, message.offset, attempt_of(partition, message)});
  return true;
}

void Core::State::on_applied(const event::Applied& what) {
  if (batch.doing != Doing::applying) return;
  batch.doing = Doing::choosing;
  Partition& partition = *batch.current;
  Message& message = partition.hand[partition.done];
  if (now - batch.asked >= kSlowHandler && (!slow_said || now - slow_said_at >= kSlowSaidEvery)) {
    slow_said = true;
    slow_said_at = now;
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now - batch.asked).count();
    say(LogLevel::warning, "the handler of " + partition.place.topic.text() + " took " + std::to_string(took) +
                               " ms while it held the database's write lock; slow work belongs into prepare");
  }
  switch (what.kind) {
    case event::Applied::Kind::applied: finish(partition, Ending::applied); return choose();
    case event::Applied::Kind::duplicate: finish(partition, Ending::duplicate); return choose();
    case event::Applied::Kind::park: return dead_letter(partition, what.reason, attempt_of(partition, message));
    case event::Applied::Kind::retry_after:
      if (!failed_try(partition, "the handler asked for another try", what.delay)) choose();
      return;
    case event::Applied::Kind::failed:
      if (!failed_try(partition, what.reason, std::nullopt)) choose();
      return;
    case event::Applied::Kind::rolled_back:
      message.failure = what.reason;
      undo();
      glanced = true;
      return;
  }
}

/// True when the message was given up, and the answer to that is awaited.
bool Core::State::failed_try(Partition& partition, const std::string& reason,
                             std::optional<std::chrono::milliseconds> delay) {
  const Message& message = partition.hand[partition.done];
  const int attempt = attempt_of(partition, message);
  if (attempt >= options.attempts) {
    dead_letter(partition, reason, attempt);
    return true;
  }
  const auto wished = delay ? *delay : options.retry.wait(static_cast<unsigned>(attempt - 1), random);
  const auto pause = std::min<std::chrono::milliseconds>(wished, kLongestWait);
  out->emplace_back(
      command::RecordFailed{partition.place, message.offset, reason, to_ms(wall + pause), message.start_recorded});
  if (!partition.touched) partition.next = partition.position;
  partition.touched = true;
  partition.stopped = true;
  ++batch.messages;
  batch.retries.push_back({&partition, message.offset, now + pause, message.start_recorded});
  return false;
}

void Core::State::dead_letter(Partition& partition, const std::string& reason, int attempts) {
  batch.doing = Doing::giving_up;
  batch.attempts = attempts;
  out->emplace_back(command::DeadLetter{partition.place, partition.hand[partition.done].offset, reason, attempts});
}

void Core::State::on_dead_lettered(const event::DeadLettered& what) {
  if (batch.doing != Doing::giving_up) return;
  batch.doing = Doing::choosing;
  finish(*batch.current, Ending::given_up);
  batch.finished.back().kept = what.kept;
  batch.finished.back().attempts = batch.attempts;
  choose();
}

void Core::State::finish(Partition& partition, Ending ending) {
  const Message& message = partition.hand[partition.done];
  partition.touched = true;
  partition.next = message.offset + 1;
  ++partition.done;
  ++batch.messages;
  batch.finished.push_back({.partition = &partition, .offset = message.offset, .ending = ending});
  if (batch.single == &partition && message.start_recorded) start_next(partition);
}

/// The start of the next suspect is committed together with the effect of this one: one commit a message.
void Core::State::start_next(Partition& partition) {
  if (partition.done >= partition.hand.size() || leave != Leave::no || now - polled_at >= kWithoutPoll) return;
  const Message& message = partition.hand[partition.done];
  if (!message.has_id || message.failure || unseen_end(partition, message) || !needs_start(partition, message)) return;
  const Tries* tries = partition.tries_of(message.offset);
  if (tries != nullptr && tries->not_before > now) return;
  batch.started = &partition;
  out->emplace_back(command::RecordStarted{partition.place, message.offset});
}

void Core::State::close() {
  command::Close close;
  for (auto& [place, partition] : partitions) {
    const bool all = partition.done == partition.hand.size() && !partition.stopped && !partition.wait_until;
    if (!partition.touched) partition.next = partition.position;
    if (all && partition.end > partition.next) {
      partition.next = partition.end;
      partition.touched = true;
    }
    if (partition.touched) close.advance.push_back({place, partition.position, partition.next});
  }
  for (const Batch::Finish& finish : batch.finished) {
    if (finish.partition->tries.contains(finish.offset)) {
      close.forget.push_back({finish.partition->place, finish.offset});
    }
  }
  batch.doing = Doing::closing;
  out->emplace_back(std::move(close));
}

}  // namespace txbox::inbox::consumer
