#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "experiments/privacy/calculator.h"
#include "experiments/privacy/calibration.h"
#include "experiments/privacy/calibration_parts.h"
#include "experiments/privacy/exact_gdp.h"
#include "experiments/privacy/number_text.h"
#include "experiments/privacy/pld_accountant.h"
#include "experiments/privacy/rdp_accountant.h"

namespace retort::privacy {
namespace {

constexpr double kMostWhole = 1e15;

bool IsWhole(const ParameterRule& rule) {
  return rule.range == ParameterRange::whole || rule.range == ParameterRange::choices;
}

// The parameter that is left out.
Result<const ParameterRule*> UnknownOf(const Question& question, const MechanismRule& rule) {
  const ParameterRule* unknown = nullptr;
  int missing = 0;
  std::string flags;
  for (const std::string_view name : rule.solvable) {
    flags += (flags.empty() ? "--" : " and --") + std::string(name);
    if (question.values.contains(std::string(name))) continue;
    ++missing;
    unknown = &*std::find_if(rule.parameters.begin(), rule.parameters.end(),
                             [&](const ParameterRule& one) { return one.name == name; });
  }
  if (missing == 1) return unknown;
  const char* many = rule.solvable.size() == 1 ? "Leave out " : "Leave out exactly one of ";
  return UsageError(many + flags + ": it is what is solved for.");
}

double FirstEpsilon(Question question, const ParameterRule& unknown, double value) {
  question.values[std::string(unknown.name)] = value;
  const Result<std::vector<Answer>> answers = EpsilonOf(question);
  return answers.ok() ? answers->front().claim.epsilon : std::numeric_limits<double>::infinity();
}

// More noise, or more releases or a larger epsilon of one answer: what the parameter is.
bool IsNoise(const ParameterRule& rule) { return !IsWhole(rule) && rule.name != "epsilon0"; }

// The least noise or the most of anything else by doubling and halving in logarithms; claims are monotone in
// either. `meets` is true on the side asked for.
std::optional<double> Searched(const ParameterRule& unknown, const std::function<bool(double)>& meets) {
  const bool noise = IsNoise(unknown);
  const bool whole = IsWhole(unknown);
  const double most = whole ? kMostWhole : 1e12;
  const double least = whole ? 1 : 1e-12;
  // `good` meets; `bad` does not, and lies towards less noise or more releases.
  double good = noise ? most : least;
  double bad = noise ? least : most;
  if (!meets(good)) return std::nullopt;
  if (meets(bad)) return bad;
  double near = 1;
  const bool at_one = meets(near);
  (at_one ? good : bad) = near;
  const double factor = at_one == noise ? 0.5 : 2;
  for (near *= factor; near > least && near < most; near *= factor) {
    const bool met = meets(near);
    (met ? good : bad) = near;
    if (met != at_one) break;
  }
  for (int round = 0; round < 120; ++round) {
    if (whole ? std::abs(good - bad) <= 1 : std::abs(good - bad) <= 1e-10 * good) break;
    const double middle = whole ? std::floor((good + bad) / 2) : std::sqrt(good * bad);
    (meets(middle) ? good : bad) = middle;
  }
  return good;
}

// From a count that meets to the last one before the next that does not.
double UpToTheLast(double good, const std::function<bool(double)>& meets) {
  const auto can = [&](double count) { return count <= kMostWhole && meets(count); };
  double step = 1;
  for (; can(good + step); step *= 2) good += step;
  for (step /= 2; step >= 1; step /= 2)
    if (can(good + step)) good += step;
  return good;
}

// What RDP finds: where rounding ends the search of the other accountant, or its steps do, its bounds are RDP's.
std::optional<double> SolvedByRdp(Question question, const ParameterRule& unknown, double epsilon) {
  question.accountant = "rdp";
  return Searched(unknown, [&](double value) { return FirstEpsilon(question, unknown, value) <= epsilon; });
}

// By its own accountant where one solves faster than a search: then a search would repeat a slow bound.
std::optional<double> SolvedByPld(const Question& question, const MechanismRule& rule,
                                  const ParameterRule& unknown, double epsilon) {
  const auto value = [&](const char* name) { return question.values.at(name); };
  const double aim = AimOf(epsilon);
  if (!(aim > 0)) return std::nullopt;
  if (unknown.name == "steps") {
    const std::int64_t steps =
        SubsampledGaussianPldSteps(value("sampling-rate"), value("noise-multiplier"), value("delta"), aim);
    const double left = steps < 1 ? 0 : LessRetries(question, static_cast<double>(steps));
    if (left < 1) return std::nullopt;
    return left;
  }
  const double steps = AsCharged(question, rule).values.at("steps");
  const double noise =
      SubsampledGaussianPldNoise(value("sampling-rate"), std::llround(steps), value("delta"), aim);
  if (!std::isfinite(noise)) return std::nullopt;
  return noise;
}

}  // namespace

Result<Solution> SolveFor(const Question& question, double epsilon) {
  if (!(epsilon > 0) || !std::isfinite(epsilon))
    return UsageError("--epsilon must be a finite number above 0, not " + ShortNumber(epsilon) + ".");
  Question probe = question;
  probe.quick = true;
  const MechanismRule* rule = nullptr;
  for (const MechanismRule& one : MechanismRules())
    if (one.name == question.mechanism && one.method == question.method) rule = &one;
  if (rule == nullptr) return CheckedRule(question).status();
  RETORT_ASSIGN_OR_RETURN(const ParameterRule* unknown, UnknownOf(question, *rule));
  RETORT_RETURN_IF_ERROR(CheckedRule(question, unknown->name).status());
  if (probe.mechanism == "subsampled-gaussian" && probe.accountant.empty()) probe.accountant = "pld";
  const auto meets = [&](double value) { return FirstEpsilon(probe, *unknown, value) <= epsilon; };
  const bool pld = probe.accountant == "pld";
  std::optional<double> value =
      pld ? SolvedByPld(probe, *rule, *unknown, epsilon) : Searched(*unknown, meets);
  if (pld && !value) {
    value = SolvedByRdp(probe, *unknown, epsilon);
  } else if (pld && IsWhole(*unknown) && meets(*value + 1)) {
    // Of so many steps that a grid bounds them loosely, RDP finds more.
    const std::optional<double> rdp = SolvedByRdp(probe, *unknown, epsilon);
    if (rdp && *rdp > *value && meets(*rdp)) value = rdp;
    value = UpToTheLast(*value, meets);
  }
  const Status none = UsageError("No --" + std::string(unknown->name) + " brings epsilon to " + ShortNumber(epsilon) +
                                 " here; raise epsilon, or change the other parameters.");
  if (!value) return none;
  if (IsNoise(*unknown)) {
    value = NineDigitsUp(*value);
    for (int round = 0; round < 100 && !meets(*value); ++round) value = NineDigitsUp(*value * (1 + 1e-8));
  } else if (unknown->name == "epsilon0") {
    for (int round = 0; round < 100 && !meets(*value); ++round) value = *value * (1 - 1e-9);
  }
  Solution solution;
  solution.parameter = unknown->name;
  solution.value = *value;
  solution.more = IsWhole(*unknown) && *value >= kMostWhole;
  Question solved = question;
  solved.values[solution.parameter] = solution.value;
  RETORT_ASSIGN_OR_RETURN(solution.answers, EpsilonOf(solved));
  if (!(solution.answers.front().claim.epsilon <= epsilon)) return none;
  return solution;
}

}  // namespace retort::privacy
