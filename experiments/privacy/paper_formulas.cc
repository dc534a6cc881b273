#include "experiments/privacy/paper_formulas.h"

#include <boost/math/tools/minima.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/privacy/accountants/lattice_noise.h"

namespace retort::privacy {
namespace {

bool Positive(double value) { return value > 0 && std::isfinite(value); }

Status Check(const GradientFormula& formula) {
  if (!Positive(formula.norm_bound)) return UsageError("The formula needs a norm bound above 0.");
  if (!Positive(formula.sigma)) return UsageError("The formula needs sigma above 0: it divides by sigma squared.");
  if (!(formula.classes >= 1) || !std::isfinite(formula.classes)) {
    return UsageError("The formula needs at least one class.");
  }
  if (!Positive(formula.rows)) return UsageError("The formula needs at least one annotated row (batch times steps).");
  if (!(formula.delta > 0 && formula.delta < 1)) return UsageError("The formula needs delta between 0 and 1.");
  return {};
}

// 2 C^2 n B T / sigma^2.
double Slope(const GradientFormula& formula) {
  const double ratio = formula.norm_bound / formula.sigma;
  return 2 * ratio * ratio * formula.classes * formula.rows;
}

// The formula at lambda = 1 + excess, in a form that keeps its digits near 1.
double At(double slope, double delta, double excess) {
  return slope * (1 + excess) - std::log1p(1 / excess) - (std::log(delta) + std::log1p(excess)) / excess;
}

PaperEpsilon Minimum(double slope, double delta) {
  const auto objective = [=](double t) { return At(slope, delta, std::exp(t)); };
  boost::uintmax_t rounds = 500;
  const auto [t, epsilon] = boost::math::tools::brent_find_minima(objective, -50.0, 50.0, 40, rounds);
  return {std::max(epsilon, 0.0), 1 + std::exp(t)};
}

// The largest slope whose minimum is at most epsilon; the minimum grows with the slope.
double SlopeFor(double epsilon, double delta) {
  double low = 0;
  double high = 1e-12;
  while (Minimum(high, delta).epsilon <= epsilon) {
    low = high;
    high *= 2;
  }
  while (high - low > 1e-14 * high) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (Minimum(middle, delta).epsilon <= epsilon ? low : high) = middle;
  }
  return low;
}

}  // namespace

Result<double> EvaluateGradientFormula(const GradientFormula& formula, double lambda) {
  RETORT_RETURN_IF_ERROR(Check(formula));
  if (!(lambda > 1) || std::isinf(lambda)) {
    return UsageError("The formula is undefined at lambda = " + std::to_string(lambda) +
                      ": log((lambda-1)/lambda) needs a finite lambda above 1.");
  }
  return At(Slope(formula), formula.delta, lambda - 1);
}

Result<PaperEpsilon> ComputeGradientFormulaEpsilon(const GradientFormula& formula) {
  RETORT_RETURN_IF_ERROR(Check(formula));
  return Minimum(Slope(formula), formula.delta);
}

Result<double> ComputeGradientFormulaSigma(const GradientFormula& formula, double epsilon) {
  GradientFormula unit = formula;
  unit.sigma = 1;
  RETORT_RETURN_IF_ERROR(Check(unit));
  if (!Positive(epsilon)) return UsageError("The formula can meet only a finite epsilon above 0.");
  const double slope = SlopeFor(epsilon, formula.delta);
  if (slope <= 0) return UsageError("No sigma brings the formula to this epsilon.");
  return std::sqrt(Slope(unit) / slope);
}

Result<double> ComputeGradientFormulaRows(const GradientFormula& formula, double epsilon) {
  GradientFormula unit = formula;
  unit.rows = 1;
  RETORT_RETURN_IF_ERROR(Check(unit));
  if (!Positive(epsilon)) return UsageError("The formula can meet only a finite epsilon above 0.");
  return SlopeFor(epsilon, formula.delta) / Slope(unit);
}

Result<double> LabelFormulaEpsilon(double epsilon0) {
  if (!Positive(epsilon0)) return UsageError("The epsilon of one label must be finite and above 0.");
  return epsilon0;
}

Result<double> ComputeRonaFormulaEpsilon(double query_rate, double steps, double delta, double sigma) {
  if (!(query_rate > 0 && query_rate <= 1)) return UsageError("The query rate must be above 0 and at most 1.");
  if (!Positive(steps)) return UsageError("The number of steps must be above 0.");
  if (!(delta > 0 && delta < 1)) return UsageError("delta must be between 0 and 1.");
  if (!Positive(sigma)) return UsageError("sigma must be above 0.");
  return query_rate * std::sqrt(steps * -std::log(delta)) / sigma;
}

