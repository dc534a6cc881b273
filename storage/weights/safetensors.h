// Where the tensors of a safetensors file lie.
#pragma once

#include <string>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/weights/stored_state.h"

namespace retort::storage {

// `name` stands in messages; errors as of ReadWeights (read_weights.h).
// Header length (u64 little endian), JSON header of at most 100 MB, row-major elements without holes or
// overlaps.
[[nodiscard]] Result<StoredState> ReadSafetensors(const InputFile& file, const std::string& name);

}  // namespace retort::storage
