// Little-endian bytes for record payloads, hex digits, and CRC-32 of ISO 3309 (reflected polynomial 0xEDB88320), as zip
// and PNG files have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"

namespace retort::storage {

class ByteWriter {
 public:
  void U8(std::uint8_t value) { Integer<1>(value); }
  void U16(std::uint16_t value) { Integer<2>(value); }
  void U32(std::uint32_t value) { Integer<4>(value); }
  void U64(std::uint64_t value) { Integer<8>(value); }
  void I64(std::int64_t value) { Integer<8>(static_cast<std::uint64_t>(value)); }
  void F64(double value);            // bit pattern
  void Text(std::string_view text);  // u32 length, bytes
  void Raw(std::string_view bytes) { bytes_ += bytes; }
  void Tensor(const TensorBlob& tensor);  // FORMAT.md, "tensor"
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string Take() && { return std::move(bytes_); }

 private:
  template <std::size_t kBytes>
  void Integer(std::uint64_t value) {
    char bytes[kBytes];
    for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<char>((value >> (8 * i)) & 255U);
    bytes_.append(bytes, kBytes);
  }
  std::string bytes_;
};

// Reading past the end gives zeros and clears ok(), which is asked once at the end.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] std::uint8_t U8() { return static_cast<std::uint8_t>(Integer<1>()); }
  [[nodiscard]] std::uint16_t U16() { return static_cast<std::uint16_t>(Integer<2>()); }
  [[nodiscard]] std::uint32_t U32() { return static_cast<std::uint32_t>(Integer<4>()); }
  [[nodiscard]] std::uint64_t U64() { return Integer<8>(); }
  [[nodiscard]] std::int64_t I64() { return static_cast<std::int64_t>(Integer<8>()); }
  [[nodiscard]] double F64();
  [[nodiscard]] std::string Text();
  // Into the bytes that the reader was given.
  [[nodiscard]] std::string_view TextView() { return Raw(U32()); }
  [[nodiscard]] std::string_view Raw(std::uint64_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  [[nodiscard]] TensorBlob Tensor();
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool AtEnd() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  template <std::size_t kBytes>
  [[nodiscard]] std::uint64_t Integer() {
    const std::string_view raw = Raw(kBytes);
    std::uint64_t value = 0;
    if (raw.empty()) return value;
    for (std::size_t i = 0; i < kBytes; ++i) value |= std::uint64_t{static_cast<unsigned char>(raw[i])} << (8 * i);
    return value;
  }
  std::string_view rest_;
  bool ok_ = true;
};

// product(shape) * ComputeByteSize(dtype); nothing for a negative extent or a product beyond 2^62.
[[nodiscard]] std::optional<std::uint64_t> ComputeTensorBytes(DType dtype, const std::vector<std::int64_t>& shape);

// Checksum of A followed by B, where `crc` is that of A (0 = nothing) and `bytes` is B. By libdeflate, which uses what
// the processor has: it costs less than reading the bytes.
[[nodiscard]] std::uint32_t ExtendCrc32(std::uint32_t crc, std::string_view bytes);

}  // namespace retort::storage
