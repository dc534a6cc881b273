#include "tests/testing/packed_zeros.h"

#include <zlib.h>

#include "storage/formats/byte_codec.h"

namespace retort::testing {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

// Flushed in full, so that the bytes may stand anywhere, and be repeated.
std::string Deflated(std::string_view bytes, int flush) {
  z_stream stream{};
  RETORT_CHECK(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(compressBound(bytes.size()) + 64, '\0');
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  RETORT_CHECK(deflate(&stream, flush) >= Z_OK && stream.avail_in == 0);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::uint32_t ComputeChecksum(Packing packing, std::string_view bytes) {
  const auto* first = reinterpret_cast<const Bytef*>(bytes.data());
  const auto size = static_cast<uInt>(bytes.size());
  return static_cast<std::uint32_t>(packing == Packing::zlib ? adler32(1, first, size) : crc32(0, first, size));
}

std::uint32_t Combined(Packing packing, std::uint32_t first, std::uint32_t second, std::size_t second_bytes) {
  const auto size = static_cast<z_off_t>(second_bytes);
  return static_cast<std::uint32_t>(packing == Packing::zlib ? adler32_combine(first, second, size)
                                                             : crc32_combine(first, second, size));
}

std::string BigEndian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((value >> shift) & 255U);
  return bytes;
}

}  // namespace

std::string PackedZeros(Packing packing, std::string_view head, std::uint64_t mebibytes, std::uint32_t& checksum) {
  const std::string zeros(kMebibyte, '\0');
  const std::string piece = Deflated(zeros, Z_FULL_FLUSH);
  const std::uint32_t of_zeros = ComputeChecksum(packing, zeros);
  std::string packed = packing == Packing::gzip   ? std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10)
                       : packing == Packing::zlib ? std::string("\x78\xda", 2)
                                                  : std::string();
  packed += Deflated(head, Z_FULL_FLUSH);
  checksum = ComputeChecksum(packing, head);
  for (std::uint64_t i = 0; i < mebibytes; ++i) {
    packed += piece;
    checksum = Combined(packing, checksum, of_zeros, kMebibyte);
  }
  packed += Deflated("", Z_FINISH);
  storage::ByteWriter end;
  if (packing == Packing::zlib) return packed + BigEndian(checksum);
  if (packing == Packing::gzip) end.U32(checksum);
  if (packing == Packing::gzip) end.U32(static_cast<std::uint32_t>(head.size() + mebibytes * kMebibyte));
  return packed + end.bytes();
}

std::string NpzOfZeros(std::uint64_t mebibytes) {
  std::string text =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(mebibytes) + ", 1048576), }";
  text.append(117 - text.size(), ' ');
  const std::string head = std::string("\x93NUMPY\1\0\x76\0", 10) + text + "\n";
  std::uint32_t crc = 0;
  const std::string packed = PackedZeros(Packing::raw, head, mebibytes, crc);
  const std::string name = "a.npy";
  storage::ByteWriter sizes;
  sizes.U32(crc);
  sizes.U32(static_cast<std::uint32_t>(packed.size()));
  sizes.U32(static_cast<std::uint32_t>(head.size() + mebibytes * kMebibyte));
  sizes.U16(static_cast<std::uint16_t>(name.size()));
  sizes.U16(0);
  storage::ByteWriter zip;
  zip.Raw(std::string_view("PK\3\4\x14\0\0\0\x08\0\0\0\0\0", 14));
  zip.Raw(sizes.bytes() + name + packed);
  const std::size_t directory = zip.bytes().size();
  zip.Raw(std::string_view("PK\1\2\x14\0\x14\0\0\0\x08\0\0\0\0\0", 16));
  zip.Raw(sizes.bytes() + std::string(14, '\0') + name);
  const std::size_t size = zip.bytes().size() - directory;
  zip.Raw(std::string_view("PK\5\6\0\0\0\0\1\0\1\0", 12));
  zip.U32(static_cast<std::uint32_t>(size));
  zip.U32(static_cast<std::uint32_t>(directory));
  zip.U16(0);
  return std::move(zip).Take();
}

std::string IdxOfZeros(std::uint32_t mebibytes) {
  std::uint32_t crc = 0;
  return PackedZeros(Packing::gzip, BigEndian(0x803) + BigEndian(mebibytes) + BigEndian(1024) + BigEndian(1024),
                     mebibytes, crc);
}

}  // namespace retort::testing
