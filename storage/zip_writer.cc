#include "storage/zip_writer.h"

#include <utility>

#include "storage/byte_codec.h"
#include "storage/crc32.h"

namespace retort::storage {
namespace {

constexpr std::uint64_t kFull = 0xFFFFFFFF;
constexpr std::uint16_t kUtf8 = 0x0800, kDay = 0x0021, kPadding = 0x4246;  // 1980-01-01; "FB"
constexpr std::size_t kLocalBytes = 30, kZip64Bytes = 20;

struct Entry {
  std::string name;
  std::uint64_t size = 0, header = 0;
  std::uint32_t crc = 0;
  [[nodiscard]] bool large() const { return size >= kFull; }
};

// Version, flags, method, time, date, checksum, both sizes and the length of the name: the same in both
// places.
void Common(ByteWriter& out, const Entry& entry, bool zip64) {
  const std::uint64_t size = entry.large() ? kFull : entry.size;
  out.U16(zip64 ? 45 : 20);
  out.U16(kUtf8);
  out.U16(0);
  out.U16(0);
  out.U16(kDay);
  out.U32(entry.crc);
  out.U32(static_cast<std::uint32_t>(size));
  out.U32(static_cast<std::uint32_t>(size));
  out.U16(static_cast<std::uint16_t>(entry.name.size()));
}

std::string LocalHeader(const Entry& entry, std::uint32_t alignment) {
  const std::size_t sizes = entry.large() ? kZip64Bytes : 0;
  const std::uint64_t data = entry.header + kLocalBytes + entry.name.size() + sizes;
  // An extra field has a head of four bytes, so that a padding of one to three bytes goes round once more.
  std::uint64_t padding = (alignment - data % alignment) % alignment;
  while (padding > 0 && padding < 4) padding += alignment;
  ByteWriter out;
  out.U32(0x04034b50);
  Common(out, entry, entry.large());
  out.U16(static_cast<std::uint16_t>(sizes + padding));
  out.Raw(entry.name);
  if (entry.large()) {
    out.U16(1);
    out.U16(16);
    out.U64(entry.size);
    out.U64(entry.size);
  }
  if (padding > 0) {
    out.U16(kPadding);
    out.U16(static_cast<std::uint16_t>(padding - 4));
    out.Raw(std::string(padding - 4, 'Z'));
  }
  return std::move(out).Take();
}

std::string CentralHeader(const Entry& entry) {
  const bool far = entry.header >= kFull;
  ByteWriter extra;
  if (entry.large()) {
    extra.U64(entry.size);
    extra.U64(entry.size);
  }
  if (far) extra.U64(entry.header);
  const std::size_t length = extra.bytes().size();
  ByteWriter out;
  out.U32(0x02014b50);
  out.U16(far || entry.large() ? 45 : 20);
  Common(out, entry, far || entry.large());
  out.U16(static_cast<std::uint16_t>(length > 0 ? length + 4 : 0));
  out.U16(0);  // comment
  out.U16(0);  // part of the archive
  out.U16(0);
  out.U32(0);  // attributes
  out.U32(static_cast<std::uint32_t>(far ? kFull : entry.header));
  out.Raw(entry.name);
  if (length > 0) {
    out.U16(1);
    out.U16(static_cast<std::uint16_t>(length));
    out.Raw(extra.bytes());
  }
  return std::move(out).Take();
}

std::string End64(std::uint64_t entries, std::uint64_t size, std::uint64_t offset) {
  ByteWriter out;
  out.U32(0x06064b50);
  out.U64(44);
  out.U16(45);
  out.U16(45);
  out.U32(0);
  out.U32(0);
  out.U64(entries);
  out.U64(entries);
  out.U64(size);
  out.U64(offset);
  out.U32(0x07064b50);
  out.U32(0);
  out.U64(offset + size);
  out.U32(1);
  return std::move(out).Take();
}

}  // namespace

Status ZipWriter::Add(const std::string& name, std::string_view contents) {
  if (name.empty() || name.size() > 0xFFFF) return Refused("A zip entry's name must have 1 to 65,535 bytes.");
  if (!names_.insert(name).second) return Refused("Two zip entries would be named '" + name + "'.");
  const Entry entry{name, contents.size(), bytes_.size(), ExtendCrc32(0, contents)};
  bytes_ += LocalHeader(entry, alignment_);
  bytes_ += contents;
  directory_ += CentralHeader(entry);
  ++entries_;
  return {};
}

std::string ZipWriter::Finish() && {
  const std::uint64_t offset = bytes_.size(), size = directory_.size();
  const bool zip64 = entries_ >= 0xFFFF || offset >= kFull || size >= kFull;
  bytes_ += directory_;
  if (zip64) bytes_ += End64(entries_, size, offset);
  ByteWriter out;
  out.U32(0x06054b50);
  out.U32(0);
  const auto count = static_cast<std::uint16_t>(zip64 ? 0xFFFF : entries_);
  out.U16(count);
  out.U16(count);
  out.U32(static_cast<std::uint32_t>(zip64 ? kFull : size));
  out.U32(static_cast<std::uint32_t>(zip64 ? kFull : offset));
  out.U16(0);
  bytes_ += out.bytes();
  return std::move(bytes_);
}

}  // namespace retort::storage
