// How the rows of the texts' table are compared with what the program has.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/methods/spec_keys.h"
#include "experiments/methods/stated_settings.h"
#include "tests/unit/experiments/methods/stated_settings_table.h"

namespace retort {

inline constexpr std::string_view kOfTeacher = "teacher.", kOfData = "data.";

// Rows of the texts' table, and what stands for them here.
struct Decision {
  std::string_view method, key, why;
};
inline constexpr Decision kDecisions[] = {
    {"dpsd-data", "kappa", "gamma times norm_bound: the key gamma says it for every norm bound"},
    {"dpsd-data", "kappa_end", "the same"},
    {"dpsd-label", "replay",
     "Algorithm 1 teaches the batch of its iteration alone, section III-C uses labels again: "
     "the algorithm is taken"},
    {"rona", "student", "tables and figures name their own"},
    {"dp-dfd", "epsilon0", "epsilon decides it by calibrate, whatever the reading"},
    {"dpsd-label", "epsilon0", "the same"},
    {"feddpsd", "epsilon0", "the same"},
    {"dpsd-kd", "dkd_alpha", "a weight of dkd, which classic distillation does not have"},
    {"dpsd-kd", "dkd_beta", "the same"},
};

inline bool IsDecided(std::string_view method, std::string_view key) {
  return std::any_of(std::begin(kDecisions), std::end(kDecisions),
                     [&](const Decision& one) { return one.method == method && one.key == key; });
}

inline const SpecKey* FindTrialKey(std::string_view name) { return FindKey(name, kInTrial); }

// Whether the row's key is one of the student's trial, of its teacher's, or of its data set's.
inline bool HasKey(const StatedSetting& row) {
  return row.key.starts_with(kOfTeacher) || row.key.starts_with(kOfData) || FindTrialKey(row.key) != nullptr;
}

// The row's key as the program's own table calls it: "student" is there "network".
inline std::string_view CanonicalKey(const StatedSetting& row) {
  const SpecKey* key = FindTrialKey(row.key);
  return key != nullptr ? key->name : row.key;
}

// The methods that a row of the texts is about: its own, and those derived from it that have no row for the key.
inline std::vector<std::string> ListMethods(const StatedSetting& row) {
  std::vector<std::string> methods = {std::string(row.method)};
  for (const DerivedMethod& derived : kDerivedMethods) {
    if (derived.base != row.method) continue;
    const bool own =
        std::any_of(std::begin(kStatedSettings), std::end(kStatedSettings),
                    [&](const StatedSetting& other) { return other.method == derived.method && other.key == row.key; });
    if (!own) methods.emplace_back(derived.method);
  }
  return methods;
}

// "a | b" as its parts.
inline std::vector<std::string> ListAlternatives(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(" | ");
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 3);
  }
}

inline bool SameValue(const std::string& ours, std::string_view text) {
  if (ours == text) return true;
  char* end = nullptr;
  const std::string other(text);
  const double a = std::strtod(ours.c_str(), &end);
  if (ours.empty() || *end != '\0') return false;
  const double b = std::strtod(other.c_str(), &end);
  return !other.empty() && *end == '\0' && a == b;
}

}  // namespace retort
