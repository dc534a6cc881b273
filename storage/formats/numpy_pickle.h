// Pickles of one dictionary of numbers, texts and NumPy arrays, as CIFAR is distributed. Nothing is executed:
// the few names that such files need are known here, and any other is refused.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

namespace retort::storage {

struct PickledBytes {  // an array of u8
  std::vector<std::int64_t> shape;
  bool fortran = false;
  std::string_view bytes;  // into what was parsed, or owned by `owned`
  std::string owned;
};

// By key, which may be written as bytes or text.
struct PickledDictionary {
  std::map<std::string, std::vector<std::int64_t>> numbers;  // lists (or arrays of integers) of integers
  std::map<std::string, std::vector<std::string>> texts;     // lists of texts
  std::map<std::string, PickledBytes> arrays;
};

// Protocols 2 to 5, of Python 2 and 3. `file` is for messages; `bytes` must outlive the result. Values of
// other types are left out. Errors, naming file and offset: damage; refused for a global that is not NumPy's,
// and for protocols 0 and 1.
[[nodiscard]] Result<PickledDictionary> ParseNumpyPickle(const std::string& file, std::string_view bytes);

}  // namespace retort::storage
