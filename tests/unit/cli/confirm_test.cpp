#include "relay/cli/confirm.hpp"

#include <cstdio>
#include <memory>
#include <string>

#include <doctest/doctest.h>

namespace txbox::relay {

namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

bool answered(const std::string& text) {
  const File answers(std::tmpfile());
  const File words(std::tmpfile());
  REQUIRE(answers);
  REQUIRE(words);
  std::fputs(text.c_str(), answers.get());
  std::rewind(answers.get());
  const bool yes = confirm("skip 3 rows?", answers.get(), words.get());
  CHECK(std::ftell(words.get()) == static_cast<long>(std::string("skip 3 rows? [y/N] ").size()));
  return yes;
}

}  // namespace

TEST_CASE("only a plain yes is a yes") {
  for (const char* yes : {"y\n", "Y\n", "yes\n", " YES \n", "y"}) CHECK(answered(yes));
  for (const char* no : {"", "\n", "n\n", "no\n", "ye\n", "yesterday\n", "\ny\n", "y y y\n"}) CHECK_FALSE(answered(no));
}

}  // namespace txbox::relay
