// Many or large messages of one object (attributes, links): indexed by a B-tree (version 2), stored in a
// fractal heap.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/hdf5_image.h"

namespace retort::storage {

// What a record of the index by name is: its heap identifier lies at `id_at` and has `id_bytes`.
struct Hdf5DenseIndex {
  std::uint8_t tree_type = 0;
  std::size_t record_bytes = 0, id_at = 0, id_bytes = 0;
};
inline constexpr Hdf5DenseIndex kDenseLinks = {5, 11, 4, 7};
inline constexpr Hdf5DenseIndex kDenseAttributes = {8, 17, 0, 8};

// The messages that the B-tree at `tree` lists, out of the heap at `heap`; in no particular order. Error:
// damage.
[[nodiscard]] Result<std::vector<std::string_view>> ReadDenseMessages(Hdf5Image& image, std::uint64_t heap,
                                                                      std::uint64_t tree,
                                                                      const Hdf5DenseIndex& index);

}  // namespace retort::storage