PrivacyEvent MakePaperGradientEvent(const PaperSetting& setting, EventUnit unit, bool frobenius) {
  PrivacyEvent event;
  event.kind = MechanismKind::gaussian_gradient;
  event.unit = unit;
  event.rows_per_batch = setting.batch;
  event.count = unit == EventUnit::batch ? setting.steps : setting.steps * setting.batch;
  event.sensitivity = 2 * setting.norm_bound;
  event.noise_std = setting.sigma * setting.norm_bound;
  event.noise_coordinates = event.release_coordinates = setting.classes;
  event.frobenius = frobenius;
  event.granularity = ComputeLatticeStep(setting.norm_bound, event.noise_std);
  event.source = NoiseSource::secure_lattice;
  return event;
}

PrivacyEvent MakePaperWorkingEvent(const PaperSetting& setting) {
  PrivacyEvent event = MakePaperGradientEvent(setting, EventUnit::row, false);
  event.noise_std /= static_cast<double>(setting.batch);
  return event;
}

PrivacyEvent MakePaperResponseEvent(const PaperSetting& setting) {
  PrivacyEvent event;
  event.kind = MechanismKind::randomized_response;
  event.rows_per_batch = setting.batch;
  event.count = setting.batch * setting.steps;
  event.epsilon0 = setting.epsilon0;
  event.choices = setting.choices;
  event.source = NoiseSource::secure_lattice;
  return event;
}

PrivacyEvent MakePaperLossEvent(const PaperSetting& setting) {
  PrivacyEvent event;
  event.kind = MechanismKind::gaussian_gradient;
  event.count = setting.steps;
  event.sensitivity = 1;
  event.noise_std = setting.sigma;
  event.granularity = ComputeLatticeStep(event.sensitivity, event.noise_std);
  event.noise_coordinates = event.release_coordinates = 1;
  event.source = NoiseSource::secure_lattice;
  return event;
}

namespace {

PaperValue OfGradients(const TrialSpec& spec) {
  const bool dpsd = FindPaper(spec) == Paper::dpsd;
  PaperValue value;
  value.accountant = dpsd ? "paper:dpsd-thm1" : "paper:dpdfd-thm3";
  GradientFormula formula;
  formula.norm_bound = spec.release.norm_bound;
  formula.sigma = spec.release.sigma;
  formula.classes = spec.data ? static_cast<double>(spec.data->classes) : 0;
  formula.rows = IsTaughtByVotes(spec) ? static_cast<double>(spec.queries)
                                       : static_cast<double>(spec.batch) * static_cast<double>(spec.steps);
  formula.delta = spec.privacy.delta;
  const Result<PaperEpsilon> found = ComputeGradientFormulaEpsilon(formula);
  if (!found.ok()) return value;
  value.epsilon = found->epsilon;
  value.terms = std::string(dpsd ? "theorem 1" : "theorem 3") + " at sigma " + FormatSixDigits(formula.sigma) + ", C " +
                FormatSixDigits(formula.norm_bound) + ", n " + FormatSixDigits(formula.classes) + ", BT " +
                FormatSixDigits(formula.rows) + ", lambda " + FormatSixDigits(found->lambda);
  return value;
}

// No composition: the papers give the epsilon of one label for all of them.
PaperValue OfResponses(const TrialSpec& spec) {
  PaperValue value;
  value.accountant = FindPaper(spec) == Paper::dp_dfd ? kDpDfdLabelFormula : kDpsdLabelFormula;
  const Result<double> epsilon = LabelFormulaEpsilon(spec.release.epsilon0);
  if (!epsilon.ok() || !Releases(FindKind(spec), ReleaseKind::responses)) return value;
  value.epsilon = *epsilon;
  value.given = true;
  value.terms = kLabelFormulaTerms;
  return value;
}

PaperValue OfQueries(const TrialSpec& spec) {
  PaperValue value;
  value.accountant = "paper:rona";
  if (!spec.data) return value;
  const auto queries = std::floor(static_cast<double>(spec.data->PublicExamples()) * spec.rona.query_fraction);
  const double batches = std::ceil(queries / static_cast<double>(spec.batch));
  const double steps = static_cast<double>(spec.rona.hint_epochs + spec.rounds * spec.rona.distill_epochs) * batches;
  const Result<double> epsilon =
      ComputeRonaFormulaEpsilon(spec.rona.query_fraction, steps, spec.privacy.delta, spec.release.sigma);
  if (!epsilon.ok()) return value;
  value.epsilon = *epsilon;
  value.terms = "q sqrt(T ln(1/delta)) / sigma, inferred from the paper's figures, at q " +
                FormatSixDigits(spec.rona.query_fraction) + ", T " + FormatSixDigits(steps) + ", sigma " +
                FormatSixDigits(spec.release.sigma);
  return value;
}

}  // namespace

PaperValue EvaluatePaperFormula(const TrialSpec& spec) {
  if (FindPaper(spec) == Paper::rona) return OfQueries(spec);
  return TakesResponses(spec) ? OfResponses(spec) : OfGradients(spec);
}

}  // namespace retort::privacy
