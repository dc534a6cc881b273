// Opening attempt.h5: seal, HDF5, version.
#pragma once

#include <string>

#include "experiments/spec/status.h"
#include "storage/hdf5_reader.h"

namespace retort::storage {

// Error: damage, or usage for another format version, or environment.
[[nodiscard]] Result<Hdf5Reader> OpenSealedHdf5(const std::string& path);

}  // namespace retort::storage
