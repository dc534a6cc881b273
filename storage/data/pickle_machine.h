// The stack machine of a pickle, without anything that it could call.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::storage::pickle {

enum class Kind : std::uint8_t {
  none,
  mark,
  number,
  text,
  sequence,
  dictionary,
  global,
  array,
  dtype,
  other
};

struct Value;
using Items = std::vector<Value>;  // of a dictionary: key, value, key, value

struct Array {
  std::vector<std::int64_t> shape;
  std::string dtype;
  bool fortran = false;
  std::string_view bytes;
};

struct Value {
  Kind kind = Kind::none;
  std::int64_t number = 0;
  std::string_view text;  // text, global ("module name") and dtype
  Items* items = nullptr;
  Array* array = nullptr;
};

// What values point to.
struct Arena {
  std::deque<Items> lists;
  std::deque<Array> arrays;
  std::deque<std::string> texts;
};

// What the pickle stands for; texts point into `bytes` or `arena`. `file` is for messages. Errors: as of
// ParseNumpyPickle.
[[nodiscard]] Result<Value> Run(const std::string& file, std::string_view bytes, Arena& arena);

}  // namespace retort::storage::pickle
