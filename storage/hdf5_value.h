// Types and extents of HDF5 as far as Retort's files have them, and attributes, which carry both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/hdf5_image.h"
#include "storage/tensor_blob.h"

namespace retort::storage {

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

}  // namespace retort::storage
