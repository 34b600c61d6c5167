#include "relay/engine/trouble_note.hpp"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <doctest/doctest.h>

#include "support/temp_dir.hpp"

namespace txbox::relay {

namespace {
TroubleFigures refused() {
  return {.kind = BrokerTrouble::auth_failed,
          .text = "Kafka refuses the credentials:\nreally",
          .since = WallTime(std::chrono::milliseconds(1'700'000'000'000))};
}
}  // namespace

TEST_CASE("a trouble is noted while it lasts, under the number of its process") {
  const test::TempDir folder;
  {
    TroubleNote note(folder.path(), 42);
    CHECK_FALSE(read_trouble_note(folder.path(), 42).has_value());
    note.show(refused());
    const auto read = read_trouble_note(folder.path(), 42);
    REQUIRE(read.has_value());
    CHECK(read->kind == BrokerTrouble::auth_failed);
    CHECK(read->text == "Kafka refuses the credentials:?really");
    CHECK(read->since == refused().since);
    CHECK_FALSE(read_trouble_note(folder.path(), 43).has_value());
    note.show(std::nullopt);
    CHECK_FALSE(read_trouble_note(folder.path(), 42).has_value());
    note.show(refused());
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("what a killed process left under the same number is taken away") {
  const test::TempDir folder;
  std::ofstream(folder.file("relay-42.trouble")) << "unreachable\n1\nold\n";
  REQUIRE(read_trouble_note(folder.path(), 42).has_value());
  const TroubleNote note(folder.path(), 42);
  CHECK_FALSE(read_trouble_note(folder.path(), 42).has_value());
}

TEST_CASE("a note that is not whole is none, and one that cannot be written hurts nobody") {
  const test::TempDir folder;
  for (const char* text : {"", "unreachable\n", "unreachable\n1\n", "nonsense\n1\nx\n", "other\n1x\nx\n"}) {
    std::ofstream(folder.file("relay-7.trouble"), std::ios::trunc) << text;
    CAPTURE(text);
    CHECK_FALSE(read_trouble_note(folder.path(), 7).has_value());
  }
  TroubleNote nowhere(folder.file("none") + "/deeper", 7);
  nowhere.show(refused());
  nowhere.show(std::nullopt);
}

TEST_CASE("the state directory of a process is what its environment says") {
  CHECK_FALSE(state_directory_of(::getpid()).empty());
}

}  // namespace txbox::relay
