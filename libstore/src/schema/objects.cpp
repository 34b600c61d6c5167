#include "schema/objects.hpp"

namespace txbox::store::schema {

namespace {

std::string_view create_word(Kind kind) noexcept {
  switch (kind) {
    case Kind::table: return "TABLE";
    case Kind::index: return "INDEX";
    case Kind::unique_index: return "UNIQUE INDEX";
    case Kind::trigger: return "TRIGGER";
    case Kind::view: return "VIEW";
  }
  return "";
}

std::string text_of(const Object& object, std::string_view prefix, std::int64_t max_record_bytes) {
  std::string text = "CREATE ";
  text += create_word(object.kind);
  text += ' ';
  text += prefix;
  text += object.name;
  static constexpr std::string_view kLimit = "{limit}";
  const std::string limit = std::to_string(max_record_bytes);
  std::size_t from = 0;
  for (std::size_t at = object.body.find(kLimit); at != std::string_view::npos; at = object.body.find(kLimit, from)) {
    text += object.body.substr(from, at - from);
    text += limit;
    from = at + kLimit.size();
  }
  text += object.body.substr(from);
  return text;
}

}  // namespace

std::string_view type_word(Kind kind) noexcept {
  switch (kind) {
    case Kind::table: return "table";
    case Kind::index:
    case Kind::unique_index: return "index";
    case Kind::trigger: return "trigger";
    case Kind::view: return "view";
  }
  return "";
}

std::string stored_text(const Object& object, std::int64_t max_record_bytes) {
  return text_of(object, "", max_record_bytes);
}

std::string create_text(const Object& object, std::int64_t max_record_bytes) {
  return text_of(object, "main.", max_record_bytes);
}

}  // namespace txbox::store::schema
