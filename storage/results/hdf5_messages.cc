#include "storage/results/hdf5_messages.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>

#include "storage/formats/byte_codec.h"

namespace retort::storage {
namespace {

constexpr std::uint8_t kExternalFiles = 7, kFilters = 11, kReferenceCount = 22;
constexpr std::uint8_t kShared = 2;  // of a message's flags
// Of an object header's flags.
constexpr unsigned kTimes = 0x20, kAttributeLimits = 0x10, kOrderTracked = 0x04, kSizeOfSize = 0x03;

struct Block {
  std::string_view messages;
  std::uint64_t at = 0;
};

std::uint64_t SmallInteger(ByteReader& reader, unsigned power) {
  switch (power) {
    case 0:
      return reader.U8();
    case 1:
      return reader.U16();
    case 2:
      return reader.U32();
    default:
      return reader.U64();
  }
}

Status Refuse(const Hdf5Bytes& file, std::uint64_t at, std::uint8_t type) {
  switch (type) {
    case kExternalFiles:
      return file.Foreign(at, "a dataset keeps its data in other files (external raw data)");
    case kFilters:
      return file.Foreign(at, "a dataset is stored through filters");
    case kReferenceCount:
      return file.Foreign(at, "an object has several hard links");
    default:
      return file.Foreign(at, "an object header holds a message of type " + std::to_string(type));
  }
}

bool IsKnown(std::uint8_t type) {
  switch (static_cast<Hdf5MessageType>(type)) {
    case Hdf5MessageType::nil:
    case Hdf5MessageType::dataspace:
    case Hdf5MessageType::link_table:
    case Hdf5MessageType::datatype:
    case Hdf5MessageType::fill_value:
    case Hdf5MessageType::link:
    case Hdf5MessageType::layout:
    case Hdf5MessageType::group_constants:
    case Hdf5MessageType::attribute:
    case Hdf5MessageType::continuation:
    case Hdf5MessageType::symbol_table:
    case Hdf5MessageType::attribute_table:
      return true;
  }
  return false;
}

class HeaderReader {
 public:
  explicit HeaderReader(Hdf5Bytes& file) : file_(file) {}

  Result<std::vector<Hdf5Message>> Read(std::uint64_t at) {
    RETORT_ASSIGN_OR_RETURN(const Block first, FirstBlock(at));
    RETORT_RETURN_IF_ERROR(AddMessages(first));
    // Grows while it is walked: a continuation may hold another.
    for (std::size_t i = 0; i < continuations_.size(); ++i) {
      ByteReader where(continuations_[i].body);
      const std::uint64_t next = where.U64(), size = where.U64();
      if (!where.ok()) return file_.Unsound(at, "the continuation of an object header");
      RETORT_ASSIGN_OR_RETURN(const Block block, NextBlock(next, size));
      RETORT_RETURN_IF_ERROR(AddMessages(block));
    }
    return std::move(messages_);
  }

 private:
  Result<Block> FirstBlock(std::uint64_t at) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view rest, file_.From(at, "an object header"));
    ByteReader reader(rest);
    const bool begins = reader.Raw(4) == "OHDR" && reader.U8() == 2;
    const unsigned flags = reader.U8();
    if (!begins || !reader.ok()) return file_.Unsound(at, "an object header");
    if ((flags & kTimes) != 0) static_cast<void>(reader.Raw(16));
    if ((flags & kAttributeLimits) != 0) static_cast<void>(reader.Raw(4));
    ordered_ = (flags & kOrderTracked) != 0;
    const std::uint64_t size = SmallInteger(reader, flags & kSizeOfSize);
    const std::string_view messages = reader.Raw(size);
    static_cast<void>(reader.Raw(4));  // checksum
    if (!reader.ok()) return file_.Unsound(at, "an object header");
    RETORT_RETURN_IF_ERROR(file_.Count(at, rest.size() - reader.rest().size()));
    return Block{messages, at};
  }

