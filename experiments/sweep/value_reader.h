// One TOML value against its row of the key table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "experiments/methods/spec_keys.h"
#include "experiments/sweep/diagnostic_collector.h"
#include "experiments/sweep/toml_tree.h"

namespace retort {

// Reads a value. Returns nothing, after one error under the dotted `path`, when the type, range or choice is wrong.
// Names of data sets and teachers are returned as text and looked up elsewhere.
[[nodiscard]] std::optional<KeyValue> ReadKeyValue(const TomlNode& node, const SpecKey& key, const std::string& path,
                                                   DiagnosticCollector& diagnostics);

// "in [0, 1e6]" and the like.
[[nodiscard]] std::string FormatLimits(const Limits& limits);
[[nodiscard]] bool IsWithin(const Limits& limits, double value);

// Checks that a table holds only keys of its section (`pattern`, as in SectionKey), each of the right
// type and range, and, unless `partial`, every required one. `path` is the dotted name of the table.
// Returns whether it found nothing wrong.
bool CheckSection(const TomlNode& table, std::string_view pattern, const std::string& path, bool partial,
                  DiagnosticCollector& diagnostics);

}  // namespace retort
