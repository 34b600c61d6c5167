#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace txbox::kafka {

/// librdkafka properties in the order given; a later one wins. Values may be secrets: never log them.
using Properties = std::vector<std::pair<std::string, std::string>>;

/// Throws Error(configuration) with the reason when a property breaks a promise of the relay's producer
/// (enable.idempotence=false, acks other than all, a finite message.timeout.ms, another partitioner,
/// transactional.id, enable.gapless.guarantee=false, ...), or is unknown to the linked librdkafka (the text names the
/// nearest known one). No text repeats the value of a secret.
void check_producer_properties(const Properties& properties);

/// The same for the consumer of an inbox: it says itself what is committed and where reading begins, so that automatic
/// commits, another auto.offset.reset than error, isolation.level=read_uncommitted and cooperative rebalancing are
/// refused. group.id is no property here: the group has a setting of its own.
void check_consumer_properties(const Properties& properties);

/// Properties whose value is a secret (sasl.password, ssl.key.password, ...).
[[nodiscard]] bool is_secret(std::string_view property) noexcept;

/// The name of every property, aliases included, that the linked librdkafka documents.
[[nodiscard]] std::vector<std::string> property_names();
/// The name behind an alias ("request.required.acks" of "acks"); any other name is its own.
[[nodiscard]] std::string first_name(const std::string& property);

/// What the relay's producer sets by itself: what its promises rest on, then its defaults.
[[nodiscard]] Properties producer_settings();
/// For each property that may not be what it likes: why.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> producer_rules();

[[nodiscard]] std::string library_version();  ///< Of the librdkafka linked at run time.

}  // namespace txbox::kafka
