#include "storage/formats/byte_codec.h"

#include <libdeflate.h>

#include <bit>
#include <utility>

namespace retort::storage {
namespace {

constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{1} << 62;
constexpr std::uint8_t kLastDType = static_cast<std::uint8_t>(DType::u64);

}  // namespace

void ByteWriter::F64(double value) { U64(std::bit_cast<std::uint64_t>(value)); }

void ByteWriter::Text(std::string_view text) {
  RETORT_CHECK(text.size() < (std::size_t{1} << 32));
  U32(static_cast<std::uint32_t>(text.size()));
  Raw(text);
}

void ByteWriter::Tensor(const TensorBlob& tensor) {
  RETORT_CHECK(tensor.shape.size() < 256 && ComputeTensorBytes(tensor.dtype, tensor.shape) == tensor.bytes.size());
  Text(tensor.name);
  U8(static_cast<std::uint8_t>(tensor.dtype));
  U8(static_cast<std::uint8_t>(tensor.shape.size()));
  for (const std::int64_t extent : tensor.shape) I64(extent);
  bytes_.append(tensor.bytes.begin(), tensor.bytes.end());
}

double ByteReader::F64() { return std::bit_cast<double>(U64()); }

std::string ByteReader::Text() { return std::string(TextView()); }

TensorBlob ByteReader::Tensor() {
  TensorBlob tensor;
  tensor.name = Text();
  const std::uint8_t dtype = U8();
  ok_ = ok_ && dtype <= kLastDType;
  if (!ok_) return tensor;
  tensor.dtype = static_cast<DType>(dtype);
  tensor.shape.resize(U8());
  for (std::int64_t& extent : tensor.shape) extent = I64();
  const std::optional<std::uint64_t> size = ComputeTensorBytes(tensor.dtype, tensor.shape);
  ok_ = ok_ && size.has_value();
  if (!ok_) return tensor;
  const std::string_view raw = Raw(*size);
  tensor.bytes.assign(raw.begin(), raw.end());
  return tensor;
}

std::optional<std::uint64_t> ComputeTensorBytes(DType dtype, const std::vector<std::int64_t>& shape) {
  std::uint64_t bytes = ComputeByteSize(dtype);
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent > 0 && bytes > kMaxTensorBytes / static_cast<std::uint64_t>(extent)) return std::nullopt;
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

std::uint32_t ExtendCrc32(std::uint32_t crc, std::string_view bytes) {
  return libdeflate_crc32(crc, bytes.data(), bytes.size());
}

}  // namespace retort::storage
