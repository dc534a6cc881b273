// The only tensor type that storage knows, and the digest of a set of tensors.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace retort::storage {

enum class DType : std::uint8_t { f32 = 0, f64 = 1, i32 = 2, i64 = 3, u8 = 4, u32 = 5, u64 = 6 };

[[nodiscard]] constexpr std::size_t ComputeByteSize(DType type) {
  switch (type) {
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
    case DType::u8:
      return 1;
  }
  return 0;
}

// Row-major, native little endian. bytes.size() == product(shape) * ComputeByteSize(dtype).
struct TensorBlob {
  std::string name;  // slash-separated, e.g. "student/conv1.weight"
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // empty = scalar
  std::vector<std::uint8_t> bytes;
  bool operator==(const TensorBlob&) const = default;
};

// The elements as values of their type. REQUIRES: T is the C++ type of tensor.dtype.
template <typename T>
[[nodiscard]] std::vector<T> CopyValues(const TensorBlob& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(T));
  return values;
}

// Bytes of all elements of all tensors.
[[nodiscard]] inline std::int64_t ComputeByteSize(const std::vector<TensorBlob>& tensors) {
  std::int64_t bytes = 0;
  for (const TensorBlob& tensor : tensors) bytes += static_cast<std::int64_t>(tensor.bytes.size());
  return bytes;
}

// SHA-256 hex over, for each tensor in the order given: length of its name, name, element type, number of
// extents, extents, bytes. Numbers are 8 bytes, native little endian.
[[nodiscard]] std::string ComputeTensorDigest(const std::vector<TensorBlob>& tensors);

}  // namespace retort::storage
