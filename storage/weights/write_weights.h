// State dicts as PyTorch and safetensors load them.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"

namespace retort::storage {

// f32, f64, i32, i64 and u8 tensors under their names. The bytes depend on the tensors and the description alone.
// `description`: JSON about the network, or empty; programs that do not know of it read the file as without.
// Errors: refused, for two of one name, an empty name, or another element type.

// A zip container as torch.save writes it: an OrderedDict that torch.load(path, weights_only=True) gives
// back. The description is the member archive/extra/retort.json.
[[nodiscard]] Result<std::string> EncodeTorch(const std::vector<TensorBlob>& tensors,
                                              const std::string& description = "");
// With the metadata {"format": "pt", "retort": description}; 8-byte types first, so that every tensor is aligned.
[[nodiscard]] Result<std::string> EncodeSafetensors(const std::vector<TensorBlob>& tensors,
                                                    const std::string& description = "");

}  // namespace retort::storage
