// The Python literal in the header of a .npy: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retort::storage {

struct NpyLiteral {
  std::string descr;  // e.g. "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// False, with the offset of the first unexpected character in `at`, for anything but the three keys, each
// once, a plain type and extents of at most 18 digits; spaces and a line end may follow.
[[nodiscard]] bool ParseNpyLiteral(std::string_view text, NpyLiteral& literal, std::size_t& at);

}  // namespace retort::storage
