// What a group of an HDF5 file names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/hdf5_header.h"
#include "storage/hdf5_image.h"

namespace retort::storage {

struct Hdf5Link {
  std::string name;
  std::uint64_t address = kHdf5Nowhere;  // of the object's header; nowhere: the link leads out of the file
  std::string file, object;              // of a link that does
};

[[nodiscard]] bool IsHdf5Group(const std::vector<Hdf5Message>& header);

// Its links, in no particular order. Error: damage; so are soft links, and names that are none.
[[nodiscard]] Result<std::vector<Hdf5Link>> ReadHdf5Links(Hdf5Image& image,
                                                          const std::vector<Hdf5Message>& header);

}  // namespace retort::storage
