// Where the elements of a dataset lie in an HDF5 file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/hdf5_header.h"
#include "storage/hdf5_image.h"
#include "storage/hdf5_value.h"

namespace retort::storage {

struct Hdf5Dataset {
  Hdf5Type type;
  std::vector<std::int64_t> shape;       // empty for a scalar
  std::vector<std::string_view> pieces;  // in order they are all elements, row-major
};

// All extents are inside the file before anything is copied. Error: damage; so are virtual and external
// datasets, compact ones, and chunks that are cut along another axis than the first.
[[nodiscard]] Result<Hdf5Dataset> ReadHdf5Dataset(Hdf5Image& image, const std::vector<Hdf5Message>& header);

}  // namespace retort::storage
