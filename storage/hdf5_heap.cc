#include "storage/hdf5_heap.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "storage/byte_codec.h"
#include "storage/hdf5_btree2.h"

namespace retort::storage {
namespace {

constexpr std::uint8_t kHugeTree = 1;
constexpr std::size_t kHugeRecord = 24;  // address, length, number
constexpr unsigned kMostBits = 56;       // of an offset in the heap

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
  explicit Heap(Hdf5Image& image) : image_(image) {}

  Status Open(std::uint64_t at) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view bytes, image_.Take(at, 146, "a heap"));
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
    if (!begins || !IsSound()) return image_.Unsound(at, "a heap");
    if (filters != 0) return image_.Foreign(at, "a heap is stored through filters");
    offset_bytes_ = (bits_ + 7) / 8;
    length_bytes_ = std::min((Log2(most_direct_) + 7) / 8, Log2(most_managed_) / 8 + 1);
    block_head_ = 13 + offset_bytes_ + ((flags & 2U) != 0 ? 4 : 0);
    return huge == kHdf5Nowhere ? Status() : ReadHuge(huge);
  }

  // Of the object that `id` stands for. Counted.
  Result<std::string_view> Object(std::string_view id, std::uint64_t named_at) {
    const unsigned kind = id.empty() ? 0xFF : static_cast<unsigned char>(id[0]);
    id.remove_prefix(std::min<std::size_t>(1, id.size()));
    if (kind == 0x10) return Huge(Integer(id.substr(0, 8)), named_at);
    if (kind != 0 || id.size() < offset_bytes_ + length_bytes_) return image_.Unsound(named_at, "an index");
    return Managed(Integer(id.substr(0, offset_bytes_)), Integer(id.substr(offset_bytes_, length_bytes_)),
                   named_at);
  }
  [[nodiscard]] std::size_t id_bytes() const { return id_bytes_; }

 private:
  [[nodiscard]] bool IsSound() const {
    return std::has_single_bit(std::uint64_t{width_}) && std::has_single_bit(start_) &&
           std::has_single_bit(most_direct_) && most_direct_ >= start_ && most_managed_ > 0 && bits_ > 0 &&
           bits_ <= kMostBits && most_direct_ >> kMostBits == 0 &&
           Log2(start_) + Log2(width_) + root_rows_ <= kMostBits;
  }
  [[nodiscard]] std::uint64_t BlockBytes(unsigned row) const {
    return row == 0 ? start_ : start_ << (row - 1);
  }
  [[nodiscard]] std::uint64_t RowOffset(unsigned row) const {
    return row == 0 ? 0 : (start_ * width_) << (row - 1);
  }
  [[nodiscard]] bool IsDirect(unsigned row) const { return row < Log2(most_direct_) - Log2(start_) + 2; }

  Status ReadHuge(std::uint64_t tree) {
    RETORT_ASSIGN_OR_RETURN(const std::vector<std::string_view> records,
                            ReadBtree2(image_, tree, kHugeTree, kHugeRecord));
    for (const std::string_view record : records) {
      ByteReader reader(record);
      const std::uint64_t at = reader.U64(), size = reader.U64();
      huge_[reader.U64()] = {at, size};
    }
    return {};
  }

  Result<std::string_view> Huge(std::uint64_t number, std::uint64_t named_at) {
    const auto found = huge_.find(number);
    if (found == huge_.end()) return image_.Unsound(named_at, "an index");
    return image_.Take(found->second.first, found->second.second, "a large attribute");
  }

  Result<std::string_view> Managed(std::uint64_t offset, std::uint64_t size, std::uint64_t named_at) {
    std::uint64_t table = root_, base = 0, bytes = start_;
    for (unsigned rows = root_rows_; rows > 0;) {
      unsigned row = 0;
      while (row < rows && offset - base >= RowOffset(row + 1)) ++row;
      if (row == rows) return image_.Unsound(named_at, "an index");
      bytes = BlockBytes(row);
      const std::uint64_t column = (offset - base - RowOffset(row)) / bytes;
      RETORT_ASSIGN_OR_RETURN(const std::string_view head, image_.Look(table, 5, "a table of a heap"));
      if (head != std::string_view("FHIB\0", 5)) return image_.Unsound(table, "a table of a heap");
      RETORT_ASSIGN_OR_RETURN(
          const std::string_view entry,
          image_.Look(table + 13 + offset_bytes_ + 8 * (row * width_ + column), 8, "a table of a heap"));
      base += RowOffset(row) + column * bytes;
      table = Integer(entry);
      // Smaller with each level, so that this ends.
      const unsigned below = IsDirect(row) ? 0 : Log2(bytes) - Log2(start_ * width_) + 1;
      if (below >= rows) return image_.Unsound(table, "a table of a heap");
      rows = below;
    }
    return InBlock(table, bytes, offset - base, size);
  }

  Result<std::string_view> InBlock(std::uint64_t block, std::uint64_t bytes, std::uint64_t at,
                                   std::uint64_t size) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view whole, image_.Look(block, bytes, "a block of a heap"));
    const bool inside = at >= block_head_ && at <= bytes && size <= bytes - at;
    if (!whole.starts_with(std::string_view("FHDB\0", 5)) || !inside)
      return image_.Unsound(block, "a block of a heap");
    RETORT_RETURN_IF_ERROR(image_.Count(block, size));
    return whole.substr(at, size);
  }

  Hdf5Image& image_;
  std::size_t id_bytes_ = 0;
  std::uint64_t most_managed_ = 0, start_ = 0, most_direct_ = 0, root_ = 0, block_head_ = 0;
  std::uint16_t width_ = 0, bits_ = 0, root_rows_ = 0;
  unsigned offset_bytes_ = 0, length_bytes_ = 0;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> huge_;  // by number: address, size
};

}  // namespace

Result<std::vector<std::string_view>> ReadDenseMessages(Hdf5Image& image, std::uint64_t heap,
                                                        std::uint64_t tree, const Hdf5DenseIndex& index) {
  Heap stored(image);
  RETORT_RETURN_IF_ERROR(stored.Open(heap));
  if (stored.id_bytes() != index.id_bytes) return image.Unsound(heap, "a heap");
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string_view> records,
                          ReadBtree2(image, tree, index.tree_type, index.record_bytes));
  std::vector<std::string_view> messages;
  for (const std::string_view record : records) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view message,
                            stored.Object(record.substr(index.id_at, index.id_bytes), tree));
    messages.push_back(message);
  }
  return messages;
}

}  // namespace retort::storage
