// The version mark of the HDF5 files.
#pragma once

#include <string>

#include "experiments/spec/status.h"

namespace retort::storage {

class Hdf5Reader;

inline constexpr char kConventions[] = "Retort-1";

// Error: usage for a file of another version, naming both; damage for a file without the mark.
[[nodiscard]] Status CheckConventions(const Hdf5Reader& reader);

}  // namespace retort::storage
