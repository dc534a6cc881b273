// at::Tensor <-> storage::TensorBlob, bit for bit.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"

namespace retort::worker {

// The values in row-major order, whatever the tensor's layout or device. f32, f64, i32, i64 and u8 only.
[[nodiscard]] storage::TensorBlob MakeTensorBlob(std::string name, const at::Tensor& tensor);
// A tensor of its own memory, on the CPU. Error: damage, when bytes and shape disagree.
[[nodiscard]] Result<at::Tensor> MakeTensorFromBlob(const storage::TensorBlob& blob);
// Whether every f32 value is finite; false for a blob that is none.
[[nodiscard]] bool AreAllFinite(const std::vector<storage::TensorBlob>& blobs);
// SHA-256 hex over names, types, shapes and bytes, in the order given.
[[nodiscard]] std::string ComputeDigest(const std::vector<storage::TensorBlob>& blobs);

}  // namespace retort::worker
