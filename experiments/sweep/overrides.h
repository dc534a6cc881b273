// KEY=VALUE arguments, which change what a sweep file has.
#pragma once

#include <optional>
#include <string>

#include "experiments/sweep/diagnostic_collector.h"
#include "experiments/sweep/toml_tree.h"

namespace retort {

struct SweepOverride {
  TomlNode tree;         // one key of the document, at its place in tables
  bool removes = false;  // the file's is taken away
  bool several = false;  // the value is a list of values
};

// Parses KEY=VALUE, where VALUE is TOML or a bare word; KEY=VALUE,VALUE, a list of them; ~KEY, which removes what the
// file says of it. A + or ++ before KEY changes nothing. `sources` gains the argument. Reports what is wrong and
// returns nothing then.
[[nodiscard]] std::optional<SweepOverride> ParseOverride(const std::string& argument, SourceTexts& sources,
                                                         DiagnosticCollector& diagnostics);

// Changes `root`, the document. Several values of a key of [trial] become an axis of the grid. It adds no data set,
// teacher, table or figure, sets no key that an axis varies, and removes nothing that is not there: reported, and
// `root` stays as it is.
void LayOverride(const SweepOverride& change, TomlNode& root, DiagnosticCollector& diagnostics);

}  // namespace retort
