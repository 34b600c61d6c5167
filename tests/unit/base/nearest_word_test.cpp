#include <txbox/base/nearest_word.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace txbox::base {

TEST_CASE("a typo is answered with the word it is nearest to") {
  const std::vector<std::string> words{"init", "run", "status", "ls", "show"};
  CHECK(nearest_word("statsu", words) == "status");
  CHECK(nearest_word("sow", words) == "show");
  CHECK(nearest_word("rnu", words) == "");
  CHECK(nearest_word("runn", words) == "run");
  CHECK(nearest_word("inti", words) == "init");
  const std::vector<std::string> names{"acks", "linger.ms", "batch.size", "compression.type", "compression.codec"};
  CHECK(nearest_word("linger", names) == "linger.ms");
  CHECK(nearest_word("ack", names) == "acks");
  CHECK(nearest_word("linger_ms", names) == "linger.ms");
  CHECK(nearest_word("batchsize", names) == "batch.size");
  CHECK(nearest_word("compresion.type", names) == "compression.type");
}

TEST_CASE("a word that is near to none is answered with none") {
  const std::vector<std::string> words{"init", "run"};
  CHECK(nearest_word("publish", words).empty());
  CHECK(nearest_word("colour", words).empty());
  CHECK(nearest_word("", words).empty());
  CHECK(nearest_word("run", {}).empty());
}

}  // namespace txbox::base
