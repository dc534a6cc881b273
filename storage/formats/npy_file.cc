#include "storage/formats/npy_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "storage/files/read_limits.h"
#include "storage/formats/byte_codec.h"
#include "storage/formats/zip_archive.h"

namespace retort::storage {
namespace {

// The Python literal in the header of a .npy: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
struct NpyLiteral {
  std::string descr;  // e.g. "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

constexpr std::size_t kMaxShapeExtents = 64, kMaxDigits = 18, kMaxText = 64;

class LiteralReader {
 public:
  LiteralReader(std::string_view text, std::size_t& at) : text_(text), at_(at) { at_ = 0; }

  bool Read(NpyLiteral& literal) {
    unsigned seen = 0;
    if (!Take('{')) return false;
    while (!Take('}')) {
      std::string key;
      if (!Text(key) || !Take(':') || !Value(key, literal, seen)) return false;
      if (!Take(',') && !Peek('}')) return false;
    }
    Spaces();
    return at_ == text_.size() && seen == 7;
  }

 private:
  bool Value(const std::string& key, NpyLiteral& literal, unsigned& seen) {
    if (key == "descr") return Once(seen, 1) && Text(literal.descr);
    if (key == "fortran_order") return Once(seen, 2) && Truth(literal.fortran_order);
    return key == "shape" && Once(seen, 4) && Shape(literal.shape);
  }
  static bool Once(unsigned& seen, unsigned bit) {
    if ((seen & bit) != 0) return false;
    seen |= bit;
    return true;
  }
  void Spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool Peek(char wanted) {
    Spaces();
    return at_ < text_.size() && text_[at_] == wanted;
  }
  bool Take(char wanted) {
    if (!Peek(wanted)) return false;
    ++at_;
    return true;
  }
  bool Text(std::string& out) {
    const char quote = Peek('"') ? '"' : '\'';
    if (!Take(quote)) return false;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\\' && out.size() < kMaxText)
      out += text_[at_++];
    return at_ < text_.size() && text_[at_++] == quote;
  }
  bool Truth(bool& out) {
    Spaces();
    out = text_.substr(at_).starts_with("True");
    if (!out && !text_.substr(at_).starts_with("False")) return false;
    at_ += out ? 4 : 5;
    return true;
  }
  bool Extent(std::int64_t& out) {
    Spaces();
    const std::size_t begin = at_;
    for (out = 0; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (at_ - begin == kMaxDigits) return false;
      out = out * 10 + (text_[at_] - '0');
    }
    if (at_ > begin && at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2's long
    return at_ > begin;
  }
  bool Shape(std::vector<std::int64_t>& out) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      if (out.size() == kMaxShapeExtents || !Extent(out.emplace_back())) return false;
      if (!Take(',') && (!Peek(')') || out.size() == 1)) return false;  // (3) is a number, no shape
    }
    return true;
  }

