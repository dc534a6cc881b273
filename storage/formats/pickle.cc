#include "storage/formats/pickle.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace retort::storage {
namespace {

constexpr std::uint32_t kUnset = 0xFFFFFFFF;

// One pickle, opcode by opcode. A step that cannot be done leaves its reason in `status_`.
class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, std::uint64_t base, PickleVocabulary& vocabulary, PickleValues& pickle)
      : bytes_(bytes), base_(base), vocabulary_(vocabulary), limits_(vocabulary.limits()), pickle_(pickle) {}

  Status Run() {
    while (status_.ok() && !stopped_) {
      opcode_at_ = next_;
      const int opcode = static_cast<unsigned char>(Take(1).empty() ? '\0' : bytes_[opcode_at_]);
      if (!status_.ok()) break;
      if (!Constant(opcode) && !Container(opcode) && !Reference(opcode) && !Object(opcode))
        Fault(PickleFault::unknown_opcode, static_cast<std::uint64_t>(opcode));
    }
    pickle_.consumed = next_;
    return status_;
  }

 private:
  // clang-format off
  // Numbers, truths and texts.
  bool Constant(int opcode) {
    switch (opcode) {
      case 0x80: return Protocol();                                                  // PROTO
      case 0x95: static_cast<void>(Take(8)); return true;                            // FRAME
      case 'N': return Push(PickleKind::none);                                       // NONE
      case 0x88: return Push(PickleKind::boolean, 1);                                // NEWTRUE
      case 0x89: return Push(PickleKind::boolean, 0);                                // NEWFALSE
      case 'K': return Push(PickleKind::integer, Signed(Unsigned(1)));               // BININT1
      case 'M': return Push(PickleKind::integer, Signed(Unsigned(2)));               // BININT2
      case 'J': return Push(PickleKind::integer, static_cast<std::int32_t>(Unsigned(4)));  // BININT
      case 0x8a: return Long(Unsigned(1));                                           // LONG1
      case 'G': Push(PickleKind::real); static_cast<void>(Take(8)); return true;     // BINFLOAT: nothing depends on one
      case 'X': case 'T': return Text(Unsigned(4));                                  // BINUNICODE, BINSTRING
      case 0x8c: case 'U': return Text(Unsigned(1));                                 // SHORT_BINUNICODE, SHORT_BINSTRING
      case 'C': return vocabulary_.Knows(opcode) && Text(Unsigned(1));               // SHORT_BINBYTES
      case 'B': return vocabulary_.Knows(opcode) && Text(Unsigned(4));               // BINBYTES
      case 0x8d: case 0x8e: case 0x96: return vocabulary_.Knows(opcode) && Text(Unsigned(8));  // BINUNICODE8, …BYTES8, BYTEARRAY8
      default: return false;
    }
  }

  bool Container(int opcode) {
    switch (opcode) {
      case '(': return Mark();                                                       // MARK
      case ')': return Push(PickleKind::tuple);                                      // EMPTY_TUPLE
      case 0x85: return Gather(PickleKind::tuple, 1);                                // TUPLE1
      case 0x86: return Gather(PickleKind::tuple, 2);
      case 0x87: return Gather(PickleKind::tuple, 3);
      case 't': return Gather(PickleKind::tuple, SinceMark());
      case ']': return Push(PickleKind::list);
      case '}': return Push(PickleKind::dict);
      case 'a': return Extend(PickleKind::list, 1);                                  // APPEND
      case 'e': return Extend(PickleKind::list, SinceMark());                        // APPENDS
      case 's': return Extend(PickleKind::dict, 2);                                  // SETITEM
      case 'u': return Extend(PickleKind::dict, SinceMark());                        // SETITEMS
      case '0': static_cast<void>(Pop()); return true;                               // POP
      case '1': return vocabulary_.Knows(opcode) && Drop(SinceMark());               // POP_MARK
      default: return false;
    }
  }

  // The memo.
  bool Reference(int opcode) {
    switch (opcode) {
      case 'q': return Remember(Unsigned(1));                                        // BINPUT
      case 'r': return Remember(Unsigned(4));                                        // LONG_BINPUT
      case 0x94: return Remember(memo_.size());                                      // MEMOIZE
      case 'h': return Recall(Unsigned(1));                                          // BINGET
      case 'j': return Recall(Unsigned(4));                                          // LONG_BINGET
      default: return false;
    }
  }

  bool Object(int opcode) {
    switch (opcode) {
      case 'c': return GlobalByLines();                                              // GLOBAL
      case 0x93: return GlobalByStack();                                             // STACK_GLOBAL
      case 'R': return Reduce();
      case 'b': return Build();
      case 'Q': return vocabulary_.Knows(opcode) && Persistent();                    // BINPERSID
      case '.': return Stop();
      default: return false;
    }
  }
  // clang-format on

  // All steps return true: the opcode is known.
  bool Protocol() {
    const std::uint64_t protocol = Unsigned(1);
    if (protocol < 2 || protocol > 5) Fault(PickleFault::protocol, protocol);
    return true;
  }

  std::string_view Take(std::uint64_t count) {
    if (!status_.ok()) return {};
    if (count > bytes_.size() - next_) {
      Fault(PickleFault::cut_short);
      return {};
    }
    const std::string_view taken = bytes_.substr(next_, count);
    next_ += count;
    return taken;
  }
  std::uint64_t Unsigned(std::size_t count) {
    std::uint64_t value = 0;
    const std::string_view taken = Take(count);
    for (std::size_t i = taken.size(); i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(taken[i]);
    return value;
  }
  static std::int64_t Signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

  bool Long(std::uint64_t count) {
    if (count > 8 && !vocabulary_.TakesLargeIntegers()) return Fault(PickleFault::wide_integer);
    const std::string_view raw = Take(count);
    if (!status_.ok()) return true;
    if (count > 8) {
      Push(PickleKind::large);
      if (status_.ok()) pickle_.values.back().text = raw;
      return true;
    }
    std::uint64_t value = raw.empty() || static_cast<signed char>(raw.back()) >= 0 ? 0 : ~std::uint64_t{0};
    for (std::size_t i = raw.size(); i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(raw[i]);
    return Push(PickleKind::integer, Signed(value));
  }

  bool Text(std::uint64_t count) {
    const std::string_view text = Take(count);
    Push(PickleKind::text);
    if (status_.ok()) pickle_.values.back().text = text;
    return true;
  }

  bool Push(PickleValue value) {
    if (!status_.ok()) return true;
    if (pickle_.values.size() >= limits_.values) return Fault(PickleFault::too_many_values);
    value.at = base_ + opcode_at_;
    stack_.push_back(static_cast<std::uint32_t>(pickle_.values.size()));
    pickle_.values.push_back(std::move(value));
    return true;
  }
  bool Push(PickleKind kind, std::int64_t integer = 0) { return Push(PickleValue{kind, integer, {}, {}, 0}); }
  bool Mark() {
    if (marks_.size() >= limits_.values) return Fault(PickleFault::too_many_marks);
    marks_.push_back(stack_.size());
    return true;
  }
  // Values since the last mark, which is gone then.
  std::size_t SinceMark() {
    if (marks_.empty()) {
      Fault(PickleFault::no_mark);
      return 0;
    }
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return stack_.size() - mark;
  }
  bool Has(std::size_t count, PickleFault otherwise = PickleFault::too_few_values) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (status_.ok() && stack_.size() - floor < count) Fault(otherwise);
    return status_.ok();
  }
  std::uint32_t Pop() {
    if (!Has(1)) return 0;
    const std::uint32_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  bool Drop(std::size_t count) {
    if (Has(count)) stack_.resize(stack_.size() - count);
    return true;
  }

  bool Count(std::size_t items) {
    items_ += items;
    if (items_ > limits_.items) Fault(PickleFault::too_many_items);
    return status_.ok();
  }
  bool Gather(PickleKind kind, std::size_t count) {
    if (!Has(count) || !Count(count)) return true;
    PickleValue value;
    value.kind = kind;
    value.items.assign(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return Push(std::move(value));
  }
  bool Extend(PickleKind kind, std::size_t count) {
    if (!Has(count + 1) || !Count(count)) return true;
    PickleValue& into = pickle_.values[stack_[stack_.size() - count - 1]];
    if (into.kind != kind) return Fault(PickleFault::no_container);
    if (kind == PickleKind::dict && count % 2 != 0) return Fault(PickleFault::odd_items);
    into.items.insert(into.items.end(), stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return true;
  }

  bool Remember(std::uint64_t index) {
    if (!Has(1, PickleFault::nothing_to_remember)) return true;
    if (index >= limits_.memo) return Fault(PickleFault::too_large_memo);
    if (index >= memo_.size()) memo_.resize(index + 1, kUnset);
    memo_[index] = stack_.back();
    return true;
  }
  bool Recall(std::uint64_t index) {
    if (!status_.ok()) return true;
    if (index >= memo_.size() || memo_[index] == kUnset) return Fault(PickleFault::unset_memo);
    if (stack_.size() >= limits_.items) return Fault(PickleFault::too_large_stack);
    stack_.push_back(memo_[index]);
    return true;
  }

  bool GlobalByLines() {
    std::array<std::string_view, 2> names;
    for (std::string_view& name : names) {
      const std::size_t end = bytes_.find('\n', next_);
      name = Take(end == std::string_view::npos ? bytes_.size() - next_ + 1 : end - next_);
      static_cast<void>(Take(1));
    }
    return Global(names[0], names[1]);
  }
  bool GlobalByStack() {
    const std::uint32_t name = Pop(), module = Pop();
    if (!status_.ok()) return true;
    if (pickle_.at(name).kind != PickleKind::text || pickle_.at(module).kind != PickleKind::text)
      return Fault(PickleFault::unnamed_global);
    return Global(pickle_.at(module).text, pickle_.at(name).text);
  }
  bool Global(std::string_view module, std::string_view name) {
    if (!status_.ok()) return true;
    const Result<std::string_view> known = vocabulary_.FindGlobal(module, name, base_ + opcode_at_);
    if (!known.ok()) return Fail(known.status());
    PickleValue value;
    value.kind = PickleKind::global;
    value.text = *known;
    return Push(std::move(value));
  }

  bool Reduce() {
    const std::uint32_t arguments = Pop(), callee = Pop();
    if (!status_.ok()) return true;
    if (pickle_.at(callee).kind != PickleKind::global || pickle_.at(arguments).kind != PickleKind::tuple)
      return Fault(PickleFault::no_callable);
    if (pickle_.at(arguments).items.size() > limits_.arguments) return Fault(PickleFault::too_many_arguments);
    Result<PickleValue> made =
        vocabulary_.Call(pickle_, PickleValue(pickle_.at(callee)), arguments, base_ + opcode_at_);
    if (!made.ok()) return Fail(made.status());
    if (Count(made->items.size())) Push(std::move(made).value());
    return true;
  }
  bool Build() {
    const std::uint32_t state = Pop();
    if (!Has(1, PickleFault::nothing_to_set)) return true;
    return Fail(vocabulary_.SetState(pickle_, stack_.back(), state, base_ + opcode_at_));
  }
  bool Persistent() {
    const std::uint32_t id = Pop();
    if (!status_.ok()) return true;
    Result<PickleValue> made = vocabulary_.FindPersistent(pickle_, id);
    if (!made.ok()) return Fail(made.status());
    return Push(std::move(made).value());
  }
  bool Stop() {
    pickle_.root = Pop();
    stopped_ = true;
    return true;
  }

  bool Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
    return true;
  }
  bool Fault(PickleFault fault, std::uint64_t number = 0) {
    return Fail(vocabulary_.Fault(fault, base_ + opcode_at_, number));
  }

  const std::string_view bytes_;
  const std::uint64_t base_;
  PickleVocabulary& vocabulary_;
  const PickleLimits limits_;
  PickleValues& pickle_;
  std::vector<std::uint32_t> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::size_t next_ = 0, opcode_at_ = 0, items_ = 0;
  bool stopped_ = false;
  Status status_;
};

}  // namespace

Status RunPickle(std::string_view bytes, std::uint64_t base, PickleVocabulary& vocabulary, PickleValues& values) {
  return PickleMachine(bytes, base, vocabulary, values).Run();
}

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
