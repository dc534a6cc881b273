#include "worker/tensors/tensor_codec.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>

#include <cstring>
#include <utility>

#include "storage/formats/tensor_blob.h"

namespace retort::worker {
namespace {

using storage::DType;

DType TypeFor(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return DType::f32;
    case at::kDouble:
      return DType::f64;
    case at::kInt:
      return DType::i32;
    case at::kLong:
      return DType::i64;
    case at::kByte:
      return DType::u8;
    default:
      CheckFailed("storable tensor type", __FILE__, __LINE__, c10::toString(type));
  }
}

Result<at::ScalarType> TypeFor(DType type) {
  switch (type) {
    case DType::f32:
      return at::kFloat;
    case DType::f64:
      return at::kDouble;
    case DType::i32:
      return at::kInt;
    case DType::i64:
      return at::kLong;
    case DType::u8:
      return at::kByte;
    case DType::u32:
    case DType::u64:
      break;
  }
  return DamageError("A stored tensor has an element type that the worker never writes.");
}

}  // namespace

storage::TensorBlob MakeTensorBlob(std::string name, const at::Tensor& tensor) {
  const at::Tensor dense = tensor.detach().cpu().contiguous();
  storage::TensorBlob blob{std::move(name), TypeFor(dense.scalar_type()), dense.sizes().vec(), {}};
  const auto* data = static_cast<const std::uint8_t*>(dense.const_data_ptr());
  blob.bytes.assign(data, data + dense.nbytes());
  return blob;
}

Result<at::Tensor> MakeTensorFromBlob(const storage::TensorBlob& blob) {
  RETORT_ASSIGN_OR_RETURN(const at::ScalarType type, TypeFor(blob.dtype));
  at::Tensor tensor = at::empty(blob.shape, type);
  if (tensor.nbytes() != blob.bytes.size()) {
    return DamageError("The stored tensor '" + blob.name + "' has bytes for another shape.");
  }
  if (!blob.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), blob.bytes.data(), blob.bytes.size());
  return tensor;
}

std::string ComputeDigest(const std::vector<storage::TensorBlob>& blobs) { return storage::ComputeTensorDigest(blobs); }

bool AreAllFinite(const std::vector<storage::TensorBlob>& blobs) {
  for (const storage::TensorBlob& blob : blobs) {
    if (blob.dtype != storage::DType::f32) continue;
    const Result<at::Tensor> tensor = MakeTensorFromBlob(blob);
    if (!tensor.ok() || !tensor->isfinite().all().item<bool>()) return false;
  }
  return true;
}

}  // namespace retort::worker
