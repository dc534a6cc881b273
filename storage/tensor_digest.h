// The fingerprint of a set of tensors: what rows call parameters_digest.
#pragma once

#include <string>
#include <vector>

#include "storage/tensor_blob.h"

namespace retort::storage {

// SHA-256 hex over, for each tensor in the order given: length of its name, name, element type, number of
// extents, extents, bytes. Numbers are 8 bytes, native little endian.
[[nodiscard]] std::string TensorDigest(const std::vector<TensorBlob>& tensors);

}  // namespace retort::storage
