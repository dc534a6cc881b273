// A total asks for everything that the claims of its trials ask for: where a trial has no finite `example` claim, no
// total with it is finite, for the same reason.
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "experiments/methods/methods.h"
#include "experiments/privacy/accountants/reasons.h"
#include "tests/unit/experiments/privacy/numbers.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

struct Case {
  TrialSpec spec;
  std::vector<Claim> teacher;
  std::vector<PrivacyEvent> events;
};

Bound ComputeTotal(const Case& one) {
  return ComputeTotalBound({ComputeChargedEvents({&one.spec, one.teacher}, one.events)}, one.spec.privacy.delta);
}

// The least proven `example` claim; null: there is none.
const Claim* BestExample(const std::vector<Claim>& claims) {
  const Claim* best = nullptr;
  for (const Claim& claim : claims)
    if (claim.adjacency == Adjacency::example && claim.status == ClaimStatus::proven &&
        (best == nullptr || claim.epsilon < best->epsilon))
      best = &claim;
  return best;
}

void ExpectSameAnswer(const Case& one, const std::string& what) {
  const std::vector<Claim> claims = ComputeClaims({&one.spec, one.teacher}, one.events);
  const Claim* best = BestExample(claims);
  const Bound total = ComputeTotal(one);
  EXPECT_EQ(best != nullptr, std::isfinite(total.epsilon)) << what << ": " << total.epsilon << " " << total.reason;
  if (best == nullptr) {
    EXPECT_FALSE(total.reason.empty()) << what;
    EXPECT_NE(DescribeReason(total.reason), total.reason) << what << " has no sentence";
  } else if (!ComputeChargedEvents({&one.spec, one.teacher}, one.events).empty()) {
    // Of sampled steps one example that is added or removed costs less than one that is replaced.
    const bool sampled = one.events.front().kind == MechanismKind::subsampled_gaussian;
    if (sampled && best->neighbour == Neighbour::replace)
      EXPECT_LE(total.epsilon, best->epsilon) << what;
    else
      EXPECT_EQ(total.epsilon, best->epsilon) << what;
  }
}

std::vector<TrialSpec> Trials() {
  std::vector<TrialSpec> trials = {GradientStudent(Reading::working),
                                   GradientStudent(Reading::printed),
                                   GradientStudent(Reading::row_averaged),
                                   GradientStudent(Reading::sound),
                                   VoteStudent(),
                                   DpSgd(Role::student),
                                   DpSgd(Role::teacher),
                                   DpGd(Role::student),
                                   Teacher("plain"),
                                   Teacher("ensemble")};
  for (const Role role : {Role::student, Role::teacher}) {
    trials.push_back(DpSgd(role));
    trials.back().inputs.augment = Augment::affine;
  }
  trials.push_back(GradientStudent(Reading::working));
  trials.back().noise = NoiseMode::seeded;
  trials.push_back(GradientStudent(Reading::working));
  trials.back().source = QuerySource::private_split;
  trials.push_back(GradientStudent(Reading::working));
  trials.back().release.detach = false;
  trials.push_back(GradientStudent(Reading::sound));
  trials.back().noise = NoiseMode::seeded;
  return trials;
}

std::vector<std::vector<Claim>> Teachers() {
  Case by_index{Teacher("ensemble"), {}, {}}, following = by_index;
  following.spec.shards.partition = Partition::dirichlet;
  TrialSpec unproven = DpSgd(Role::teacher);
  std::vector<PrivacyEvent> events = PlanEvents(unproven).value();
  for (PrivacyEvent& event : events) event.facts.clear();
  return {{},
          PlannedClaims(Teacher("plain")),
          PlannedClaims(by_index.spec),
          PlannedClaims(following.spec),
          PlannedClaims(DpSgd(Role::teacher)),
          ComputeClaims({&unproven, {}}, events),
          PlannedClaims(Teacher("loaded"))};
}

