// Private selection as part of a sweep: [sweep.select].
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/sweep/toml_tree.h"

namespace retort {

class DiagnosticCollector;
struct ReadContext;
struct SweepDocument;

// Measured on the labelled public examples.
inline constexpr std::string_view kPublicScore = "public.accuracy";
// Measured on the private examples of the split's validation part, with noise that the selection's claim pays for.
inline constexpr std::string_view kPrivateScore = "validation.accuracy";

// Names of distributions of K.
inline constexpr std::array<std::string_view, 4> kDrawDistributions = {"poisson", "geometric", "logarithmic",
                                                                       "truncated-negative-binomial"};

struct SelectSpec {
  std::string score = std::string(kPublicScore);
  std::string distribution;  // one of kDrawDistributions
  double mean = 0;           // of K
  std::optional<double> eta;
  double score_noise = 0;  // of kPrivateScore: standard deviation, in examples; 0 for a public score
  // Of the selection as a whole, from which the candidates' own follows; none where the trials say theirs.
  std::optional<double> epsilon;
  Position where, epsilon_where;
};

// Returns why a metric cannot be what settings are chosen by without paying for it, with what to write; empty for one
// that can.
[[nodiscard]] std::string RefuseScore(const std::string& score);

// Reads [sweep.select] into the document of `context`.
void ReadSelect(const TomlNode& select, ReadContext& context);

// Reports what the rest of the sweep may not have beside a selection: seeds, and quotas that end it midway. `sweep`:
// the [sweep] table.
void CheckBesideSelect(const TomlNode& sweep, ReadContext& context);

// Reports every epsilon that a trial is given beside that of its selection. REQUIRES: document.select, with an epsilon.
void CheckOneEpsilon(const SweepDocument& document, DiagnosticCollector& diagnostics);

}  // namespace retort
