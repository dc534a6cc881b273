#include "storage/formats/zip_archive.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "storage/files/read_limits.h"
#include "storage/formats/byte_codec.h"
#include "storage/formats/deflate.h"

namespace retort::storage {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator = 0x07064b50;
constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kCentralBytes = 46, kLocalBytes = 30;
constexpr std::uint64_t kMaxEntries = 1U << 18, kMaxDirectory = std::uint64_t{64} << 20;
constexpr std::size_t kPiece = 256 << 10;
constexpr std::uint32_t kFull = 0xFFFFFFFF;

Status Damaged(const std::string& name, std::uint64_t offset, const std::string& what) {
  return DamageError(name + ": offset " + std::to_string(offset) + ": " + what);
}

Result<std::string> Bytes(const InputFile& file, std::uint64_t offset, std::uint64_t count, const std::string& name) {
  if (offset > file.size() || count > file.size() - offset)
    return Damaged(name, offset, "the zip archive points beyond its end (" + std::to_string(file.size()) + " bytes)");
  std::string bytes(count, '\0');
  RETORT_RETURN_IF_ERROR(file.ReadAt(offset, bytes.size(), bytes.data()));
  return bytes;
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0, entries = 0;
};

// The end record lies before a comment of at most 65,535 bytes that ends the file.
Result<std::uint64_t> FindEnd(const InputFile& file, const std::string& name) {
  const std::uint64_t size = file.size();
  const std::uint64_t span = std::min<std::uint64_t>(size, kEndBytes + 0xFFFF);
  RETORT_ASSIGN_OR_RETURN(const std::string tail, Bytes(file, size - span, span, name));
  for (std::size_t back = kEndBytes; back <= tail.size(); ++back) {
    ByteReader reader(std::string_view(tail).substr(tail.size() - back));
    if (reader.U32() != kEnd) continue;
    static_cast<void>(reader.Raw(16));
    if (reader.U16() == back - kEndBytes) return size - back;
  }
  return Damaged(name, size, "the zip archive has no end record: it was cut short, or is no zip archive");
}

Result<Directory> FindDirectory64(const InputFile& file, std::uint64_t end, const std::string& name) {
  if (end < kLocatorBytes) return Damaged(name, end, "the zip archive lacks its zip64 locator");
  RETORT_ASSIGN_OR_RETURN(const std::string locator, Bytes(file, end - kLocatorBytes, kLocatorBytes, name));
  ByteReader reader(locator);
  if (reader.U32() != kLocator || reader.U32() != 0)
    return Damaged(name, end - kLocatorBytes, "the zip archive lacks its zip64 locator");
  const std::uint64_t at = reader.U64();
  RETORT_ASSIGN_OR_RETURN(const std::string record, Bytes(file, at, kEnd64Bytes, name));
  ByteReader fields(record);
  if (fields.U32() != kEnd64) return Damaged(name, at, "no zip64 end record where the locator says");
  static_cast<void>(fields.Raw(8 + 2 + 2));
  if (fields.U32() != 0 || fields.U32() != 0) return Damaged(name, at, "zip archives in several parts are not read");
  Directory directory;
  const std::uint64_t here = fields.U64();
  directory.entries = fields.U64();
  directory.bytes = fields.U64();
  directory.offset = fields.U64();
  if (here != directory.entries) return Damaged(name, at, "zip archives in several parts are not read");
  return directory;
}

Result<Directory> FindDirectory(const InputFile& file, std::uint64_t end, const std::string& name) {
  RETORT_ASSIGN_OR_RETURN(const std::string record, Bytes(file, end, kEndBytes, name));
  ByteReader fields(record);
  static_cast<void>(fields.U32());
  const std::uint16_t disk = fields.U16(), first = fields.U16(), here = fields.U16(), entries = fields.U16();
  Directory directory;
  directory.entries = entries;
  directory.bytes = fields.U32();
  directory.offset = fields.U32();
  if (directory.entries == 0xFFFF || directory.bytes == kFull || directory.offset == kFull)
    return FindDirectory64(file, end, name);
  if (disk != 0 || first != 0 || here != entries)
    return Damaged(name, end, "zip archives in several parts are not read");
  return directory;
}

// The zip64 extra field replaces, in this order, each field that is full.
Status ApplyZip64(std::string_view extra, ZipEntry& entry, const std::string& name, std::uint64_t at) {
  ByteReader fields(extra);
  while (fields.rest().size() >= 4) {
    const std::uint16_t kind = fields.U16(), size = fields.U16();
    ByteReader field(fields.Raw(size));
    if (!fields.ok()) break;
    if (kind != 1) continue;
    for (std::uint64_t* value : {&entry.bytes, &entry.stored, &entry.header})
      if (*value == kFull) *value = field.U64();
    if (field.ok()) return {};
    break;
  }
  return Damaged(name, at, "the zip entry '" + entry.name + "' lacks its sizes (zip64)");
}

Result<ZipEntry> CentralEntry(ByteReader& reader, const std::string& name, std::uint64_t at) {
  ZipEntry entry;
  if (reader.U32() != kCentral) return Damaged(name, at, "no entry of the zip directory where one should be");
  static_cast<void>(reader.U32());  // versions
  const std::uint16_t flags = reader.U16(), method = reader.U16();
  static_cast<void>(reader.U32());  // time and date
  entry.crc = reader.U32();
  entry.stored = reader.U32();
  entry.bytes = reader.U32();
  const std::uint16_t name_size = reader.U16(), extra_size = reader.U16(), comment_size = reader.U16();
  const std::uint16_t disk = reader.U16();
  static_cast<void>(reader.Raw(6));  // attributes
  entry.header = reader.U32();
  entry.name = std::string(reader.Raw(name_size));
  const std::string_view extra = reader.Raw(extra_size);
  static_cast<void>(reader.Raw(comment_size));
  if (!reader.ok()) return Damaged(name, at, "the zip directory is cut short");
  const std::string quoted = "the zip entry '" + entry.name + "' ";
  if (disk != 0) return Damaged(name, at, quoted + "lies in another part of the archive");
  if ((flags & 1U) != 0) return Damaged(name, at, quoted + "is encrypted; save it without a password");
  if (method != 0 && method != 8)
    return Damaged(name, at,
                   quoted + "is packed by method " + std::to_string(method) + "; stored and deflated are read");
  entry.deflated = method == 8;
  if (entry.bytes == kFull || entry.stored == kFull || entry.header == kFull)
    RETORT_RETURN_IF_ERROR(ApplyZip64(extra, entry, name, at));
  if (!entry.deflated && entry.bytes != entry.stored) return Damaged(name, at, quoted + "is stored, but has two sizes");
  return entry;
}

// One entry that is inflated.
class Inflation {
 public:
  [[nodiscard]] bool ready() const { return inflater_.ready().ok(); }
  [[nodiscard]] bool ended() const { return ended_; }

