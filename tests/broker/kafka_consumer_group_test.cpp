#include <txbox/kafka/consumer.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka.h>

#include "kafka_broker.hpp"
#include "support/kafka_admin.hpp"
#include "support/kafka_member.hpp"

using namespace std::chrono_literals;
using txbox::kafka::CommittedOffset;
using txbox::kafka::Place;
using txbox::test::bootstrap_servers;
using txbox::test::consumer_options;
using txbox::test::KafkaAdmin;
using txbox::test::KafkaMember;
using txbox::test::publish;
using txbox::test::unique_topic;

namespace {

std::string new_topic(const std::string& prefix, int partitions) {
  std::string topic = unique_topic(prefix);
  KafkaAdmin(bootstrap_servers()).create_topic(topic, partitions);
  return topic;
}

/// Two members poll by turns, as two processes would at once.
void await(KafkaMember& one, KafkaMember& other, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (!done() && std::chrono::steady_clock::now() < end) {
    one.step(10ms);
    other.step(10ms);
  }
  REQUIRE(done());
}

}  // namespace

TEST_CASE("two members share a topic, and who stays takes over when the other leaves") {
  const std::string topic = new_topic("shared", 2);
  const auto options = consumer_options();
  KafkaMember stays(options);
  stays.consumer->subscribe({topic});
  stays.await([&] { return stays.assigned.size() == 2; });
  {
    KafkaMember leaves(options);
    leaves.consumer->subscribe({topic});
    await(stays, leaves, [&] { return stays.assigned.size() == 1 && leaves.assigned.size() == 1; });
    CHECK(stays.revocations == 1);
    CHECK(stays.lost == 0);
    CHECK(stays.assigned != leaves.assigned);
    publish(topic, 0, 0, 10);
    publish(topic, 1, 0, 10);
    await(stays, leaves, [&] { return stays.records.size() == 10 && leaves.records.size() == 10; });
    CHECK(stays.records.front().place == stays.assigned.front());
    CHECK(leaves.records.front().place == leaves.assigned.front());
  }
  stays.await([&] { return stays.assigned.size() == 2; });
  // What the other one read comes again, since nobody committed it; what was read here does not.
  stays.await_records(20);
  CHECK(stays.offsets(0).size() == 10);
  CHECK(stays.offsets(1).size() == 10);
  CHECK(stays.commits_failed.empty());
}

TEST_CASE("a third member of two partitions is assigned nothing, and knows it") {
  const std::string topic = new_topic("idle", 1);
  const auto options = consumer_options();
  KafkaMember first(options);
  first.consumer->subscribe({topic});
  first.await([&] { return first.assigned.size() == 1; });
  KafkaMember second(options);
  second.consumer->subscribe({topic});
  await(first, second, [&] { return second.assignments == 1 && first.assignments == 2; });
  CHECK(first.assigned.size() + second.assigned.size() == 1);
}

TEST_CASE("no pause survives a rebalance") {
  const std::string topic = new_topic("unpaused", 2);
  publish(topic, 0, 0, 10);
  publish(topic, 1, 0, 10);
  const auto options = consumer_options();
  KafkaMember stays(options);
  stays.consumer->subscribe({topic});
  stays.await_records(20);
  for (const Place& place : stays.assigned) stays.consumer->pause(place);
  KafkaMember joins(options);
  joins.consumer->subscribe({topic});
  await(stays, joins, [&] { return stays.assigned.size() == 1 && joins.assigned.size() == 1; });
  publish(topic, stays.assigned.front().partition, 10, 5);
  await(stays, joins, [&] { return stays.records.size() == 25; });
}

TEST_CASE("a member that does not poll in time loses its places, and its late commit fails as an event") {
  const std::string topic = new_topic("zombie", 1);
  publish(topic, 0, 0, 10);
  const auto options = consumer_options({{"max.poll.interval.ms", "6000"}});
  KafkaMember zombie(options);
  zombie.consumer->subscribe({topic});
  zombie.await_records(10);
  KafkaMember owner(options);
  owner.consumer->subscribe({topic});
  // The other one is in until it has the place: the zombie's silence is what is tested.
  owner.await([&] { return !owner.assigned.empty(); });
  owner.await_records(10);
  CHECK(owner.consumer->commit_and_wait({{topic, 0}, 10, "owner"}, 10s) == 0);

  CHECK(zombie.consumer->commit_and_wait({{topic, 0}, 5, "zombie"}, 10s) != 0);
  zombie.consumer->commit({{topic, 0}, 6, "zombie"});
  await(zombie, owner, [&] { return !zombie.commits_failed.empty() && zombie.revocations == 1; });
  CHECK(zombie.commits_failed.front().commit == CommittedOffset{{topic, 0}, 6, "zombie"});
  CHECK(zombie.commits_failed.front().error == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID);
  CHECK(zombie.commits_failed.size() == 1);
  const Place place{topic, 0};
  CHECK(owner.consumer->committed(std::span(&place, 1), 10s).front() == CommittedOffset{place, 10, "owner"});
  // It is a member again, and somebody has the place.
  await(zombie, owner, [&] { return zombie.assigned.size() + owner.assigned.size() == 1; });
}

