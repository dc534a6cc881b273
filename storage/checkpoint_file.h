// A checkpoint as the bytes of checkpoint-<step>.h5.
#pragma once

#include <string>
#include <string_view>

#include "experiments/spec/status.h"
#include "storage/checkpoint_store.h"

namespace retort::storage {

// Equal checkpoints give equal bytes. `name` stands in messages.
[[nodiscard]] Result<std::string> EncodeCheckpoint(const Checkpoint& checkpoint, const std::string& name);
// Error: damage, or usage for another format version.
[[nodiscard]] Result<Checkpoint> DecodeCheckpoint(std::string_view bytes, const std::string& name);

}  // namespace retort::storage
