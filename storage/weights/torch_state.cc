#include "storage/weights/torch_state.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "storage/weights/class_names.h"

namespace retort::storage {
namespace {

constexpr std::array<std::string_view, 4> kNested = {"state_dict", "model_state_dict", "model", "net"};
// Where averages and wrappers keep one; looked at where none of those is there.
constexpr std::array<std::string_view, 14> kOtherKeys = {
    "ema_state_dict", "state_dict_ema", "model_ema", "ema_model", "ema",     "shadow",      "ema_shadow",
    "params_ema",     "params",         "weights",   "module",    "network", "model_state", "net_state_dict"};
constexpr std::size_t kMaxDepth = 4, kMaxLeftOut = 100;

std::string Where(const std::string& file, const PickleValue& value) {
  return file + ": offset " + std::to_string(value.at) + ": ";
}

bool HasTensors(const Pickle& pickle, const PickleValue& dict) {
  for (std::size_t i = 1; i < dict.items.size(); i += 2)
    if (pickle.at(dict.items[i]).kind == PickleKind::tensor) return true;
  return false;
}

// The dict under the key, or null.
const PickleValue* DictAt(const Pickle& pickle, const PickleValue& dict, std::string_view key) {
  const PickleValue* found = nullptr;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& name = pickle.at(dict.items[i]);
    const PickleValue& value = pickle.at(dict.items[i + 1]);
    if (name.kind == PickleKind::text && name.text == key && value.kind == PickleKind::dict) found = &value;
  }
  return found;
}

// The key of a list of tensors, as torch_ema keeps them; or empty.
std::string_view NamelessTensors(const Pickle& pickle, const PickleValue& dict) {
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& list = pickle.at(dict.items[i + 1]);
    const bool row = list.kind == PickleKind::list || list.kind == PickleKind::tuple;
    if (row && !list.items.empty() && pickle.at(list.items.front()).kind == PickleKind::tensor)
      return pickle.at(dict.items[i]).text;
  }
  return "";
}

Status NoStateError(const Pickle& pickle, const PickleValue& value, const std::string& file) {
  if (value.kind == PickleKind::dict && !value.items.empty()) {
    if (const std::string_view key = NamelessTensors(pickle, value); !key.empty())
      return Refused(Where(file, value) + "there is no state dict: '" + std::string(key.substr(0, 80)) +
                     "' lists tensors without names; copy them into the network and save model.state_dict()");
    std::string keys;
    for (std::size_t i = 0; i < value.items.size() && i < 20; i += 2)
      if (const PickleValue& key = pickle.at(value.items[i]); key.kind == PickleKind::text)
        keys += (keys.empty() ? "" : ", ") + std::string(key.text.substr(0, 80));
    return Refused(Where(file, value) + "there is no state dict: of the entries (" + keys +
                   ") none is a tensor; save the state dict: torch.save(model.state_dict(), path)");
  }
  return Refused(Where(file, value) + "there is no state dict; save one: torch.save(model.state_dict(), path)");
}

// Has it tensors, or a dict with some under one of those keys?
bool HoldsState(const Pickle& pickle, const PickleValue& dict, std::size_t depth) {
  if (HasTensors(pickle, dict)) return true;
  if (depth == kMaxDepth) return false;
  return std::any_of(kNested.begin(), kNested.end(), [&](std::string_view key) {
    const PickleValue* inner = DictAt(pickle, dict, key);
    return inner != nullptr && HoldsState(pickle, *inner, depth + 1);
  });
}

// Beside the tensors, or beside a dict that leads to them; or in a dict there, as "hyper_parameters", or in
// one in that, as "meta" and its "dataset_meta".
void TakeClassNames(const Pickle& pickle, const PickleValue& dict, std::vector<std::string>& names, int deeper = 2) {
  for (std::size_t i = 0; i + 1 < dict.items.size() && names.empty(); i += 2) {
    const PickleValue &key = pickle.at(dict.items[i]), &value = pickle.at(dict.items[i + 1]);
    if (key.kind == PickleKind::text && IsClassNamesKey(key.text)) names = ParseClassNames(pickle, value);
    if (deeper > 0 && value.kind == PickleKind::dict) TakeClassNames(pickle, value, names, deeper - 1);
  }
}

bool IsSingle(const Pickle& pickle, const PickleValue& tensor) {
  const std::vector<std::int64_t>& shape = pickle.tensors[static_cast<std::size_t>(tensor.integer)].shape;
  return std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent == 1; });
}