  std::string_view text_;
  std::size_t& at_;
};

// False, with the offset of the first unexpected character in `at`, for anything but the three keys, each
// once, a plain type and extents of at most 18 digits; spaces and a line end may follow.
bool ParseNpyLiteral(std::string_view text, NpyLiteral& literal, std::size_t& at) {
  return LiteralReader(text, at).Read(literal);
}

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::string_view kSuffix = ".npy";
constexpr std::size_t kMaxExtents = 32;  // NumPy's own bound, before 2.0

struct NamedType {
  std::string_view name;  // without its byte order
  DType dtype;
};
constexpr std::array kTypes = {NamedType{"f4", DType::f32}, NamedType{"f8", DType::f64}, NamedType{"i4", DType::i32},
                               NamedType{"i8", DType::i64}, NamedType{"u1", DType::u8},  NamedType{"u4", DType::u32},
                               NamedType{"u8", DType::u64}, NamedType{"b1", DType::u8}};

Status DamagedArray(const std::string& name, std::uint64_t offset, const std::string& what) {
  return DamageError(name + ": offset " + std::to_string(offset) + ": " + what);
}

Result<DType> ParseType(const std::string& name, const std::string& descr) {
  const std::string_view order = std::string_view(descr).substr(0, 1),
                         kind = std::string_view(descr).substr(order.size());
  for (const NamedType& type : kTypes) {
    if (type.name != kind) continue;
    if (order == "<" || order == "=" || ComputeByteSize(type.dtype) == 1) return type.dtype;
    if (order == ">")
      return Refused(name + ": the array is big endian ('" + descr + "'); save array.astype('<" + std::string(kind) +
                     "')");
  }
  if (kind.starts_with("O"))
    return Refused(name + ": the array holds pickled Python objects, which are never read; save numbers");
  return Refused(name + ": elements of type '" + descr +
                 "' are not read; save array.astype('<f4'), or one of f8, i4, i8, u1, u4, u8, b1");
}

Result<std::uint64_t> HeaderEnd(const std::string& name, std::string_view head, std::uint64_t& text) {
  if (!head.starts_with(kMagic)) return DamagedArray(name, 0, "no NumPy array: it does not begin with \\x93NUMPY");
  ByteReader reader(head.substr(kMagic.size()));
  const std::uint8_t major = reader.U8(), minor = reader.U8();
  if (reader.ok() && (major < 1 || major > 3 || minor != 0))
    return Refused(name + ": offset 6: .npy version " + std::to_string(major) + "." + std::to_string(minor) +
                   " is not read; 1.0, 2.0 and 3.0 are");
  const std::uint64_t size = major == 1 ? reader.U16() : reader.U32();
  if (!reader.ok()) return DamagedArray(name, head.size(), "the array's header is cut short");
  text = kMagic.size() + 2 + (major == 1 ? 2 : 4);
  if (size > kMaxNpyHeader - text)
    return Refused(name + ": offset 8: a header of " + std::to_string(size) + " bytes is beyond what is read");
  if (size > head.size() - text) return DamagedArray(name, head.size(), "the array's header is cut short");
  return text + size;
}

Status CheckShape(const std::string& name, NpyHeader& header) {
  if (header.shape.size() > kMaxExtents) return Refused(name + ": arrays of more than 32 extents are not read");
  const std::optional<std::uint64_t> bytes = ComputeTensorBytes(header.dtype, header.shape);
  if (!bytes || *bytes > kMaxArrayBytes)
    return Refused(name + ": the array's shape is beyond " + std::to_string(kMaxArrayBytes) + " bytes");
  header.bytes = *bytes;
  return {};
}

TensorBlob BlobWith(const NpyHeader& header) {
  TensorBlob blob;
  blob.dtype = header.dtype;
  blob.shape = header.shape;
  return blob;
}

Status LengthError(const std::string& name, const NpyHeader& header, std::uint64_t size) {
  return DamagedArray(name, std::min(size, header.begin + header.bytes),
                      "the array's elements need " + std::to_string(header.bytes) + " bytes, and there are " +
                          std::to_string(size - std::min(size, header.begin)));
}

Status TooLarge(const std::string& name, std::uint64_t bytes, std::uint64_t most) {
  return Refused(name + ": the array has " + std::to_string(bytes) + " bytes; at most " + std::to_string(most) +
                 " are read here");
}

std::string FormatDescr(DType dtype) {
  for (const NamedType& type : kTypes)
    if (type.dtype == dtype) return (ComputeByteSize(dtype) == 1 ? "|" : "<") + std::string(type.name);
  return "";
}

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (const std::int64_t extent : shape) text += std::to_string(extent) + (shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) text.resize(text.size() - 2);
  return text + ")";
}

}  // namespace

Result<NpyHeader> ParseNpyHeader(const std::string& name, std::string_view head) {
  NpyHeader header;
  std::uint64_t text = 0;
  RETORT_ASSIGN_OR_RETURN(header.begin, HeaderEnd(name, head, text));
  NpyLiteral literal;
  std::size_t at = 0;
  if (!ParseNpyLiteral(head.substr(text, header.begin - text), literal, at))
    return DamagedArray(
        name, text + at,
        "the array's header is not {'descr': ..., 'fortran_order': ..., 'shape': (...)} of a plain type");
  RETORT_ASSIGN_OR_RETURN(header.dtype, ParseType(name, literal.descr));
  header.shape = literal.shape;
  RETORT_RETURN_IF_ERROR(CheckShape(name, header));
  if (literal.fortran_order && header.shape.size() > 1)
    return Refused(name + ": the array is in Fortran order; save numpy.ascontiguousarray(array)");
  return header;
}

Result<TensorBlob> ParseNpy(const std::string& name, std::string_view bytes) {
  RETORT_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(name, bytes));
  if (bytes.size() - header.begin != header.bytes) return LengthError(name, header, bytes.size());
  TensorBlob blob = BlobWith(header);
  blob.bytes.assign(bytes.begin() + static_cast<std::ptrdiff_t>(header.begin), bytes.end());
  return blob;
}

Result<TensorBlob> ReadNpy(Env& env, const std::string& path, std::uint64_t max_bytes) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file, env.OpenInput(path));
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), kMaxNpyHeader)), '\0');
  RETORT_RETURN_IF_ERROR(file->ReadAt(0, head.size(), head.data()));
  RETORT_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(path, head));
  if (file->size() - header.begin != header.bytes) return LengthError(path, header, file->size());
  if (header.bytes > max_bytes) return TooLarge(path, header.bytes, max_bytes);
  return ReadWithinMemory("'" + path + "' (" + std::to_string(header.bytes) + " bytes)", [&]() -> Result<TensorBlob> {
    TensorBlob blob = BlobWith(header);
    blob.bytes.resize(header.bytes);
    RETORT_RETURN_IF_ERROR(file->ReadAt(header.begin, blob.bytes.size(), reinterpret_cast<char*>(blob.bytes.data())));
    return blob;
  });
}

