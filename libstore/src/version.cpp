#include <txbox/store/version.hpp>

#include <sqlite3.h>

namespace txbox::store {

std::string library_version() { return sqlite3_libversion(); }

}  // namespace txbox::store
