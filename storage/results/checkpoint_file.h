// A checkpoint as the bytes of checkpoint-<step>.h5.
#pragma once

#include <string>
#include <string_view>

#include "experiments/base/status.h"
#include "storage/results/checkpoint_store.h"

namespace retort::storage {

// Publishes the file by rename. Equal checkpoints give equal bytes. Returns the SHA-256 hex of the bytes.
// Error: environment; refused for what HDF5 cannot hold.
[[nodiscard]] Result<std::string> WriteCheckpoint(Env& env, const std::string& path, const Checkpoint& checkpoint);
// Error: damage, or usage for another format version.
[[nodiscard]] Result<Checkpoint> DecodeCheckpoint(std::string_view bytes, const std::string& name);

}  // namespace retort::storage
