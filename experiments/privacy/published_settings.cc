#include "experiments/privacy/published_settings.h"

#include <cmath>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/paper_formulas.h"
#include "experiments/privacy/relation.h"

namespace retort::privacy {
namespace {

constexpr double kPaperDelta = 1e-5;
constexpr const char* kGradientFormula = "2C²nBTλ/σ² + conv.";
constexpr const char* kLabelFormula = "ε per label";

Claim Blank(Adjacency adjacency, Neighbour neighbour) {
  Claim claim;
  claim.adjacency = adjacency;
  claim.neighbour = neighbour;
  claim.delta = kPaperDelta;
  switch (adjacency) {
    case Adjacency::example:
      claim.units = "one training example";
      break;
    case Adjacency::answer:
      claim.units = "one answer on one synthetic point";
      break;
    case Adjacency::slot:
      claim.units = "the answers on one synthetic slot over all steps";
      break;
    case Adjacency::teacher:
      claim.units = "the whole teacher";
      break;
    case Adjacency::member:
      claim.units = "one teacher of the ensemble";
      break;
    case Adjacency::label:
      claim.units = "one training example's label";
      break;
  }
  return claim;
}

Claim Printed(const Result<double>& epsilon, std::string_view accountant) {
  const bool of_label = IsLabelFormula(accountant);
  Claim claim = Blank(of_label ? Adjacency::label : Adjacency::example, Neighbour::replace);
  if (of_label) claim.delta = 0;
  claim.accountant = accountant;
  claim.reason = "not a guarantee";
  if (!epsilon.ok()) {
    claim.reason = reason::kUndefinedFormula;
    return claim;
  }
  claim.status = ClaimStatus::paper_formula;
  claim.epsilon = RoundGivenEpsilonUp(*epsilon);
  return claim;
}

Claim PrintedGradient(const PaperSetting& setting) {
  GradientFormula formula;
  formula.norm_bound = setting.norm_bound;
  formula.sigma = setting.sigma;
  formula.classes = static_cast<double>(setting.classes);
  formula.rows = static_cast<double>(setting.batch * setting.steps);
  formula.delta = setting.delta;
  const Result<PaperEpsilon> value = ComputeGradientFormulaEpsilon(formula);
  return Printed(value.ok() ? Result<double>(value->epsilon) : Result<double>(value.status()), "paper:dpdfd-thm3");
}

Claim Unbounded(Adjacency adjacency, std::string_view why) {
  const bool answer = adjacency == Adjacency::answer || adjacency == Adjacency::slot;
  Claim claim = Blank(adjacency, answer ? Neighbour::answer : Neighbour::replace);
  claim.reason = why;
  return claim;
}

// `shown` is the adjacency that the bound under `relation` implies.
Claim Proven(const Relation& relation, const PrivacyEvent& event, Adjacency shown) {
  Claim claim = Blank(shown, relation.neighbour);
  const Bound bound = ComputeRelationBound(relation, {event}, kPaperDelta, &claim.assumptions);
  claim.epsilon = bound.epsilon;
  claim.accountant = bound.accountant;
  claim.reason = bound.reason;
  if (shown == Adjacency::example)
    claim.reason = "implied by " + std::string(GetAdjacencyName(relation.adjacency)) + ": " + claim.reason;
  claim.status = std::isfinite(bound.epsilon) ? ClaimStatus::proven : ClaimStatus::unbounded;
  return claim;
}

Claim ByTeacher(const PrivacyEvent& event) {
  return Proven({Adjacency::teacher, Neighbour::replace}, event, Adjacency::example);
}

std::vector<Claim> OfAnswers(const PrivacyEvent& event) {
  return {Proven({Adjacency::answer, Neighbour::answer}, event, Adjacency::answer),
          Proven({Adjacency::slot, Neighbour::answer}, event, Adjacency::slot)};
}

Claim OneAnswer(const PrivacyEvent& event) { return OfAnswers(event).front(); }

// sigma 100, B 256, T 200, 10 classes, C 1e-3: for epsilon 10 the papers take C 5e-3.
PaperSetting Published() {
  PaperSetting setting;
  setting.sigma = 100;
  setting.norm_bound = 1e-3;
  setting.delta = kPaperDelta;
  setting.classes = 10;
  setting.batch = 256;
  setting.steps = 200;
  return setting;
}

std::vector<Claim> BothPublished() {
  PaperSetting larger = Published();
  larger.norm_bound = 5e-3;
  return {PrintedGradient(Published()), PrintedGradient(larger)};
}

PublishedSetting Gradient(const char* method, const char* claimed, const PrivacyEvent& event) {
  return {method, kGradientFormula, claimed, BothPublished(), {ByTeacher(event)}, OfAnswers(event), {}};
}

void AddDpdfd(std::vector<PublishedSetting>& rows) {
  const PaperSetting set = Published();
  const PrivacyEvent per_row = MakePaperGradientEvent(set, EventUnit::row, false);
  rows.push_back(
      Gradient("DPDFD Alg. 1, one noise per batch", "1 / 10", MakePaperGradientEvent(set, EventUnit::batch, false)));
  rows.push_back(Gradient("DPDFD, fresh noise per row", "-", per_row));
  rows.push_back(
      Gradient("DPDFD, Frobenius norm, one noise per batch", "-", MakePaperGradientEvent(set, EventUnit::batch, true)));
  rows.push_back(Gradient("DPDFD working reading, noise Cσ/B per row", "-", MakePaperWorkingEvent(set)));
  // Noise sigma C, and a coordinate range in place of the norm: 2 C sqrt(n) each row.
  PrivacyEvent range = per_row;
  range.sensitivity = std::nextafter(2 * set.norm_bound * std::sqrt(static_cast<double>(set.classes)), 1);
  PaperSetting unit = set;
  unit.norm_bound = 1;
  rows.push_back({"DPDFD formula with the noise σC it draws",
                  "2nBTλ/σ² + conv.",
                  "-",
                  {PrintedGradient(unit)},
                  {ByTeacher(range)},
                  {},
                  {}});
  // Sum over n teachers of normalised gradients: one replaced changes 2C, one silenced C.
  PrivacyEvent silenced = per_row;
  silenced.sensitivity /= 2;
  Claim shards = ByTeacher(per_row);
  shards.assumptions.emplace_back(kAssumeDisjointShards);
  const std::vector<Claim> members = {Proven({Adjacency::member, Neighbour::replace}, per_row, Adjacency::member),
                                      Proven({Adjacency::member, Neighbour::zero_out}, silenced, Adjacency::member)};
  rows.push_back({"DPDFD multi-teacher", "not given", "-", {}, {shards}, {OneAnswer(per_row)}, members});
  rows.push_back({"DPDFD direct training on private images",
                  kGradientFormula,
                  "0.5 to 8",
                  {},
                  {Unbounded(Adjacency::example, reason::kPrivateSource)},
                  {},
                  {}});
}

void AddDpDfd(std::vector<PublishedSetting>& rows) {
  const std::vector<Claim> printed = {Printed(LabelFormulaEpsilon(1), kDpDfdLabelFormula),
                                      Printed(LabelFormulaEpsilon(10), kDpDfdLabelFormula)};
  rows.push_back({"DP-DFD as printed, soft labels",
                  kLabelFormula,
                  "1 / 10",
                  printed,
                  {Unbounded(Adjacency::example, kVoidGeneratorTouchedTeacher)},
                  {Unbounded(Adjacency::answer, kVoidSoftOutput)},
                  {}});
  PublishedSetting sound{
      "DP-DFD, one-hot, generator without the teacher, 50,000 labels", kLabelFormula, "1 / 10", printed, {}, {}, {}};
  for (const double epsilon0 : {1.0, 10.0}) {
    PaperSetting set = Published();
    set.batch = 250;
    set.epsilon0 = epsilon0;
    set.choices = 3;
    sound.example.push_back(ByTeacher(MakePaperResponseEvent(set)));
    sound.answer.push_back(OneAnswer(MakePaperResponseEvent(set)));
  }
  rows.push_back(std::move(sound));
}

void AddRona(std::vector<PublishedSetting>& rows) {
  constexpr const char* kFormula = "q·sqrt(T ln(1/δ))/σ";
  // Half of the public examples queried, noise 10, 3200 and 70 · 39.06 steps: what gives 8.87 and 9.59.
  rows.push_back({"RONA as printed, noise on the loss",
                  kFormula,
                  "8.87 / 9.59",
                  {Printed(ComputeRonaFormulaEpsilon(0.5, 2734, kPaperDelta, 10), "paper:rona-thm2"),
                   Printed(ComputeRonaFormulaEpsilon(0.5, 3200, kPaperDelta, 10), "paper:rona-thm2")},
                  {Unbounded(Adjacency::example, reason::kLossNoise)},
                  {Unbounded(Adjacency::answer, reason::kLossNoise)},
                  {}});
  PublishedSetting scalars{
      "RONA, had only noisy losses left (σ 10, T 3125; σ 20, T 1280)", kFormula, "-", {}, {}, {}, {}};
  for (const auto& [sigma, steps] : {std::pair{10.0, 3125}, std::pair{20.0, 1280}}) {
    PaperSetting set = Published();
    set.sigma = sigma;
    set.steps = steps;
    scalars.example.push_back(ByTeacher(MakePaperLossEvent(set)));
    scalars.answer.push_back(OneAnswer(MakePaperLossEvent(set)));
  }
  rows.push_back(std::move(scalars));
}

void AddDpsd(std::vector<PublishedSetting>& rows) {
  const PaperSetting set = Published();
  // Equation 3 adds the rows' noise up inside the batch's sum: sigma C sqrt(B) on it.
  PrivacyEvent summed = MakePaperGradientEvent(set, EventUnit::batch, false);
  summed.noise_std = std::nextafter(summed.noise_std * std::sqrt(static_cast<double>(set.batch)), 0);
  const PrivacyEvent shared = MakePaperGradientEvent(set, EventUnit::batch, false);
  rows.push_back({"DPSD data branch, Eq. 3 (fresh; shared noise)",
                  "2β²cbTq/σ² + conv.",
                  "1 / 10",
                  BothPublished(),
                  {ByTeacher(summed), ByTeacher(shared)},
                  {OneAnswer(summed), OneAnswer(shared)},
                  {}});
  rows.push_back(
      {"DPSD label branch, Eq. 5, k < c",
       kLabelFormula,
       "1 to 10",
       {Printed(LabelFormulaEpsilon(1), kDpsdLabelFormula), Printed(LabelFormulaEpsilon(10), kDpsdLabelFormula)},
       {Unbounded(Adjacency::example, kVoidSupportLeak)},
       {Unbounded(Adjacency::answer, kVoidSupportLeak)},
       {}});
  rows.push_back({"FedDPSD s = 1, server not trusted",
                  "data branch",
                  "10",
                  {},
                  {Unbounded(Adjacency::example, reason::kRawAnswers)},
                  {Unbounded(Adjacency::answer, reason::kRawAnswers)},
                  {Unbounded(Adjacency::member, reason::kRawAnswers)}});
  const PrivacyEvent per_row = MakePaperGradientEvent(set, EventUnit::row, false);
  PrivacyEvent silenced = per_row;
  silenced.sensitivity /= 2;
  rows.push_back({"FedDPSD s = 1, server trusted",
                  "data branch",
                  "10",
                  {},
                  {ByTeacher(per_row)},
                  {OneAnswer(per_row)},
                  {Proven({Adjacency::member, Neighbour::replace}, per_row, Adjacency::member),
                   Proven({Adjacency::member, Neighbour::zero_out}, silenced, Adjacency::member)}});
  PaperSetting response = set;
  response.epsilon0 = 10;
  response.choices = 3;
  const PrivacyEvent answers = MakePaperResponseEvent(response);
  rows.push_back({"FedDPSD s = 0, one-hot over the selected set",
                  "ε = 10 per label",
                  "10",
                  {Printed(LabelFormulaEpsilon(10), kDpsdLabelFormula)},
                  {ByTeacher(answers)},
                  {OneAnswer(answers)},
                  {Proven({Adjacency::member, Neighbour::replace}, answers, Adjacency::member)}});
}

}  // namespace

std::vector<PublishedSetting> ComputePublishedSettings() {
  std::vector<PublishedSetting> rows;
  AddDpdfd(rows);
  AddDpDfd(rows);
  AddRona(rows);
  AddDpsd(rows);
  return rows;
}

}  // namespace retort::privacy
