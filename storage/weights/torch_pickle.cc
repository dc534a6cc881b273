#include "storage/weights/torch_pickle.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "experiments/base/digests.h"

namespace retort::storage {
namespace {

constexpr std::array<std::string_view, 10> kGlobals = {"collections OrderedDict",
                                                       "torch Size",
                                                       "torch device",
                                                       "torch._utils _rebuild_tensor",
                                                       "torch._utils _rebuild_tensor_v2",
                                                       "torch._utils _rebuild_parameter",
                                                       "torch._utils _rebuild_parameter_with_state",
                                                       "torch.storage UntypedStorage",
                                                       "torch UntypedStorage",
                                                       "torch.serialization _get_layout"};
constexpr std::array<std::string_view, 10> kStorages = {
    "torch FloatStorage", "torch DoubleStorage", "torch HalfStorage", "torch BFloat16Storage", "torch LongStorage",
    "torch IntStorage",   "torch ShortStorage",  "torch CharStorage", "torch ByteStorage",     "torch BoolStorage"};
constexpr std::array<std::string_view, 9> kTensors = {  // in files of torch 0.1
    "torch FloatTensor", "torch DoubleTensor", "torch HalfTensor", "torch LongTensor", "torch IntTensor",
    "torch ShortTensor", "torch CharTensor",   "torch ByteTensor", "torch BoolTensor"};
constexpr std::array<std::string_view, 24> kTypeGlobals = {
    "torch float32",   "torch float",      "torch float64",       "torch double",     "torch float16",
    "torch half",      "torch bfloat16",   "torch int64",         "torch long",       "torch int32",
    "torch int",       "torch int16",      "torch short",         "torch int8",       "torch uint8",
    "torch bool",      "torch strided",    "torch uint16",        "torch uint32",     "torch uint64",
    "torch complex64", "torch complex128", "torch float8_e4m3fn", "torch float8_e5m2"};

constexpr std::size_t kMaxKey = 256;

Status Damaged(const std::string& file, const PickleValue& value, const std::string& what) {
  return DamageError(file + ": offset " + std::to_string(value.at) + ": " + what);
}

bool Integers(const Pickle& pickle, std::uint32_t value, std::vector<std::int64_t>& out) {
  const PickleValue& tuple = pickle.at(value);
  if (tuple.kind != PickleKind::tuple && tuple.kind != PickleKind::list && tuple.kind != PickleKind::opaque)
    return false;
  if (tuple.items.size() > kMaxTensorExtents) return false;
  for (const std::uint32_t item : tuple.items) {
    if (pickle.at(item).kind != PickleKind::integer) return false;
    out.push_back(pickle.at(item).integer);
  }
  return true;
}

// (storage, first element, shape, strides, ...): what follows are flags, hooks and metadata.
Result<PickleValue> RebuildTensor(Pickle& pickle, const PickleValue& global,
                                  const std::vector<std::uint32_t>& arguments, const std::string& file) {
  PickleTensor tensor;
  const bool sound = arguments.size() >= 4 && pickle.at(arguments[0]).kind == PickleKind::storage &&
                     pickle.at(arguments[1]).kind == PickleKind::integer &&
                     Integers(pickle, arguments[2], tensor.shape) && Integers(pickle, arguments[3], tensor.strides);
  if (!sound) return Damaged(file, global, "a tensor is not described by storage, offset, shape and strides");
  tensor.storage = static_cast<std::size_t>(pickle.at(arguments[0]).integer);
  tensor.first = pickle.at(arguments[1]).integer;
  tensor.at = global.at;
  PickleValue value;
  value.kind = PickleKind::tensor;
  value.integer = static_cast<std::int64_t>(pickle.tensors.size());
  pickle.tensors.push_back(std::move(tensor));
  return value;
}

// OrderedDict(), and Python 2's OrderedDict([[key, value], ...]).
Result<PickleValue> MakeDict(const Pickle& pickle, const PickleValue& global,
                             const std::vector<std::uint32_t>& arguments, const std::string& file) {
  PickleValue value;
  value.kind = PickleKind::dict;
  if (arguments.empty()) return value;
  const PickleValue& pairs = pickle.at(arguments[0]);
  for (const std::uint32_t item : pairs.items) {
    const PickleValue& pair = pickle.at(item);
    const bool sound = (pair.kind == PickleKind::list || pair.kind == PickleKind::tuple) && pair.items.size() == 2;
    if (pairs.kind != PickleKind::list || !sound) return Damaged(file, global, "an OrderedDict is not made of pairs");
    value.items.insert(value.items.end(), pair.items.begin(), pair.items.end());
  }
  return value;
}

// Is this a global that state dicts are made of? The same text with static lifetime, or empty.
std::string_view KnownGlobal(std::string_view module, std::string_view name) {
  if (module == "torch.cuda") module = "torch";
  const auto same = [&](std::string_view known) {
    return known.size() == module.size() + 1 + name.size() && known.starts_with(module) &&
           known[module.size()] == ' ' && known.ends_with(name);
  };
  for (const std::string_view known : kGlobals)
    if (same(known)) return known;
  for (const std::string_view known : kStorages)
    if (same(known)) return known;
  for (const std::string_view known : kTensors)
    if (same(known)) return known;
  for (const std::string_view known : kTypeGlobals)
    if (same(known)) return known;
  return {};
}

// What calling the global gives. Error: refused or damage, naming the offset.
Result<PickleValue> CallGlobal(Pickle& pickle, const PickleValue& global, std::uint32_t arguments,
                               const std::string& file) {
  const std::vector<std::uint32_t> given = pickle.at(arguments).items;
  const std::string_view name = global.text.substr(global.text.find(' ') + 1);
  if (name == "OrderedDict") return MakeDict(pickle, global, given, file);
  if (name == "_rebuild_tensor" || name == "_rebuild_tensor_v2") return RebuildTensor(pickle, global, given, file);
  if (name.starts_with("_rebuild_parameter")) {
    if (given.empty() || pickle.at(given[0]).kind != PickleKind::tensor)
      return Damaged(file, global, "a parameter is not made of a tensor");
    return PickleValue(pickle.at(given[0]));
  }
  PickleValue value;
  value.kind = PickleKind::opaque;
  if (name == "device" || name == "_get_layout") return value;
  if (name == "Size" && given.size() == 1 && pickle.at(given[0]).items.size() <= kMaxTensorExtents) {
    value.items = pickle.at(given[0]).items;
    return value;
  }
  return Damaged(file, global, "the pickle calls '" + std::string(name) + "', which makes nothing");
}

std::string Printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

class TorchVocabulary final : public PickleVocabulary {
 public:
  // `end`: offset in the file of the end of the bytes.
  TorchVocabulary(const std::string& file, std::uint64_t end, const PersistentId& persistent, Pickle& pickle)
      : file_(file), end_(end), persistent_(persistent), pickle_(pickle) {}

