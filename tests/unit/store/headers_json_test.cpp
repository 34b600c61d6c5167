#include <string>

#include <doctest/doctest.h>

#include <txbox/base/random.hpp>
#include <txbox/store/headers_json.hpp>
#include <txbox/store/schema.hpp>

#include "support/app_database.hpp"
#include "support/expect_error.hpp"
#include "support/temp_dir.hpp"

using txbox::Bytes;
using txbox::ErrorCode;
using txbox::Headers;
using txbox::SeededRandom;
using txbox::store::headers_from_json;
using txbox::store::headers_to_json;
using txbox::test::AppDatabase;
using txbox::test::code_of;
using txbox::test::TempDir;

namespace {

bool readable(std::string_view json) {
  return !code_of([&] { (void)headers_from_json(json); }).has_value();
}

/// Asks the table itself, on a connection as wary as an application can be.
class Guard {
 public:
  Guard() : app_(dir_.file("a.db")) {
    txbox::store::install(app_, {});
    app_.run("PRAGMA trusted_schema=OFF; BEGIN");
    sqlite3_prepare_v2(app_, "INSERT OR IGNORE INTO outbox(topic, headers, as_is) VALUES ('t', ?1, 1)", -1, &insert_,
                       nullptr);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() { sqlite3_finalize(insert_); }

  bool accepts(std::string_view json) {
    sqlite3_reset(insert_);
    sqlite3_bind_text64(insert_, 1, json.data(), json.size(), SQLITE_STATIC, SQLITE_UTF8);
    const bool done = sqlite3_step(insert_) == SQLITE_DONE;
    // OR IGNORE must never turn a refusal into silence.
    if (done) REQUIRE(sqlite3_changes(app_) == 1);
    sqlite3_reset(insert_);
    return done;
  }

 private:
  TempDir dir_;
  AppDatabase app_;
  sqlite3_stmt* insert_ = nullptr;
};

std::string random_bytes(SeededRandom& random, std::size_t limit) {
  std::string bytes;
  for (std::size_t left = random.below(limit); left > 0; --left)
    bytes += static_cast<char>(static_cast<unsigned char>(random.below(256)));
  return bytes;
}

/// Pieces of which headers, and things that are nearly headers, are made.
std::string random_text(SeededRandom& random) {
  static const char* const pieces[] = {"{",
                                       "}",
                                       "[",
                                       "]",
                                       ",",
                                       ":",
                                       "\"",
                                       "\"a\"",
                                       "\"id\"",
                                       "\"\"",
                                       "null",
                                       "nul",
                                       "true",
                                       "1",
                                       "-0.5e3",
                                       " ",
                                       "\n",
                                       "\t",
                                       "\v",
                                       "\"base64\"",
                                       "\"AAE=\"",
                                       "\"AAF=\"",
                                       "\"A===\"",
                                       "{\"base64\":\"AAE=\"}",
                                       "[\"a\",null]",
                                       "[\"a\",\"b\"]",
                                       "\\",
                                       "\\u0041",
                                       "\\u0000",
                                       "\\ud83d\\ude00",
                                       "\\ud800",
                                       "\\/",
                                       "\\x",
                                       "'",
                                       "/*",
                                       "\x01",
                                       "\xc3\xa9",
                                       "\xff",
                                       "\"a\":\"b\"",
                                       "{\"base64\":\"AA\\u0000==\"}",
                                       "{\"base64\":\"\\/\\/8=\"}",
                                       "a",
                                       "\"c\":null"};
  std::string text;
  for (std::size_t left = 1 + random.below(9); left > 0; --left) text += pieces[random.below(std::size(pieces))];
  return text;
}

std::string mutated(SeededRandom& random, std::string text) {
  for (std::size_t left = random.below(4); left > 0 && !text.empty(); --left) {
    const std::size_t at = random.below(text.size());
    switch (random.below(3)) {
      case 0: text.erase(at, 1); break;
      case 1: text.insert(at, random_text(random).substr(0, 3)); break;
      default: text[at] = static_cast<char>(static_cast<unsigned char>(1 + random.below(255))); break;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("plain headers are written as an object, in order") {
  CHECK(headers_to_json({{"type", "OrderPlaced"}, {"other", nullptr}, {"", ""}}) ==
        R"({"type":"OrderPlaced","other":null,"":""})");
  CHECK(headers_to_json({}) == "{}");
}

TEST_CASE("repeats and bytes make pairs") {
  CHECK(headers_to_json({{"a", "1"}, {"a", nullptr}}) == R"([["a","1"],["a",null]])");
  CHECK(headers_to_json({{"b", std::string("\0\1", 2)}}) == R"([["b",{"base64":"AAE="}]])");
}

TEST_CASE("reserved names and names that are not text are refused") {
  for (const char* name : {"id", "txbox-", "txbox-created-at"}) {
    CHECK(code_of([&] { (void)headers_to_json({{name, "x"}}); }) == ErrorCode::invalid_argument);
    CHECK(headers_from_json(headers_to_json({{name, "x"}}, true)).size() == 1);
  }
  CHECK(headers_from_json(headers_to_json({{"ids", "x"}, {"ID", "y"}, {"txbox", "z"}})).size() == 3);
  CHECK(code_of([] { (void)headers_to_json({{"\xff", "x"}}); }) == ErrorCode::invalid_argument);
  CHECK(code_of([] { (void)headers_to_json({{std::string("a\0b", 3), "x"}}); }) == ErrorCode::invalid_argument);
}

TEST_CASE("an object keeps its order and a repeated name") {
  const Headers headers = headers_from_json(" {\"b\" : \"1\", \"a\":null,\"b\":\"\\u00e9\\n\\/\"}\n");
  CHECK(headers == Headers{{"b", "1"}, {"a", nullptr}, {"b", "\xc3\xa9\n/"}});
}

TEST_CASE("escapes are read as SQLite reads them, and a broken surrogate is U+FFFD") {
  CHECK(headers_from_json(R"({"\ud83d\ude00":"\ud800x\udc00"})") ==
        Headers{{"\xf0\x9f\x98\x80", "\xef\xbf\xbdx\xef\xbf\xbd"}});
}

TEST_CASE("what is no headers is refused, whatever the depth") {
  for (const std::string& json :
       {std::string(), std::string("null"), std::string("\"a\""), std::string("{\"a\":1}"), std::string("{\"a\":[]}"),
        std::string("[[\"a\"]]"), std::string("[[\"a\",\"b\",\"c\"]]"), std::string("[null]"), std::string("{} x"),
        std::string("{\"a\":\"b\",}"), std::string("[[\"a\",{\"base64\":\"AAE\"}]]"), std::string("{a:'b'}"),
        std::string("{}\0", 3), std::string(1'000'000, '['),
        std::string("[[\"a\",{\"base64\":\"\",\"base64\":\"\"}]]")}) {
    CHECK(code_of([&] { (void)headers_from_json(json); }) == ErrorCode::invalid_argument);
  }
}

TEST_CASE("random headers come back as they were, and the guard takes them") {
  SeededRandom random(20260101);
  Guard guard;
  for (int round = 0; round < 3000; ++round) {
    Headers headers;
    for (std::size_t left = random.below(6); left > 0; --left) {
      static const char* const names[] = {"a", "b", "", "type", "\xc3\xa9", "quote\"d", "back\\slash", "line\n"};
      const std::size_t kind = random.below(4);
      headers.add(names[random.below(std::size(names))], kind == 0   ? Bytes()
                                                         : kind == 1 ? Bytes("text \"1\"")
                                                                     : Bytes(random_bytes(random, 20)));
    }
    const std::string json = headers_to_json(headers);
    CAPTURE(json);
    CHECK(headers_from_json(json) == headers);
    CHECK(guard.accepts(json));
  }
}

TEST_CASE("the guard accepts exactly what the relay can read") {
  SeededRandom random(7);
  Guard guard;
  int accepted = 0;
  for (int round = 0; round < 60'000; ++round) {
    static const char* const seeds[] = {R"({"a":"b","c":null})",
                                        R"([["a","1"],["a",null],["b",{"base64":"AAE="}]])",
                                        "{}",
                                        "[]",
                                        R"({"é":"\u0041\/"})",
                                        R"([["a",{"base64":""}]])"};
    const std::string text =
        round % 3 == 0 ? random_text(random) : mutated(random, seeds[random.below(std::size(seeds))]);
    const bool by_guard = guard.accepts(text);
    CAPTURE(text);
    REQUIRE(by_guard == readable(text));
    accepted += by_guard ? 1 : 0;
  }
  // Both answers must have been seen often, or the test shows nothing.
  CHECK(accepted > 3000);
  CHECK(accepted < 50'000);
}

TEST_CASE("the guard accepts exactly the base64 that the relay can read") {
  SeededRandom random(11);
  Guard guard;
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    static constexpr std::string_view alphabet = "AQgwEIMUYcko048+/=BZ9-";
    for (std::size_t left = random.below(10); left > 0; --left) text += alphabet[random.below(alphabet.size())];
    text.append(random.below(3), '=');
    const std::string json = "[[\"a\",{\"base64\":\"" + text + "\"}]]";
    CAPTURE(json);
    REQUIRE(guard.accepts(json) == readable(json));
    accepted += readable(json) ? 1 : 0;
  }
  CHECK(accepted > 500);
}