  // Error: empty-handed, when these are no deflated bytes.
  [[nodiscard]] Status Feed(std::string_view bytes, const TakeBytes& take) {
    inflater_.Feed(bytes);
    for (;;) {
      if (ended_) return inflater_.unread() == 0 ? Status() : DamageError("has bytes behind its end");
      std::size_t made = 0;
      const Inflater::State state = inflater_.Next(out_.data(), out_.size(), made);
      if (state == Inflater::State::broken) return DamageError("is not soundly deflated");
      ended_ = state == Inflater::State::ended;
      RETORT_RETURN_IF_ERROR(take({out_.data(), made}));
      if (!ended_ && inflater_.unread() == 0 && made < out_.size()) return {};
    }
  }

 private:
  Inflater inflater_{DeflateWrapping::raw};
  bool ended_ = false;
  std::vector<char> out_ = std::vector<char>(kPiece);
};

}  // namespace

bool LooksLikeZip(std::string_view head) { return head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06"); }

Result<ZipFile> ZipFile::Open(std::shared_ptr<const InputFile> file, std::string name) {
  ZipFile zip(std::move(file), std::move(name));
  RETORT_RETURN_IF_ERROR(zip.ReadDirectory());
  return zip;
}

Status ZipFile::ReadDirectory() {
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t end, FindEnd(*file_, name_));
  RETORT_ASSIGN_OR_RETURN(const Directory found, FindDirectory(*file_, end, name_));
  if (found.entries > kMaxEntries || found.bytes > kMaxDirectory || found.entries > found.bytes / kCentralBytes)
    return Damaged(name_, end,
                   "the zip directory of " + std::to_string(found.entries) + " entries in " +
                       std::to_string(found.bytes) + " bytes is beyond what is read");
  if (found.offset > end || found.bytes > end - found.offset)
    return Damaged(name_, end,
                   "the zip directory is said to lie at " + std::to_string(found.offset) + ", beyond its end");
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, Bytes(*file_, found.offset, found.bytes, name_));
  ByteReader reader(bytes);
  for (std::uint64_t i = 0; i < found.entries; ++i) {
    const std::uint64_t at = found.offset + (bytes.size() - reader.rest().size());
    RETORT_ASSIGN_OR_RETURN(ZipEntry entry, CentralEntry(reader, name_, at));
    entries_.push_back(std::move(entry));
  }
  std::sort(entries_.begin(), entries_.end(), [](const ZipEntry& a, const ZipEntry& b) { return a.header < b.header; });
  return CheckLayout(found.offset);
}

Status ZipFile::LocateData(ZipEntry& entry) const {
  const Result<std::string> head = Bytes(*file_, entry.header, kLocalBytes + entry.name.size(), name_);
  if (!head.ok()) return head.status();
  ByteReader reader(*head);
  if (reader.U32() != kLocal)
    return Damaged(name_, entry.header, "no zip entry '" + entry.name + "' where the directory says");
  static_cast<void>(reader.Raw(4));  // version, flags
  const bool same_method = reader.U16() == (entry.deflated ? 8 : 0);
  static_cast<void>(reader.Raw(16));  // time, date, and what the directory says as well
  const std::uint16_t name_size = reader.U16(), extra_size = reader.U16();
  if (!same_method || name_size != entry.name.size() || reader.Raw(name_size) != entry.name)
    return Damaged(name_, entry.header, "the zip entry '" + entry.name + "' and the directory contradict each other");
  entry.data = entry.header + kLocalBytes + name_size + extra_size;
  return {};
}

