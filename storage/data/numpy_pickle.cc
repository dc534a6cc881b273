#include "storage/data/numpy_pickle.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

namespace retort::storage {
namespace {

constexpr std::size_t kMostValues = 4'000'000;

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

class Machine {
 public:
  Machine(const std::string& file, std::string_view bytes) : file_(file), bytes_(bytes) {}

  Status Run() {
    if (bytes_.size() < 2 || bytes_[0] != '\x80')
      return Refused(file_ +
                     ": no pickle of protocol 2 or later; load it in Python and pickle.dump it with "
                     "protocol=2, or take the binary version of the set");
    while (true) {
      begin_ = at_;
      RETORT_ASSIGN_OR_RETURN(const std::string_view op, Take(1));
      if (op[0] == '.') return Stop();
      RETORT_RETURN_IF_ERROR(Step(op[0]));
      if (made_ > kMostValues) return Damaged("more than 4 million values");
    }
  }
  [[nodiscard]] const Value& result() const { return result_; }
  [[nodiscard]] Status Damaged(const std::string& what) const {
    return DamageError(file_ + ": at byte " + std::to_string(begin_) + ": " + what +
                       "; fetch the file again");
  }

 private:
  Result<std::string_view> Take(std::uint64_t count) {
    if (count > bytes_.size() - at_) return Damaged("truncated inside a pickle");
    const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return taken;
  }
  Result<std::uint64_t> Unsigned(std::size_t count) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view raw, Take(count));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(raw[i])} << (8 * i);
    return value;
  }
  Result<std::string_view> Line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) return Damaged("truncated inside a pickle");
    const std::string_view line = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }

  Status Push(Value value) {
    ++made_;
    stack_.push_back(value);
    return {};
  }
  Result<Value> Pop() {
    if (stack_.empty() || stack_.back().kind == Kind::mark) return Damaged("a value is missing on the stack");
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
  }
  Value NewItems(Kind kind, Items items) {
    made_ += items.size();
    lists_.push_back(std::move(items));
    return {kind, 0, {}, &lists_.back(), nullptr};
  }
  // What lies above the last mark, which goes too.
  Result<Items> AboveMark() {
    std::size_t mark = stack_.size();
    while (mark > 0 && stack_[mark - 1].kind != Kind::mark) --mark;
    if (mark == 0) return Damaged("a mark is missing on the stack");
    Items items(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
    stack_.resize(mark - 1);
    return items;
  }

  Status Stop() {
    RETORT_ASSIGN_OR_RETURN(result_, Pop());
    return {};
  }

  Status PushText(std::size_t width) {
    RETORT_ASSIGN_OR_RETURN(const std::uint64_t size, Unsigned(width));
    RETORT_ASSIGN_OR_RETURN(const std::string_view text, Take(size));
    return Push({Kind::text, 0, text, nullptr, nullptr});
  }
  Status PushNumber(std::size_t width, bool is_signed) {
    RETORT_ASSIGN_OR_RETURN(const std::uint64_t raw, Unsigned(width));
    const std::int64_t value = is_signed ? static_cast<std::int32_t>(raw) : static_cast<std::int64_t>(raw);
    return Push({Kind::number, value, {}, nullptr, nullptr});
  }
  Status PushLong() {
    RETORT_ASSIGN_OR_RETURN(const std::uint64_t size, Unsigned(1));
    if (size > 8) return Damaged("an integer of more than 64 bits");
    RETORT_ASSIGN_OR_RETURN(std::uint64_t raw, Unsigned(static_cast<std::size_t>(size)));
    const bool negative = size > 0 && size < 8 && ((raw >> (8 * size - 1)) & 1U) != 0;
    if (negative) raw |= ~std::uint64_t{0} << (8 * size);
    return Push({Kind::number, static_cast<std::int64_t>(raw), {}, nullptr, nullptr});
  }

  Status PushReal() {
    RETORT_RETURN_IF_ERROR(Drop(8));
    return Push({Kind::other, 0, {}, nullptr, nullptr});
  }

  Status Put(Result<std::uint64_t> slot) {
    if (!slot.ok()) return slot.status();
    if (stack_.empty()) return Damaged("nothing to remember");
    if (*slot > kMostValues) return Damaged("a memo beyond 4 million");
    if (*slot >= memo_.size()) memo_.resize(static_cast<std::size_t>(*slot) + 1);
    memo_[static_cast<std::size_t>(*slot)] = stack_.back();
    return {};
  }
  Status Get(Result<std::uint64_t> slot) {
    if (!slot.ok()) return slot.status();
    if (*slot >= memo_.size()) return Damaged("a memo that was never written");
    return Push(memo_[static_cast<std::size_t>(*slot)]);
  }

  Status Extend(Kind kind, Items items) {
    RETORT_ASSIGN_OR_RETURN(const Value target, Pop());
    if (target.kind != kind || target.items == nullptr) return Damaged("items for what is no container");
    if (kind == Kind::dictionary && items.size() % 2 != 0) return Damaged("a key without value");
    target.items->insert(target.items->end(), items.begin(), items.end());
    return Push(target);
  }
  Status ExtendAbove(Kind kind) {
    RETORT_ASSIGN_OR_RETURN(Items items, AboveMark());
    return Extend(kind, std::move(items));
  }
  Status ExtendBy(Kind kind, std::size_t count) {
    Items items(count);
    for (std::size_t i = count; i > 0; --i) {
      RETORT_ASSIGN_OR_RETURN(items[i - 1], Pop());
    }
    return Extend(kind, std::move(items));
  }
  Status Tuple(std::size_t count) {
    Items items(count);
    for (std::size_t i = count; i > 0; --i) {
      RETORT_ASSIGN_OR_RETURN(items[i - 1], Pop());
    }
    return Push(NewItems(Kind::sequence, std::move(items)));
  }
  Status MarkedTuple() {
    RETORT_ASSIGN_OR_RETURN(Items items, AboveMark());
    return Push(NewItems(Kind::sequence, std::move(items)));
  }

  Status Global(std::string_view module, std::string_view name) {
    texts_.push_back(std::string(module) + " " + std::string(name));
    const std::string& full = texts_.back();
    static constexpr std::string_view kKnown[] = {"numpy.core.multiarray _reconstruct",
                                                  "numpy._core.multiarray _reconstruct",
                                                  "numpy ndarray",
                                                  "numpy dtype",
                                                  "_codecs encode",
                                                  "numpy.core.numeric _frombuffer",
                                                  "numpy._core.numeric _frombuffer"};
    if (std::find(std::begin(kKnown), std::end(kKnown), full) == std::end(kKnown))
      return Refused(file_ + ": at byte " + std::to_string(begin_) + ": the pickle asks for \"" + full +
                     "\", which this set never needs; it is not loaded");
    return Push({Kind::global, 0, full, nullptr, nullptr});
  }
  Status StackGlobal() {
    RETORT_ASSIGN_OR_RETURN(const Value name, Pop());
    RETORT_ASSIGN_OR_RETURN(const Value module, Pop());
    if (name.kind != Kind::text || module.kind != Kind::text) return Damaged("a global without name");
    return Global(module.text, name.text);
  }
  Status LineGlobal() {
    RETORT_ASSIGN_OR_RETURN(const std::string_view module, Line());
    RETORT_ASSIGN_OR_RETURN(const std::string_view name, Line());
    return Global(module, name);
  }

  // UTF-8 of Latin-1 characters to the bytes that they stand for: how protocol 2 writes bytes of Python 3.
  Status Latin1(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (c < 0x80) {
        out += static_cast<char>(c);
      } else if ((c == 0xC2 || c == 0xC3) && i + 1 < text.size()) {
        out += static_cast<char>(((c & 3U) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3FU));
      } else {
        return Damaged("bytes that are no Latin-1");
      }
    }
    texts_.push_back(std::move(out));
    return Push({Kind::text, 0, texts_.back(), nullptr, nullptr});
  }

  Status Reduce() {
    RETORT_ASSIGN_OR_RETURN(const Value arguments, Pop());
    RETORT_ASSIGN_OR_RETURN(const Value callable, Pop());
    if (callable.kind != Kind::global || arguments.kind != Kind::sequence)
      return Damaged("a call of what is no name");
    const Items& given = *arguments.items;
    if (callable.text.ends_with("_reconstruct")) return NewArray();
    if (callable.text == "_codecs encode" && !given.empty() && given[0].kind == Kind::text)
      return Latin1(given[0].text);
    if (callable.text == "numpy dtype" && !given.empty() && given[0].kind == Kind::text)
      return Push({Kind::dtype, 0, given[0].text, nullptr, nullptr});
    if (callable.text.ends_with("_frombuffer") && given.size() == 4 && given[0].kind == Kind::text)
      return FromBuffer(given);
    return Damaged("a call with the wrong arguments");
  }
  Status NewArray() {
    arrays_.emplace_back();
    return Push({Kind::array, 0, {}, nullptr, &arrays_.back()});
  }
  Status FromBuffer(const Items& given) {
    RETORT_RETURN_IF_ERROR(NewArray());
    Array& array = *stack_.back().array;
    array.fortran = given[3].kind == Kind::text && given[3].text == "F";
    return Fill(array, given[2], given[1], given[0]);
  }
  Status Fill(Array& array, const Value& shape, const Value& dtype, const Value& bytes) {
    if (shape.kind != Kind::sequence || dtype.kind != Kind::dtype || bytes.kind != Kind::text)
      return Damaged("an array without shape, type or bytes");
    if (shape.items->size() > 8) return Damaged("an array of more than 8 dimensions");
    array.shape.clear();
    for (const Value& extent : *shape.items) {
      if (extent.kind != Kind::number || extent.number < 0 || extent.number > (std::int64_t{1} << 40))
        return Damaged("an array of no sound shape");
      array.shape.push_back(extent.number);
    }
    array.dtype = dtype.text;
    array.bytes = bytes.text;
    return {};
  }
  Status Build() {
    RETORT_ASSIGN_OR_RETURN(const Value state, Pop());
    if (stack_.empty()) return Damaged("a state for nothing");
    const Value target = stack_.back();
    if (target.kind == Kind::dtype) {
      if (state.kind == Kind::sequence && state.items->size() > 1 && (*state.items)[1].text == ">")
        return Damaged("a big-endian array; save it again on this kind of machine");
      return {};
    }
    if (target.kind != Kind::array || state.kind != Kind::sequence || state.items->size() != 5)
      return Damaged("a state of what is no array");
    const Items& given = *state.items;
    target.array->fortran = given[3].kind == Kind::number && given[3].number != 0;
    return Fill(*target.array, given[1], given[2], given[4]);
  }

  Status Drop(std::size_t count) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view skipped, Take(count));
    (void)skipped;
    return {};
  }
  Status Protocol() {
    RETORT_ASSIGN_OR_RETURN(const std::uint64_t version, Unsigned(1));
    if (version >= 2 && version <= 5) return {};
    return Damaged("pickle protocol " + std::to_string(version) + ", and 2 to 5 are known");
  }

  // clang-format off
  Status Step(char op) {
    switch (op) {
      case '\x80': return Protocol();
      case '\x95': return Drop(8);
      case '(': return Push({Kind::mark, 0, {}, nullptr, nullptr});
      case 'N': return Push({});
      case '\x88': return Push({Kind::number, 1, {}, nullptr, nullptr});
      case '\x89': return Push({Kind::number, 0, {}, nullptr, nullptr});
      case 'K': return PushNumber(1, false);
      case 'M': return PushNumber(2, false);
      case 'J': return PushNumber(4, true);
      case '\x8a': return PushLong();
      case 'G': return PushReal();
      case 'U': case 'C': case '\x8c': return PushText(1);
      case 'T': case 'X': case 'B': return PushText(4);
      case '\x8d': case '\x8e': case '\x96': return PushText(8);
      case ')': case ']': return Push(NewItems(Kind::sequence, {}));
      case '}': return Push(NewItems(Kind::dictionary, {}));
      case '\x85': return Tuple(1);
      case '\x86': return Tuple(2);
      case '\x87': return Tuple(3);
      case 't': return MarkedTuple();
      case 'a': return ExtendBy(Kind::sequence, 1);
      case 'e': return ExtendAbove(Kind::sequence);
      case 's': return ExtendBy(Kind::dictionary, 2);
      case 'u': return ExtendAbove(Kind::dictionary);
      case 'q': return Put(Unsigned(1));
      case 'r': return Put(Unsigned(4));
      case '\x94': return Put(std::uint64_t{memo_.size()});
      case 'h': return Get(Unsigned(1));
      case 'j': return Get(Unsigned(4));
      case 'c': return LineGlobal();
      case '\x93': return StackGlobal();
      case 'R': return Reduce();
      case 'b': return Build();
      case '0': return Pop().status();
      default: return Damaged("an operation that such a pickle never has (byte " +
                              std::to_string(static_cast<unsigned char>(op)) + ")");
    }
  }
  // clang-format on

  const std::string& file_;
  std::string_view bytes_;
  std::size_t at_ = 0, begin_ = 0, made_ = 0;
  Items stack_, memo_;
  std::deque<Items> lists_;
  std::deque<Array> arrays_;
  std::deque<std::string> texts_;
  Value result_;
};

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

