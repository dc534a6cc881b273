// MATLAB files of versions 5 to 7 (not 7.3, which is HDF5): numbers, texts, cells and structures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

namespace retort::storage {

enum class MatKind : std::uint8_t { numbers, text, cells, structure, other };

struct MatArray {
  std::string name;
  MatKind kind = MatKind::other;
  std::vector<std::int64_t> shape;  // the first varies fastest
  std::string bytes;                // numbers: as they are stored; text: UTF-8
  int stored_type = 0;              // of numbers: miINT8 = 1, miUINT8 = 2, ... miDOUBLE = 9
  std::vector<std::string> fields;  // of a structure
  std::vector<MatArray> items;      // of cells; of a structure: element by element, each its fields in order

  [[nodiscard]] std::int64_t size() const;  // product of the shape
  [[nodiscard]] bool bytes_of_u8() const { return kind == MatKind::numbers && stored_type == 2; }
  // Number i, whatever it is stored as; 0 where there is none.
  [[nodiscard]] double Number(std::int64_t i) const;
};

// Every variable of the file. `file` is for messages. Variables that together unpack to more than 2 GiB, or to
// more than 200 times the file's size and 1 MiB, are refused; so are more than 8 levels of nesting. Errors:
// damage, naming file and offset; refused.
[[nodiscard]] Result<std::vector<MatArray>> ParseMat(const std::string& file, std::string_view bytes);

}  // namespace retort::storage
