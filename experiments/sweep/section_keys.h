// The keys of a sweep file that are not keys of a trial; those are in experiments/methods/spec_keys.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "experiments/methods/spec_keys.h"

namespace retort {

// Structure around the trial keys: [data.NAME], its split and budget, [teacher.NAME.private],
// [sweep], its quota, [table.NAME], [figure.NAME] and the top level.
// `share` is a part of a data set: a range, a fraction, or a string (see data_tables.cc).
enum class SectionType : std::uint8_t {
  text,
  flag,
  count,
  number,
  share,
  duration,
  texts,
  counts,
  numbers,
  layers,
  table,
  tables
};
struct SectionKey {
  std::string_view section;  // "", "profile.*", "data.*", "data.*.split", "data.*.budget",
                             // "teacher.*.private", "network.*", "sweep", "sweep.quota", "sweep.select",
                             // "sweep.search", "sweep.search.space.*", "stop", "table.*", "figure.*"
  std::string_view name;
  SectionType type = SectionType::text;
  bool required = false;
  Limits limits;              // of count, counts and number
  std::string_view fallback;  // what holds when absent, in words; empty = nothing
  std::string_view doc;
};
[[nodiscard]] std::span<const SectionKey> ListSectionKeys();
[[nodiscard]] std::string_view GetSectionTypeName(SectionType type);

}  // namespace retort
