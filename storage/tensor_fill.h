// The elements of tensors, put where an HDF5 file has left room for them: a checkpoint's bytes go from the
// tensors to the disk without a copy, and are digested while the disk is busy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::storage {

struct TensorRoom {
  std::uint64_t offset = 0;  // in the file
  std::string_view bytes;    // of the tensor
};

// Writes every tensor into its room in the closed file at `path`; rooms do not overlap. Synced. Returns
// the SHA-256 hex of the whole file. Error: environment.
[[nodiscard]] Result<std::string> FillTensors(const std::string& path, std::vector<TensorRoom> rooms);

}  // namespace retort::storage
