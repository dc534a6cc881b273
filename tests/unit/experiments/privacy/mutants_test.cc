// Wrong accounting, made on purpose: each check is silent on the real accountant and sees its mutant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/randomized_response.h"
#include "experiments/privacy/calculator.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kMutantDelta = 1e-5, kEpsilon0 = 1;
constexpr std::int64_t kClasses = 10;

std::vector<Claim> CollectClaims(const std::vector<Answer>& answers) {
  std::vector<Claim> claims;
  for (const Answer& answer : answers) claims.push_back(answer.claim);
  return claims;
}

// `floor`: the delta below which nothing finite holds for what the claims are about.
std::string CheckFloor(const std::vector<Claim>& claims, double floor) {
  for (const Claim& claim : claims) {
    if (claim.status == ClaimStatus::proven && std::isfinite(claim.epsilon) && claim.delta < floor)
      return "epsilon " + FormatShortNumber(claim.epsilon) + " is claimed at delta " + FormatShortNumber(claim.delta) +
             ", below the floor of " + FormatShortNumber(floor);
  }
  return "";
}

// What a paper's formula says, taken for proven.
std::vector<Claim> Believed(std::vector<Claim> claims) {
  for (Claim& claim : claims)
    if (claim.status == ClaimStatus::paper_formula) claim.status = ClaimStatus::proven;
  return claims;
}

// Claims about the mechanism as printed, whose variants are named apart from the sound one.
std::vector<Claim> AsPrinted(const char* method, std::int64_t choices) {
  Question question;
  question.mechanism = "paper";
  question.method = method;
  question.values = {{"epsilon0", kEpsilon0},
                     {"choices", static_cast<double>(choices)},
                     {"delta", kMutantDelta},
                     {"batch", 4},
                     {"steps", 5}};
  if (question.method == "dpsd-label") question.values["classes"] = kClasses;
  std::vector<Answer> answers = ComputeEpsilon(question).value();
  std::erase_if(answers, [](const Answer& answer) { return answer.variant.starts_with("one-hot"); });
  return CollectClaims(answers);
}

TEST(PrivacyMutants, Equation5OverFewerChoicesIsCaught) {
  for (const std::int64_t choices : {2, 5, 9}) {
    const double floor = ComputeEquation5DeltaFloor(kClasses, choices, kEpsilon0);
    ASSERT_GT(floor, kMutantDelta);
    const std::vector<Claim> claims = AsPrinted("dpsd-label", choices);
    EXPECT_THAT(CheckFloor(claims, floor), IsEmpty());
    EXPECT_TRUE(std::any_of(claims.begin(), claims.end(), [](const Claim& claim) {
      return claim.status == ClaimStatus::unbounded && claim.reason == kVoidSupportLeak;
    }));
    EXPECT_THAT(CheckFloor(Believed(claims), floor), HasSubstr("below the floor"));
  }
}

PrivacyEvent Response(std::string_view flaw) {
  PrivacyEvent event;
  event.kind = MechanismKind::randomized_response;
  event.count = 20;
  event.epsilon0 = kEpsilon0;
  event.choices = 3;
  event.source = NoiseSource::secure_lattice;
  if (!flaw.empty()) event.voids = {std::string(flaw)};
  return event;
}

TEST(PrivacyMutants, SoftLabelFromRandomisedResponseIsCaught) {
  const double floor = ComputeSoftLabelDeltaFloor(3, kEpsilon0);
  ASSERT_GT(floor, kMutantDelta);
  const std::vector<Claim> printed = AsPrinted("dp-dfd", 3);
  EXPECT_THAT(CheckFloor(printed, floor), IsEmpty());
  EXPECT_THAT(CheckFloor(Believed(printed), floor), HasSubstr("below the floor"));
  // In a ledger: whoever drops the flaw from the event claims what does not hold.
  for (const std::string_view flaw : {kVoidSoftOutput, kVoidSupportLeak}) {
    for (const Relation& relation : {kAnswer, kSlot, kTeacher, kExample}) {
      const Bound bound = ComputeRelationBound(relation, {Response(flaw)}, kMutantDelta, nullptr);
      EXPECT_EQ(bound.reason, flaw);
      EXPECT_FALSE(std::isfinite(bound.epsilon));
      EXPECT_TRUE(std::isfinite(ComputeRelationBound(relation, {Response("")}, kMutantDelta, nullptr).epsilon));
    }
  }
}

