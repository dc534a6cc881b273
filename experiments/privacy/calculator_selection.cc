#include "experiments/privacy/calculator_selection.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/accountants/selection.h"

namespace retort::privacy {
namespace {

using Values = std::map<std::string, double>;

constexpr const char* kTheorem2 =
    "Renyi DP of the best of K (Papernot-Steinke 2022, theorem 2), converted by Canonne-Kamath-Steinke 2020, "
    "proposition 12";
constexpr const char* kTheorem6 =
    "Renyi DP of the best of K (Papernot-Steinke 2022, theorem 6, with K = 0), converted by Canonne-Kamath-Steinke "
    "2020, proposition 12";
constexpr const char* kDivergences =
    "hockey-stick divergences of the candidates, carried over to the best of K (PROOFS.md, \"Selection\")";

std::optional<double> Find(const Question& question, const char* name) {
  const auto found = question.values.find(name);
  return found == question.values.end() ? std::nullopt : std::optional(found->second);
}

// What one candidate costs under one relation, by its parameters.
Result<SelectionBase> ReadBase(const std::string& base, const Values& values, Neighbour neighbour) {
  SelectionBase one;
  if (base == "pure") {
    one.epsilon = values.at("epsilon0");
    return one;
  }
  if (base == "approximate") {
    one.epsilon = values.at("base-epsilon");
    one.delta = values.at("base-delta");
    return one;
  }
  Composition events;
  if (base == "gaussian") {
    events.gaussian = {{std::llround(values.at("count")), values.at("sensitivity"), values.at("noise"), 1}};
  } else {
    events.subsampled = {{values.at("sampling-rate"), values.at("noise-multiplier"), std::llround(values.at("steps"))}};
    events.replace_one = neighbour == Neighbour::replace;
  }
  return MakeSelectionBase(events);
}

// Every different candidate once.
std::vector<Values> ListCandidates(const Question& question) {
  if (question.candidates.empty()) return {question.values};
  std::vector<Values> all;
  for (const Values& own : question.candidates) {
    Values values = question.values;
    for (const auto& [name, value] : own) values[name] = value;
    all.push_back(std::move(values));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Answer DescribeSelection(const Question& question, Neighbour neighbour, const DrawLaw& law) {
  Answer answer;
  answer.claim.adjacency = Adjacency::example;
  answer.claim.neighbour = neighbour;
  answer.claim.delta = question.values.at("delta");
  answer.claim.units = "one training example";
  if (question.method == "subsampled-gaussian")
    answer.claim.assumptions.emplace_back(kAssumePoissonSampling);
  else
    answer.claim.assumptions.emplace_back(question.method == "gaussian" ? "sensitivity-as-given"
                                                                        : "base-claim-as-given");
  answer.claim.assumptions.emplace_back(kAssumeHiddenDraws);
  answer.inputs = "K: " + DescribeDraws(law) + "; candidates: " + question.method;
  const std::size_t count = question.candidates.size();
  if (count > 0) answer.inputs += ", the worst of " + std::to_string(count);
  return answer;
}

Answer Concluded(Answer answer, const SelectionEpsilon& found, const char* accountant, const DrawLaw& law) {
  answer.unrounded = found.epsilon;
  answer.claim.epsilon = RoundEpsilonUp(found.epsilon);
  if (!std::isfinite(answer.claim.epsilon)) {
    const std::string why = found.reason.empty() ? std::string(reason::kTooLarge) : found.reason;
    answer.claim = WithdrawClaim(std::move(answer.claim), why);
    answer.detail = DescribeReason(why);
    return answer;
  }
  answer.claim.status = ClaimStatus::proven;
  answer.claim.accountant = accountant;
  answer.claim.reason = DescribeDraws(law);
  answer.detail = found.how + "; " + answer.detail;
  return answer;
}

// By both theorems, the lesser first. Searches and candidates without RDP go without the second, as long as the first
// has a bound.
void AddAnswers(const Question& question, Neighbour neighbour, const DrawLaw& law, const SelectionPool& pool,
                std::vector<Answer>& answers) {
  Answer answer = DescribeSelection(question, neighbour, law);
  const double delta = answer.claim.delta;
  const double alone = question.quick ? 0 : ComputeCandidateEpsilon(pool, delta);
  answer.detail = std::isfinite(alone) ? "one candidate costs " + FormatSixDigits(alone) + " at this δ"
                                       : std::string("one candidate has no bound at this δ");
  answer.theorem = kDivergences;
  Answer profile = Concluded(answer, SelectByProfile(law, pool, delta), "selection-profile", law);
  const bool enough = profile.claim.status == ClaimStatus::proven && question.quick;
  if (enough || question.method == "approximate") {
    answers.push_back(std::move(profile));
    return;
  }
  answer.theorem = law.family == DrawFamily::poisson ? kTheorem6 : kTheorem2;
  Answer rdp = Concluded(std::move(answer), SelectByRdp(law, pool, delta), "selection-rdp", law);
  if (rdp.unrounded < profile.unrounded) std::swap(profile, rdp);
  answers.push_back(std::move(profile));
  answers.push_back(std::move(rdp));
}

}  // namespace

Result<DrawLaw> ReadDrawLaw(const Question& question) {
  const std::optional<double> draws = Find(question, "draws"), gamma = Find(question, "gamma");
  const std::optional<double> shape = Find(question, "eta");
  const std::string& name = question.distribution;
  const bool free_shape = name == "negative-binomial" || (name.empty() && shape);
  if (shape && !free_shape)
    return UsageError("--eta belongs to --distribution negative-binomial; " + name + " has none.");
  if (free_shape && !shape) return UsageError("--distribution negative-binomial needs --eta: 1 is geometric.");
  if (draws && gamma) return UsageError("Give --draws or --gamma: either says what the other is.");
  if (name == "poisson") {
    if (gamma) return UsageError("--gamma belongs to the negative-binomial distributions; poisson needs --draws.");
    if (!draws) return UsageError("select needs --draws: the mean number of candidates drawn.");
    return MakePoissonDraws(*draws);
  }
  if (!draws && !gamma) return UsageError("select needs --draws, the mean number of candidates drawn, or --gamma.");
  const double eta = free_shape ? *shape : name == "logarithmic" ? 0 : 1;
  return gamma ? MakeNegativeBinomialDraws(eta, *gamma) : SolveNegativeBinomialDraws(eta, *draws);
}

Result<std::vector<Answer>> AnswerSelectionQuestion(const Question& question) {
  RETORT_ASSIGN_OR_RETURN(const DrawLaw law, ReadDrawLaw(question));
  std::vector<Neighbour> relations = {Neighbour::replace};
  if (question.method == "subsampled-gaussian") relations = {Neighbour::add_remove};
  if (question.method == "subsampled-gaussian" && !question.quick) relations.push_back(Neighbour::replace);
  const std::vector<Values> candidates = ListCandidates(question);
  std::vector<Answer> answers;
  for (const Neighbour neighbour : relations) {
    std::vector<SelectionBase> bases;
    std::string why;
    for (const Values& values : candidates) {
      Result<SelectionBase> base = ReadBase(question.method, values, neighbour);
      if (base.ok())
        bases.push_back(*std::move(base));
      else
        why = base.status().message();
    }
    if (why.empty()) {
      AddAnswers(question, neighbour, law, SelectionPool(bases), answers);
      continue;
    }
    answers.push_back(Concluded(DescribeSelection(question, neighbour, law), {SelectionBase::kNone, "", why}, "", law));
  }
  return answers;
}

}  // namespace retort::privacy
