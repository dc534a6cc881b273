#include "experiments/privacy/calculator_papers.h"

#include <cmath>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/randomized_response.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/paper_formulas.h"
#include "experiments/privacy/relation.h"

namespace retort::privacy {
namespace {

PaperSetting MakeSetting(const Question& question) {
  const auto value = [&](const char* name, double otherwise) {
    const auto found = question.values.find(name);
    return found == question.values.end() ? otherwise : found->second;
  };
  PaperSetting setting;
  setting.sigma = value("sigma", 0);
  setting.norm_bound = value("norm-bound", 0);
  setting.delta = value("delta", 0);
  setting.epsilon0 = value("epsilon0", 0);
  setting.classes = std::llround(value("classes", 0));
  setting.batch = std::llround(value("batch", 1));
  setting.steps = std::llround(value("steps", 0));
  setting.choices = std::llround(value("choices", 0));
  return setting;
}

Answer Blank(const Relation& relation, double delta, std::string variant) {
  Answer answer;
  answer.claim.adjacency = relation.adjacency;
  answer.claim.neighbour = relation.neighbour;
  answer.claim.delta = delta;
  answer.claim.units = DescribeUnit(relation.adjacency);
  answer.variant = std::move(variant);
  return answer;
}

Answer Unbounded(const Relation& relation, double delta, std::string variant, std::string_view why,
                 std::string detail = "") {
  Answer answer = Blank(relation, delta, std::move(variant));
  answer.claim.reason = why;
  answer.detail = detail.empty() ? std::string(DescribeReason(why)) : std::move(detail);
  return answer;
}

Answer Printed(double epsilon, double delta, std::string accountant, std::string theorem, std::string detail) {
  const bool of_label = IsLabelFormula(accountant);
  Answer answer = Blank(of_label ? kLabel : kExample, of_label ? 0 : delta, "as the paper prints it");
  answer.claim.status = ClaimStatus::paper_formula;
  answer.claim.epsilon = RoundEpsilonUp(epsilon);
  answer.claim.accountant = std::move(accountant);
  answer.claim.reason = detail + "; not a guarantee";
  if (!std::isfinite(answer.claim.epsilon)) {
    answer.claim.reason = reason::kUndefinedFormula;
    detail = DescribeReason(reason::kUndefinedFormula);
  }
  answer.theorem = std::move(theorem);
  answer.detail = std::move(detail);
  answer.unrounded = epsilon;
  return answer;
}

Answer Honest(const Relation& relation, const PrivacyEvent& event, double delta, std::string variant) {
  Answer answer = Blank(relation, delta, std::move(variant));
  Bound bound = ComputeRelationBound(relation, {event}, delta, &answer.claim.assumptions);
  answer.claim.epsilon = answer.unrounded = bound.epsilon;
  answer.claim.accountant = bound.accountant;
  answer.claim.reason = bound.reason;
  answer.claim.status = std::isfinite(bound.epsilon) ? ClaimStatus::proven : ClaimStatus::unbounded;
  answer.theorem = bound.accountant == "exact-gdp" ? "exact Gaussian curve (Balle-Wang 2018, theorem 8)"
                                                   : "exact sum over the lattice of losses, at two choices";
  answer.detail = bound.reason;
  return answer;
}

Result<Answer> GradientFormulaAnswer(const PaperSetting& setting, const char* accountant) {
  GradientFormula formula;
  formula.norm_bound = setting.norm_bound;
  formula.sigma = setting.sigma;
  formula.classes = static_cast<double>(setting.classes);
  formula.rows = static_cast<double>(setting.batch) * static_cast<double>(setting.steps);
  formula.delta = setting.delta;
  RETORT_ASSIGN_OR_RETURN(const PaperEpsilon value, ComputeGradientFormulaEpsilon(formula));
  Answer answer = Printed(value.epsilon, setting.delta, accountant,
                          "2C²nBTλ/σ² + log((λ-1)/λ) - (log δ + log λ)/(λ-1), least over λ > 1",
                          "lambda " + FormatSixDigits(value.lambda));
  answer.inputs = "C " + FormatSixDigits(setting.norm_bound) + ", n " + std::to_string(setting.classes) + ", B·T " +
                  FormatSixDigits(formula.rows) + ", sigma " + FormatSixDigits(setting.sigma);
  return answer;
}

Result<std::vector<Answer>> GradientAnswers(const PaperSetting& setting, const char* accountant) {
  constexpr double kMaxRows = 4e18;
  if (static_cast<double>(setting.batch) * static_cast<double>(setting.steps) > kMaxRows)
    return UsageError("--batch times --steps is too large to account for.");
  RETORT_ASSIGN_OR_RETURN(Answer printed, GradientFormulaAnswer(setting, accountant));
  std::vector<Answer> answers = {std::move(printed)};
  struct Reading {
    const char* name;
    PrivacyEvent event;
  };
  const Reading readings[] = {
      {"one draw for the batch, rows of norm C", MakePaperGradientEvent(setting, EventUnit::batch, false)},
      {"row-averaged: a draw for each row", MakePaperGradientEvent(setting, EventUnit::row, false)},
      {"printed: one draw, the batch of norm C", MakePaperGradientEvent(setting, EventUnit::batch, true)},
      {"working: noise C·sigma/B on each row", MakePaperWorkingEvent(setting)},
  };
  for (const Reading& reading : readings) {
    for (const Relation& relation : {kTeacher, kSlot, kAnswer})
      answers.push_back(Honest(relation, reading.event, setting.delta, reading.name));
  }
  return answers;
}

Result<std::vector<Answer>> LabelAnswers(const PaperSetting& setting, bool equation5) {
  RETORT_ASSIGN_OR_RETURN(const double epsilon, LabelFormulaEpsilon(setting.epsilon0));
  std::vector<Answer> answers = {
      Printed(epsilon, setting.delta, std::string(equation5 ? kDpsdLabelFormula : kDpDfdLabelFormula),
              "ε of one label, with no composition", "one label; its picture counts as public")};
  answers.front().claim.epsilon = RoundGivenEpsilonUp(epsilon);
  if (setting.classes > 0 && setting.choices > setting.classes)
    return UsageError("--choices must be at most --classes: the selected set is one of classes.");
  if (equation5 && setting.choices < setting.classes) {
    const double floor = ComputeEquation5DeltaFloor(setting.classes, setting.choices, setting.epsilon0);
    const std::string why = "no finite epsilon holds at any delta below " + FormatSixDigits(floor);
    for (const Relation& relation : {kTeacher, kAnswer})
      answers.push_back(Unbounded(relation, setting.delta, "equation 5 as printed", kVoidSupportLeak, why));
  }
  if (!equation5) {
    std::string why;
    if (setting.choices >= 2)
      why = "no finite epsilon holds at any delta below " +
            FormatSixDigits(ComputeSoftLabelDeltaFloor(setting.choices, setting.epsilon0));
    for (const Relation& relation : {kTeacher, kAnswer})
      answers.push_back(Unbounded(relation, setting.delta, "as printed: the soft vector leaves", kVoidSoftOutput, why));
    answers.push_back(
        Unbounded(kTeacher, setting.delta, "one-hot, generator trained on the teacher", kVoidGeneratorTouchedTeacher));
  }
  const char* sound = "one-hot over the selected set, generator without the teacher";
  Answer one = Blank(kAnswer, setting.delta, sound);
  one.claim.epsilon = RoundGivenEpsilonUp(setting.epsilon0);
  one.claim.status = ClaimStatus::proven;
  one.claim.accountant = "pure";
  one.claim.reason = "one answer";
  one.theorem = "every ratio of probabilities is at most e^ε₀";
  one.detail = "holds at δ = 0 too";
  one.unrounded = setting.epsilon0;
  answers.push_back(std::move(one));
  if (setting.steps >= 1) {
    for (const Relation& relation : {kTeacher, kSlot})
      answers.push_back(Honest(relation, MakePaperResponseEvent(setting), setting.delta, sound));
  }
  return answers;
}

Result<std::vector<Answer>> RonaAnswers(const PaperSetting& setting, double query_rate) {
  RETORT_ASSIGN_OR_RETURN(
      const double epsilon,
      ComputeRonaFormulaEpsilon(query_rate, static_cast<double>(setting.steps), setting.delta, setting.sigma));
  std::vector<Answer> answers = {Printed(epsilon, setting.delta, "paper:rona-thm2", "q sqrt(T ln(1/δ)) / σ",
                                         "the constant is inferred from the paper's CIFAR-10 figures")};
  for (const Relation& relation : {kTeacher, kAnswer})
    answers.push_back(Unbounded(relation, setting.delta, "as printed: noise on the loss", reason::kLossNoise));
  for (const Relation& relation : {kTeacher, kAnswer})
    answers.push_back(Honest(relation, MakePaperLossEvent(setting), setting.delta, "had only the noisy losses left"));
  return answers;
}

}  // namespace

Result<std::vector<Answer>> AnswerPaperQuestion(const Question& question) {
  const PaperSetting setting = MakeSetting(question);
  if (question.method == "dpdfd") return GradientAnswers(setting, "paper:dpdfd-thm3");
  if (question.method == "dpsd-data") return GradientAnswers(setting, "paper:dpsd-thm1");
  if (question.method == "rona") return RonaAnswers(setting, question.values.at("query-rate"));
  return LabelAnswers(setting, question.method == "dpsd-label");
}

}  // namespace retort::privacy
