// The key table: every key of a sweep file with its field, type, range, default, choices, the trials
// it applies to, whether it is part of identity, and one line of documentation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "experiments/methods/methods.h"
#include "experiments/methods/trial_spec.h"

namespace retort {

// Enumerations are held as the index of their choice.
using KeyValue = std::variant<bool, std::int64_t, double, std::string>;

enum class KeyType : std::uint8_t {
  flag,
  count,     // integer
  number,    // integer or real; held as double
  choice,    // one of `choices`; held as index (enum fields) or string (string fields)
  duration,  // "30s"; held as seconds
  name,      // of a [data] or [teacher] entry
  text,      // any
  path,      // of a file: absolute once read; never part of identity, the digest of its bytes is
  indices,   // at least one integer, no two alike; held as FormatOutputs writes them
};

struct Limits {
  double least = 0;
  double most = 0;
  bool above_least = false;  // `least` itself is out of range
};

// Where a key may be written.
enum KeyPlace : std::uint8_t { kNowhere = 0, kInTrial = 1, kInTeacher = 2 };

struct SpecKey {
  std::string_view name;        // canonical: JSON, identity, [teacher]
  std::string_view trial_name;  // in [trial] and axes, where it differs; see TrialName
  KeyType type = KeyType::count;
  KeyValue (*get)(const TrialSpec&) = nullptr;
  void (*set)(TrialSpec&, const KeyValue&) = nullptr;  // null: only the planner sets it
  Limits limits;
  std::span<const std::string_view> choices;
  bool indexed = false;        // choice of an enum field
  std::string_view zero_word;  // of a count: what is written for the value 0, which its limits leave out
  KindMask kinds = 0;          // trials that use it
  std::array<KindMask, kQuerySources> source_kinds = {};  // by QuerySource: trials that use it where that is theirs
  std::uint8_t places = kNowhere;
  bool identity = true;
  KindMask quiet = 0;      // kinds whose identity it is part of only where it differs from TrialSpec's default
  bool inherited = false;  // teachers take the value of [trial] unless they set it
  std::string_view doc;

  [[nodiscard]] std::string_view TrialName() const { return trial_name.empty() ? name : trial_name; }
  [[nodiscard]] std::string_view NameIn(KeyPlace place) const { return place == kInTrial ? TrialName() : name; }
  [[nodiscard]] bool AppliesTo(TrialKind kind, QuerySource source) const {
    return ((kinds | source_kinds.at(static_cast<std::size_t>(source))) & MakeMask(kind)) != 0;
  }
  // Of any source.
  [[nodiscard]] KindMask AllKinds() const {
    return std::accumulate(source_kinds.begin(), source_kinds.end(), kinds, std::bit_or<KindMask>());
  }
  // ` (source "generator")` where that kind uses it with some sources alone; empty where with all.
  [[nodiscard]] std::string SourcesFor(TrialKind kind) const;
  // "plain teacher, sound dpdfd student of an ensemble (source \"generator\")", ...
  [[nodiscard]] std::string Users() const;
  [[nodiscard]] std::vector<std::string> ChoiceList() const { return {choices.begin(), choices.end()}; }
};

[[nodiscard]] std::span<const SpecKey> ListSpecKeys();
// Indices of the identity keys, sorted by canonical name.
[[nodiscard]] std::span<const std::uint8_t> GetIdentityOrder();
// The key of that name at that place, or null. kNowhere: by trial name, settable or not.
[[nodiscard]] const SpecKey* FindKey(std::string_view name, KeyPlace place);
[[nodiscard]] std::vector<std::string> ListKeyNames(KeyPlace place);

// The value as tables, axes and file names show it: 100, 0.001, row-averaged, true.
[[nodiscard]] std::string FormatValue(const SpecKey& key, const KeyValue& value);
// The trial's value of a key by its name in [trial] ("method", "teacher", "data", "seed", "sigma", ...);
// empty where the key does not apply to the trial, or there is no such key.
[[nodiscard]] std::string FormatKey(const TrialSpec& spec, std::string_view name);

}  // namespace retort