  const PickleLimits& limits() const override {
    static constexpr PickleLimits kLimits = {.values = 1 << 20, .items = 1 << 22, .memo = 1 << 20, .arguments = 16};
    return kLimits;
  }
  bool Knows(int opcode) const override { return opcode == '1' || opcode == 'Q'; }
  bool TakesLargeIntegers() const override { return true; }

  Result<std::string_view> FindGlobal(std::string_view module, std::string_view name, std::uint64_t at) const override {
    const std::string_view known = KnownGlobal(module, name);
    if (!known.empty()) return known;
    return Refuse(at, "the pickle asks for the global '" + Printable(module) + "." + Printable(name) +
                          "', which no state dict needs; nothing of it was run. Save only the state dict: "
                          "torch.save(model.state_dict(), path)");
  }
  Result<PickleValue> Call(PickleValues&, const PickleValue& global, std::uint32_t arguments, std::uint64_t) override {
    return CallGlobal(pickle_, global, arguments, file_);
  }
  // Attributes of a dict (`_metadata`) and of opaque objects; no weight depends on them.
  Status SetState(PickleValues& values, std::uint32_t target, std::uint32_t, std::uint64_t at) override {
    const PickleKind kind = values.at(target).kind;
    if (kind == PickleKind::dict || kind == PickleKind::tensor || kind == PickleKind::opaque) return {};
    return Damage(at, "the pickle sets attributes of what has none");
  }
  Result<PickleValue> FindPersistent(PickleValues&, std::uint32_t id) override { return persistent_(pickle_, id); }

