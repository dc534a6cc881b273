#include "orchestrator/results/tables/figure_words.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/privacy/paper_formulas.h"
#include "orchestrator/results/trial_fields.h"

namespace retort::orchestrator {
namespace {

struct KeyName {
  std::string_view key, words, symbol;
};
constexpr std::array kKeyNames = {
    KeyName{"sigma", "noise scale σ", "σ"},
    KeyName{"norm_bound", "norm bound C", "C"},
    KeyName{"kappa", "injected step κ", "κ"},
    KeyName{"dkd_alpha", "weight α of the target class", "α"},
    KeyName{"dkd_beta", "weight β of the other classes", "β"},
    KeyName{"dirichlet_alpha", "concentration α of the Dirichlet draw", "Dirichlet α"},
    KeyName{"temperature", "temperature τ", "τ"},
    KeyName{"vote_noise", "noise of the votes", "noise of the votes"},
    KeyName{"top_k", "classes kept, k", "k"},
    KeyName{"epsilon0", "ε₀ of one randomised answer", "ε₀ of one answer"},
    KeyName{"delta", "δ", "δ"},
};

std::string Spaced(std::string text) {
  for (char& c : text)
    if (c == '_' || c == '.') c = ' ';
  return text;
}

std::string KeyWords(const std::string& key, bool symbol) {
  for (const KeyName& name : kKeyNames)
    if (name.key == key) return std::string(symbol ? name.symbol : name.words);
  return Spaced(key);
}

std::string TargetWords(const EpsilonTarget& target) {
  const std::string delta = ", δ = " + target.delta;
  if (target.claim == "paper")
    return std::string("the paper's formula †") + (target.of_label ? " of a label" : "") + ", no guarantee" + delta;
  return target.claim + (target.proven ? ", proven" : ", asked for and not proven by these runs") + delta;
}

// What the trial's epsilon asks for. LabelDP by a paper's formula has no delta.
EpsilonTarget MakeTarget(const TrialSpec& spec) {
  EpsilonTarget target{FormatKey(spec, "claim"), FormatShortNumber(spec.privacy.delta)};
  target.of_label = target.claim == "paper" && TakesResponses(spec);
  if (target.of_label) target.delta = "0";
  return target;
}

// A proven claim of that adjacency with no more than was asked for; claims are rounded up to thousandths.
bool Proves(const std::vector<privacy::Claim>& claims, const std::string& adjacency, double epsilon) {
  return std::any_of(claims.begin(), claims.end(), [&](const privacy::Claim& claim) {
    return claim.status == privacy::ClaimStatus::proven && GetAdjacencyName(claim.adjacency) == adjacency &&
           claim.epsilon <= epsilon + 0.001;
  });
}

bool ShowsEpsilon(const FigureData& data) {
  return data.spec.x == "epsilon" || data.spec.panels == "epsilon" || Holds(data.keys, "epsilon");
}

}  // namespace

std::vector<EpsilonTarget> FindTargets(const FigureData& data, const ResultTable& table, const SpecIndex& specs) {
  std::vector<EpsilonTarget> targets;
  if (!ShowsEpsilon(data)) return targets;
  for (const TableCell& cell : table.cells) {
    if (cell.trials.empty()) continue;
    const TrialSpec& spec = *specs.at(cell.trials.front());
    if (spec.privacy.epsilon <= 0) continue;
    EpsilonTarget target = MakeTarget(spec);
    target.proven = cell.summary.n == 0 || Proves(cell.claims, target.claim, spec.privacy.epsilon);
    const auto known = std::find_if(targets.begin(), targets.end(), [&target](const EpsilonTarget& other) {
      return other.claim == target.claim && other.delta == target.delta;
    });
    if (known == targets.end())
      targets.push_back(std::move(target));
    else
      known->proven = known->proven && target.proven;
  }
  return targets;
}

std::string FormatXLabel(const FigureData& data) {
  const FigureSpec& spec = data.spec;
  if (spec.kind == FigureKind::curve && spec.x_label.empty()) return spec.x == "step" ? "step" : Spaced(spec.x);
  if (spec.x != "epsilon") return spec.x_label.empty() ? KeyWords(spec.x, false) : spec.x_label;
  const std::string words = spec.x_label.empty() ? "privacy budget ε" : spec.x_label;
  if (data.epsilons.empty()) return words + " (as the papers claim it)";
  if (data.epsilons.size() > 1) return words + " (each line's own claim: see the legend)";
  return words + " (" + TargetWords(data.epsilons.front()) + ")";
}

std::string FormatYLabel(const FigureData& data) {
  const FigureSpec& spec = data.spec;
  if (!spec.y_label.empty()) return spec.y_label;
  if (spec.y == "seconds") return "time of a trial (s)";
  if (spec.y == "training_seconds") return "time of training (s)";
  if (spec.y == "step_seconds") return "time of a step (s)";
  return Spaced(spec.y) + (IsInPercent(data) ? " (%)" : "");
}

bool IsInPercent(const FigureData& data) { return data.spec.y.find("accuracy") != std::string::npos; }

std::string DescribeValue(const FigureData& data, const std::string& key, const std::string& value,
                          const TrialSpec* trial) {
  if (value.empty()) return "";
  if (key == "epsilon") {
    std::string words = "ε = " + value;
    if (trial == nullptr) return words + " as the paper claims it";
    const EpsilonTarget asked = MakeTarget(*trial);
    for (const EpsilonTarget& target : data.epsilons)
      if (target.claim == asked.claim && target.delta == asked.delta) return words + " (" + TargetWords(target) + ")";
    return words;
  }
  if (key == "teacher") return "teacher " + value;
  const bool plain = !ParseFiniteNumber(value) && value != "true" && value != "false";
  return plain ? value : KeyWords(key, true) + " = " + value;
}

std::string FormatSeriesLabel(const FigureData& data, const std::vector<bool>& varying,
                              const std::vector<std::string>& values, const TrialSpec* trial) {
  const bool any = std::find(varying.begin(), varying.end(), true) != varying.end();
  std::string label;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string words = any && !varying[i] ? "" : DescribeValue(data, data.keys[i], values[i], trial);
    if (!words.empty()) label += (label.empty() ? "" : ", ") + words;
  }
  // Lines that mean different things by one axis say what.
  if (trial == nullptr || data.spec.x != "epsilon" || data.epsilons.size() < 2 || trial->privacy.epsilon <= 0)
    return label;
  const EpsilonTarget asked = MakeTarget(*trial);
  for (const EpsilonTarget& target : data.epsilons)
    if (target.claim == asked.claim && target.delta == asked.delta) label += " [ε: " + TargetWords(target) + "]";
  return label;
}

}  // namespace retort::orchestrator
