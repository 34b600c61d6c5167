#pragma once

#include <string>
#include <string_view>

#include <txbox/base/headers.hpp>

namespace txbox::store {

/// The text of column `headers` for these headers: an object where names are unique, valid UTF-8 and no value needs
/// base64, else pairs (interfaces: [["a","1"],["a",null],["b",{"base64":"AAE="}]]). Throws invalid_argument for a
/// reserved name (`id`, `txbox-*`) unless as_is, or a name that is not UTF-8.
[[nodiscard]] std::string headers_to_json(const Headers& headers, bool as_is = false);

/// The inverse; REQUIRES nothing: any text is answered with headers or Error(invalid_argument). Depth and
/// size are bounded, object order is kept, a repeated name in an object is kept twice.
[[nodiscard]] Headers headers_from_json(std::string_view json);

/// The same for the headers of any record in Kafka, whose names are reserved ones, repeat, and need not be UTF-8:
/// always pairs, where such a name is {"base64":"..."} as a value would be. Column `headers` of inbox_parked.
[[nodiscard]] std::string foreign_headers_to_json(const Headers& headers);
/// The inverse, as headers_from_json.
[[nodiscard]] Headers foreign_headers_from_json(std::string_view json);

}  // namespace txbox::store