TEST_CASE("a member that stands still alone hears that its places were lost") {
  const std::string topic = new_topic("lost", 1);
  KafkaMember member(consumer_options({{"max.poll.interval.ms", "6000"}}));
  member.consumer->subscribe({topic});
  member.await([&] { return !member.assigned.empty(); });
  // tidy: waits for the limit between two polls, which is what is tested.
  std::this_thread::sleep_for(7s);
  member.await([&] { return member.assignments == 2; });
  CHECK(member.polls_exceeded == 1);
  CHECK(member.revocations == 1);
  CHECK(member.lost == 1);
}

TEST_CASE("a second process with the same instance id ends the first one, which says so and can be destroyed") {
  const std::string topic = new_topic("static", 1);
  const auto options = consumer_options({{"group.instance.id", "billing-1"}});
  std::optional<KafkaMember> first(std::in_place, options);
  first->consumer->subscribe({topic});
  first->await([&] { return !first->assigned.empty(); });
  KafkaMember second(options);
  second.consumer->subscribe({topic});
  await(*first, second, [&] { return !first->fatal.empty() && !second.assigned.empty(); });
  CHECK(first->fatal.front().error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID);
  CHECK_FALSE(first->fatal.front().reason.empty());
  CHECK(first->consumer->commit_and_wait({{topic, 0}, 1, ""}, 5s) != 0);
  first->consumer->unassign();
  first->step_for(500ms);
  CHECK(first->fatal.size() == 1);
  const auto begin = std::chrono::steady_clock::now();
  first.reset();
  CHECK(std::chrono::steady_clock::now() - begin < 3s);
}

TEST_CASE("a static member that comes back in time gets its places without a rebalance of the others") {
  const std::string topic = new_topic("restart", 2);
  auto options = consumer_options({{"group.instance.id", "one"}});
  KafkaMember stays(options);
  stays.consumer->subscribe({topic});
  options.properties.emplace_back("group.instance.id", "two");
  std::optional<KafkaMember> restarts(std::in_place, options);
  restarts->consumer->subscribe({topic});
  await(stays, *restarts, [&] { return stays.assigned.size() == 1 && restarts->assigned.size() == 1; });
  const std::vector<Place> places = restarts->assigned;
  const int revocations = stays.revocations;
  restarts.emplace(options);
  restarts->consumer->subscribe({topic});
  await(stays, *restarts, [&] { return restarts->assigned.size() == 1; });
  CHECK(restarts->assigned == places);
  CHECK(stays.revocations == revocations);
}

TEST_CASE("partitions that are added are assigned, and read from their beginning") {
  KafkaAdmin admin(bootstrap_servers());
  const std::string topic = new_topic("grows", 1);
  KafkaMember member(consumer_options({{"topic.metadata.refresh.interval.ms", "500"}}));
  member.consumer->subscribe({topic});
  member.await([&] { return member.assigned.size() == 1; });
  admin.add_partitions(topic, 3);
  publish(topic, 2, 0, 5);
  member.await([&] { return member.assigned.size() == 3; });
  member.await_records(5);
  CHECK(member.offsets(2).size() == 5);
}

TEST_CASE("members with different assignors do not become a group, and the one inside is unharmed") {
  const std::string topic = new_topic("assignors", 1);
  auto options = consumer_options();
  KafkaMember inside(options);
  inside.consumer->subscribe({topic});
  inside.await([&] { return inside.assigned.size() == 1; });
  options.properties.emplace_back("partition.assignment.strategy", "roundrobin");
  KafkaMember outside(options);
  outside.consumer->subscribe({topic});
  await(inside, outside, [&] { return !outside.troubles.empty(); });
  CHECK(outside.troubles.front().error == RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL);
  publish(topic, 0, 0, 3);
  inside.await_records(3);
  CHECK(inside.revocations == 0);
}
