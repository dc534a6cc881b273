// Columns of a compound HDF5 dataset. Free of HDF5 headers.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace retort::storage {

using ColumnValues =
    std::variant<std::vector<std::string>, std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>>;

// Strings are stored as fixed-length UTF-8, as long as the longest, padded with NUL.
struct TableColumn {
  std::string name;
  ColumnValues values;     // all columns of a table have as many
  std::string units = {};  // as of Quantity
};

using Table = std::vector<TableColumn>;

}  // namespace retort::storage
