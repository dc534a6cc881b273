#include "storage/formats/numpy_pickle.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

#include "storage/formats/pickle.h"

namespace retort::storage {
namespace {

constexpr std::size_t kMaxValues = 4'000'000;

struct Array {
  std::vector<std::int64_t> shape;
  std::string dtype;
  bool fortran = false;
  std::string_view bytes;
};

bool IsNumber(const PickleValue& value) {
  return value.kind == PickleKind::integer || value.kind == PickleKind::boolean;
}
bool IsText(const PickleValue& value) { return value.kind == PickleKind::text; }
bool IsSequence(const PickleValue& value) { return value.kind == PickleKind::list || value.kind == PickleKind::tuple; }

class NumpyVocabulary final : public PickleVocabulary {
 public:
  NumpyVocabulary(const std::string& file, std::size_t file_bytes) : file_(file), file_bytes_(file_bytes) {}

  [[nodiscard]] const Array& array(const PickleValue& value) const {
    return arrays_[static_cast<std::size_t>(value.integer)];
  }

  const PickleLimits& limits() const override {
    static constexpr PickleLimits kLimits = {
        .values = kMaxValues, .items = kMaxValues, .memo = kMaxValues + 1, .arguments = kMaxValues};
    return kLimits;
  }
  bool Knows(int opcode) const override { return opcode != '1' && opcode != 'Q'; }
  bool TakesLargeIntegers() const override { return false; }

  Result<std::string_view> FindGlobal(std::string_view module, std::string_view name, std::uint64_t at) const override {
    static constexpr std::string_view kKnown[] = {"numpy.core.multiarray _reconstruct",
                                                  "numpy._core.multiarray _reconstruct",
                                                  "numpy ndarray",
                                                  "numpy dtype",
                                                  "_codecs encode",
                                                  "numpy.core.numeric _frombuffer",
                                                  "numpy._core.numeric _frombuffer"};
    const std::string full = std::string(module) + " " + std::string(name);
    const auto* known = std::find(std::begin(kKnown), std::end(kKnown), full);
    if (known != std::end(kKnown)) return *known;
    return Refused(file_ + ": at byte " + std::to_string(at) + ": the pickle asks for \"" + full +
                   "\", which this set never needs; it is not loaded");
  }

  Result<PickleValue> Call(PickleValues& values, const PickleValue& global, std::uint32_t arguments,
                           std::uint64_t at) override {
    const std::vector<std::uint32_t>& items = values.at(arguments).items;
    const auto given = [&](std::size_t i) -> const PickleValue& { return values.at(items[i]); };
    const bool text_first = !items.empty() && IsText(given(0));
    if (global.text.ends_with("_reconstruct")) return NewArray();
    if (global.text == "_codecs encode" && text_first) return Latin1(given(0).text, at);
    if (global.text == "numpy dtype" && text_first) return Made(PickleKind::dtype, given(0).text);
    if (global.text.ends_with("_frombuffer") && items.size() == 4 && text_first) {
      PickleValue made = NewArray();
      arrays_.back().fortran = IsText(given(3)) && given(3).text == "F";
      RETORT_RETURN_IF_ERROR(Fill(values, arrays_.back(), given(2), given(1), given(0), at));
      return made;
    }
    return Damaged(at, "a call with the wrong arguments");
  }

  Status SetState(PickleValues& values, std::uint32_t target, std::uint32_t state, std::uint64_t at) override {
    const PickleValue &made = values.at(target), &given = values.at(state);
    const auto item = [&](std::size_t i) -> const PickleValue& { return values.at(given.items[i]); };
    if (made.kind == PickleKind::dtype) {
      if (IsSequence(given) && given.items.size() > 1 && item(1).text == ">")
        return Damaged(at, "a big-endian array; save it again on this kind of machine");
      return {};
    }
    if (made.kind != PickleKind::array || !IsSequence(given) || given.items.size() != 5)
      return Damaged(at, "a state of what is no array");
    Array& array = arrays_[static_cast<std::size_t>(made.integer)];
    array.fortran = IsNumber(item(3)) && item(3).integer != 0;
    return Fill(values, array, item(1), item(2), item(4), at);
  }

