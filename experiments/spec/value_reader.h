// One TOML value against its row of the key table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "experiments/spec/complaints.h"
#include "experiments/spec/spec_keys.h"
#include "experiments/spec/toml_tree.h"

namespace retort {

// Nothing, after one complaint under the dotted `path`, when the type, range or choice is wrong.
// Names of data sets and teachers are returned as text and looked up elsewhere.
[[nodiscard]] std::optional<KeyValue> ReadKeyValue(const TomlNode& node, const SpecKey& key,
                                                   const std::string& path, Complaints& complaints);

// Seconds of "30s", "500ms", "5m", "2h", "1d"; a number and a unit, no blank.
[[nodiscard]] std::optional<double> ParseDuration(std::string_view text);

// "in [0, 1e6]" and the like.
[[nodiscard]] std::string LimitsText(const Limits& limits);
[[nodiscard]] bool Within(const Limits& limits, double value);

// Checks that a table holds only keys of its section (`pattern`, as in SectionKey), each of the right
// type and range, and, unless `partial`, every required one. `path` is the dotted name of the table.
// Returns whether it found nothing wrong.
bool CheckSection(const TomlNode& table, std::string_view pattern, const std::string& path, bool partial,
                  Complaints& complaints);

}  // namespace retort
