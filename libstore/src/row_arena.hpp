#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include <txbox/store/outbox_reader.hpp>

namespace txbox::store {

/// Memory for the bytes of a batch: blocks that never move, filled one after the other and used again after rewind().
struct RowBatch::Arena {
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
  /// What a batch keeps for the next one; a few huge rows must not stay allocated for ever.
  static constexpr std::size_t kKeptBlocks = 8;

  struct Block {
    std::unique_ptr<char[]> memory;
    std::size_t size = 0;
  };
  std::vector<Block> blocks;
  std::size_t current = 0;
  std::size_t used = 0;

  char* allocate(std::size_t size) {
    while (current < blocks.size() && blocks[current].size - used < size) {
      ++current;
      used = 0;
    }
    if (current == blocks.size()) {
      const std::size_t block_size = size > kBlockBytes ? size : kBlockBytes;
      blocks.push_back({std::unique_ptr<char[]>(new char[block_size]), block_size});
      used = 0;
    }
    char* memory = blocks[current].memory.get() + used;
    used += size;
    return memory;
  }

  BytesView copy(BytesView bytes) {
    if (bytes.size() == 0) return bytes.is_null() ? BytesView() : BytesView(std::string_view());
    char* memory = allocate(bytes.size());
    std::memcpy(memory, bytes.data(), bytes.size());
    return {memory, bytes.size()};
  }

  void rewind() noexcept {
    std::erase_if(blocks, [](const Block& block) { return block.size > kBlockBytes; });
    if (blocks.size() > kKeptBlocks) blocks.resize(kKeptBlocks);
    current = 0;
    used = 0;
  }
};

}  // namespace txbox::store
