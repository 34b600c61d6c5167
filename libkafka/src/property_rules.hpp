#pragma once

#include <span>
#include <string>
#include <string_view>

#include <txbox/kafka/settings.hpp>

#include "handles.hpp"

namespace txbox::kafka {

/// A property with the value that we give it.
struct Setting {
  const char* property;
  const char* value;
};

/// A value that a promise rests on. `holds` sees librdkafka's own spelling of the value, after aliases and other ways
/// to write it ("all" and "-1", "t" and "true") were resolved, and nothing where the linked librdkafka has no such
/// property.
struct Rule {
  const char* property;
  bool (*holds)(std::string_view value);
  std::string_view reason;
};

/// A property that belongs to the program itself, whatever its value.
struct Owned {
  std::string_view property;
  std::string_view reason;
};

/// What a kind of client promises: `guaranteed` keeps every rule.
struct Promises {
  std::span<const Setting> guaranteed;
  std::span<const Rule> rules;
  std::span<const Owned> owned;
};

[[nodiscard]] inline bool is_true(std::string_view value) { return value == "true"; }
[[nodiscard]] inline bool is_false(std::string_view value) { return value == "false"; }
[[nodiscard]] inline bool is_empty(std::string_view value) { return value.empty(); }

/// Sets one property; throws Error(configuration) where librdkafka refuses name or value. No text repeats a secret.
void set_property(rd_kafka_conf_t* configuration, const std::string& property, const std::string& value);
/// librdkafka's own spelling of a property's value; empty where it has none, or there is no such property.
[[nodiscard]] std::string value_of(const rd_kafka_conf_t* configuration, const char* property);
void set_properties(rd_kafka_conf_t* configuration, std::span<const Setting> settings);

/// Throws Error(configuration) with the reason for a property that breaks a promise, or that librdkafka refuses.
void check_properties(const Properties& properties, const Promises& promises);
/// Throws Error(configuration) unless a broker is named.
void check_brokers(const Properties& properties);
[[nodiscard]] bool names(const Properties& properties, std::string_view name);

}  // namespace txbox::kafka
