#include "libinbox/src/consumer/message_store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <txbox/base/check.hpp>

namespace txbox::inbox::consumer {

namespace {

std::deque<Message>::iterator place_of(std::deque<Message>& messages, std::int64_t offset) {
  return std::lower_bound(messages.begin(), messages.end(), offset,
                          [](const Message& message, std::int64_t wanted) { return message.offset < wanted; });
}

std::deque<Message>::iterator find(std::deque<Message>& messages, std::int64_t offset) {
  if (messages.empty()) return messages.end();
  // Where no offset between is missing, the distance tells.
  const std::int64_t guess = offset - messages.front().offset;
  if (guess >= 0 && guess < std::ssize(messages) && messages[static_cast<std::size_t>(guess)].offset == offset) {
    return messages.begin() + guess;
  }
  const auto at = place_of(messages, offset);
  return at != messages.end() && at->offset == offset ? at : messages.end();
}

}  // namespace

void MessageStore::add(const Place& place, Message message) {
  std::deque<Message>& messages = messages_[place];
  if (messages.empty() || messages.back().offset < message.offset) {
    messages.push_back(std::move(message));
    return;
  }
  const auto at = place_of(messages, message.offset);
  if (at == messages.end() || at->offset != message.offset) messages.insert(at, std::move(message));
}

Message& MessageStore::at(const Place& place, std::int64_t offset) {
  std::deque<Message>& messages = messages_[place];
  const auto found = find(messages, offset);
  TXBOX_CHECK(found != messages.end());
  return *found;
}

void MessageStore::forget(const Place& place, std::int64_t offset) {
  const auto partition = messages_.find(place);
  if (partition == messages_.end()) return;
  std::deque<Message>& messages = partition->second;
  if (!messages.empty() && messages.front().offset == offset) return messages.pop_front();
  const auto found = find(messages, offset);
  if (found != messages.end()) messages.erase(found);
}

std::size_t bytes_of(const Message& message) noexcept {
  std::size_t bytes = sizeof(Message) + message.key.size() + message.payload.size() + message.event_id.size();
  for (const Header& header : message.headers) bytes += sizeof(Header) + header.name.size() + header.value.size();
  return bytes;
}

}  // namespace txbox::inbox::consumer
