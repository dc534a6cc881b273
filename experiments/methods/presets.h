// What a trial starts from before [trial] says anything.
#pragma once

#include <span>
#include <string_view>

#include "experiments/methods/methods.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/methods/trial_spec.h"

namespace retort {

// One reading, or a mask of several; none named = all.
struct ReadingSet {
  ReadingMask mask = 0;
  constexpr ReadingSet() = default;
  constexpr ReadingSet(Reading reading) : mask(MakeMask(reading)) {}
  constexpr ReadingSet(ReadingMask readings) : mask(readings) {}
  [[nodiscard]] constexpr bool Holds(Reading reading) const { return mask == 0 || (mask & MakeMask(reading)) != 0; }
};

struct PresetRow {
  KindMask kinds = 0;
  std::string_view key;  // canonical name
  KeyValue value;
  std::string_view methods = {};  // of these kinds only these methods', names with spaces between; empty = all
  ReadingSet readings = {};       // and these readings'
};
[[nodiscard]] std::span<const PresetRow> ListPresetRows();

// Overwrites `spec` with the preset of its kind: defaults of TrialSpec, then the preset table.
// Keeps role, method, reading, branch, source, teacher, data and seed.
void ApplyPreset(TrialSpec& spec, TrialKind kind);

}  // namespace retort
