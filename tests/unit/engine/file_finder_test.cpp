#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "relay/engine/file_finder.hpp"
#include "support/temp_dir.hpp"

namespace txbox::test {

using relay::FileFinder;

namespace {

void make(const std::string& path) { std::ofstream(path) << "x"; }

std::vector<std::string> paths(FileFinder& finder) {
  std::vector<std::string> paths;
  for (const relay::FoundFile& found : finder.scan()) paths.push_back(found.path);
  return paths;
}

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("a path is given once, whether its file is there or not") {
  FileFinder finder({"/no/such/file.db", "/no/such/file.db"});
  CHECK_FALSE(finder.has_patterns());
  CHECK(paths(finder) == Paths{"/no/such/file.db"});
  CHECK(paths(finder).empty());
}

TEST_CASE("a pattern gives its files as they come, without those that stand beside a database") {
  const TempDir dir;
  make(dir.file("a.db"));
  make(dir.file("a.db-wal"));
  std::filesystem::create_directory(dir.file("folder.db"));
  FileFinder finder({dir.file("*")});
  REQUIRE(finder.has_patterns());
  CHECK(finder.folders() == Paths{dir.path() + "/"});
  CHECK(paths(finder) == Paths{dir.file("a.db")});
  CHECK(paths(finder).empty());
  make(dir.file("b.db"));
  CHECK(paths(finder) == Paths{dir.file("b.db")});
}

TEST_CASE("a pattern that no file fits is named, and one is no more once a file is there") {
  const TempDir dir;
  make(dir.file("a.db"));
  make(dir.file("none.db-wal"));
  FileFinder finder({dir.file("a*.db"), dir.file("none*")});
  CHECK(finder.without_files() == Paths{dir.file("none*")});
  make(dir.file("none.db"));
  CHECK(finder.without_files().empty());
}

TEST_CASE("a file that ended is given again when another one is there, or when it had gone") {
  const TempDir dir;
  make(dir.file("a.db"));
  make(dir.file("b.db"));
  FileFinder finder({dir.file("*.db")});
  CHECK(paths(finder).size() == 2);
  finder.ended(dir.file("a.db"), false);
  finder.ended(dir.file("b.db"), true);
  CHECK(paths(finder) == Paths{dir.file("b.db")});
  make(dir.file("other"));
  std::filesystem::rename(dir.file("other"), dir.file("a.db"));
  CHECK(paths(finder) == Paths{dir.file("a.db")});
}

TEST_CASE("a file whose name looks like a pattern is a path, and wild folders are not watched") {
  const TempDir dir;
  make(dir.file("[1].db"));
  FileFinder literal({dir.file("[1].db")});
  CHECK_FALSE(literal.has_patterns());
  CHECK(paths(literal) == Paths{dir.file("[1].db")});
  const FileFinder wild({dir.path() + "/*/shop.db"});
  CHECK(wild.has_patterns());
  CHECK(wild.folders().empty());
}

}  // namespace txbox::test
