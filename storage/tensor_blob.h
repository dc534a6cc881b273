// The only tensor type that storage knows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace retort::storage {

enum class DType : std::uint8_t { f32 = 0, f64 = 1, i32 = 2, i64 = 3, u8 = 4, u32 = 5, u64 = 6 };

[[nodiscard]] constexpr std::size_t ByteSize(DType type) {
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

// Row-major, native little endian. bytes.size() == product(shape) * ByteSize(dtype).
struct TensorBlob {
  std::string name;  // slash-separated, e.g. "student/conv1.weight"
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // empty = scalar
  std::vector<std::uint8_t> bytes;
  bool operator==(const TensorBlob&) const = default;
};

// Of all their values.
[[nodiscard]] inline std::int64_t ByteSize(const std::vector<TensorBlob>& tensors) {
  std::int64_t bytes = 0;
  for (const TensorBlob& tensor : tensors) bytes += static_cast<std::int64_t>(tensor.bytes.size());
  return bytes;
}

}  // namespace retort::storage
