#include "storage/data/pickle_machine.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace retort::storage::pickle {
namespace {

constexpr std::size_t kMostValues = 4'000'000;

class Machine {
 public:
  Machine(const std::string& file, std::string_view bytes, Arena& arena)
      : file_(file), bytes_(bytes), arena_(arena) {}

  Result<Value> Run() {
    if (bytes_.size() < 2 || bytes_[0] != '\x80')
      return Refused(file_ +
                     ": no pickle of protocol 2 or later; load it in Python and pickle.dump it with "
                     "protocol=2, or take the binary version of the set");
    while (true) {
      begin_ = at_;
      RETORT_ASSIGN_OR_RETURN(const std::string_view op, Take(1));
      if (op[0] == '.') return Pop();
      RETORT_RETURN_IF_ERROR(Step(op[0]));
      if (made_ > kMostValues) return Damaged("more than 4 million values");
    }
  }

 private:
  Status Damaged(const std::string& what) const {
    return DamageError(file_ + ": at byte " + std::to_string(begin_) + ": " + what +
                       "; fetch the file again");
  }

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
    arena_.lists.push_back(std::move(items));
    return {kind, 0, {}, &arena_.lists.back(), nullptr};
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
    arena_.texts.push_back(std::string(module) + " " + std::string(name));
    const std::string& full = arena_.texts.back();
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
    // Of a sound pickle each text is decoded once.
    decoded_ += out.size();
    if (decoded_ > bytes_.size())
      return Damaged("its texts decode to more than the " + std::to_string(bytes_.size()) +
                     " bytes of the file");
    arena_.texts.push_back(std::move(out));
    return Push({Kind::text, 0, arena_.texts.back(), nullptr, nullptr});
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
    arena_.arrays.emplace_back();
    return Push({Kind::array, 0, {}, nullptr, &arena_.arrays.back()});
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
  std::size_t decoded_ = 0;  // bytes of Latin-1
  Items stack_, memo_;
  Arena& arena_;
};

}  // namespace

Result<Value> Run(const std::string& file, std::string_view bytes, Arena& arena) {
  return Machine(file, bytes, arena).Run();
}

}  // namespace retort::storage::pickle
