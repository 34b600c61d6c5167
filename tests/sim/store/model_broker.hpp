#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace txbox::test {

/// What Kafka is to the model: a list of the rows that arrived, in order of arrival, and the rows and topics that it
/// refuses for the time being.
struct ModelBroker {
  std::vector<std::int64_t> arrived;
  std::set<std::int64_t> refused_rows;
  std::set<std::string> paused_topics;
};

}  // namespace txbox::test