void KeepSequence(const std::string& key, const Items& items, PickledDictionary& out) {
  const auto all = [&items](Kind kind) {
    return std::all_of(items.begin(), items.end(), [kind](const Value& item) { return item.kind == kind; });
  };
  if (items.empty()) return;
  if (all(Kind::number)) {
    for (const Value& item : items) out.numbers[key].push_back(item.number);
  } else if (all(Kind::text)) {
    for (const Value& item : items) out.texts[key].emplace_back(item.text);
  }
}

Status KeepArray(const Machine& machine, const std::string& key, const Array& array, std::string_view input,
                 PickledDictionary& out) {
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
    return machine.Damaged("the array \"" + key + "\" has " + std::to_string(array.bytes.size()) +
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
  Machine machine(file, bytes);
  RETORT_RETURN_IF_ERROR(machine.Run());
  if (machine.result().kind != Kind::dictionary) return machine.Damaged("the pickle is no dictionary");
  PickledDictionary out;
  const Items& items = *machine.result().items;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].kind != Kind::text) continue;
    const std::string key(items[i].text);
    const Value& value = items[i + 1];
    if (value.kind == Kind::sequence) KeepSequence(key, *value.items, out);
    if (value.kind == Kind::array) RETORT_RETURN_IF_ERROR(KeepArray(machine, key, *value.array, bytes, out));
  }
  return out;
}

}  // namespace retort::storage
