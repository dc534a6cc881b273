#include "storage/weights/pickle.h"

#include <array>
#include <cstdio>
#include <utility>

namespace retort::storage {
namespace {

constexpr std::size_t kMostValues = 1 << 20, kMostItems = 1 << 22;
constexpr std::size_t kMostArguments = 16;
constexpr std::uint32_t kUnset = 0xFFFFFFFF;

// One pickle, opcode by opcode. A step that cannot be done leaves its reason in `status_`.
class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, const std::string& file, std::uint64_t base,
                const PersistentId& persistent)
      : bytes_(bytes), file_(file), base_(base), persistent_(persistent) {}

  Result<Pickle> Run() {
    while (status_.ok() && !stopped_) {
      opcode_at_ = next_;
      const int opcode = static_cast<unsigned char>(Take(1).empty() ? '\0' : bytes_[opcode_at_]);
      if (!status_.ok()) break;
      if (!Constant(opcode) && !Container(opcode) && !Reference(opcode) && !Object(opcode)) Unknown(opcode);
    }
    if (!status_.ok()) return status_;
    pickle_.consumed = next_;
    return std::move(pickle_);
  }

 private:
  // Numbers, truths and texts.
  bool Constant(int opcode) {
    switch (opcode) {
      case 0x80:
        Protocol();
        return true;  // PROTO
      case 0x95:
        static_cast<void>(Take(8));
        return true;  // FRAME
      case 'N':
        Push(PickleKind::none);
        return true;  // NONE
      case 0x88:
        Push(PickleKind::boolean, 1);
        return true;  // NEWTRUE
      case 0x89:
        Push(PickleKind::boolean, 0);
        return true;  // NEWFALSE
      case 'K':
        Push(PickleKind::integer, Signed(Unsigned(1)));
        return true;  // BININT1
      case 'M':
        Push(PickleKind::integer, Signed(Unsigned(2)));
        return true;  // BININT2
      case 'J':       // BININT
        Push(PickleKind::integer, static_cast<std::int32_t>(Unsigned(4)));
        return true;
      case 0x8a:
        Long(Unsigned(1));
        return true;  // LONG1
      case 'G':
        Push(PickleKind::real);
        static_cast<void>(Take(8));
        return true;  // BINFLOAT: no weight depends on one
      case 'X':
        Text(Unsigned(4));
        return true;  // BINUNICODE
      case 0x8c:
        Text(Unsigned(1));
        return true;  // SHORT_BINUNICODE
      case 'T':
        Text(Unsigned(4));
        return true;  // BINSTRING, Python 2
      case 'U':
        Text(Unsigned(1));
        return true;  // SHORT_BINSTRING, Python 2
      default:
        return false;
    }
  }

  bool Container(int opcode) {
    switch (opcode) {
      case '(':
        Mark();
        return true;
      case ')':
        Push(PickleKind::tuple);
        return true;  // EMPTY_TUPLE
      case 0x85:
        Gather(PickleKind::tuple, 1);
        return true;  // TUPLE1
      case 0x86:
        Gather(PickleKind::tuple, 2);
        return true;
      case 0x87:
        Gather(PickleKind::tuple, 3);
        return true;
      case 't':
        Gather(PickleKind::tuple, SinceMark());
        return true;
      case ']':
        Push(PickleKind::list);
        return true;
      case '}':
        Push(PickleKind::dict);
        return true;
      case 'a':
        Extend(PickleKind::list, 1);
        return true;  // APPEND
      case 'e':
        Extend(PickleKind::list, SinceMark());
        return true;  // APPENDS
      case 's':
        Extend(PickleKind::dict, 2);
        return true;  // SETITEM
      case 'u':
        Extend(PickleKind::dict, SinceMark());
        return true;  // SETITEMS
      case '0':
        static_cast<void>(Pop());
        return true;  // POP
      case '1':
        Drop(SinceMark());
        return true;  // POP_MARK
      default:
        return false;
    }
  }

  // The memo.
  bool Reference(int opcode) {
    switch (opcode) {
      case 'q':
        Remember(Unsigned(1));
        return true;  // BINPUT
      case 'r':
        Remember(Unsigned(4));
        return true;  // LONG_BINPUT
      case 0x94:
        Remember(memo_.size());
        return true;  // MEMOIZE
      case 'h':
        Recall(Unsigned(1));
        return true;  // BINGET
      case 'j':
        Recall(Unsigned(4));
        return true;  // LONG_BINGET
      default:
        return false;
    }
  }

