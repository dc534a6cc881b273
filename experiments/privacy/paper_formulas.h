// The papers' own epsilon, evaluated as printed. None of these is a guarantee; claims made from them carry
// the status paper-formula. Undefined points are refused (usage), never rounded to a neighbour.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::privacy {

// Parameters of DPDFD theorem 3, and of DPSD theorem 1, which is the same formula (C is its beta).
struct GradientFormula {
  double norm_bound = 0;  // C > 0
  double sigma = 0;       // > 0
  double classes = 0;     // n >= 1
  double rows = 0;        // B*T, annotated rows in all; > 0
  double delta = 0;       // in (0, 1)
};

struct PaperEpsilon {
  double epsilon = 0;  // >= 0; a negative minimum is the statement with epsilon 0
  double lambda = 0;   // where the minimum lies
};

// 2 C^2 n B T lambda / sigma^2 + log((lambda-1)/lambda) - (log delta + log lambda)/(lambda-1) at one lambda.
// Refused at lambda <= 1, where it is undefined although the papers print lambda >= 1.
[[nodiscard]] Result<double> EvaluateGradientFormula(const GradientFormula& formula, double lambda);
// Its minimum over lambda > 1.
[[nodiscard]] Result<PaperEpsilon> ComputeGradientFormulaEpsilon(const GradientFormula& formula);
// The sigma at which the minimum is epsilon (formula.sigma is ignored).
[[nodiscard]] Result<double> ComputeGradientFormulaSigma(const GradientFormula& formula, double epsilon);
// The most rows, not necessarily whole batches, for which the minimum is at most epsilon (formula.rows is
// ignored).
[[nodiscard]] Result<double> ComputeGradientFormulaRows(const GradientFormula& formula, double epsilon);

// DP-DFD, and DPSD theorem 2 (label branch): epsilon of one label, with no composition at all. Both papers claim
// (epsilon, 0)-LabelDP: neighbours differ in the label alone, images are public, and there is no delta.
[[nodiscard]] Result<double> LabelFormulaEpsilon(double epsilon0);
inline constexpr std::string_view kDpDfdLabelFormula = "paper:dp-dfd";
inline constexpr std::string_view kDpsdLabelFormula = "paper:dpsd-thm2";
[[nodiscard]] constexpr bool IsLabelFormula(std::string_view accountant) {
  return accountant == kDpDfdLabelFormula || accountant == kDpsdLabelFormula;
}
// What their epsilon is of, in words.
inline constexpr std::string_view kLabelFormulaTerms =
    "epsilon of one label, without composition; its picture counts as public";

// RONA: q sqrt(T ln(1/delta)) / sigma, query rate q in (0, 1]. The constant is an inference that fits the
// paper's CIFAR-10 figures; the paper's theorem 2 leaves it open.
[[nodiscard]] Result<double> ComputeRonaFormulaEpsilon(double query_rate, double steps, double delta, double sigma);

// What the papers' mechanisms release, as events, from the parameters the papers print.

struct PaperSetting {
  double sigma = 0;       // noise over the norm bound
  double norm_bound = 0;  // C; DPSD's beta
  double delta = 0;
  double epsilon0 = 0;  // of one label
  std::int64_t classes = 0, batch = 1, steps = 0;
  std::int64_t choices = 0;  // size of the selected set
};

// DPDFD and DPSD's data branch: one draw of N(0, (sigma C)^2 I) for a batch or for a row.
[[nodiscard]] PrivacyEvent MakePaperGradientEvent(const PaperSetting& setting, EventUnit unit, bool frobenius);
// The working reading: noise of sigma C / B on every row.
[[nodiscard]] PrivacyEvent MakePaperWorkingEvent(const PaperSetting& setting);
// DP-DFD and DPSD's label branch: one answer for every row, over the selected set.
[[nodiscard]] PrivacyEvent MakePaperResponseEvent(const PaperSetting& setting);
// RONA, had only its losses been released: in [0, B], noise sigma B, one a step.
[[nodiscard]] PrivacyEvent MakePaperLossEvent(const PaperSetting& setting);

// The paper's formula at the parameters of a trial.

struct PaperValue {
  std::string accountant;  // "paper:dpdfd-thm3", ...; IsLabelFormula: of a label at delta 0, else of an example
  double epsilon = std::numeric_limits<double>::infinity();  // infinity where the formula is undefined
  bool given = false;                                        // epsilon is a parameter of the trial, not computed
  std::string terms;                                         // what was put in, in words
};

// DPDFD theorem 3 and DPSD theorem 1 for gradients and their sound forms, epsilon of one label for responses,
// RONA's for queries.
[[nodiscard]] PaperValue EvaluatePaperFormula(const TrialSpec& spec);

}  // namespace retort::privacy