  Result<Block> NextBlock(std::uint64_t at, std::uint64_t size) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view block, file_.Take(at, size, "the continuation of an object header"));
    if (size < 8 || !block.starts_with("OCHK")) return file_.Unsound(at, "the continuation of an object header");
    return Block{block.substr(4, size - 8), at};
  }

  Status AddMessages(const Block& block) {
    const std::size_t head = ordered_ ? 6 : 4;
    ByteReader reader(block.messages);
    while (reader.rest().size() >= head) {  // less is a gap
      const std::uint8_t type = reader.U8();
      const std::uint16_t size = reader.U16();
      const std::uint8_t flags = reader.U8();
      if (ordered_) static_cast<void>(reader.U16());
      const std::string_view body = reader.Raw(size);
      if (!reader.ok()) return file_.Unsound(block.at, "a message of an object header");
      if (!IsKnown(type)) return Refuse(file_, block.at, type);
      const Hdf5Message message{static_cast<Hdf5MessageType>(type), body, block.at};
      if (message.type == Hdf5MessageType::nil) continue;
      if ((flags & kShared) != 0) return file_.Foreign(block.at, "an object header shares a message with others");
      (message.type == Hdf5MessageType::continuation ? continuations_ : messages_).push_back(message);
    }
    return {};
  }

  Hdf5Bytes& file_;
  bool ordered_ = false;
  std::vector<Hdf5Message> messages_, continuations_;
};

}  // namespace

Result<std::vector<Hdf5Message>> ReadObjectHeader(Hdf5Bytes& file, std::uint64_t at) {
  return HeaderReader(file).Read(at);
}

namespace {

constexpr std::uint64_t kNodeOverhead = 10;  // signature, version, type, checksum
constexpr std::uint16_t kMaxDepth = 16;

struct Tree {
  std::uint8_t type = 0;
  std::uint64_t node_bytes = 0, record_bytes = 0;
  std::uint16_t depth = 0;
  unsigned count_bytes = 0;           // of a child's number of records
  std::vector<unsigned> total_bytes;  // by a child's depth: of the number of records below it
};

struct Node {
  std::uint64_t at = 0, records = 0;
  std::uint16_t depth = 0;
};

unsigned BytesFor(std::uint64_t most) { return (static_cast<unsigned>(std::bit_width(most)) + 7) / 8; }

std::uint64_t Integer(ByteReader& reader, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{reader.U8()} << (8 * i);
  return value;
}

// How wide the counts in a node of each depth are follows from how many records fit. False: none fit.
bool MeasureCounts(Tree& tree) {
  if (tree.node_bytes <= kNodeOverhead) return false;
  const std::uint64_t in_leaf = (tree.node_bytes - kNodeOverhead) / tree.record_bytes;
  if (in_leaf == 0) return false;
  tree.count_bytes = BytesFor(in_leaf);
  tree.total_bytes = {0};
  std::uint64_t below = in_leaf;
  for (std::uint16_t depth = 1; depth <= tree.depth; ++depth) {
    const std::uint64_t pointer = 8 + tree.count_bytes + tree.total_bytes.back();
    if (tree.node_bytes <= kNodeOverhead + pointer) return false;
    const std::uint64_t records = (tree.node_bytes - kNodeOverhead - pointer) / (tree.record_bytes + pointer);
    if (records == 0 || __builtin_mul_overflow(records + 1, below, &below) ||
        __builtin_add_overflow(below, records, &below))
      return false;
    tree.total_bytes.push_back(BytesFor(below));
  }
  return true;
}

Result<Tree> ReadTree(Hdf5Bytes& file, std::uint64_t at, std::vector<Node>& nodes) {
  RETORT_ASSIGN_OR_RETURN(const std::string_view bytes, file.Take(at, 38, "an index"));
  ByteReader reader(bytes);
  const bool begins = reader.Raw(4) == "BTHD" && reader.U8() == 0;
  Tree tree;
  tree.type = reader.U8();
  tree.node_bytes = reader.U32();
  tree.record_bytes = reader.U16();
  tree.depth = reader.U16();
  static_cast<void>(reader.U16());  // when nodes split and merge
  const std::uint64_t root = reader.U64();
  const std::uint16_t records = reader.U16();
  if (!begins || tree.depth > kMaxDepth || tree.record_bytes == 0 || !MeasureCounts(tree))
    return file.Unsound(at, "an index");
  if (records > 0) nodes.push_back({root, records, tree.depth});
  return tree;
}

// Its records are added, and its children to `nodes`.
Status ReadNode(Hdf5Bytes& file, const Tree& tree, const Node& node, std::vector<Node>& nodes,
                std::vector<std::string_view>& records) {
  RETORT_ASSIGN_OR_RETURN(const std::string_view bytes, file.Take(node.at, tree.node_bytes, "a node of an index"));
  ByteReader reader(bytes.substr(0, bytes.size() - 4));
  const bool begins =
      reader.Raw(4) == (node.depth == 0 ? "BTLF" : "BTIN") && reader.U8() == 0 && reader.U8() == tree.type;
  if (!begins) return file.Unsound(node.at, "a node of an index");
  if (node.records > reader.rest().size() / tree.record_bytes) return file.Unsound(node.at, "a node of an index");
  for (std::uint64_t i = 0; i < node.records; ++i) records.push_back(reader.Raw(tree.record_bytes));
  if (node.depth == 0) return {};
  const auto below = static_cast<std::uint16_t>(node.depth - 1);
  for (std::uint64_t i = 0; i <= node.records; ++i) {
    Node child{reader.U64(), 0, below};
    child.records = Integer(reader, tree.count_bytes);
    static_cast<void>(Integer(reader, tree.total_bytes[below]));
    if (!reader.ok()) return file.Unsound(node.at, "a node of an index");
    nodes.push_back(child);
  }
  return {};
}

// All records of the tree at `at`, which must have this type and size of records. Error: damage.
Result<std::vector<std::string_view>> ReadBtree2(Hdf5Bytes& file, std::uint64_t at, std::uint8_t type,
                                                 std::size_t record_bytes) {
  std::vector<Node> nodes;
  RETORT_ASSIGN_OR_RETURN(const Tree tree, ReadTree(file, at, nodes));
  if (tree.type != type || tree.record_bytes != record_bytes) return file.Unsound(at, "an index");
  std::vector<std::string_view> records;
  while (!nodes.empty()) {
    const Node node = nodes.back();
    nodes.pop_back();
    RETORT_RETURN_IF_ERROR(ReadNode(file, tree, node, nodes, records));
  }
  return records;
}

constexpr std::uint8_t kHugeTree = 1;
constexpr std::size_t kHugeRecord = 24;  // address, length, number
constexpr unsigned kMaxBits = 56;        // of an offset in the heap

std::uint64_t Integer(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(bytes[i]);
  return value;
}

unsigned Log2(std::uint64_t power) { return static_cast<unsigned>(std::bit_width(power)) - 1; }

// A heap's space is one row of offsets, cut into blocks that double in size with each row of a table; tables
// of blocks beyond a size lie in tables of their own.
class Heap {
 public:
  explicit Heap(Hdf5Bytes& file) : file_(file) {}

