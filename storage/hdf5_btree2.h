// B-trees of HDF5, version 2: records of equal size.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/hdf5_image.h"

namespace retort::storage {

// All records of the tree at `at`, which must have this type and size of records. Error: damage.
[[nodiscard]] Result<std::vector<std::string_view>> ReadBtree2(Hdf5Image& image, std::uint64_t at,
                                                               std::uint8_t type, std::size_t record_bytes);

}  // namespace retort::storage
