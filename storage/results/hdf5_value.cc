#include "storage/results/hdf5_value.h"

#include <utility>

#include "storage/formats/byte_codec.h"

namespace retort::storage {

Result<std::string_view> Hdf5Bytes::Take(std::uint64_t at, std::uint64_t size, std::string_view what) {
  RETORT_ASSIGN_OR_RETURN(const std::string_view taken, Look(at, size, what));
  RETORT_RETURN_IF_ERROR(Count(at, size));
  return taken;
}

Result<std::string_view> Hdf5Bytes::Look(std::uint64_t at, std::uint64_t size, std::string_view what) const {
  if (at <= bytes_.size() && size <= bytes_.size() - at) return bytes_.substr(at, size);
  return Damaged(at, std::string(what) + " is said to have " + std::to_string(size) +
                         " bytes there, and the file has " + std::to_string(bytes_.size()) + " in all");
}

Result<std::string_view> Hdf5Bytes::From(std::uint64_t at, std::string_view what) const {
  if (at < bytes_.size()) return bytes_.substr(at);
  return Damaged(at, std::string(what) + " is said to lie there, and the file has " + std::to_string(bytes_.size()) +
                         " bytes in all");
}

Status Hdf5Bytes::Count(std::uint64_t at, std::uint64_t size) {
  if (size > bytes_.size() - counted_)
    return Damaged(at, "what the file says it holds up to there is more than its " + std::to_string(bytes_.size()) +
                           " bytes: parts of it refer to themselves, or share their bytes");
  counted_ += size;
  return {};
}

Status Hdf5Bytes::Damaged(std::uint64_t at, const std::string& what) const {
  return DamageError("'" + name_ + "': at byte " + std::to_string(at) + ": " + what + ".");
}

Status Hdf5Bytes::Unsound(std::uint64_t at, std::string_view what) const {
  return Damaged(at, std::string(what) + " is not sound there; the file was changed or cut short");
}

Status Hdf5Bytes::Foreign(std::uint64_t at, const std::string& what) const {
  return Damaged(at, what + ", which retort never writes and does not read");
}

namespace {

constexpr std::uint8_t kMaxRank = 32;
constexpr std::size_t kMaxColumns = 1 << 16;
constexpr unsigned kInteger = 0, kReal = 1, kText = 3, kCompound = 6;

// Of every type: class and version, 24 bits of flags, size of an element.
struct TypeHead {
  unsigned kind = 0, version = 0;
  std::uint32_t flags = 0, size = 0;
};

TypeHead ReadHead(ByteReader& reader) {
  TypeHead head;
  const unsigned first = reader.U8();
  head.kind = first & 15U;
  head.version = first >> 4U;
  head.flags = reader.U16();
  head.flags |= std::uint32_t{reader.U8()} << 16U;
  head.size = reader.U32();
  return head;
}

std::optional<DType> IntegerType(std::uint32_t size, bool is_signed) {
  switch (size) {
    case 1:
      return is_signed ? std::nullopt : std::optional(DType::u8);
    case 4:
      return is_signed ? DType::i32 : DType::u32;
    case 8:
      return is_signed ? DType::i64 : DType::u64;
    default:
      return std::nullopt;
  }
}

void SetNumber(std::optional<DType> dtype, Hdf5Type& type) {
  if (!dtype) return;
  type.kind = Hdf5Class::number;
  type.dtype = *dtype;
}

// Little endian, all bits of the element.
void ReadInteger(const TypeHead& head, ByteReader& reader, Hdf5Type& type) {
  const std::uint16_t shift = reader.U16(), bits = reader.U16();
  const bool plain = (head.flags & 7U) == 0 && shift == 0 && bits == head.size * 8;
  if (plain) SetNumber(IntegerType(head.size, (head.flags & 8U) != 0), type);
}

// Those of IEEE 754, little endian.
void ReadReal(const TypeHead& head, ByteReader& reader, Hdf5Type& type) {
  const std::uint16_t shift = reader.U16(), bits = reader.U16();
  const unsigned exponent_at = reader.U8(), exponent = reader.U8(), mantissa_at = reader.U8();
  const unsigned mantissa = reader.U8(), bias = reader.U32(), sign_at = head.flags >> 8U;
  if ((head.flags & 0xFFU) != 0x20 || shift != 0 || bits != head.size * 8 || mantissa_at != 0) return;
  if (bits == 32 && exponent_at == 23 && exponent == 8 && mantissa == 23 && bias == 127 && sign_at == 31)
    SetNumber(DType::f32, type);
  if (bits == 64 && exponent_at == 52 && exponent == 11 && mantissa == 52 && bias == 1023 && sign_at == 63)
    SetNumber(DType::f64, type);
}

// A number or a text, as columns are; `other` for everything else, whose end is not looked for.
Hdf5Type ReadSimple(const TypeHead& head, ByteReader& reader) {
  Hdf5Type type;
  type.size = head.size;
  if (head.kind == kInteger) ReadInteger(head, reader, type);
  if (head.kind == kReal) ReadReal(head, reader, type);
  if (head.kind == kText) type.kind = Hdf5Class::text;
  return type;
}

std::string ColumnName(unsigned version, ByteReader& reader) {
  const std::size_t size = reader.rest().find('\0');
  if (size == std::string_view::npos) {
    static_cast<void>(reader.Raw(reader.rest().size() + 1));
    return "";
  }
  const std::size_t stored = version >= 3 ? size + 1 : (size + 8) / 8 * 8;
  return std::string(reader.Raw(stored).substr(0, size));
}

std::uint64_t ColumnOffset(const TypeHead& table, ByteReader& reader) {
  if (table.version < 3) return reader.U32();
  std::uint64_t offset = 0;
  for (unsigned i = 0; i == 0 || table.size >> (8 * i) != 0; ++i) {
    offset |= std::uint64_t{reader.U8()} << (8 * i);
    if (i == 3) break;
  }
  return offset;
}

// `other` when a column is neither number nor text.
Hdf5Type ReadTable(const TypeHead& head, ByteReader& reader) {
  Hdf5Type table;
  table.size = head.size;
  const std::size_t columns = head.flags & 0xFFFFU;
  for (std::size_t i = 0; i < columns && i < kMaxColumns; ++i) {
    Hdf5Column column;
    column.name = ColumnName(head.version, reader);
    column.offset = ColumnOffset(head, reader);
    if (head.version == 1 && reader.U8() != 0) return table;  // an array
    if (head.version == 1) static_cast<void>(reader.Raw(27));
    column.type = ReadSimple(ReadHead(reader), reader);
    if (!reader.ok() || column.type.kind == Hdf5Class::other || column.type.size == 0) return table;
    if (column.offset > head.size || column.type.size > head.size - column.offset) return table;
    table.columns.push_back(std::move(column));
  }
  table.kind = Hdf5Class::table;
  return table;
}

// Attributes of version 1 pad their parts to eight bytes.
std::string_view Part(ByteReader& reader, std::uint16_t size, bool padded) {
  return reader.Raw(padded ? (size + 7U) / 8 * 8 : size).substr(0, size);
}

}  // namespace

std::optional<Hdf5Type> ParseHdf5Type(std::string_view message) {
  ByteReader reader(message);
  const TypeHead head = ReadHead(reader);
  if (!reader.ok() || head.size == 0 || head.version == 0 || head.version > 3) return std::nullopt;
  Hdf5Type type = head.kind == kCompound ? ReadTable(head, reader) : ReadSimple(head, reader);
  if (!reader.ok()) return std::nullopt;
  return type;
}

std::optional<std::vector<std::int64_t>> ParseHdf5Extents(std::string_view message) {
  ByteReader reader(message);
  const unsigned version = reader.U8(), rank = reader.U8();
  static_cast<void>(reader.U8());  // whether largest extents follow
  const unsigned kind = reader.U8();
  if (version == 1) static_cast<void>(reader.U32());
  const bool known = version == 1 || (version == 2 && kind <= 1 && (kind == 1) == (rank > 0));
  if (!known || rank > kMaxRank) return std::nullopt;
  std::vector<std::int64_t> extents;
  for (unsigned i = 0; i < rank; ++i) extents.push_back(reader.I64());
  // Of the largest elements: those of any type have a size then, also where an extent is 0.
  if (!reader.ok() || !TensorBytes(DType::u64, extents)) return std::nullopt;
  return extents;
}

std::optional<Hdf5Attribute> ParseHdf5Attribute(std::string_view message) {
  ByteReader reader(message);
  const unsigned version = reader.U8(), flags = reader.U8();
  const std::uint16_t name_bytes = reader.U16(), type_bytes = reader.U16(), space_bytes = reader.U16();
  if (version == 3) static_cast<void>(reader.U8());  // character set
  if (version < 1 || version > 3 || (version > 1 && flags != 0)) return std::nullopt;
  const std::string_view name = Part(reader, name_bytes, version == 1);
  const auto type = ParseHdf5Type(Part(reader, type_bytes, version == 1));
  const auto extents = ParseHdf5Extents(Part(reader, space_bytes, version == 1));
  if (!reader.ok() || !type || !extents) return std::nullopt;
  Hdf5Attribute attribute{std::string(name.substr(0, name.find('\0'))), *type, 0, {}};
  attribute.elements = *TensorBytes(DType::u8, *extents);
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(attribute.elements, type->size, &size)) return std::nullopt;
  attribute.value = reader.Raw(size);
  if (!reader.ok()) return std::nullopt;
  return attribute;
}

}  // namespace retort::storage
