#include "libinbox/src/consumer/message_store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <txbox/base/check.hpp>

namespace txbox::inbox::consumer {

namespace {

/// A batch and some more: 2 MB at most.
constexpr std::size_t kSpares = 1'000;
constexpr std::size_t kSpareBytes = 2'048;

}  // namespace

MessageStore::Messages::iterator MessageStore::place_of(Messages& messages, std::int64_t offset) {
  return std::lower_bound(messages.begin(), messages.end(), offset,
                          [](const auto& message, std::int64_t wanted) { return message->offset < wanted; });
}

MessageStore::Messages::iterator MessageStore::find(Messages& messages, std::int64_t offset) {
  if (messages.empty()) return messages.end();
  // Where no offset between is missing, the distance tells.
  const std::int64_t guess = offset - messages.front()->offset;
  if (guess >= 0 && guess < std::ssize(messages) && messages[static_cast<std::size_t>(guess)]->offset == offset) {
    return messages.begin() + guess;
  }
  const auto at = place_of(messages, offset);
  return at != messages.end() && (*at)->offset == offset ? at : messages.end();
}

Message& MessageStore::spare() {
  if (spares_.empty()) spares_.push_back(std::make_unique<Message>());
  return *spares_.back();
}

void MessageStore::keep(std::unique_ptr<Message> message) {
  if (spares_.size() < kSpares && bytes_of(*message) <= kSpareBytes) spares_.push_back(std::move(message));
}

void MessageStore::add_spare(const Place& place) {
  TXBOX_CHECK(!spares_.empty());
  std::unique_ptr<Message> message = std::move(spares_.back());
  spares_.pop_back();
  Messages& messages = messages_[place];
  if (messages.empty() || messages.back()->offset < message->offset) {
    messages.push_back(std::move(message));
    return;
  }
  const auto at = place_of(messages, message->offset);
  if (at == messages.end() || (*at)->offset != message->offset) messages.insert(at, std::move(message));
}

Message& MessageStore::at(const Place& place, std::int64_t offset) {
  Messages& messages = messages_[place];
  const auto found = find(messages, offset);
  TXBOX_CHECK(found != messages.end());
  return **found;
}

void MessageStore::forget(const Place& place, std::int64_t offset) {
  const auto partition = messages_.find(place);
  if (partition == messages_.end()) return;
  Messages& messages = partition->second;
  const auto found = find(messages, offset);
  if (found == messages.end()) return;
  keep(std::move(*found));
  messages.erase(found);
}

std::size_t bytes_of(const Message& message) noexcept {
  std::size_t bytes = sizeof(Message) + message.key.size() + message.payload.size() + message.event_id.size();
  for (const Header& header : message.headers) bytes += sizeof(Header) + header.name.size() + header.value.size();
  return bytes;
}

}  // namespace txbox::inbox::consumer