  Status Open(std::uint64_t at) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view bytes, file_.Take(at, 146, "a heap"));
    ByteReader reader(bytes);
    const bool begins = reader.Raw(4) == "FRHP" && reader.U8() == 0;
    id_bytes_ = reader.U16();
    const std::uint16_t filters = reader.U16();
    const unsigned flags = reader.U8();
    most_managed_ = reader.U32();
    static_cast<void>(reader.U64());  // next number of a huge object
    const std::uint64_t huge = reader.U64();
    static_cast<void>(reader.Raw(80));  // free space, and what is counted
    width_ = reader.U16();
    start_ = reader.U64();
    most_direct_ = reader.U64();
    bits_ = reader.U16();
    static_cast<void>(reader.U16());
    root_ = reader.U64();
    root_rows_ = reader.U16();
    if (!begins || !IsSound()) return file_.Unsound(at, "a heap");
    if (filters != 0) return file_.Foreign(at, "a heap is stored through filters");
    offset_bytes_ = (bits_ + 7) / 8;
    length_bytes_ = std::min((Log2(most_direct_) + 7) / 8, Log2(most_managed_) / 8 + 1);
    block_head_ = 13 + offset_bytes_ + ((flags & 2U) != 0 ? 4 : 0);
    return huge == kHdf5NoAddress ? Status() : ReadHuge(huge);
  }

  // Of the object that `id` stands for. Counted.
  Result<std::string_view> Object(std::string_view id, std::uint64_t named_at) {
    const unsigned kind = id.empty() ? 0xFF : static_cast<unsigned char>(id[0]);
    id.remove_prefix(std::min<std::size_t>(1, id.size()));
    if (kind == 0x10) return Huge(Integer(id.substr(0, 8)), named_at);
    if (kind != 0 || id.size() < offset_bytes_ + length_bytes_) return file_.Unsound(named_at, "an index");
    return Managed(Integer(id.substr(0, offset_bytes_)), Integer(id.substr(offset_bytes_, length_bytes_)), named_at);
  }
  [[nodiscard]] std::size_t id_bytes() const { return id_bytes_; }

 private:
  [[nodiscard]] bool IsSound() const {
    return std::has_single_bit(std::uint64_t{width_}) && std::has_single_bit(start_) &&
           std::has_single_bit(most_direct_) && most_direct_ >= start_ && most_managed_ > 0 && bits_ > 0 &&
           bits_ <= kMaxBits && most_direct_ >> kMaxBits == 0 && Log2(start_) + Log2(width_) + root_rows_ <= kMaxBits;
  }
  [[nodiscard]] std::uint64_t BlockBytes(unsigned row) const { return row == 0 ? start_ : start_ << (row - 1); }
  [[nodiscard]] std::uint64_t RowOffset(unsigned row) const { return row == 0 ? 0 : (start_ * width_) << (row - 1); }
  [[nodiscard]] bool IsDirect(unsigned row) const { return row < Log2(most_direct_) - Log2(start_) + 2; }

  Status ReadHuge(std::uint64_t tree) {
    RETORT_ASSIGN_OR_RETURN(const std::vector<std::string_view> records,
                            ReadBtree2(file_, tree, kHugeTree, kHugeRecord));
    for (const std::string_view record : records) {
      ByteReader reader(record);
      const std::uint64_t at = reader.U64(), size = reader.U64();
      huge_[reader.U64()] = {at, size};
    }
    return {};
  }

  Result<std::string_view> Huge(std::uint64_t number, std::uint64_t named_at) {
    const auto found = huge_.find(number);
    if (found == huge_.end()) return file_.Unsound(named_at, "an index");
    return file_.Take(found->second.first, found->second.second, "a large attribute");
  }

  Result<std::string_view> Managed(std::uint64_t offset, std::uint64_t size, std::uint64_t named_at) {
    std::uint64_t table = root_, base = 0, bytes = start_;
    for (unsigned rows = root_rows_; rows > 0;) {
      unsigned row = 0;
      while (row < rows && offset - base >= RowOffset(row + 1)) ++row;
      if (row == rows) return file_.Unsound(named_at, "an index");
      bytes = BlockBytes(row);
      const std::uint64_t column = (offset - base - RowOffset(row)) / bytes;
      RETORT_ASSIGN_OR_RETURN(const std::string_view head, file_.Look(table, 5, "a table of a heap"));
      if (head != std::string_view("FHIB\0", 5)) return file_.Unsound(table, "a table of a heap");
      RETORT_ASSIGN_OR_RETURN(
          const std::string_view entry,
          file_.Look(table + 13 + offset_bytes_ + 8 * (row * width_ + column), 8, "a table of a heap"));
      base += RowOffset(row) + column * bytes;
      table = Integer(entry);
      // Smaller with each level, so that this ends.
      const unsigned below = IsDirect(row) ? 0 : Log2(bytes) - Log2(start_ * width_) + 1;
      if (below >= rows) return file_.Unsound(table, "a table of a heap");
      rows = below;
    }
    return InBlock(table, bytes, offset - base, size);
  }

  Result<std::string_view> InBlock(std::uint64_t block, std::uint64_t bytes, std::uint64_t at, std::uint64_t size) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view whole, file_.Look(block, bytes, "a block of a heap"));
    const bool inside = at >= block_head_ && at <= bytes && size <= bytes - at;
    if (!whole.starts_with(std::string_view("FHDB\0", 5)) || !inside) return file_.Unsound(block, "a block of a heap");
    RETORT_RETURN_IF_ERROR(file_.Count(block, size));
    return whole.substr(at, size);
  }

  Hdf5Bytes& file_;
  std::size_t id_bytes_ = 0;
  std::uint64_t most_managed_ = 0, start_ = 0, most_direct_ = 0, root_ = 0, block_head_ = 0;
  std::uint16_t width_ = 0, bits_ = 0, root_rows_ = 0;
  unsigned offset_bytes_ = 0, length_bytes_ = 0;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> huge_;  // by number: address, size
};

}  // namespace

Result<std::vector<std::string_view>> ReadDenseMessages(Hdf5Bytes& file, std::uint64_t heap, std::uint64_t tree,
                                                        const Hdf5DenseIndex& index) {
  Heap stored(file);
  RETORT_RETURN_IF_ERROR(stored.Open(heap));
  if (stored.id_bytes() != index.id_bytes) return file.Unsound(heap, "a heap");
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string_view> records,
                          ReadBtree2(file, tree, index.tree_type, index.record_bytes));
  std::vector<std::string_view> messages;
  for (const std::string_view record : records) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view message,
                            stored.Object(record.substr(index.id_at, index.id_bytes), tree));
    messages.push_back(message);
  }
  return messages;
}

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
  if (!reader.ok() || !ComputeTensorBytes(DType::u64, extents)) return std::nullopt;
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
  attribute.elements = *ComputeTensorBytes(DType::u8, *extents);
  std::uint64_t size = 0;
  if (__builtin_mul_overflow(attribute.elements, type->size, &size)) return std::nullopt;
  attribute.value = reader.Raw(size);
  if (!reader.ok()) return std::nullopt;
  return attribute;
}

}  // namespace retort::storage
