// State dicts as PyTorch and safetensors load them.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"

namespace retort::storage {

// f32, f64, i32, i64 and u8 tensors under their names. The bytes depend on the tensors alone.
// Errors: refused, for two of one name, an empty name, or another element type.

// A zip container as torch.save writes it: an OrderedDict that torch.load(path, weights_only=True) gives
// back.
[[nodiscard]] Result<std::string> EncodeTorch(const std::vector<TensorBlob>& tensors);
// With the metadata {"format": "pt"}; 8-byte types first, so that every tensor is aligned.
[[nodiscard]] Result<std::string> EncodeSafetensors(const std::vector<TensorBlob>& tensors);

}  // namespace retort::storage
