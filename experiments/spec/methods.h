// The methods by name: in which readings, taught by which teachers, asked about which inputs. What a method is made
// of follows from its kind and its preset (presets.cc).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/trial_kind.h"
#include "experiments/spec/trial_spec.h"

namespace retort {

using ReadingMask = std::uint8_t;
[[nodiscard]] constexpr ReadingMask MaskOf(Reading reading) {
  return static_cast<ReadingMask>(1U << static_cast<unsigned>(reading));
}
using SourceMask = std::uint8_t;
[[nodiscard]] constexpr SourceMask MaskOf(QuerySource source) {
  return static_cast<SourceMask>(1U << static_cast<unsigned>(source));
}

struct MethodRule {
  std::string_view name;
  TrialKind kind = TrialKind::gradient_student;  // in the readings other than sound
  ReadingMask readings = 0;                      // 0: the method has none, and the key reading no place
  KindMask teachers = 0;                         // that it asks in the readings other than sound; 0: none
  SourceMask sources = 0;                        // of its inputs, the same; the first is the default
  QuerySource source = QuerySource::generator;   // where the file says nothing
};

[[nodiscard]] std::span<const MethodRule> Methods();
// Null when there is none of that name.
[[nodiscard]] const MethodRule* FindMethod(std::string_view name);
// Names of the readings that it has, in the order of the enumeration.
[[nodiscard]] std::vector<std::string> ReadingsOf(const MethodRule& method);

}  // namespace retort