  Result<PickleValue> FindPersistent(PickleValues&, std::uint32_t) override { return PickleValue(); }  // never asked

  Status Fault(PickleFault fault, std::uint64_t at, std::uint64_t number) const override {
    switch (fault) {
      case PickleFault::cut_short:
        return Damaged(at, "truncated inside a pickle");
      case PickleFault::unknown_opcode:
        return Damaged(at, "an operation that such a pickle never has (byte " + std::to_string(number) + ")");
      case PickleFault::protocol:
        return Damaged(at, "pickle protocol " + std::to_string(number) + ", and 2 to 5 are known");
      case PickleFault::wide_integer:
        return Damaged(at, "an integer of more than 64 bits");
      case PickleFault::too_many_arguments:
        return Damaged(at, "a call with the wrong arguments");
      case PickleFault::too_large_memo:
        return Damaged(at, "a memo beyond 4 million");
      case PickleFault::no_mark:
        return Damaged(at, "a mark is missing on the stack");
      case PickleFault::too_few_values:
        return Damaged(at, "a value is missing on the stack");
      case PickleFault::nothing_to_remember:
        return Damaged(at, "nothing to remember");
      case PickleFault::nothing_to_set:
        return Damaged(at, "a state for nothing");
      case PickleFault::no_container:
        return Damaged(at, "items for what is no container");
      case PickleFault::odd_items:
        return Damaged(at, "a key without value");
      case PickleFault::unset_memo:
        return Damaged(at, "a memo that was never written");
      case PickleFault::unnamed_global:
        return Damaged(at, "a global without name");
      case PickleFault::no_callable:
        return Damaged(at, "a call of what is no name");
      case PickleFault::too_many_values:
      case PickleFault::too_many_marks:
      case PickleFault::too_many_items:
      case PickleFault::too_large_stack:
        break;
    }
    return Damaged(at, "more than 4 million values");
  }

 private:
  Status Damaged(std::uint64_t at, const std::string& what) const {
    return DamageError(file_ + ": at byte " + std::to_string(at) + ": " + what + "; fetch the file again");
  }
  static PickleValue Made(PickleKind kind, std::string_view text, std::int64_t integer = 0) {
    PickleValue value;
    value.kind = kind;
    value.text = text;
    value.integer = integer;
    return value;
  }
  PickleValue NewArray() {
    arrays_.emplace_back();
    return Made(PickleKind::array, {}, static_cast<std::int64_t>(arrays_.size()) - 1);
  }

  // UTF-8 of Latin-1 characters to the bytes that they stand for: how protocol 2 writes bytes of Python 3.
  Result<PickleValue> Latin1(std::string_view text, std::uint64_t at) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c < 0x80) {
        out += static_cast<char>(c);
      } else if ((c == 0xC2 || c == 0xC3) && i + 1 < text.size()) {
        out += static_cast<char>(((c & 3U) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3FU));
      } else {
        return Damaged(at, "bytes that are no Latin-1");
      }
    }
    // Of a sound pickle each text is decoded once.
    decoded_ += out.size();
    if (decoded_ > file_bytes_)
      return Damaged(at, "its texts decode to more than the " + std::to_string(file_bytes_) + " bytes of the file");
    texts_.push_back(std::move(out));
    return Made(PickleKind::text, texts_.back());
  }

  Status Fill(const PickleValues& values, Array& array, const PickleValue& shape, const PickleValue& dtype,
              const PickleValue& bytes, std::uint64_t at) const {
    if (!IsSequence(shape) || dtype.kind != PickleKind::dtype || !IsText(bytes))
      return Damaged(at, "an array without shape, type or bytes");
    if (shape.items.size() > 8) return Damaged(at, "an array of more than 8 dimensions");
    array.shape.clear();
    for (const std::uint32_t item : shape.items) {
      const PickleValue& extent = values.at(item);
      if (!IsNumber(extent) || extent.integer < 0 || extent.integer > (std::int64_t{1} << 40))
        return Damaged(at, "an array of no sound shape");
      array.shape.push_back(extent.integer);
    }
    array.dtype = dtype.text;
    array.bytes = bytes.text;
    return {};
  }

  const std::string& file_;
  const std::size_t file_bytes_;
  std::size_t decoded_ = 0;  // bytes of Latin-1
  std::deque<Array> arrays_;
  std::deque<std::string> texts_;
};

