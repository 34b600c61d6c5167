#include <txbox/base/headers.hpp>

namespace txbox {

const Header* Headers::last(std::string_view name) const noexcept {
  for (auto header = headers_.rbegin(); header != headers_.rend(); ++header) {
    if (header->name == name) return &*header;
  }
  return nullptr;
}

}  // namespace txbox
