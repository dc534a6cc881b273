// The globals that state dicts are made of, and what calling them gives.
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "storage/weights/pickle.h"

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
    "torch FloatStorage", "torch DoubleStorage", "torch HalfStorage",  "torch BFloat16Storage",
    "torch LongStorage",  "torch IntStorage",    "torch ShortStorage", "torch CharStorage",
    "torch ByteStorage",  "torch BoolStorage"};
constexpr std::array<std::string_view, 9> kTensors = {  // in files of torch 0.1
    "torch FloatTensor", "torch DoubleTensor", "torch HalfTensor", "torch LongTensor", "torch IntTensor",
    "torch ShortTensor", "torch CharTensor",   "torch ByteTensor", "torch BoolTensor"};
constexpr std::array<std::string_view, 24> kTypes = {
    "torch float32",   "torch float",      "torch float64",       "torch double",     "torch float16",
    "torch half",      "torch bfloat16",   "torch int64",         "torch long",       "torch int32",
    "torch int",       "torch int16",      "torch short",         "torch int8",       "torch uint8",
    "torch bool",      "torch strided",    "torch uint16",        "torch uint32",     "torch uint64",
    "torch complex64", "torch complex128", "torch float8_e4m3fn", "torch float8_e5m2"};

constexpr std::size_t kMostExtents = 64, kMostKey = 256;

Status Damaged(const std::string& file, const PickleValue& value, const std::string& what) {
  return DamageError(file + ": offset " + std::to_string(value.at) + ": " + what);
}

bool Integers(const Pickle& pickle, std::uint32_t value, std::vector<std::int64_t>& out) {
  const PickleValue& tuple = pickle.at(value);
  if (tuple.kind != PickleKind::tuple && tuple.kind != PickleKind::list && tuple.kind != PickleKind::opaque)
    return false;
  if (tuple.items.size() > kMostExtents) return false;
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
                     Integers(pickle, arguments[2], tensor.shape) &&
                     Integers(pickle, arguments[3], tensor.strides);
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
    const bool sound =
        (pair.kind == PickleKind::list || pair.kind == PickleKind::tuple) && pair.items.size() == 2;
    if (pairs.kind != PickleKind::list || !sound)
      return Damaged(file, global, "an OrderedDict is not made of pairs");
    value.items.insert(value.items.end(), pair.items.begin(), pair.items.end());
  }
  return value;
}

}  // namespace

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
  for (const std::string_view known : kTypes)
    if (same(known)) return known;
  return {};
}

Result<PickleValue> CallGlobal(Pickle& pickle, const PickleValue& global, std::uint32_t arguments,
                               const std::string& file) {
  const std::vector<std::uint32_t> given = pickle.at(arguments).items;
  const std::string_view name = global.text.substr(global.text.find(' ') + 1);
  if (name == "OrderedDict") return MakeDict(pickle, global, given, file);
  if (name == "_rebuild_tensor" || name == "_rebuild_tensor_v2")
    return RebuildTensor(pickle, global, given, file);
  if (name.starts_with("_rebuild_parameter")) {
    if (given.empty() || pickle.at(given[0]).kind != PickleKind::tensor)
      return Damaged(file, global, "a parameter is not made of a tensor");
    return PickleValue(pickle.at(given[0]));
  }
  PickleValue value;
  value.kind = PickleKind::opaque;
  if (name == "device" || name == "_get_layout") return value;
  if (name == "Size" && given.size() == 1 && pickle.at(given[0]).items.size() <= kMostExtents) {
    value.items = pickle.at(given[0]).items;
    return value;
  }
  return Damaged(file, global, "the pickle calls '" + std::string(name) + "', which makes nothing");
}

Result<PickleValue> NoPersistentId(Pickle& pickle, std::uint32_t id, const std::string& file) {
  return Refused(file + ": offset " + std::to_string(pickle.at(id).at) +
                 ": a persistent id where none has a meaning");
}

Result<PickleValue> StorageOfId(Pickle& pickle, std::uint32_t id, const std::string& file) {
  const PickleValue& tuple = pickle.at(id);
  const auto damaged = [&] {
    return Damaged(file, tuple, "a storage is not named by ('storage', type, key, location, count)");
  };
  const std::vector<std::uint32_t>& part = tuple.items;
  if (tuple.kind != PickleKind::tuple || part.size() < 5) return damaged();
  const PickleValue &word = pickle.at(part[0]), &type = pickle.at(part[1]), &key = pickle.at(part[2]),
                    &count = pickle.at(part[4]);
  if (word.kind != PickleKind::text || word.text != "storage" || type.kind != PickleKind::global ||
      key.kind != PickleKind::text || key.text.size() > kMostKey || count.kind != PickleKind::integer ||
      count.integer < 0)
    return damaged();
  const std::string_view name = type.text.substr(type.text.find(' ') + 1);
  const std::optional<ElementType> element = OfTorchStorage(name);
  if (!element)
    return Refused(file + ": offset " + std::to_string(tuple.at) + ": storages of type torch." +
                   std::string(name) + " are not read; save tensors of a plain type, as tensor.float()");
  PickleStorage storage{std::string(key.text), *element, 0, count.integer, tuple.at};
  if (part.size() > 5 &&
      pickle.at(part[5]).kind == PickleKind::tuple) {  // (key of the view, first element, count)
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

}  // namespace retort::storage