// Integers of an array, little endian; nothing for other types or a size that does not fit.
std::optional<std::vector<std::int64_t>> DecodeIntegers(const Array& array) {
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
class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t file_bytes) : left_(16 * std::uint64_t{file_bytes} + (1U << 20)) {}
  // False when there is no room for `count` things of `bytes` each.
  [[nodiscard]] bool Take(std::uint64_t count, std::uint64_t bytes) {
    if (bytes > 0 && count > left_ / bytes) return false;
    left_ -= count * bytes;
    return true;
  }

 private:
  std::uint64_t left_;
};

Status TooMuchError(const std::string& file, const std::string& key) {
  return Refused(file + ": what the pickle holds up to \"" + key +
                 "\" would take more than 16 times the memory of the file");
}

Status CopySequence(const std::string& file, const std::string& key, const PickleValues& values,
                    const std::vector<std::uint32_t>& items, MemoryBudget& room, PickledDictionary& out) {
  const auto all = [&](bool (*is)(const PickleValue&)) {
    return std::all_of(items.begin(), items.end(), [&](std::uint32_t item) { return is(values.at(item)); });
  };
  if (items.empty()) return {};
  if (all(IsNumber)) {
    if (!room.Take(items.size(), sizeof(std::int64_t))) return TooMuchError(file, key);
    for (const std::uint32_t item : items) out.numbers[key].push_back(values.at(item).integer);
  } else if (all(IsText)) {
    std::uint64_t bytes = 0;
    for (const std::uint32_t item : items) bytes += sizeof(std::string) + values.at(item).text.size();
    if (!room.Take(1, bytes)) return TooMuchError(file, key);
    for (const std::uint32_t item : items) out.texts[key].emplace_back(values.at(item).text);
  }
  return {};
}

Status CopyArray(const std::string& file, const std::string& key, const Array& array, std::string_view input,
                 MemoryBudget& room, PickledDictionary& out) {
  // Of integers eight bytes are kept for each, of which there is one byte at least.
  if (!room.Take(array.bytes.size(), array.dtype == "u1" && array.shape.size() != 1 ? 1 : 8))
    return TooMuchError(file, key);
  if (auto integers = array.dtype == "u1" && array.shape.size() != 1 ? std::nullopt : DecodeIntegers(array)) {
    out.numbers[key] = *std::move(integers);
    return {};
  }
  if (array.dtype != "u1") return {};
  std::uint64_t size = 1;
  for (const std::int64_t extent : array.shape) {
    if (extent != 0 && size > array.bytes.size() / static_cast<std::uint64_t>(extent)) size = ~std::uint64_t{0} >> 42;
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
  if (bytes.size() < 2 || bytes[0] != '\x80')
    return Refused(file +
                   ": no pickle of protocol 2 or later; load it in Python and pickle.dump it with "
                   "protocol=2, or take the binary version of the set");
  NumpyVocabulary vocabulary(file, bytes.size());
  PickleValues values;
  RETORT_RETURN_IF_ERROR(RunPickle(bytes, 0, vocabulary, values));
  const PickleValue& whole = values.at(values.root);
  if (whole.kind != PickleKind::dict) return DamageError(file + ": the pickle is no dictionary; fetch the file again");
  PickledDictionary out;
  MemoryBudget room(bytes.size());
  for (std::size_t i = 0; i + 1 < whole.items.size(); i += 2) {
    const PickleValue &name = values.at(whole.items[i]), &value = values.at(whole.items[i + 1]);
    if (!IsText(name)) continue;
    const std::string key(name.text);
    if (IsSequence(value)) RETORT_RETURN_IF_ERROR(CopySequence(file, key, values, value.items, room, out));
    if (value.kind == PickleKind::array)
      RETORT_RETURN_IF_ERROR(CopyArray(file, key, vocabulary.array(value), bytes, room, out));
  }
  return out;
}

}  // namespace retort::storage
