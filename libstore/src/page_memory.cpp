#include <sqlite3.h>

#include <txbox/store/page_memory.hpp>

namespace txbox::store {

void take_pages_one_by_one() noexcept { sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, 0); }

}  // namespace txbox::store