  Status Fault(PickleFault fault, std::uint64_t at, std::uint64_t number) const override {
    switch (fault) {
      case PickleFault::cut_short:
        return Damage(end_, "the pickle is cut short");
      case PickleFault::unknown_opcode:
        return Refuse(at, "the pickle opcode 0x" + FormatHex(std::string(1, static_cast<char>(number))) +
                              " is not one that state dicts are made of; save only the state dict: "
                              "torch.save(model.state_dict(), path)");
      case PickleFault::protocol:
        return Refuse(at, "pickles of protocol " + std::to_string(number) + " are not read; 2 to 5 are");
      case PickleFault::too_many_values:
        return Refuse(at, "the pickle holds more than 2^20 values");
      case PickleFault::too_many_marks:
        return Refuse(at, "the pickle holds more than 2^20 marks");
      case PickleFault::too_many_items:
        return Refuse(at, "the pickle's containers hold more than 2^22 items");
      case PickleFault::too_many_arguments:
        return Refuse(at, "the pickle calls a global with too many arguments");
      case PickleFault::too_large_stack:
        return Refuse(at, "the pickle's stack holds more than 2^22 values");
      case PickleFault::too_large_memo:
        return Refuse(at, "the pickle's memo goes beyond 2^20 entries");
      case PickleFault::no_mark:
        return Damage(at, "the pickle refers to a mark that it never set");
      case PickleFault::no_container:
      case PickleFault::odd_items:
        return Damage(at, "the pickle puts items into what is no container for them");
      case PickleFault::unset_memo:
        return Damage(at, "the pickle recalls what it never remembered");
      case PickleFault::unnamed_global:
        return Damage(at, "the pickle names a global by what is no text");
      case PickleFault::no_callable:
        return Damage(at, "the pickle calls what is no global");
      case PickleFault::wide_integer:  // never: large integers are taken
      case PickleFault::too_few_values:
      case PickleFault::nothing_to_remember:
      case PickleFault::nothing_to_set:
        break;
    }
    return Damage(at, "the pickle takes more values than it put");
  }

 private:
  [[nodiscard]] std::string Where(std::uint64_t at) const { return file_ + ": offset " + std::to_string(at) + ": "; }
  [[nodiscard]] Status Damage(std::uint64_t at, const std::string& what) const { return DamageError(Where(at) + what); }
  [[nodiscard]] Status Refuse(std::uint64_t at, const std::string& what) const { return Refused(Where(at) + what); }

  const std::string& file_;
  const std::uint64_t end_;
  const PersistentId& persistent_;
  Pickle& pickle_;
};

}  // namespace

Result<PickleValue> RefusePersistentId(Pickle& pickle, std::uint32_t id, const std::string& file) {
  return Refused(file + ": offset " + std::to_string(pickle.at(id).at) + ": a persistent id where none has a meaning");
}

Result<PickleValue> ParseStorageId(Pickle& pickle, std::uint32_t id, const std::string& file) {
  const PickleValue& tuple = pickle.at(id);
  const auto damaged = [&] {
    return Damaged(file, tuple, "a storage is not named by ('storage', type, key, location, count)");
  };
  const std::vector<std::uint32_t>& part = tuple.items;
  if (tuple.kind != PickleKind::tuple || part.size() < 5) return damaged();
  const PickleValue &word = pickle.at(part[0]), &type = pickle.at(part[1]), &key = pickle.at(part[2]),
                    &count = pickle.at(part[4]);
  if (word.kind != PickleKind::text || word.text != "storage" || type.kind != PickleKind::global ||
      key.kind != PickleKind::text || key.text.size() > kMaxKey || count.kind != PickleKind::integer ||
      count.integer < 0)
    return damaged();
  const std::string_view name = type.text.substr(type.text.find(' ') + 1);
  const std::optional<ElementType> element = ParseTorchStorageType(name);
  if (!element)
    return Refused(file + ": offset " + std::to_string(tuple.at) + ": storages of type torch." + std::string(name) +
                   " are not read; save tensors of a plain type, as tensor.float()");
  PickleStorage storage{std::string(key.text), *element, 0, count.integer, tuple.at};
  if (part.size() > 5 && pickle.at(part[5]).kind == PickleKind::tuple) {  // (key of the view, first element, count)
    const std::vector<std::uint32_t>& view = pickle.at(part[5]).items;
    if (view.size() != 3 || pickle.at(view[1]).kind != PickleKind::integer ||
        pickle.at(view[2]).kind != PickleKind::integer || pickle.at(view[1]).integer < 0 ||
        pickle.at(view[2]).integer < 0)
      return damaged();
    storage.first = pickle.at(view[1]).integer;
    storage.count = pickle.at(view[2]).integer;
  }
  PickleValue value;
  value.kind = PickleKind::storage;
  value.integer = static_cast<std::int64_t>(pickle.storages.size());
  pickle.storages.push_back(std::move(storage));
  return value;
}

Result<Pickle> ReadPickle(std::string_view bytes, const std::string& file, std::uint64_t base,
                          const PersistentId& persistent) {
  Pickle pickle;
  TorchVocabulary vocabulary(file, base + bytes.size(), persistent, pickle);
  RETORT_RETURN_IF_ERROR(RunPickle(bytes, base, vocabulary, pickle));
  return pickle;
}

}  // namespace retort::storage
