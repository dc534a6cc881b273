#include "storage/data/numpy_pickle.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "storage/data/pickle_machine.h"

namespace retort::storage {
namespace {

using pickle::Array;
using pickle::Items;
using pickle::Kind;
using pickle::Value;

// Integers of an array, little endian; nothing for other types or a size that does not fit.
std::optional<std::vector<std::int64_t>> IntegersOf(const Array& array) {
  const std::string_view type = array.dtype;
  if (array.shape.size() != 1 || type.size() != 2 || (type[0] != 'i' && type[0] != 'u')) return std::nullopt;
  const auto width = static_cast<std::size_t>(type[1] - '0');
  if ((width != 1 && width != 2 && width != 4 && width != 8) ||
      array.bytes.size() / width != static_cast<std::size_t>(array.shape[0]))
    return std::nullopt;
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i + width <= array.bytes.size(); i += width) {
    std::uint64_t raw = 0;
    for (std::size_t k = 0; k < width; ++k)
      raw |= std::uint64_t{static_cast<unsigned char>(array.bytes[i + k])} << (8 * k);
    out.push_back(static_cast<std::int64_t>(raw));
  }
  return out;
}

// A pickle may name one list or text as often as it likes; what is kept is copied.
class Room {
 public:
  explicit Room(std::size_t file_bytes) : left_(16 * std::uint64_t{file_bytes} + (1U << 20)) {}
  // False when there is no room for `count` things of `bytes` each.
  [[nodiscard]] bool Take(std::uint64_t count, std::uint64_t bytes) {
    if (bytes > 0 && count > left_ / bytes) return false;
    left_ -= count * bytes;
    return true;
  }

 private:
  std::uint64_t left_;
};

std::uint64_t BytesOf(const Items& items) {
  std::uint64_t bytes = 0;
  for (const Value& item : items) bytes += sizeof(std::string) + item.text.size();
  return bytes;
}

Status TooMuch(const std::string& file, const std::string& key) {
  return Refused(file + ": what the pickle holds up to \"" + key +
                 "\" would take more than 16 times the memory of the file");
}

Status KeepSequence(const std::string& file, const std::string& key, const Items& items, Room& room,
                    PickledDictionary& out) {
  const auto all = [&items](Kind kind) {
    return std::all_of(items.begin(), items.end(), [kind](const Value& item) { return item.kind == kind; });
  };
  if (items.empty()) return {};
  if (all(Kind::number)) {
    if (!room.Take(items.size(), sizeof(std::int64_t))) return TooMuch(file, key);
    for (const Value& item : items) out.numbers[key].push_back(item.number);
  } else if (all(Kind::text)) {
    if (!room.Take(1, BytesOf(items))) return TooMuch(file, key);
    for (const Value& item : items) out.texts[key].emplace_back(item.text);
  }
  return {};
}

Status KeepArray(const std::string& file, const std::string& key, const Array& array, std::string_view input,
                 Room& room, PickledDictionary& out) {
  // Of integers eight bytes are kept for each, of which there is one byte at least.
  if (!room.Take(array.bytes.size(), array.dtype == "u1" && array.shape.size() != 1 ? 1 : 8))
    return TooMuch(file, key);
  if (auto integers = array.dtype == "u1" && array.shape.size() != 1 ? std::nullopt : IntegersOf(array)) {
    out.numbers[key] = *std::move(integers);
    return {};
  }
  if (array.dtype != "u1") return {};
  std::uint64_t size = 1;
  for (const std::int64_t extent : array.shape) {
    if (extent != 0 && size > array.bytes.size() / static_cast<std::uint64_t>(extent))
      size = ~std::uint64_t{0} >> 42;
    size *= static_cast<std::uint64_t>(extent);
  }
  if (size != array.bytes.size())
    return DamageError(file + ": the array \"" + key + "\" has " + std::to_string(array.bytes.size()) +
                       " bytes, which its shape does not make");
  PickledBytes kept;
  kept.shape = array.shape;
  kept.fortran = array.fortran;
  const bool inside = array.bytes.data() >= input.data() && array.bytes.data() < input.data() + input.size();
  if (!inside) kept.owned = array.bytes;
  PickledBytes& stored = out.arrays[key] = std::move(kept);
  stored.bytes = inside ? array.bytes : std::string_view(stored.owned);
  return {};
}

}  // namespace

Result<PickledDictionary> ParseNumpyPickle(const std::string& file, std::string_view bytes) {
  pickle::Arena arena;
  RETORT_ASSIGN_OR_RETURN(const Value whole, pickle::Run(file, bytes, arena));
  if (whole.kind != Kind::dictionary)
    return DamageError(file + ": the pickle is no dictionary; fetch the file again");
  PickledDictionary out;
  Room room(bytes.size());
  const Items& items = *whole.items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind != Kind::text) continue;
    const std::string key(items[i].text);
    const Value& value = items[i + 1];
    if (value.kind == Kind::sequence)
      RETORT_RETURN_IF_ERROR(KeepSequence(file, key, *value.items, room, out));
    if (value.kind == Kind::array)
      RETORT_RETURN_IF_ERROR(KeepArray(file, key, *value.array, bytes, room, out));
  }
  return out;
}

}  // namespace retort::storage
