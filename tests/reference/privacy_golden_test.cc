// Every golden row, within its own tolerance.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "experiments/privacy/accountants/composition.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/lattice_noise.h"
#include "experiments/privacy/accountants/pld_accountant.h"
#include "experiments/privacy/accountants/randomized_response.h"
#include "experiments/privacy/accountants/rdp_accountant.h"
#include "experiments/privacy/accountants/scalar_noise.h"
#include "experiments/privacy/accountants/subsampled_loss.h"
#include "experiments/privacy/attack_bounds.h"
#include "experiments/privacy/paper_formulas.h"
#include "experiments/privacy/relation.h"
#include "tests/reference/golden_rows.h"

namespace retort::privacy {
namespace {

std::vector<GoldenRow> Rows() {
  return ReadGoldenRows(std::string(RETORT_SOURCE_DIR) + "/experiments/reference/dp-golden.csv");
}

void ExpectNear(double value, double expected, const GoldenRow& row) {
  const double tolerance = row.Number("rel_tol") * std::abs(expected);
  EXPECT_NEAR(value, expected, tolerance) << row.Text("id") << " " << row.Text("mechanism");
}

std::int64_t Steps(const GoldenRow& row) { return row.Has("steps") ? std::llround(row.Number("steps")) : 1; }
std::int64_t Count(const GoldenRow& row, const char* column) { return std::llround(row.Number(column)); }

double ComputeMu(const GoldenRow& row) {
  if (row.Has("sigma")) return ComputeComposedMu({{Steps(row), row.Number("sens"), row.Number("sigma"), 1}});
  return ComputeComposedMu({{50, 1, 10, 1}, {50, 1, 5, 1}});  // the one row without a sigma column spells this out
}

void CheckGaussian(const GoldenRow& row) {
  const double mu = ComputeMu(row);
  const double epsilon = row.Number("epsilon");
  const double delta = row.Number("delta");
  EXPECT_NEAR(ComputeGaussianLogDelta(epsilon, mu), std::log(delta), row.Number("rel_tol")) << row.Text("id");
  if (epsilon > 0) ExpectNear(ComputeGaussianEpsilon(delta, mu), epsilon, row);
}

void CheckLogDelta(const GoldenRow& row) {
  ExpectNear(ComputeGaussianLogDelta(row.Number("epsilon"), ComputeMu(row)), row.Number("other"), row);
}

void CheckCalibration(const GoldenRow& row) {
  ExpectNear(1 / ComputeGaussianMu(row.Number("epsilon"), row.Number("delta")), row.Number("other"), row);
}

void CheckSeedGdp(const GoldenRow& row) {
  ExpectNear(ComputeGaussianEpsilon(row.Number("delta"), row.Number("other")), row.Number("epsilon"), row);
}

void CheckPaperFormula(const GoldenRow& row) {
  GradientFormula formula;
  formula.norm_bound = row.Named("extra", "C");
  formula.classes = row.Named("extra", "n");
  formula.rows = row.Named("extra", "B") * row.Named("extra", "T");
  formula.sigma = row.Named("extra", "sigma");
  formula.delta = row.Number("delta");
  const Result<PaperEpsilon> value = ComputeGradientFormulaEpsilon(formula);
  ASSERT_TRUE(value.ok()) << value.status().message();
  ExpectNear(value->epsilon, row.Number("epsilon"), row);
  EXPECT_NEAR(value->lambda, row.Number("other"), 1e-4 * row.Number("other"));
}

double OneStepRdp(const GoldenRow& row) {
  return ComputeSubsampledGaussianRdp(row.Number("q"), row.Number("sigma") / row.Number("sens"), row.Number("order"));
}

void CheckSubsampledRdp(const GoldenRow& row) { ExpectNear(OneStepRdp(row), row.Number("rdp"), row); }

// The published value adds absolute values of an alternating series; the signed one is 3 % lower.
void CheckSeriesTrap(const GoldenRow& row) {
  const double value = 50 * OneStepRdp(row);
  EXPECT_NEAR(value, 6.5007090e-4, 1e-9);
  EXPECT_GT(row.Number("rdp"), 1.03 * value);
}

void CheckConversion(const GoldenRow& row) {
  const double delta = row.Number("delta");
  RdpEpsilon value;
  if (row.Has("sigma")) {
    const double sigma = row.Number("sigma");
    value = ComputeEpsilonFromRdp([sigma](double order) { return order / (2 * sigma * sigma); }, delta);
  } else {
    std::vector<double> orders;
    for (int order = 2; order <= 32; ++order) orders.push_back(order);
    const std::vector<double> rdp(orders.size(), 1.1);
    const bool mironov = row.Text("extra").find("Mironov") != std::string::npos;
    value = FindBestOrder(orders, rdp, delta, mironov ? RdpConversion::mironov : RdpConversion::canonne_kamath_steinke);
  }
  ExpectNear(value.epsilon, row.Number("epsilon"), row);
}

void CheckZcdpCks(const GoldenRow& row) {
  const double rho = row.Named("rdp", "rho");
  const RdpEpsilon value = ComputeEpsilonFromRdp([rho](double order) { return rho * order; }, row.Number("delta"));
  ExpectNear(value.epsilon, row.Number("epsilon"), row);
  EXPECT_NEAR(value.order, row.Number("order"), 2e-3 * row.Number("order"));
}

void CheckZcdpMironov(const GoldenRow& row) {
  const double rho = row.Named("rdp", "rho");
  const double delta = row.Number("delta");
  const double order = 1 + std::sqrt(-std::log(delta) / rho);
  ExpectNear(ConvertRdp(rho * order, order, delta, RdpConversion::mironov), row.Number("epsilon"), row);
}

void CheckZcdpExact(const GoldenRow& row) {
  ExpectNear(ComputeGaussianEpsilon(row.Number("delta"), std::sqrt(2 * row.Named("rdp", "rho"))), row.Number("epsilon"),
             row);
}

void CheckOpacusGrid(const GoldenRow& row) {
  std::vector<double> orders;
  for (int tenth = 11; tenth <= 109; ++tenth) orders.push_back(tenth / 10.0);
  for (int order = 12; order <= 63; ++order) orders.push_back(order);
  std::vector<double> rdp;
  for (const double order : orders) {
    rdp.push_back(row.Number("steps") * ComputeSubsampledGaussianRdp(row.Number("q"), row.Number("sigma"), order));
  }
  const RdpEpsilon value = FindBestOrder(orders, rdp, row.Number("delta"), RdpConversion::canonne_kamath_steinke);
  ExpectNear(value.epsilon, row.Number("epsilon"), row);
  EXPECT_DOUBLE_EQ(value.order, row.Number("order"));
}

// mu = q sqrt(T (e^{1/sigma^2} - 1)) is an approximation: it stands below a rigorous lower bound.
void CheckCentralLimitIsNoBound(const GoldenRow& row) {
  constexpr double kRigorousLower = 6.7575;
  const double sigma = row.Number("sigma");
  const double mu = row.Number("q") * std::sqrt(row.Number("steps") * std::expm1(1 / (sigma * sigma)));
  const double approximation = ComputeGaussianEpsilon(row.Number("delta"), mu);
  ExpectNear(approximation, row.Number("epsilon"), row);
  EXPECT_LT(approximation, kRigorousLower);
  EXPECT_GT(ComputeSubsampledGaussianEpsilon(row.Number("q"), sigma, row.Number("steps"), row.Number("delta")).epsilon,
            kRigorousLower);
}

void CheckResponseRdp(const GoldenRow& row) {
  ExpectNear(ComputeResponseRdp(row.Number("eps0"), Count(row, "k"), row.Number("order")), row.Number("rdp"), row);
}

void CheckComposedResponse(const GoldenRow& row) {
  ExpectNear(ComputeComposedResponseEpsilon(row.Number("eps0"), Count(row, "k"), Steps(row), row.Number("delta")),
             row.Number("epsilon"), row);
}

void CheckGaussianPlusResponse(const GoldenRow& row) {
  const double delta = ComputeGaussianPlusResponseDelta(row.Number("epsilon"), row.Named("extra", "mu"),
                                                        row.Number("eps0"), Count(row, "k"), Steps(row));
  ExpectNear(delta, row.Number("delta"), row);
}

// One selective answer is as private as randomised response over two choices, purely.
void CheckSelectiveResponse(const GoldenRow& row) {
  ExpectNear(ComputeComposedResponseEpsilon(row.Number("eps0"), 2, 1, 1e-300), row.Number("epsilon"), row);
}

void CheckEquation5(const GoldenRow& row) {
  ExpectNear(ComputeEquation5DeltaFloor(Count(row, "c"), Count(row, "k"), row.Number("epsilon")), row.Number("delta"),
             row);
}

void CheckSoftLabel(const GoldenRow& row) {
  ExpectNear(ComputeSoftLabelDeltaFloor(Count(row, "k"), row.Number("eps0")), row.Number("delta"), row);
}

void CheckVoteRdp(const GoldenRow& row) {
  Composition votes;
  votes.gaussian.push_back({Steps(row), 1, row.Number("sigma"), 2});
  ExpectNear(MakeRdpCurve(votes)(row.Number("order")), row.Number("rdp"), row);
}

// Through ledger events, as a run does it. The event's epsilon is rounded up to thousandths.
void CheckEnsemble(const GoldenRow& row) {
  PrivacyEvent event;
  const bool votes = row.Text("mechanism") == "ensemble_votes";
  event.kind = votes ? MechanismKind::noisy_votes : MechanismKind::gaussian_gradient;
  event.unit = votes ? EventUnit::vote : EventUnit::row;
  event.count = Steps(row);
  event.sensitivity = row.Number("sens");
  event.noise_std = row.Number("sigma");
  event.noise_coordinates = event.release_coordinates = 10;
  if (!votes) event.granularity = ComputeLatticeStep(event.sensitivity, event.noise_std);
  event.source = NoiseSource::secure_lattice;
  const Composition sum = ComposeEvents({Adjacency::member, Neighbour::replace}, {event});
  ASSERT_EQ(sum.unbounded, "");
  const double epsilon = ComputeGaussianEpsilon(row.Number("delta"), ComputeComposedMu(sum.gaussian));
  ExpectNear(epsilon, row.Number("epsilon"), row);
  const double shown = ComputeBound(sum, row.Number("delta")).epsilon;
  EXPECT_GE(shown, epsilon);
  EXPECT_LT(shown, epsilon + 0.00101);
}

// sqrt(2 ln(1.25/delta))/epsilon: an older rule for the noise. It holds and asks for more than is needed.
void CheckClassicSigma(const GoldenRow& row) {
  const double delta = row.Number("delta");
  const double epsilon = row.Number("epsilon");
  const double classic = std::sqrt(2 * std::log(1.25 / delta)) / epsilon;
  ExpectNear(classic, row.Number("other"), row);
  EXPECT_LT(1 / ComputeGaussianMu(epsilon, delta), classic);
}

// The reference is an upper bound too, so either may be the tighter one; both stand above the lower end.
void CheckPld(const GoldenRow& row) {
  const std::string lower_end = "rigorous lower ";
  const PldBracket bracket =
      ComputeSubsampledGaussianPld(row.Number("q"), row.Number("sigma"), Steps(row), row.Number("delta"));
  ExpectNear(bracket.upper, row.Number("epsilon"), row);
  EXPECT_LE(bracket.lower, bracket.upper);
  EXPECT_GT(bracket.lower, 0.998 * bracket.upper) << row.Text("id");
  if (!row.Text("other").starts_with(lower_end)) return;
  EXPECT_GT(bracket.upper, std::stod(row.Text("other").substr(lower_end.size()))) << row.Text("id");
}

void CheckSubsampledStep(const GoldenRow& row) {
  const auto delta_of = row.Text("neighbour") == "add" ? ComputeSubsampledDeltaAdd : ComputeSubsampledDeltaRemove;
  ExpectNear(delta_of(row.Number("q"), row.Number("sigma"), row.Number("epsilon")), row.Number("delta"), row);
}

double LaplaceRatio(const GoldenRow& row) { return row.Number("sens") / row.Number("sigma"); }

void CheckLaplaceRdp(const GoldenRow& row) {
  ExpectNear(ComputeLaplaceRdp(LaplaceRatio(row), row.Number("order")), row.Number("rdp"), row);
}

void CheckLaplace(const GoldenRow& row) {
  ExpectNear(ComputeLaplaceDelta(LaplaceRatio(row), row.Number("epsilon")), row.Number("delta"), row);
}

void CheckDiscreteGaussian(const GoldenRow& row) {
  ExpectNear(ComputeDiscreteGaussianDelta(row.Number("sigma"), Count(row, "sens"), row.Number("epsilon")),
             row.Number("delta"), row);
}

OneRunAudit MakeAudit(const GoldenRow& row) {
  const auto whole = [&](const char* name) { return std::llround(row.Named("extra", name)); };
  return {whole("m"), whole("guesses"), whole("correct")};
}

void CheckOneRunPValue(const GoldenRow& row) {
  ExpectNear(ComputeOneRunPValue(MakeAudit(row), row.Number("epsilon"), row.Number("delta")), row.Number("other"), row);
}

void CheckOneRunLower(const GoldenRow& row) {
  ExpectNear(ComputeOneRunEpsilonLower(MakeAudit(row), row.Number("delta"), row.Named("extra", "significance")),
             row.Number("epsilon"), row);
}

void CheckClopperPearson(const GoldenRow& row) {
  const auto whole = [&](const char* name) { return std::llround(row.Named("extra", name)); };
  ExpectNear(AttackEpsilonLower({whole("n"), whole("TP"), whole("FP")}, row.Number("delta"), 0.95),
             row.Number("epsilon"), row);
}

void CheckTruePositiveRate(const GoldenRow& row) {
  ExpectNear(ComputeGdpTruePositiveRate(row.Named("extra", "mu"), row.Named("extra", "FPR")), row.Number("other"), row);
}

const std::map<std::string, std::function<void(const GoldenRow&)>>& Checks() {
  static const std::map<std::string, std::function<void(const GoldenRow&)>> checks = {
      {"gaussian", CheckGaussian},
      {"gaussian_log_delta", CheckLogDelta},
      {"gaussian_calibrate", CheckCalibration},
      {"gaussian_compose", CheckGaussian},
      {"seed_gdp", CheckSeedGdp},
      {"seed_paper_formula", CheckPaperFormula},
      {"sampled_gaussian_rdp", CheckSubsampledRdp},
      {"sampled_gaussian_rdp_trap", CheckSeriesTrap},
      {"rdp_to_dp", CheckConversion},
      {"zcdp_to_dp_cks", CheckZcdpCks},
      {"zcdp_to_dp_mironov", CheckZcdpMironov},
      {"zcdp_exact_if_gaussian", CheckZcdpExact},
      {"sampled_gaussian_rdp_eps", CheckOpacusGrid},
      {"clt_gdp_trap", CheckCentralLimitIsNoBound},
      {"krr_rdp", CheckResponseRdp},
      {"krr_composed", CheckComposedResponse},
      {"gaussian_plus_krr", CheckGaussianPlusResponse},
      {"selective_rr_dp_dfd", CheckSelectiveResponse},
      {"dpsd_eq5", CheckEquation5},
      {"dp_dfd_soft_label", CheckSoftLabel},
      {"gnmax_rdp", CheckVoteRdp},
      {"ensemble_votes", CheckEnsemble},
      {"ensemble_gradients", CheckEnsemble},
      {"gaussian_classic_sigma", CheckClassicSigma},
      {"sampled_gaussian_pld", CheckPld},
      {"sampled_gaussian_one_step", CheckSubsampledStep},
      {"laplace_rdp", CheckLaplaceRdp},
      {"laplace", CheckLaplace},
      {"discrete_gaussian", CheckDiscreteGaussian},
      {"one_run_pvalue", CheckOneRunPValue},
      {"one_run_eps_lower", CheckOneRunLower},
      {"clopper_pearson_eps_lower", CheckClopperPearson},
      {"gdp_tpr_at_fpr", CheckTruePositiveRate},
  };
  return checks;
}

TEST(PrivacyGolden, EveryRowIsWithinItsTolerance) {
  int checked = 0;
  for (const GoldenRow& row : Rows()) {
    const auto check = Checks().find(row.Text("mechanism"));
    ASSERT_NE(check, Checks().end()) << row.Text("id") << " " << row.Text("mechanism");
    check->second(row);
    ++checked;
  }
  EXPECT_EQ(checked, 196);
}

TEST(PrivacyGolden, SubsampledGaussianRdpIsAboveTheLowerBound) {
  const std::string lower_end = "rigorous lower ";
  int compared = 0;
  for (const GoldenRow& row : Rows()) {
    if (row.Text("mechanism") != "sampled_gaussian_pld" || !row.Text("other").starts_with(lower_end)) continue;
    const double lower = std::stod(row.Text("other").substr(lower_end.size()));
    const double rdp =
        ComputeSubsampledGaussianEpsilon(row.Number("q"), row.Number("sigma"), row.Number("steps"), row.Number("delta"))
            .epsilon;
    EXPECT_GT(rdp, lower) << row.Text("id");
    EXPECT_LT(rdp, 1.5 * lower) << row.Text("id");
    ++compared;
  }
  EXPECT_EQ(compared, 5);
}

}  // namespace
}  // namespace retort::privacy
