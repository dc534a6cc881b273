#include "storage/formats/pickle.h"

#include <array>
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

}  // namespace retort::storage
