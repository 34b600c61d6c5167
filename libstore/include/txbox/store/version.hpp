#pragma once

#include <string>

namespace txbox::store {

/// Of the SQLite linked at run time: "3.40.1".
[[nodiscard]] std::string library_version();

}  // namespace txbox::store
