// Pickles of torch.save: the few opcodes and globals of which state dicts are made. Everything else is refused by its
// name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/pickle.h"
#include "storage/weights/stored_state.h"

namespace retort::storage {

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

// A pickle of torch.save.
struct Pickle : PickleValues {
  std::vector<PickleStorage> storages;
  std::vector<PickleTensor> tensors;
};

inline constexpr std::size_t kMaxPickleBytes = std::size_t{64} << 20;

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
[[nodiscard]] Result<PickleValue> ParseStorageId(Pickle& pickle, std::uint32_t id, const std::string& file);
// None has a meaning here: each is refused.
[[nodiscard]] Result<PickleValue> RefusePersistentId(Pickle& pickle, std::uint32_t id, const std::string& file);

}  // namespace retort::storage
