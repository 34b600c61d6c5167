#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <txbox/kafka/producer.hpp>

using txbox::kafka::partition_for_key;

namespace {

constexpr std::array<std::int32_t, 8> kPartitionCounts{1, 2, 3, 6, 7, 12, 50, 1'000};

struct Golden {
  std::string key;
  std::array<std::int32_t, kPartitionCounts.size()> partitions;  ///< One for each of kPartitionCounts.
};

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (int value : values) text.push_back(static_cast<char>(value));
  return text;
}

std::string every_byte() {
  std::string text;
  for (int value = 0; value < 256; ++value) text.push_back(static_cast<char>(value));
  return text;
}

std::string alphabet(std::size_t size) {
  std::string text;
  while (text.size() < size) text.push_back(static_cast<char>('a' + text.size() % 26));
  return text;
}

/// What BuiltInPartitioner.partitionForKey of Java's client (kafka-clients 4.3.1) answers.
const std::vector<Golden> kJava{
    {"", {0, 1, 0, 3, 2, 9, 31, 681}},
    {bytes({0x00}), {0, 0, 2, 2, 0, 8, 38, 588}},
    {bytes({0x00, 0x00}), {0, 0, 0, 0, 5, 6, 8, 58}},
    {bytes({0xff}), {0, 1, 0, 3, 5, 3, 13, 963}},
    {bytes({0xff, 0xfe, 0xfd}), {0, 0, 2, 2, 5, 8, 42, 92}},
    {bytes({0x61, 0x00, 0x62}), {0, 1, 0, 3, 5, 9, 31, 281}},
    {bytes({0xc3, 0x28}), {0, 0, 0, 0, 3, 0, 48, 348}},
    {bytes({0x80, 0x80, 0x80, 0x80}), {0, 0, 2, 2, 1, 8, 24, 324}},
    {bytes({0xed, 0xa0, 0x80}), {0, 0, 1, 4, 5, 10, 32, 882}},
    {"a", {0, 0, 1, 4, 5, 4, 24, 524}},
    {"ab", {0, 0, 2, 2, 0, 2, 34, 434}},
    {"abc", {0, 1, 0, 3, 4, 3, 7, 107}},
    {"abcd", {0, 0, 2, 2, 5, 8, 0, 100}},
    {"abcde", {0, 1, 1, 1, 4, 1, 41, 741}},
    {"order-1", {0, 0, 1, 4, 4, 10, 26, 326}},
    {"user42", {0, 0, 1, 4, 3, 4, 40, 340}},
    {"A1", {0, 1, 0, 3, 4, 3, 29, 779}},
    {"0", {0, 0, 2, 2, 3, 8, 46, 396}},
    {"-1", {0, 1, 0, 3, 6, 3, 27, 27}},
    {"18446744073709551616", {0, 1, 1, 1, 5, 7, 45, 195}},
    {"f81d4fae-7dec-11d0-a765-00a0c91e6bf6", {0, 0, 2, 2, 5, 8, 6, 156}},
    {bytes({0x47, 0x72, 0xc3, 0xbc, 0xc3, 0x9f, 0x65}), {0, 1, 0, 3, 4, 3, 9, 359}},
    {bytes({0xe6, 0xb3, 0xa8, 0xe6, 0x96, 0x87}), {0, 1, 0, 3, 2, 3, 11, 511}},
    {bytes({0xf0, 0x9f, 0x93, 0xa6}), {0, 0, 2, 2, 2, 8, 20, 220}},
    {" ", {0, 1, 0, 3, 2, 9, 21, 521}},
    {bytes({0x09, 0x0a}), {0, 0, 1, 4, 5, 10, 26, 326}},
    {every_byte(), {0, 0, 1, 4, 3, 10, 24, 374}},
    {alphabet(1'000), {0, 1, 1, 1, 2, 7, 33, 83}},
};

}  // namespace

TEST_CASE("a key goes to the partition that Java's client chooses, whatever its bytes") {
  for (const Golden& golden : kJava) {
    for (std::size_t index = 0; index < kPartitionCounts.size(); ++index) {
      CAPTURE(golden.key);
      CHECK(partition_for_key(golden.key, kPartitionCounts[index]) == golden.partitions[index]);
    }
  }
}

TEST_CASE("the empty key is a key like any other: it always goes to the same partition") {
  for (int round = 0; round < 100; ++round) {
    CHECK(partition_for_key(std::string_view(), 1'000) == 681);
    CHECK(partition_for_key(std::string_view(""), 1'000) == 681);
  }
}
