#include "relay/config/topic_shape.hpp"

#include <charconv>

namespace txbox::relay {

namespace {

constexpr int kPartitionsMost = 10'000;
constexpr int kReplicasMost = 100;

std::optional<int> number_up_to(std::string_view text, int most) noexcept {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > most) return std::nullopt;
  return number;
}

}  // namespace

std::optional<kafka::TopicShape> parse_topic_shape(std::string_view text) noexcept {
  const std::size_t colon = text.find(':');
  const auto partitions = number_up_to(text.substr(0, colon), kPartitionsMost);
  if (!partitions) return std::nullopt;
  if (colon == std::string_view::npos) return kafka::TopicShape{.partitions = *partitions};
  const auto replicas = number_up_to(text.substr(colon + 1), kReplicasMost);
  if (!replicas) return std::nullopt;
  return kafka::TopicShape{.partitions = *partitions, .replicas = *replicas};
}

}  // namespace txbox::relay