Status ZipFile::CheckLayout(std::uint64_t directory) {
  std::uint64_t free = 0;  // first byte behind the entries so far
  for (ZipEntry& entry : entries_) {
    if (entry.header < free || entry.header >= directory)
      return Damaged(name_, entry.header, "the zip entry '" + entry.name + "' overlaps another part of the archive");
    RETORT_RETURN_IF_ERROR(LocateData(entry));
    if (entry.data > directory || entry.stored > directory - entry.data)
      return Damaged(name_, entry.data, "the zip entry '" + entry.name + "' is cut short or overlaps the directory");
    free = entry.data + entry.stored;
  }
  by_name_.resize(entries_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::size_t a, std::size_t b) { return entries_[a].name < entries_[b].name; });
  for (std::size_t i = 1; i < by_name_.size(); ++i)
    if (const ZipEntry& entry = entries_[by_name_[i]]; entry.name == entries_[by_name_[i - 1]].name)
      return Damaged(name_, entry.header, "two zip entries are named '" + entry.name + "'");
  return {};
}

const ZipEntry* ZipFile::Find(std::string_view entry) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), entry,
                                   [&](std::size_t i, std::string_view wanted) { return entries_[i].name < wanted; });
  return at != by_name_.end() && entries_[*at].name == entry ? &entries_[*at] : nullptr;
}

Status ZipFile::Stream(const ZipEntry& entry, const TakeBytes& take) const {
  const auto damaged = [&](const std::string& what) {
    return Damaged(name_, entry.data, "the zip entry '" + entry.name + "' " + what);
  };
  std::uint64_t made = 0;
  std::uint32_t crc = 0;
  Status taken;
  const auto count = [&](std::string_view piece) -> Status {
    if (piece.size() > entry.bytes - made) return DamageError("has more contents than it says");
    made += piece.size();
    crc = ExtendCrc32(crc, piece);
    return taken = take(piece);
  };
  std::unique_ptr<Inflation> inflation = entry.deflated ? std::make_unique<Inflation>() : nullptr;
  if (inflation && !inflation->ready()) return EnvironmentError("zlib could not start: not enough memory");
  std::vector<char> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, entry.stored)));
  for (std::uint64_t done = 0; done < entry.stored;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), entry.stored - done));
    RETORT_RETURN_IF_ERROR(file_->ReadAt(entry.data + done, size, buffer.data()));
    done += size;
    const std::string_view piece(buffer.data(), size);
    const Status status = inflation ? inflation->Feed(piece, count) : count(piece);
    if (!taken.ok()) return taken;
    if (!status.ok()) return status.code() == StatusCode::damage ? damaged(status.message()) : status;
  }
  if (inflation && !inflation->ended()) return damaged("is cut short");
  if (made != entry.bytes)
    return damaged("has " + std::to_string(made) + " bytes and says " + std::to_string(entry.bytes));
  if (crc != entry.crc) return damaged("fails its checksum: fetch the file again");
  return {};
}

Result<std::string> ZipFile::Read(const ZipEntry& entry, std::uint64_t max_bytes) const {
  if (entry.bytes > max_bytes)
    return Refused(name_ + ": the zip entry '" + entry.name + "' has " + std::to_string(entry.bytes) +
                   " bytes; at most " + std::to_string(max_bytes) + " are read here");
  const std::string where = name_ + ": the zip entry '" + entry.name + "'";
  if (entry.deflated) RETORT_RETURN_IF_ERROR(CheckUnpackedSize(where, entry.bytes, entry.stored));
  return ReadWithinMemory(where + " (" + std::to_string(entry.bytes) + " bytes)", [&]() -> Result<std::string> {
    std::string bytes;
    bytes.reserve(entry.bytes);
    RETORT_RETURN_IF_ERROR(Stream(entry, [&](std::string_view piece) -> Status {
      bytes += piece;
      return {};
    }));
    return bytes;
  });
}

namespace {

constexpr std::uint16_t kUtf8 = 0x0800, kDay = 0x0021, kPadding = 0x4246;  // 1980-01-01; "FB"
constexpr std::size_t kZip64Bytes = 20;

struct WrittenEntry {
  std::string name;
  std::uint64_t size = 0, header = 0;
  std::uint32_t crc = 0;
  [[nodiscard]] bool large() const { return size >= kFull; }
};

// Version, flags, method, time, date, checksum, both sizes and the length of the name: the same in both
// places.
void Common(ByteWriter& out, const WrittenEntry& entry, bool zip64) {
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

std::string LocalHeader(const WrittenEntry& entry, std::uint32_t alignment) {
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

std::string CentralHeader(const WrittenEntry& entry) {
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
  const WrittenEntry entry{name, contents.size(), bytes_.size(), ExtendCrc32(0, contents)};
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