// Does a trial that stops by its accuracy on the test split, or whose teacher does, say so in every claim?
std::string CheckSelection(const TrialSpec& stopped, const std::vector<Claim>& claims) {
  if (stopped.stop.metric != StopMetric::accuracy) return "";
  for (const Claim& claim : claims) {
    if (std::find(claim.assumptions.begin(), claim.assumptions.end(), kSelectedOnTest) == claim.assumptions.end())
      return "a claim does not say that the test split chose the step";
  }
  return "";
}

TEST(PrivacyMutants, TestSelectedEpochWithoutALabelIsCaught) {
  for (TrialSpec spec : {GradientStudent(Reading::working), VoteStudent(), DpSgd(Role::student), Teacher("plain")}) {
    const TrialSpec plain = spec;
    spec.stop.metric = StopMetric::accuracy;
    EXPECT_THAT(CheckSelection(spec, PlannedClaims(spec)), IsEmpty());
    EXPECT_THAT(CheckSelection(spec, PlannedClaims(plain)), HasSubstr("test split"));
    spec.stop.metric = StopMetric::loss;
    EXPECT_EQ(PlannedClaims(spec), PlannedClaims(plain));
  }
  // A student of a teacher that was selected so carries the label, whatever its own claims rest on.
  const std::pair<TrialSpec, TrialSpec> pairs[] = {
      {GradientStudent(Reading::sound), DpSgd(Role::teacher)},
      {GradientStudent(Reading::working), DpSgd(Role::teacher)},
      {GradientStudent(Reading::working), Teacher("plain")},
      {GradientStudent(Reading::printed), Teacher("plain")},
      {VoteStudent(), Teacher("ensemble")},
  };
  for (auto [student, teacher] : pairs) {
    const std::vector<Claim> unlabelled = PlannedClaims(student, PlannedClaims(teacher));
    teacher.stop.metric = StopMetric::accuracy;
    EXPECT_THAT(CheckSelection(teacher, PlannedClaims(student, PlannedClaims(teacher))), IsEmpty());
    EXPECT_THAT(CheckSelection(teacher, unlabelled), HasSubstr("test split"));
    teacher.stop.metric = StopMetric::loss;
    EXPECT_EQ(PlannedClaims(student, PlannedClaims(teacher)), unlabelled);
  }
}

using Total = std::function<double(const std::vector<PrivacyEvent>&)>;

// mu^2 of the same draws, charged whole and in pieces, in either order: one number, and not below the true
// one.
std::string CheckDrift(const Total& total) {
  PrivacyEvent large = PlanEvents(VoteStudent()).value().front(), small = large;
  large.noise_std = 3;
  large.count = 9;  // mu^2 = 2 from these
  small.noise_std = std::ldexp(1.0, 28);
  constexpr int kPieces = 20'000;
  std::vector<PrivacyEvent> pieces = {large};
  PrivacyEvent piece = small;
  piece.count = 5;
  for (int i = 0; i < kPieces; ++i) pieces.push_back(piece);
  small.count = std::int64_t{5} * kPieces;
  const double whole = total({large, small});
  std::vector<PrivacyEvent> reversed(pieces.rbegin(), pieces.rend());
  if (total(pieces) != whole || total(reversed) != whole) return "the total depends on how the charges came in";
  const double exact = 2 + std::ldexp(2.0 * 5 * kPieces, -56);
  return whole >= exact ? "" : "the total lies below what was charged";
}

TEST(PrivacyMutants, BudgetKeptAsARunningDoubleIsCaught) {
  const Total real = [](const std::vector<PrivacyEvent>& events) {
    return ComputeMuSquaredUp(ComposeEvents(kExample, Aggregate(events)).gaussian);
  };
  EXPECT_THAT(CheckDrift(real), IsEmpty());
  const Total running = [](const std::vector<PrivacyEvent>& events) {
    double sum = 0;
    for (const PrivacyEvent& event : events)
      sum += static_cast<double>(event.count) * 2 / (event.noise_std * event.noise_std);
    return sum;
  };
  EXPECT_THAT(CheckDrift(running), Not(IsEmpty()));
}

}  // namespace
}  // namespace retort::privacy