  bool Object(int opcode) {
    switch (opcode) {
      case 'c':
        GlobalByLines();
        return true;  // GLOBAL
      case 0x93:
        GlobalByStack();
        return true;  // STACK_GLOBAL
      case 'R':
        Reduce();
        return true;
      case 'b':
        Build();
        return true;
      case 'Q':
        Persistent();
        return true;  // BINPERSID
      case '.':
        Stop();
        return true;
      default:
        return false;
    }
  }

  void Unknown(int opcode) {
    std::array<char, 8> hex{};
    std::snprintf(hex.data(), hex.size(), "0x%02x", opcode);
    Refuse(std::string("the pickle opcode ") + hex.data() +
           " is not one that state dicts are made of; save only the state dict: "
           "torch.save(model.state_dict(), path)");
  }

  void Protocol() {
    const std::uint64_t protocol = Unsigned(1);
    if (protocol < 2 || protocol > 5)
      Refuse("pickles of protocol " + std::to_string(protocol) + " are not read; 2 to 5 are");
  }

  std::string_view Take(std::uint64_t count) {
    if (!status_.ok()) return {};
    if (count > bytes_.size() - next_) {
      status_ = DamageError(file_ + ": offset " + std::to_string(base_ + bytes_.size()) +
                            ": the pickle is cut short");
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

  void Long(std::uint64_t count) {
    const std::string_view raw = Take(count);
    if (!status_.ok()) return;
    if (count > 8) {
      Push(PickleKind::large);
      if (status_.ok()) pickle_.values.back().text = raw;
      return;
    }
    std::uint64_t value = raw.empty() || static_cast<signed char>(raw.back()) >= 0 ? 0 : ~std::uint64_t{0};
    for (std::size_t i = raw.size(); i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(raw[i]);
    Push(PickleKind::integer, Signed(value));
  }

  void Text(std::uint64_t count) {
    const std::string_view text = Take(count);
    Push(PickleKind::text);
    if (status_.ok()) pickle_.values.back().text = text;
  }

  void Push(PickleValue value) {
    if (!status_.ok()) return;
    if (pickle_.values.size() >= kMostValues) return Refuse("the pickle holds more than 2^20 values");
    value.at = base_ + opcode_at_;
    stack_.push_back(static_cast<std::uint32_t>(pickle_.values.size()));
    pickle_.values.push_back(std::move(value));
  }
  void Push(PickleKind kind, std::int64_t integer = 0) { Push(PickleValue{kind, integer, {}, {}, 0}); }
  void Mark() {
    if (marks_.size() >= kMostValues) return Refuse("the pickle holds more than 2^20 marks");
    marks_.push_back(stack_.size());
  }
  // Values since the last mark, which is gone then.
  std::size_t SinceMark() {
    if (marks_.empty()) {
      Damage("the pickle refers to a mark that it never set");
      return 0;
    }
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return stack_.size() - mark;
  }
  bool Has(std::size_t count) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (status_.ok() && stack_.size() - floor < count) Damage("the pickle takes more values than it put");
    return status_.ok();
  }
  std::uint32_t Pop() {
    if (!Has(1)) return 0;
    const std::uint32_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  void Drop(std::size_t count) {
    if (Has(count)) stack_.resize(stack_.size() - count);
  }

  bool Count(std::size_t items) {
    items_ += items;
    if (items_ > kMostItems) Refuse("the pickle's containers hold more than 2^22 items");
    return status_.ok();
  }
  void Gather(PickleKind kind, std::size_t count) {
    if (!Has(count) || !Count(count)) return;
    PickleValue value;
    value.kind = kind;
    value.items.assign(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    Push(std::move(value));
  }
  void Extend(PickleKind kind, std::size_t count) {
    if (!Has(count + 1) || !Count(count)) return;
    PickleValue& into = pickle_.values[stack_[stack_.size() - count - 1]];
    if (into.kind != kind || (kind == PickleKind::dict && count % 2 != 0))
      return Damage("the pickle puts items into what is no container for them");
    into.items.insert(into.items.end(), stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
  }

  void Remember(std::uint64_t index) {
    if (!Has(1)) return;
    if (index >= kMostValues) return Refuse("the pickle's memo goes beyond 2^20 entries");
    if (index >= memo_.size()) memo_.resize(index + 1, kUnset);
    memo_[index] = stack_.back();
  }
  void Recall(std::uint64_t index) {
    if (!status_.ok()) return;
    if (index >= memo_.size() || memo_[index] == kUnset)
      return Damage("the pickle recalls what it never remembered");
    if (stack_.size() >= kMostItems) return Refuse("the pickle's stack holds more than 2^22 values");
    stack_.push_back(memo_[index]);
  }

  void GlobalByLines() {
    std::array<std::string_view, 2> names;
    for (std::string_view& name : names) {
      const std::size_t end = bytes_.find('\n', next_);
      name = Take(end == std::string_view::npos ? bytes_.size() - next_ + 1 : end - next_);
      static_cast<void>(Take(1));
    }
    if (status_.ok()) Global(names[0], names[1]);
  }
  void GlobalByStack() {
    const std::uint32_t name = Pop(), module = Pop();
    if (!status_.ok()) return;
    if (pickle_.at(name).kind != PickleKind::text || pickle_.at(module).kind != PickleKind::text)
      return Damage("the pickle names a global by what is no text");
    Global(pickle_.at(module).text, pickle_.at(name).text);
  }
  void Global(std::string_view module, std::string_view name) {
    const std::string_view known = KnownGlobal(module, name);
    if (known.empty())
      return Refuse("the pickle asks for the global '" + Printable(module) + "." + Printable(name) +
                    "', which no state dict needs; nothing of it was run. Save only the state dict: "
                    "torch.save(model.state_dict(), path)");
    PickleValue value;
    value.kind = PickleKind::global;
    value.text = known;
    Push(std::move(value));
  }
  static std::string Printable(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 80)) out += c >= ' ' && c <= '~' ? c : '?';
    return out;
  }

  void Reduce() {
    const std::uint32_t arguments = Pop(), callee = Pop();
    if (!status_.ok()) return;
    if (pickle_.at(callee).kind != PickleKind::global || pickle_.at(arguments).kind != PickleKind::tuple)
      return Damage("the pickle calls what is no global");
    if (pickle_.at(arguments).items.size() > kMostArguments)
      return Refuse("the pickle calls a global with too many arguments");
    Result<PickleValue> made = CallGlobal(pickle_, PickleValue(pickle_.at(callee)), arguments, file_);
    if (!made.ok()) return Fail(made.status());
    if (Count(made->items.size())) Push(std::move(made).value());
  }
  // Attributes of a dict (`_metadata`) and of opaque objects; no weight depends on them.
  void Build() {
    static_cast<void>(Pop());
    if (!Has(1)) return;
    const PickleKind kind = pickle_.at(stack_.back()).kind;
    if (kind != PickleKind::dict && kind != PickleKind::tensor && kind != PickleKind::opaque)
      Damage("the pickle sets attributes of what has none");
  }
  void Persistent() {
    const std::uint32_t id = Pop();
    if (!status_.ok()) return;
    Result<PickleValue> made = persistent_(pickle_, id);
    if (!made.ok()) return Fail(made.status());
    Push(std::move(made).value());
  }
  void Stop() {
    pickle_.root = Pop();
    stopped_ = true;
  }

  void Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  std::string Where() const { return file_ + ": offset " + std::to_string(base_ + opcode_at_) + ": "; }
  void Damage(const std::string& what) { Fail(DamageError(Where() + what)); }
  void Refuse(const std::string& what) { Fail(Refused(Where() + what)); }

  const std::string_view bytes_;
  const std::string& file_;
  const std::uint64_t base_;
  const PersistentId& persistent_;
  Pickle pickle_;
  std::vector<std::uint32_t> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::size_t next_ = 0, opcode_at_ = 0, items_ = 0;
  bool stopped_ = false;
  Status status_;
};

}  // namespace

Result<Pickle> ReadPickle(std::string_view bytes, const std::string& file, std::uint64_t base,
                          const PersistentId& persistent) {
  return PickleMachine(bytes, file, base, persistent).Run();
}

}  // namespace retort::storage