// A state dict under one of the other keys, or under the only key that has one; none where the dict itself has tensors
// of several elements. Error: refused, where several have one.
Result<const PickleValue*> FindUnderOtherKey(const Pickle& pickle, const PickleValue& dict, const std::string& file,
                                             std::string_view& under) {
  std::vector<std::string_view> known, others;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue &key = pickle.at(dict.items[i]), &value = pickle.at(dict.items[i + 1]);
    if (key.kind != PickleKind::text) continue;
    if (value.kind == PickleKind::tensor && !IsSingle(pickle, value)) return nullptr;
    if (value.kind != PickleKind::dict || !HoldsState(pickle, value, 1)) continue;
    const bool is_known = std::find(kOtherKeys.begin(), kOtherKeys.end(), key.text) != kOtherKeys.end();
    (is_known ? known : others).push_back(key.text);
  }
  const std::vector<std::string_view>& found = known.empty() ? others : known;
  if (found.empty()) return nullptr;
  if (found.size() > 1)
    return Refused(Where(file, dict) + "both '" + std::string(found[0].substr(0, 80)) + "' and '" +
                   std::string(found[1].substr(0, 80)) +
                   "' hold a dict of tensors; save the one that is meant alone: "
                   "torch.save(checkpoint['" +
                   std::string(found[0].substr(0, 80)) + "'], path)");
  under = found.front();
  return DictAt(pickle, dict, under);
}

// The innermost first: beside a state dict a script may keep tensors of its own, as its best accuracy.
Result<const PickleValue*> FindState(const Pickle& pickle, const std::string& file, std::vector<std::string>& path,
                                     std::vector<std::string>& class_names) {
  const PickleValue* at = &pickle.at(pickle.root);
  for (std::size_t depth = 0; at->kind == PickleKind::dict; ++depth) {
    const PickleValue* inner = nullptr;
    TakeClassNames(pickle, *at, class_names);
    for (const std::string_view key : kNested) {
      const PickleValue* dict = depth < kMaxDepth ? DictAt(pickle, *at, key) : nullptr;
      if (dict == nullptr || !HoldsState(pickle, *dict, depth + 1)) continue;
      if (inner != nullptr)
        return Refused(Where(file, *at) + "both '" + path.back() + "' and '" + std::string(key) +
                       "' hold a dict; save only the state dict that is meant");
      inner = dict;
      path.emplace_back(key);
    }
    if (inner == nullptr && depth < kMaxDepth) {
      std::string_view under;
      RETORT_ASSIGN_OR_RETURN(inner, FindUnderOtherKey(pickle, *at, file, under));
      if (inner != nullptr) path.emplace_back(under);
    }
    if (inner == nullptr && HasTensors(pickle, *at)) return at;
    if (inner == nullptr) break;
    at = inner;
  }
  return NoStateError(pickle, *at, file);
}

class StateBuilder {
 public:
  StateBuilder(const Pickle& pickle, const StorageByKey& storages, const std::string& file)
      : pickle_(pickle), storages_(storages), file_(file) {}

  Status Add(std::string name, const PickleTensor& view) {
    const PickleStorage& storage = pickle_.storages[view.storage];
    RETORT_ASSIGN_OR_RETURN(const std::size_t position, Place(storage));
    StoredTensor tensor{std::move(name), position, 0, view.shape, view.strides, view.at};
    if (__builtin_add_overflow(view.first, storage.first, &tensor.first))
      return DamageError(file_ + ": offset " + std::to_string(view.at) + ": a tensor begins beyond every storage");
    state.tensors.push_back(std::move(tensor));
    return {};
  }

  StoredState state;

 private:
  Result<std::size_t> Place(const PickleStorage& wanted) {
    const auto found = storages_.find(wanted.key);
    const std::string where = file_ + ": offset " + std::to_string(wanted.at) + ": the storage '" + wanted.key + "' ";
    if (found == storages_.end()) return DamageError(where + "is not in the file");
    const StoredStorage& stored = found->second;
    if (stored.type != wanted.type) return DamageError(where + "has another element type than its tensors");
    const auto first = static_cast<std::uint64_t>(wanted.first), count = static_cast<std::uint64_t>(wanted.count);
    if (first > stored.count || count > stored.count - first)
      return DamageError(where + "has " + std::to_string(stored.count) + " elements, not " +
                         std::to_string(first + count));
    const auto [place, added] = placed_.emplace(wanted.key, state.storages.size());
    if (added) state.storages.push_back(stored);
    return place->second;
  }

  const Pickle& pickle_;
  const StorageByKey& storages_;
  const std::string& file_;
  std::map<std::string, std::size_t> placed_;
};

}  // namespace

Result<StoredState> BuildStoredState(const Pickle& pickle, const StorageByKey& storages, const std::string& container,
                                     const std::string& file) {
  StateBuilder builder(pickle, storages, file);
  builder.state.container = container;
  RETORT_ASSIGN_OR_RETURN(const PickleValue* dict,
                          FindState(pickle, file, builder.state.path, builder.state.class_names));
  for (std::size_t i = 0; i + 1 < dict->items.size(); i += 2) {
    const PickleValue &key = pickle.at(dict->items[i]), &value = pickle.at(dict->items[i + 1]);
    if (key.kind != PickleKind::text || key.text.empty() || key.text.size() > kMaxTensorNameBytes)
      return Refused(Where(file, key) + "a key of the state dict is no name");
    if (value.kind == PickleKind::tensor) {
      RETORT_RETURN_IF_ERROR(
          builder.Add(std::string(key.text), pickle.tensors[static_cast<std::size_t>(value.integer)]));
    } else if (builder.state.left_out.size() < kMaxLeftOut) {
      builder.state.left_out.emplace_back(key.text);
    }
  }
  return std::move(builder.state);
}

}  // namespace retort::storage
