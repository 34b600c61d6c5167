#include "relay/cli/nearest.hpp"

#include <vector>

#include <doctest/doctest.h>

namespace txbox::relay {

TEST_CASE("a typo is answered with the word it is nearest to") {
  const std::vector<std::string> words{"init", "run", "status", "ls", "show"};
  CHECK(nearest_word("statsu", words) == "status");
  CHECK(nearest_word("sow", words) == "show");
  CHECK(nearest_word("rnu", words) == "");
  CHECK(nearest_word("runn", words) == "run");
  CHECK(nearest_word("inti", words) == "init");
}

TEST_CASE("a word that is near to none is answered with none") {
  const std::vector<std::string> words{"init", "run"};
  CHECK(nearest_word("publish", words).empty());
  CHECK(nearest_word("", words).empty());
  CHECK(nearest_word("run", {}).empty());
}

}  // namespace txbox::relay
