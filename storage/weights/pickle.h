// A reader of Python pickles (protocols 2 to 5) that executes nothing: it knows the few opcodes and the few
// globals of which state dicts are made, and builds plain values. Everything else is refused by name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/weights/element_type.h"

namespace retort::storage {

enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  text,
  large,  // an integer beyond 64 bits: `text` is its bytes, little endian
  tuple,
  list,
  dict,     // `items`; of a dict key, value, key, value, ...
  global,   // `text` is "module name", one of those that are known
  storage,  // `integer` is a position in Pickle::storages
  tensor,   // `integer` is a position in Pickle::tensors
  opaque,   // a known object that no weight depends on: a device, a size, hooks
};

struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::int64_t integer = 0;
  std::string_view text;             // into the pickle's bytes, or static
  std::vector<std::uint32_t> items;  // positions in Pickle::values
  std::uint64_t at = 0;              // offset in the file
};

struct PickleStorage {
  std::string key;
  ElementType type = ElementType::f32;
  std::int64_t first = 0, count = 0;  // elements: a view of the storage of that key, from `first` on
  std::uint64_t at = 0;
};

struct PickleTensor {
  std::size_t storage = 0;
  std::int64_t first = 0;
  std::vector<std::int64_t> shape, strides;
  std::uint64_t at = 0;
};

struct Pickle {
  std::vector<PickleValue> values;
  std::vector<PickleStorage> storages;
  std::vector<PickleTensor> tensors;
  std::uint32_t root = 0;
  std::size_t consumed = 0;  // bytes, to the end of its STOP

  [[nodiscard]] const PickleValue& at(std::uint32_t value) const { return values[value]; }
};

inline constexpr std::size_t kMostPickleBytes = std::size_t{64} << 20;

// What a persistent id stands for: `id` is a value of `pickle`; the result takes its place.
using PersistentId = std::function<Result<PickleValue>(Pickle& pickle, std::uint32_t id)>;

// Reads one pickle at the start of `bytes`; what follows it is not looked at. `file` and `base` (offset of
// the first byte in it) stand in messages. The values point into `bytes`. Bounds: 2^20 values, memo entries
// and marks; 2^22 items of tuples, lists and dicts in all; texts lie in `bytes`. Errors, naming file and
// offset: damage (cut short, no sound pickle), refused (an opcode or a global that no state dict needs, or a
// bound).
[[nodiscard]] Result<Pickle> ReadPickle(std::string_view bytes, const std::string& file, std::uint64_t base,
                                        const PersistentId& persistent);

// ('storage', torch.FloatStorage, key, location, count[, view]) as torch.save writes it since 0.2.
[[nodiscard]] Result<PickleValue> StorageOfId(Pickle& pickle, std::uint32_t id, const std::string& file);
// None has a meaning here: each is refused.
[[nodiscard]] Result<PickleValue> NoPersistentId(Pickle& pickle, std::uint32_t id, const std::string& file);

// Is this a global that state dicts are made of? The same text with static lifetime, or empty.
[[nodiscard]] std::string_view KnownGlobal(std::string_view module, std::string_view name);
// What calling the global gives. Error: refused or damage, naming the offset.
[[nodiscard]] Result<PickleValue> CallGlobal(Pickle& pickle, const PickleValue& global,
                                             std::uint32_t arguments, const std::string& file);

}  // namespace retort::storage