// Every event that any trial is planned to cause, each once.
std::vector<PrivacyEvent> AllEvents() {
  std::vector<PrivacyEvent> all;
  for (const TrialSpec& spec : Trials()) {
    const std::vector<PrivacyEvent> events = PlanEvents(spec).value();
    for (const PrivacyEvent& event : events)
      if (std::none_of(all.begin(), all.end(), [&](const PrivacyEvent& known) { return known.SameMechanism(event); }))
        all.push_back(event);
  }
  return all;
}

// Those that the trial may have.
std::vector<std::vector<Claim>> ListTeacherClaims(const TrialSpec& spec) {
  if (FindKind(spec) == TrialKind::dpsgd_student || spec.role == Role::teacher) return {{}};
  return Teachers();
}

TEST(Totals, AskForWhatClaimsAskFor) {
  int cases = 0;
  for (const TrialSpec& spec : Trials())
    for (const std::vector<Claim>& teacher : ListTeacherClaims(spec))
      for (const PrivacyEvent& event : AllEvents()) {
        const std::string what = spec.method + ", reading " + std::to_string(static_cast<int>(spec.reading)) +
                                 ", kind " + std::to_string(static_cast<int>(event.kind)) + ", teacher " +
                                 (teacher.empty() ? "none" : teacher.back().reason);
        ExpectSameAnswer({spec, teacher, {event}}, what);
        ++cases;
        for (const std::string& fact : event.facts) {
          Case without{spec, teacher, {event}};
          std::erase(without.events[0].facts, fact);
          ExpectSameAnswer(without, what + ", without " + fact);
          without.events.push_back(event);  // one of two that has it does not make up for the other
          ExpectSameAnswer(without, what + ", one without " + fact);
        }
        for (const std::string_view name : {kVoidGeneratorTouchedTeacher, kVoidLoadedWeights, kVoidRefuted}) {
          Case voided{spec, teacher, {event}};
          voided.events[0].voids = {std::string(name)};
          ExpectSameAnswer(voided, what + ", void " + std::string(name));
        }
        Case seeded{spec, teacher, {event}};
        seeded.events[0].source = NoiseSource::seeded;
        ExpectSameAnswer(seeded, what + ", seeded");
      }
  EXPECT_GT(cases, 500);
}

// The shape of the fault that was: the fact is the trial's, and its event does not know that it is needed.
TEST(Totals, AugmentedDpSgdIsUnboundedWithoutItsFact) {
  for (const Role role : {Role::student, Role::teacher}) {
    Case one{DpSgd(role), {}, {}};
    one.spec.inputs.augment = Augment::affine;
    one.events = PlanEvents(one.spec).value();
    EXPECT_TRUE(std::isfinite(ComputeTotal(one).epsilon));
    for (PrivacyEvent& event : one.events) std::erase(event.facts, kFactPerExampleAugmentation);
    EXPECT_EQ(ComputeTotal(one).epsilon, kInfinity);
    EXPECT_EQ(ComputeTotal(one).reason, reason::kUnrecordedAugmentation);
    EXPECT_TRUE(
        FindTotalAboveBudget({ComputeChargedEvents({&one.spec, {}}, one.events)}, Budget{1e300, 0.5}).has_value());
  }
}

TEST(Totals, VotesOverDataDependentShardsAreUnbounded) {
  TrialSpec ensemble = Teacher("ensemble");
  ensemble.shards.partition = Partition::dirichlet;
  Case one{VoteStudent(), PlannedClaims(ensemble), PlanEvents(VoteStudent()).value()};
  EXPECT_EQ(ComputeTotal(one).reason, reason::kShardsFollowExamples);
  one.teacher = PlannedClaims(Teacher("ensemble"));
  EXPECT_TRUE(std::isfinite(ComputeTotal(one).epsilon));
}

TEST(Totals, ReleasesOfATrialThatNobodyKnowsAreUnbounded) {
  const std::vector<PrivacyEvent> events = PlanEvents(VoteStudent()).value();
  const Bound total = ComputeTotalBound({ComputeChargedEvents({}, events)}, 1e-5);
  EXPECT_EQ(total.epsilon, kInfinity);
  EXPECT_EQ(total.reason, reason::kNoSpec);
}

