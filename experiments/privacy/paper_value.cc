#include "experiments/privacy/paper_value.h"

#include <cmath>

#include "experiments/privacy/number_text.h"
#include "experiments/privacy/paper_formulas.h"
#include "experiments/spec/methods.h"

namespace retort::privacy {
namespace {

PaperValue OfGradients(const TrialSpec& spec) {
  const bool dpsd = spec.method.find("dpsd") != std::string::npos;
  PaperValue value;
  value.accountant = dpsd ? "paper:dpsd-thm1" : "paper:dpdfd-thm3";
  GradientFormula formula;
  formula.norm_bound = spec.norm_bound;
  formula.sigma = spec.sigma;
  formula.classes = spec.data ? static_cast<double>(spec.data->classes) : 0;
  formula.rows = AsksVotes(spec) ? static_cast<double>(spec.queries)
                                 : static_cast<double>(spec.batch) * static_cast<double>(spec.steps);
  formula.delta = spec.delta;
  const Result<PaperEpsilon> found = GradientFormulaEpsilon(formula);
  if (!found.ok()) return value;
  value.epsilon = found->epsilon;
  value.terms = std::string(dpsd ? "theorem 1" : "theorem 3") + " at sigma " + ShortNumber(formula.sigma) + ", C " +
                ShortNumber(formula.norm_bound) + ", n " + ShortNumber(formula.classes) + ", BT " +
                ShortNumber(formula.rows) + ", lambda " + ShortNumber(found->lambda);
  return value;
}

// No composition: the papers give the epsilon of one label for all of them.
PaperValue OfResponses(const TrialSpec& spec) {
  PaperValue value;
  value.accountant = spec.method == "dp-dfd" ? "paper:dp-dfd" : "paper:dpsd-thm2";
  const Result<double> epsilon = LabelFormulaEpsilon(spec.epsilon0);
  if (!epsilon.ok() || KindOf(spec) != TrialKind::response_student) return value;
  value.epsilon = *epsilon;
  value.given = true;
  value.terms = "epsilon of one label, without composition";
  return value;
}

PaperValue OfQueries(const TrialSpec& spec) {
  PaperValue value;
  value.accountant = "paper:rona";
  if (!spec.data) return value;
  const auto queries = std::floor(static_cast<double>(spec.data->PublicExamples()) * spec.query_fraction);
  const double batches = std::ceil(queries / static_cast<double>(spec.batch));
  const double steps = static_cast<double>(spec.hint_epochs + spec.rounds * spec.distill_epochs) * batches;
  const Result<double> epsilon = RonaFormulaEpsilon(spec.query_fraction, steps, spec.delta, spec.sigma);
  if (!epsilon.ok()) return value;
  value.epsilon = *epsilon;
  value.terms = "q sqrt(T ln(1/delta)) / sigma, inferred from the paper's figures, at q " +
                ShortNumber(spec.query_fraction) + ", T " + ShortNumber(steps) + ", sigma " + ShortNumber(spec.sigma);
  return value;
}

}  // namespace

PaperValue PaperFormulaOf(const TrialSpec& spec) {
  const MethodRule* method = FindMethod(spec.method);
  if (method != nullptr && method->kind == TrialKind::query_student) return OfQueries(spec);
  const bool label = spec.method == "feddpsd" && spec.branch == Branch::label;
  if (label || (method != nullptr && method->kind == TrialKind::response_student)) return OfResponses(spec);
  return OfGradients(spec);
}

}  // namespace retort::privacy
