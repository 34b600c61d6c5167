#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace txbox::test {

/// Makes and removes topics of a real Kafka (the mock cluster knows no such requests), and waits until every
/// client would see it. Throws std::runtime_error. One thread.
class KafkaAdmin {
 public:
  using Configuration = std::vector<std::pair<std::string, std::string>>;

  explicit KafkaAdmin(const std::string& bootstrap_servers);
  KafkaAdmin(const KafkaAdmin&) = delete;
  KafkaAdmin& operator=(const KafkaAdmin&) = delete;
  ~KafkaAdmin();

  void create_topic(const std::string& topic, int partitions, const Configuration& configuration = {});
  void delete_topic(const std::string& topic);
  void add_partitions(const std::string& topic, int partitions_in_all);
  /// Deletes the partition's records below `offset`, as retention would.
  void delete_records(const std::string& topic, std::int32_t partition, std::int64_t offset);
  [[nodiscard]] bool exists(const std::string& topic);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A topic name that no other test and no earlier run has used.
[[nodiscard]] std::string unique_topic(const std::string& prefix);

}  // namespace txbox::test
