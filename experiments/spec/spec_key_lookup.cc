#include <algorithm>

#include "experiments/spec/spec_keys.h"

namespace retort {

std::string SpecKey::Users() const {
  std::string users;
  for (const TrialKind kind : kTrialKinds) {
    const KindMask mask = MaskOf(kind);
    if ((AllKinds() & mask) == 0) continue;
    users += (users.empty() ? "" : ", ") + std::string(KindName(kind));
    if (const std::string sources = SourcesFor(kind); !sources.empty()) users += " (source " + sources + ")";
  }
  return users;
}

std::string SpecKey::SourcesFor(TrialKind kind) const {
  const KindMask mask = MaskOf(kind);
  if ((kinds & mask) != 0) return "";
  std::string sources;
  for (std::size_t i = 0; i < source_kinds.size(); ++i) {
    if ((source_kinds[i] & mask) == 0) continue;
    sources += (sources.empty() ? "\"" : " or \"") + ValueText(*FindKey("source", kInTrial), static_cast<std::int64_t>(i)) + "\"";
  }
  return sources;
}

std::span<const std::uint8_t> IdentityOrder() {
  static const std::vector<std::uint8_t> kOrder = [] {
    const std::span<const SpecKey> keys = SpecKeys();
    std::vector<std::uint8_t> order;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i].identity) order.push_back(static_cast<std::uint8_t>(i));
    std::sort(order.begin(), order.end(), [keys](auto a, auto b) { return keys[a].name < keys[b].name; });
    return order;
  }();
  return kOrder;
}

const SpecKey* FindKey(std::string_view name, KeyPlace place) {
  for (const SpecKey& key : SpecKeys()) {
    const KeyPlace spelling = place == kInTeacher ? kInTeacher : kInTrial;
    if (key.NameIn(spelling) == name && (place == kNowhere || (key.places & place) != 0)) return &key;
  }
  return nullptr;
}

std::vector<std::string> KeyNames(KeyPlace place) {
  std::vector<std::string> names;
  for (const SpecKey& key : SpecKeys()) {
    if (place == kNowhere)
      names.emplace_back(key.TrialName());
    else if ((key.places & place) != 0)
      names.emplace_back(key.NameIn(place));
  }
  return names;
}

}  // namespace retort