// Before facts were recorded a reservation had none.
TEST(Totals, LedgerOfAnOlderProgramIsUnboundedWithAReason) {
  for (const TrialSpec& spec : {GradientStudent(Reading::working), VoteStudent(), DpSgd(Role::student)}) {
    std::vector<PrivacyEvent> old = PlanEvents(spec).value();
    for (PrivacyEvent& event : old) {
      event.facts.clear();
      const std::string json = EncodeEvent(event);
      ASSERT_EQ(json.find("facts"), std::string::npos);
      event = DecodeEvent(json).value();
    }
    const Bound total = ComputeTotal({spec, {}, old});
    EXPECT_EQ(total.epsilon, kInfinity);
    EXPECT_TRUE(total.reason.starts_with("unrecorded-")) << total.reason;
    EXPECT_NE(DescribeReason(total.reason), total.reason);
  }
}

TEST(Totals, NameWhatTheyRestOn) {
  TrialSpec spec = DpSgd(Role::student);
  spec.stop.metric = StopMetric::accuracy;
  std::vector<std::string> assumptions;
  const Bound total =
      ComputeTotalBound({ComputeChargedEvents({&spec, {}}, PlanEvents(spec).value())}, 1e-5, &assumptions);
  EXPECT_TRUE(std::isfinite(total.epsilon));
  const Claim claim = *BestExample(PlannedClaims(spec));
  EXPECT_EQ(assumptions, claim.assumptions);
  EXPECT_TRUE(std::count(assumptions.begin(), assumptions.end(), kSelectedOnTest));
}

// A row that an older program wrote says more than today's rules allow.
TEST(WithdrawUnsupportedClaims, TakesWhatTheLedgerDoesNotSupportAndLeavesTheRest) {
  TrialSpec spec = DpSgd(Role::teacher);
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  const std::vector<Claim> stored = ComputeClaims({&spec, {}}, events);
  std::vector<Claim> claims = stored;
  EXPECT_FALSE(WithdrawUnsupportedClaims({&spec, {}}, events, claims));
  EXPECT_EQ(claims, stored);
  EXPECT_FALSE(WithdrawUnsupportedClaims({&spec, {}}, {}, claims)) << "an empty ledger says nothing of a row";
  spec.inputs.augment = Augment::affine;  // which needs a fact that was not recorded then
  EXPECT_TRUE(WithdrawUnsupportedClaims({&spec, {}}, events, claims));
  ASSERT_NE(BestExample(stored), nullptr);
  EXPECT_EQ(BestExample(claims), nullptr);
  for (const Claim& claim : claims) EXPECT_EQ(claim.reason, reason::kUnrecordedAugmentation);
  // Its students inherited it.
  const TrialSpec student = GradientStudent(Reading::sound);
  const std::vector<PrivacyEvent> asked = PlanEvents(student).value();
  std::vector<Claim> inherited = ComputeClaims({&student, stored}, asked);
  ASSERT_NE(BestExample(inherited), nullptr);
  EXPECT_FALSE(WithdrawUnsupportedClaims({&student, stored}, asked, inherited));
  EXPECT_TRUE(WithdrawUnsupportedClaims({&student, claims}, asked, inherited));
  EXPECT_EQ(BestExample(inherited), nullptr);
}

// Claims that were made by today's rules stand, whatever the trial is.
TEST(WithdrawUnsupportedClaims, LeavesWhatClaimsForSays) {
  for (const TrialSpec& spec : Trials())
    for (const std::vector<Claim>& teacher : ListTeacherClaims(spec)) {
      const std::vector<PrivacyEvent> events = PlanEvents(spec).value();
      const std::vector<Claim> made = ComputeClaims({&spec, teacher}, events);
      std::vector<Claim> claims = made;
      EXPECT_FALSE(WithdrawUnsupportedClaims({&spec, teacher}, events, claims)) << spec.method;
      EXPECT_EQ(claims, made);
    }
}

}  // namespace
}  // namespace retort::privacy
