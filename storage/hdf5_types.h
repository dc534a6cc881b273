// HDF5 types of tensors and table columns; implementation detail of the writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/hdf5_handle.h"
#include "storage/hdf5_table.h"
#include "storage/tensor_blob.h"

namespace retort::storage {

// H5S_ALL, whose macro is an old-style cast.
inline constexpr Hdf5Id kWholeSpace = 0;

// A predefined native type; not owned.
[[nodiscard]] Hdf5Id NativeType(DType dtype);
// Fixed-length UTF-8, NUL-padded; `size` at least 1.
[[nodiscard]] Hdf5Handle StringType(std::size_t size);

// Rows as packed bytes, and the compound type that describes them.
struct PackedTable {
  Hdf5Handle type;
  std::vector<std::uint8_t> bytes;
  std::size_t rows = 0;
};
[[nodiscard]] PackedTable Pack(const Table& table);

}  // namespace retort::storage
