// The messages that describe an object of an HDF5 file: those in its header (version 2), and many or large ones
// (attributes, links), which lie in a fractal heap and are indexed by a B-tree (version 2).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/results/hdf5_value.h"

namespace retort::storage {

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
