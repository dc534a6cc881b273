#include "experiments/privacy/calculator_rules.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "experiments/base/diagnostic.h"
#include "experiments/base/number_text.h"
#include "experiments/privacy/calculator_selection.h"

namespace retort::privacy {
namespace {

using enum ParameterRange;

constexpr ParameterRule kDelta{"delta", probability, "δ of the claim"};
constexpr ParameterRule kExamples{"examples", whole, "private examples N; warns when δ is above 1/N", true};
constexpr ParameterRule kSensitivity{"sensitivity", positive, "L2 change of one release between neighbours"};
constexpr ParameterRule kCount{"count", whole, "number of releases"};
constexpr ParameterRule kEpsilon0{"epsilon0", positive, "ε of one answer"};
constexpr ParameterRule kSigma{"sigma", positive, "noise over the norm bound, as the papers print it"};
constexpr ParameterRule kNormBound{"norm-bound", positive, "C, which the papers also call β"};
constexpr ParameterRule kClasses{"classes", whole, "number of classes"};
constexpr ParameterRule kBatch{"batch", whole, "rows of one step"};
constexpr ParameterRule kRetries{"retries", ParameterRange::retries,
                                 "lost attempts to leave room for, each charged a block again", true};
constexpr ParameterRule kBlock{"reserve-block", whole, "releases of a block; 64 as in a sweep", true};
constexpr double kUsualBlock = 64;
constexpr ParameterRule kSteps{"steps", whole, "number of steps"};

// Of a selection over candidates that are each `base`.
MechanismRule SelectionRule(std::string_view base, std::string_view meaning, std::vector<ParameterRule> parameters,
                            std::vector<std::string_view> solvable, std::string_view example) {
  const ParameterRule draws[] = {
      {"draws", positive, "E[K], the mean number of candidates drawn, with replacement", true},
      {"eta", ParameterRange::shape, "shape of a negative-binomial K: 1 is geometric, 0 logarithmic", true},
      {"gamma", probability, "its other parameter, in place of --draws", true},
      kDelta};
  parameters.insert(parameters.end(), std::begin(draws), std::end(draws));
  return {"select", base, meaning, std::move(parameters), std::move(solvable), example};
}

std::vector<MechanismRule> SelectionRules() {
  return {
      SelectionRule("subsampled-gaussian", "the best of K candidates by DP-SGD: what their tuning costs",
                    {{"noise-multiplier", positive, "standard deviation over the norm bound"},
                     {"sampling-rate", rate, "probability that a step samples an example"},
                     kSteps},
                    {"noise-multiplier", "steps"},
                    "--base subsampled-gaussian --noise-multiplier 2 --sampling-rate 0.02 --steps 1000 --draws 10 "
                    "--delta 1e-5"),
      SelectionRule("gaussian", "the best of K candidates, each of N releases with N(0, S²) noise",
                    {{"noise", positive, "standard deviation S"}, kSensitivity, kCount}, {"noise", "count"},
                    "--base gaussian --noise 40 --sensitivity 1 --count 100 --draws 10 --delta 1e-5"),
      SelectionRule("pure", "the best of K candidates, each (ε₀, 0)-DP", {kEpsilon0}, {"epsilon0"},
                    "--base pure --epsilon0 0.5 --draws 10 --delta 1e-5"),
      SelectionRule(
          "approximate", "the best of K candidates, each (ε, δ)-DP and no more is known",
          {{"base-epsilon", positive, "ε of one candidate"}, {"base-delta", probability, "δ of one candidate"}},
          {"base-epsilon"}, "--base approximate --base-epsilon 1 --base-delta 1e-7 --draws 10 --delta 1e-5"),
  };
}

std::vector<MechanismRule> Rules() {
  return {
      {"gaussian",
       "",
       "N(0, S²) noise on each of N releases",
       {{"noise", positive, "standard deviation S"}, kSensitivity, kCount, kDelta, kRetries, kBlock},
       {"noise", "count"},
       "--noise 40 --sensitivity 1 --count 1000 --delta 1e-5"},
      {"votes",
       "",
       "integer Gaussian noise on vote histograms of an ensemble",
       {{"noise", positive, "standard deviation in votes"},
        {"queries", whole, "answered queries"},
        kDelta,
        {"grain", ParameterRange::grain, "parts of a member's vote: the same ε for the same noise in votes", true},
        {"batch", whole, "queries of a release; without it a lost attempt is charged all queries again", true},
        kRetries,
        kBlock},
       {"noise", "queries"},
       "--noise 100 --queries 5000 --delta 1e-5"},
      {"confident-votes",
       "",
       "votes of an ensemble that agrees: the largest count against a threshold, and a class where it is reached",
       {{"noise", positive, "standard deviation on the counts of an answer, in votes"},
        {"threshold-noise", positive, "standard deviation on the largest count, which every query pays"},
        {"queries", whole, "queries, each held against the threshold"},
        {"answers", whole, "most queries that are answered; without it all", true},
        kDelta,
        {"vote-cost", positive, "most that they may cost on the votes at hand, where that is tested", true},
        {"vote-order", positive, "order of that RDP, above 1; 12 as in a sweep", true},
        {"cost-noise", positive, "noise of the test, in smooth sensitivities; 8 as in a sweep", true}},
       {"noise", "queries"},
       "--noise 40 --threshold-noise 150 --queries 640 --answers 286 --delta 1e-5"},
      {"randomized-response",
       "",
       "one of K choices, kept with probability e^ε₀/(e^ε₀ + K - 1)",
       {kEpsilon0, {"choices", ParameterRange::choices, "K"}, kCount, kDelta},
       {"epsilon0", "count"},
       "--epsilon0 1 --choices 3 --count 1000 --delta 1e-5"},
      {"subsampled-gaussian",
       "",
       "Gaussian noise on sums over Poisson samples (DP-SGD)",
       {{"noise-multiplier", positive, "standard deviation over the norm bound"},
        {"sampling-rate", rate, "probability that a step samples an example"},
        kSteps,
        kDelta,
        kRetries,
        kBlock},
       {"noise-multiplier", "steps"},
       "--noise-multiplier 1.1 --sampling-rate 0.00427 --steps 14062 --delta 1e-5"},
      {"laplace",
       "",
       "Laplace noise of scale S on each of N releases",
       {{"scale", positive, "scale S"},
        {"sensitivity", positive, "L1 change of one release between neighbours"},
        kCount,
        kDelta},
       {"scale", "count"},
       "--scale 2 --sensitivity 1 --count 10 --delta 1e-5"},
      {"discrete-gaussian",
       "",
       "the Gaussian on the whole numbers, N releases",
       {{"noise", positive, "parameter S"},
        {"sensitivity", positive, "L2 change of one release between neighbours"},
        kCount,
        kDelta},
       {"noise", "count"},
       "--noise 10 --sensitivity 1 --count 10 --delta 1e-5"},
      {"paper",
       "dpdfd",
       "DPDFD theorem 3, and what its mechanism really costs",
       {kSigma, kNormBound, kClasses, kBatch, kSteps, kDelta},
       {"sigma", "steps"},
       "--method dpdfd --sigma 100 --norm-bound 1e-3 --classes 10 --batch 256 --steps 200 --delta 1e-5"},
      {"paper",
       "dpsd-data",
       "DPSD theorem 1: the same formula for its data branch",
       {kSigma, kNormBound, kClasses, kBatch, kSteps, kDelta},
       {"sigma", "steps"},
       "--method dpsd-data --sigma 100 --norm-bound 1e-3 --classes 10 --batch 256 --steps 200 --delta 1e-5"},
      {"paper",
       "dp-dfd",
       "DP-DFD: ε of one label",
       {kEpsilon0,
        kDelta,
        {"choices", ParameterRange::choices, "size of the selected set", true},
        {"classes", whole, kClasses.meaning, true},
        {"batch", whole, "rows of one step", true},
        {"steps", whole, "number of steps", true}},
       {"epsilon0"},
       "--method dp-dfd --epsilon0 1 --choices 3 --classes 10 --delta 1e-5"},
      {"paper",
       "dpsd-label",
       "DPSD theorem 2: ε of one label of its label branch",
       {kEpsilon0,
        {"choices", ParameterRange::choices, "size of the selected set"},
        kClasses,
        kDelta,
        {"batch", whole, "rows of one step", true},
        {"steps", whole, "number of steps", true}},
       {"epsilon0"},
       "--method dpsd-label --epsilon0 1 --choices 3 --classes 10 --delta 1e-5"},
      {"paper",
       "rona",
       "RONA theorem 2, with the constant that fits its figures",
       {kSigma, {"query-rate", rate, "share of the public examples queried"}, kSteps, kDelta},
       {"sigma", "steps"},
       "--method rona --sigma 20 --query-rate 0.2 --steps 1280 --delta 1e-5"},
  };
}

std::string Flag(std::string_view name) { return "--" + std::string(name); }

std::string RangeText(ParameterRange range) {
  switch (range) {
    case positive:
      return "be a finite number above 0";
    case rate:
      return "be above 0 and at most 1";
    case probability:
      return "lie between 0 and 1, both excluded";
    case whole:
      return "be a whole number from 1 to 10^15";
    case ParameterRange::choices:
      return "be a whole number from 2 to 10^9";
    case ParameterRange::retries:
      return "be a whole number from 0 to 1000";
    case ParameterRange::grain:
      return "be a whole number from 1 to 1024";
    case ParameterRange::shape:
      return "be above -1 and at most 10^6";
  }
  return "";
}

bool Inside(ParameterRange range, double value) {
  switch (range) {
    case positive:
      return value > 0 && std::isfinite(value);
    case rate:
      return value > 0 && value <= 1;
    case probability:
      return value > 0 && value < 1;
    case whole:
      return value >= 1 && value <= 1e15 && value == std::floor(value);
    case ParameterRange::choices:
      return value >= 2 && value <= 1e9 && value == std::floor(value);
    case ParameterRange::retries:
      return value >= 0 && value <= 1000 && value == std::floor(value);
    case ParameterRange::grain:
      return value >= 1 && value <= 1024 && value == std::floor(value);
    case ParameterRange::shape:
      return value > -1 && value <= 1e6;
  }
  return false;
}

double Given(const Question& question, const char* name, double otherwise) {
  const auto found = question.values.find(name);
  return found == question.values.end() ? otherwise : found->second;
}

// What one lost attempt is charged again, at most; never more than all there is.
double MakeBlock(const Question& question) {
  const double block = Given(question, "reserve-block", kUsualBlock);
  if (question.mechanism != "votes") return block;
  return block * Given(question, "batch", std::numeric_limits<double>::infinity());
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Status Unknown(const std::string& what, const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string> near = FindNearest(word, known);
  return UsageError("There is no " + what + " `" + word + "`" +
                    (near.empty() ? "; known are " + Listed(known) + "." : "; did you mean " + near.front() + "?"));
}

// The flag that tells the rules of one name apart.
std::string ChoiceFlag(std::string_view name) { return name == "select" ? "--base" : "--method"; }

std::vector<std::string> Choices(std::string_view name) {
  std::vector<std::string> names;
  for (const MechanismRule& rule : ListMechanismRules())
    if (rule.name == name) names.emplace_back(rule.method);
  return names;
}

Result<const MechanismRule*> FindRule(const Question& question) {
  const MechanismRule* same = nullptr;
  for (const MechanismRule& rule : ListMechanismRules()) {
    if (rule.name != question.mechanism) continue;
    if (rule.method == question.method) return &rule;
    same = &rule;
  }
  if (same == nullptr) return Unknown("mechanism", question.mechanism, ListMechanismNames());
  if (same->method.empty())
    return UsageError("--method belongs to `paper`, and --base to `select`; " + question.mechanism + " has none.");
  const std::vector<std::string> known = Choices(question.mechanism);
  if (question.method.empty())
    return UsageError("`" + question.mechanism + "` needs " + ChoiceFlag(question.mechanism) + ": one of " +
                      Listed(known) + ".");
  return Unknown(question.mechanism == "select" ? "base" : "paper method", question.method, known);
}

// What a candidate of a selection has of its own: parameters of its base, in their ranges.
Status CheckCandidates(const Question& question, const MechanismRule& rule) {
  for (const std::map<std::string, double>& candidate : question.candidates) {
    for (const auto& [name, value] : candidate) {
      const auto known = std::ranges::find(rule.parameters, name, &ParameterRule::name);
      const bool own = known != rule.parameters.end() && !known->optional && name != "delta";
      if (!own)
        return UsageError("--candidate: " + name + " is no parameter of one candidate of base " +
                          std::string(rule.method) + ".");
      if (!Inside(known->range, value))
        return UsageError("--candidate: " + name + " must " + RangeText(known->range) + ", not " +
                          FormatSixDigits(value) + ".");
    }
  }
  return {};
}

Status CheckSelection(const Question& question, const MechanismRule& rule) {
  if (rule.name == "select") {
    if (!question.distribution.empty() && std::ranges::count(ListDistributionNames(), question.distribution) == 0)
      return Unknown("distribution", question.distribution, ListDistributionNames());
    RETORT_RETURN_IF_ERROR(CheckCandidates(question, rule));
    return ReadDrawLaw(question).status();
  }
  if (question.distribution.empty() && question.candidates.empty()) return {};
  return UsageError("--distribution and --candidate belong to `select`.");
}

}  // namespace

const std::vector<MechanismRule>& ListMechanismRules() {
  static const std::vector<MechanismRule> rules = [] {
    std::vector<MechanismRule> all = Rules();
    const std::vector<MechanismRule> selection = SelectionRules();
    const auto paper = std::ranges::find(all, std::string_view("paper"), &MechanismRule::name);
    all.insert(paper, selection.begin(), selection.end());
    for (MechanismRule& rule : all) rule.parameters.push_back(kExamples);
    return all;
  }();
  return rules;
}

std::vector<std::string> ListMechanismNames() {
  std::vector<std::string> names;
  for (const MechanismRule& rule : ListMechanismRules())
    if (names.empty() || names.back() != rule.name) names.emplace_back(rule.name);
  return names;
}

std::vector<std::string> ListPaperMethodNames() { return Choices("paper"); }

std::vector<std::string> ListSelectionBaseNames() { return Choices("select"); }

std::vector<std::string> ListDistributionNames() {
  return {"geometric", "logarithmic", "negative-binomial", "poisson"};
}

Result<const MechanismRule*> FindCheckedRule(const Question& question, std::string_view unknown) {
  RETORT_ASSIGN_OR_RETURN(const MechanismRule* rule, FindRule(question));
  const std::string who = rule->name != "paper" ? question.mechanism : std::string(rule->method);
  for (const auto& [name, value] : question.values) {
    const auto known = std::ranges::find(rule->parameters, name, &ParameterRule::name);
    if (known == rule->parameters.end()) return UsageError(Flag(name) + " is no parameter of " + who + ".");
    if (!Inside(known->range, value))
      return UsageError(Flag(name) + " must " + RangeText(known->range) + ", not " + FormatSixDigits(value) + ".");
  }
  for (const ParameterRule& parameter : rule->parameters) {
    if (parameter.optional || parameter.name == unknown || question.values.contains(std::string(parameter.name)))
      continue;
    return UsageError(who + " needs " + Flag(parameter.name) + ": " + std::string(parameter.meaning) + ".");
  }
  RETORT_RETURN_IF_ERROR(CheckSelection(question, *rule));
  if (question.accountant.empty()) return rule;
  if (question.mechanism != "subsampled-gaussian")
    return UsageError("--accountant belongs to subsampled-gaussian; " + who + " has one way to be accounted for.");
  if (question.accountant != "rdp" && question.accountant != "pld")
    return Unknown("accountant", question.accountant, {"rdp", "pld"});
  return rule;
}

Question ExpandRetries(const Question& question, const MechanismRule& rule) {
  Question charged = question;
  const double retries = Given(question, "retries", 0);
  if (retries == 0) return charged;
  double& count = charged.values.at(std::string(rule.solvable.back()));
  count += retries * std::min(MakeBlock(question), count);
  return charged;
}

double SubtractRetries(const Question& question, double charged) {
  const double retries = Given(question, "retries", 0);
  const double block = MakeBlock(question);
  const double within = std::floor(charged / (1 + retries));
  return std::isinf(block) ? within : std::max(std::min(within, block), charged - retries * block);
}

}  // namespace retort::privacy
