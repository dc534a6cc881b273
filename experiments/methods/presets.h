// What a trial starts from before [trial] says anything.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "experiments/methods/methods.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/methods/trial_spec.h"

namespace retort {

struct PresetRow {
  KindMask kinds = 0;
  std::string_view key;  // canonical name
  KeyValue value;
  std::string_view method = {};                   // of these kinds only this method's; empty = all
  std::optional<Reading> reading = std::nullopt;  // and this reading's; nothing = all
};
[[nodiscard]] std::span<const PresetRow> PresetRows();

// Overwrites `spec` with the preset of its kind: defaults of TrialSpec, then the preset table.
// Keeps role, method, reading, branch, source, teacher, data and seed.
void ApplyPreset(TrialSpec& spec, TrialKind kind);

}  // namespace retort
