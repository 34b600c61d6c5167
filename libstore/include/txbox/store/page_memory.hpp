#pragma once

namespace txbox::store {

/// For a process with very many connections: each page cache takes the pages that it uses, one by one, and what a
/// resting one gives back serves the others. (By default each cache takes twenty at once.) Holds for the whole process;
/// to be called before the first connection, and without effect after it.
void take_pages_one_by_one() noexcept;

}  // namespace txbox::store
