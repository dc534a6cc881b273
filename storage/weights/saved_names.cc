#include "storage/weights/saved_names.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace retort::storage {
namespace {

constexpr std::array<std::string_view, 4> kWrappers = {"module.", "_orig_mod.", "_fsdp_wrapped_module.",
                                                       "_checkpoint_wrapped_module."};

bool AllBeginWith(const std::vector<std::string>& names, const std::string& prefix) {
  return !names.empty() && std::all_of(names.begin(), names.end(), [&prefix](const std::string& name) {
    return name.starts_with(prefix) && name.size() > prefix.size();
  });
}

// Without wrappers behind the first part of the name.
std::string WithoutInner(std::string name) {
  for (const std::string_view wrapper : kWrappers) {
    const std::string inner = "." + std::string(wrapper);
    for (std::size_t at = name.find(inner); at != std::string::npos; at = name.find(inner, at))
      name.erase(at + 1, wrapper.size());
  }
  return name;
}

std::vector<std::string> Under(const Naming& naming, const std::vector<std::string>& saved) {
  std::vector<std::string> names;
  for (const std::string& name : saved) names.push_back(naming.Of(name));
  return names;
}

bool Distinct(const std::vector<std::string>& names) {
  return std::set<std::string_view>(names.begin(), names.end()).size() == names.size();
}

}  // namespace

std::string Naming::Of(const std::string& saved) const {
  std::string name = saved.starts_with(prefix) ? saved.substr(prefix.size()) : saved;
  if (inner) name = WithoutInner(std::move(name));
  return name.starts_with(path) ? name.substr(path.size()) : name;
}

bool IsBookkeeping(const TensorBlob& blob) {
  constexpr std::array<std::string_view, 6> kNames = {"n_averaged", "num_updates", "decay",
                                                      "initted",    "step",        "updates"};
  std::int64_t elements = 1;
  for (const std::int64_t extent : blob.shape) elements *= extent;
  const std::string_view name = std::string_view(blob.name).substr(blob.name.rfind('.') + 1);
  return elements == 1 && std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::string WrapperPrefix(const std::vector<std::string>& names) {
  std::string prefix;
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view word : kWrappers) {
      const std::string longer = prefix + std::string(word);
      if (!AllBeginWith(names, longer)) continue;
      prefix = longer;
      found = true;
    }
  }
  return prefix;
}

Naming FindNaming(const std::vector<std::string>& saved, bool own, const CountMissing& missing) {
  const Naming plain{own ? "" : WrapperPrefix(saved), false, ""};
  if (missing(Under(plain, saved)) == 0) return plain;
  Naming naming = plain;
  naming.inner = true;
  std::vector<std::string> names = Under(naming, saved);
  if (!Distinct(names)) return plain;
  while (missing(names) != 0) {
    const std::size_t dot = names.empty() ? std::string::npos : names.front().find('.');
    if (dot == std::string::npos || !AllBeginWith(names, names.front().substr(0, dot + 1))) return plain;
    naming.path += names.front().substr(0, dot + 1);
    names = Under(naming, saved);
  }
  return naming;
}

std::vector<std::string> WholeParts(const std::vector<std::string>& saved, const CountMissing& missing) {
  std::set<std::string> paths;
  for (const std::string& name : saved)
    for (std::size_t dot = name.find('.'), depth = 0; dot != std::string::npos && depth < 3;
         dot = name.find('.', dot + 1), ++depth)
      paths.insert(name.substr(0, dot + 1));
  std::vector<std::string> whole;
  for (const std::string& path : paths) {
    if (whole.size() == 4 || paths.size() > 1000) break;
    std::vector<std::string> below;
    for (const std::string& name : saved)
      if (name.starts_with(path)) below.push_back(WithoutInner(name.substr(path.size())));
    if (!below.empty() && missing(below) == 0) whole.push_back(path);
  }
  return whole;
}

}  // namespace retort::storage
