// The messages that describe an object of an HDF5 file: those in its header (version 2), and many or large ones
// (attributes, links), which lie in a fractal heap and are indexed by a B-tree (version 2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"

namespace retort::storage {

// The bytes of an HDF5 file while its structures are taken apart; and the types, extents and attributes in them, as far
// as Retort's files have these. Each structure that is taken is counted: those of a file that Retort wrote never
// overlap, so that all together they have no more bytes than the file. A file that would have more (cycles, hard links,
// structures that many others share) is refused, and time and memory are bounded by its size.

// An address that stands for nothing.
inline constexpr std::uint64_t kHdf5NoAddress = ~std::uint64_t{0};

class Hdf5Bytes {
 public:
  // `bytes` must outlive this; `name` stands in messages.
  Hdf5Bytes(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  // `size` bytes at `at`, counted. Error: damage.
  [[nodiscard]] Result<std::string_view> Take(std::uint64_t at, std::uint64_t size, std::string_view what);
  // The same, of bytes that are counted by the caller (Count) or elsewhere.
  [[nodiscard]] Result<std::string_view> Look(std::uint64_t at, std::uint64_t size, std::string_view what) const;
  // Everything from `at` on, not counted: for structures whose size stands in themselves.
  [[nodiscard]] Result<std::string_view> From(std::uint64_t at, std::string_view what) const;
  [[nodiscard]] Status Count(std::uint64_t at, std::uint64_t size);

  // "<name>: at byte <at>: <what>".
  [[nodiscard]] Status Damaged(std::uint64_t at, const std::string& what) const;
  // Where the file contradicts itself: `what` is a structure that is cut short or not what its place says.
  [[nodiscard]] Status Unsound(std::uint64_t at, std::string_view what) const;
  // Sound HDF5 perhaps, but nothing that Retort writes.
  [[nodiscard]] Status Foreign(std::uint64_t at, const std::string& what) const;

  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string_view bytes_;
  std::string name_;
  std::uint64_t counted_ = 0;
};

enum class Hdf5Class : std::uint8_t { number, text, table, other };

struct Hdf5Column;

struct Hdf5Type {
  Hdf5Class kind = Hdf5Class::other;
  std::uint64_t size = 0;           // bytes of an element, at least 1
  DType dtype = DType::u8;          // of a number
  std::vector<Hdf5Column> columns;  // of a table: numbers and texts, each inside `size`
};

struct Hdf5Column {
  std::string name;
  std::uint64_t offset = 0;
  Hdf5Type type;
};

// A datatype message. A sound type that Retort does not read (variable-length text, references, arrays,
// big-endian numbers ...) is `other`; nothing when the bytes are no type.
[[nodiscard]] std::optional<Hdf5Type> ParseHdf5Type(std::string_view message);
// A dataspace message: extents, empty for a scalar. Nothing when the bytes are none, or for a product beyond
// 2^62.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ParseHdf5Extents(std::string_view message);

struct Hdf5Attribute {
  std::string name;
  Hdf5Type type;
  std::uint64_t elements = 0;
  std::string_view value;  // elements * type.size bytes
};

// An attribute message. Nothing when the bytes are none, or fewer than its type and extents make.
[[nodiscard]] std::optional<Hdf5Attribute> ParseHdf5Attribute(std::string_view message);

// Messages.

// The types of messages that Retort's files have.
enum class Hdf5MessageType : std::uint8_t {
  nil = 0,
  dataspace = 1,
  link_table = 2,  // "link info": where the links of a group of the newer kind lie
  datatype = 3,
  fill_value = 5,
  link = 6,
  layout = 8,
  group_constants = 10,
  attribute = 12,
  continuation = 16,
  symbol_table = 17,
  attribute_table = 21,  // "attribute info": where many or large attributes lie
};

struct Hdf5Message {
  Hdf5MessageType type = Hdf5MessageType::nil;
  std::string_view body;
  std::uint64_t at = 0;  // of its header block, for messages to the user
};

// All messages of the object at `at` but nil and continuation. Error: damage; so is a message of another
// type: external raw data files, filters, shared and committed types and reference counts are among them.
[[nodiscard]] Result<std::vector<Hdf5Message>> ReadObjectHeader(Hdf5Bytes& file, std::uint64_t at);

// What a record of the index by name is: its heap identifier lies at `id_at` and has `id_bytes`.
struct Hdf5DenseIndex {
  std::uint8_t tree_type = 0;
  std::size_t record_bytes = 0, id_at = 0, id_bytes = 0;
};
inline constexpr Hdf5DenseIndex kDenseLinks = {5, 11, 4, 7};
inline constexpr Hdf5DenseIndex kDenseAttributes = {8, 17, 0, 8};

// The messages that the B-tree at `tree` lists, out of the heap at `heap`; in no particular order. Error:
// damage.
[[nodiscard]] Result<std::vector<std::string_view>> ReadDenseMessages(Hdf5Bytes& file, std::uint64_t heap,
                                                                      std::uint64_t tree, const Hdf5DenseIndex& index);

}  // namespace retort::storage