NpzFile::NpzFile(ZipFile zip) : zip_(std::move(zip)) {
  for (const ZipEntry& entry : zip_.entries())
    if (entry.name.ends_with(kSuffix)) names_.push_back(entry.name.substr(0, entry.name.size() - kSuffix.size()));
  std::sort(names_.begin(), names_.end());
}

Result<NpzFile> NpzFile::Open(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<InputFile> file, env.OpenInput(path));
  RETORT_ASSIGN_OR_RETURN(ZipFile zip, ZipFile::Open(std::move(file), path));
  return NpzFile(std::move(zip));
}

bool NpzFile::Has(const std::string& array) const { return zip_.Find(array + std::string(kSuffix)) != nullptr; }

Result<const ZipEntry*> NpzFile::FindEntry(const std::string& array) const {
  if (const ZipEntry* entry = zip_.Find(array + std::string(kSuffix))) return entry;
  std::string known;
  for (const std::string& name : names_) known += (known.empty() ? "" : ", ") + name;
  return UsageError(zip_.name() + ": there is no array '" + array + "'; there is " + (known.empty() ? "none" : known));
}

Result<NpyHeader> NpzFile::Header(const std::string& array) const {
  RETORT_ASSIGN_OR_RETURN(const ZipEntry* entry, FindEntry(array));
  std::string head;
  const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(entry->bytes, kMaxNpyHeader));
  const Status read = zip_.Stream(*entry, [&](std::string_view piece) -> Status {
    head += piece.substr(0, wanted - head.size());
    return head.size() < wanted ? Status() : Cancelled("enough");
  });
  if (!read.ok() && head.size() < wanted) return read;
  RETORT_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(zip_.name() + ": " + entry->name, head));
  if (entry->bytes - header.begin != header.bytes)
    return LengthError(zip_.name() + ": " + entry->name, header, entry->bytes);
  return header;
}

Status NpzFile::Stream(const std::string& array, const TakeBytes& take) const {
  RETORT_ASSIGN_OR_RETURN(const NpyHeader header, Header(array));
  std::uint64_t skip = header.begin;
  return zip_.Stream(*zip_.Find(array + std::string(kSuffix)), [&](std::string_view piece) -> Status {
    const std::size_t skipped = static_cast<std::size_t>(std::min<std::uint64_t>(skip, piece.size()));
    skip -= skipped;
    return skipped == piece.size() ? Status() : take(piece.substr(skipped));
  });
}

Result<TensorBlob> NpzFile::Read(const std::string& array, std::uint64_t max_bytes) const {
  RETORT_ASSIGN_OR_RETURN(const NpyHeader header, Header(array));
  const std::string where = zip_.name() + ": " + array;
  if (header.bytes > max_bytes) return TooLarge(where, header.bytes, max_bytes);
  const ZipEntry& entry = *zip_.Find(array + std::string(kSuffix));
  if (entry.deflated) RETORT_RETURN_IF_ERROR(CheckUnpackedSize(where, entry.bytes, entry.stored));
  TensorBlob blob = BlobWith(header);
  blob.name = array;
  return ReadWithinMemory("'" + where + "' (" + std::to_string(header.bytes) + " bytes)",
                          [&] { return Fill(array, header, std::move(blob)); });
}

Result<TensorBlob> NpzFile::Fill(const std::string& array, const NpyHeader& header, TensorBlob blob) const {
  blob.bytes.reserve(header.bytes);
  RETORT_RETURN_IF_ERROR(Stream(array, [&](std::string_view piece) -> Status {
    blob.bytes.insert(blob.bytes.end(), piece.begin(), piece.end());
    return {};
  }));
  return blob;
}

std::string EncodeNpy(const TensorBlob& array) {
  std::string text = "{'descr': '" + FormatDescr(array.dtype) +
                     "', 'fortran_order': False, 'shape': " + ShapeText(array.shape) + ", }";
  const std::size_t before = kMagic.size() + 4;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  ByteWriter writer;
  writer.Raw(kMagic);
  writer.U8(1);
  writer.U8(0);
  writer.U16(static_cast<std::uint16_t>(text.size()));
  writer.Raw(text);
  writer.Raw({reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()});
  return std::move(writer).Take();
}

Status WriteNpy(Env& env, const std::string& path, const TensorBlob& array) {
  return env.WriteFileAtomically(path, EncodeNpy(array));
}

Result<std::string> EncodeNpz(const std::vector<TensorBlob>& arrays) {
  ZipWriter zip;
  for (const TensorBlob& array : arrays)
    RETORT_RETURN_IF_ERROR(zip.Add(array.name + std::string(kSuffix), EncodeNpy(array)));
  return std::move(zip).Finish();
}

}  // namespace retort::storage
