// Confident-GNMax attacked: two worlds that differ in one member go through the release code, and what tells them apart
// is held against what the events claim. Broken mechanisms beside it give more away than that.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "experiments/privacy/accountants/composition.h"
#include "experiments/privacy/accountants/vote_costs.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "tests/statistical/noise_checks.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/release/confident_votes.h"
#include "worker/release/consensus_test.h"

namespace retort::worker::release::confident_audit_test {
namespace {

constexpr std::int64_t kRows = 256, kTrials = 40'960, kMembers = 9, kClasses = 3;
constexpr double kDelta = 1e-5;

noise::NoiseKey Key() { return noise::NoiseKey::FromOperatingSystem(); }

// `agreeing` of the members vote for class 0, the others for class 1.
FixedTeacher Agreeing(std::int64_t agreeing) {
  at::Tensor logits = at::zeros({kMembers, kRows, kClasses});
  logits.slice(0, 0, agreeing).select(2, 0).fill_(5);
  logits.slice(0, agreeing).select(2, 1).fill_(5);
  return FixedTeacher(logits);
}

// Rows of kTrials that are answered.
std::int64_t CountAnswered(TeacherModel& teacher, double threshold_noise) {
  const auto votes =
      ConfidentVotes::Create({.votes = {.scale = 1000, .classes = kClasses, .grain = 1, .first_class = true},
                              .threshold = {.threshold = 7, .scale = threshold_noise},
                              .answers = kTrials},
                             Key(), Key())
          .value();
  MemoryPort port;
  ChargeBook book(&port, 64, INT64_MAX);
  std::int64_t answered = 0;
  for (std::int64_t step = 0; step < kTrials / kRows; ++step) {
    const at::Tensor inputs = DistinctInputs(kRows, step);
    answered +=
        votes->Release(inputs, Oracle::Ask(teacher, {inputs, {}, step}), book).value().sum().item<std::int64_t>();
  }
  return answered;
}

double ClaimedMu(std::vector<privacy::PrivacyEvent> events) {
  for (privacy::PrivacyEvent& event : events) event.count = 1;
  return privacy::ComputeComposedMu(privacy::ComposeEvents(privacy::kMember, events).gaussian);
}

std::vector<privacy::PrivacyEvent> Events(double threshold_noise) {
  return {VoteThreshold::Create({.threshold = 7, .scale = threshold_noise}, Key()).value()->Describe(1),
          NoisyVotes::Create({.scale = 1000, .classes = kClasses, .grain = 1, .first_class = true}, Key())
              .value()
              ->Describe(1)};
}

// One member turns away: seven agree, or six.
TEST(ConfidentAudit, AbstentionsTellWhatTheThresholdClaims) {
  FixedTeacher one = Agreeing(7), other = Agreeing(6);
  const double lower = MuLowerBound(CountAnswered(one, 1), CountAnswered(other, 1), kTrials);
  const double claimed = ClaimedMu(Events(1));
  EXPECT_LE(lower, claimed);
  EXPECT_GE(lower, 0.85 * claimed) << "the audit has lost its power";
}

TEST(ConfidentAudit, ThresholdThatIsNotPaidIsCaught) {
  FixedTeacher one = Agreeing(7), other = Agreeing(6);
  const double lower = MuLowerBound(CountAnswered(one, 1), CountAnswered(other, 1), kTrials);
  EXPECT_GT(lower, ClaimedMu({Events(1)[1]})) << "the answers' event alone";
}

TEST(ConfidentAudit, AbstentionWithoutNoiseIsCaught) {
  FixedTeacher one = Agreeing(7), other = Agreeing(6);
  const double quiet = noise::LatticeGaussian::kMinScale;
  EXPECT_GT(MuLowerBound(CountAnswered(one, quiet), CountAnswered(other, quiet), kTrials), ClaimedMu(Events(1)));
}

// The test of the cost, with an allowed cost at which one member decides most.
struct Worlds {
  TrialSpec spec;
  double cheap = 0, dear = 0;  // costs of two neighbours
};

Worlds MakeWorlds() {
  auto data = std::make_shared<DataSpec>();
  data->classes = kClasses;
  Worlds worlds;
  TrialSpec& spec = worlds.spec;
  spec.data = data;
  spec.method = "pate";
  spec.source = QuerySource::public_split;
  spec.queries = kRows;
  spec.release.vote_noise = 1;
  spec.release.vote_threshold = 5;
  spec.release.threshold_noise = 4;
  spec.release.vote_order = 3;
  spec.release.cost_noise = 1;
  const privacy::VoteCosts costs =
      privacy::VoteCosts::Create({kMembers, kClasses, spec.release.vote_threshold, 4, 1, 3}).value();
  const std::vector<privacy::Consensus> nine(kRows, {9, 9}), eight(kRows, {8, 7});
  worlds.cheap = costs.Sum(nine);
  worlds.dear = costs.Sum(eight);
  return worlds;
}

// How often a test passes. `raw`: the cost itself is compared, without noise and margin, as a data-dependent epsilon
// that is published as it is.
std::int64_t CountPassed(const Worlds& worlds, std::int64_t agreeing, bool raw, std::int64_t runs) {
  FixedTeacher teacher = Agreeing(agreeing);
  MemoryPort port;
  ChargeBook book(&port, 64, INT64_MAX);
  if (raw) return (agreeing == 9 ? worlds.cheap : worlds.dear) <= worlds.spec.release.vote_cost ? runs : 0;
  std::int64_t passed = 0;
  for (std::int64_t run = 0; run < runs; ++run) {
    const auto test =
        ConsensusTest::Create(
            {privacy::PlanConsensusTest(worlds.spec), kMembers, kClasses, worlds.spec.release.vote_threshold}, Key())
            .value();
    EXPECT_TRUE(test->Observe(Oracle::Ask(teacher, {DistinctInputs(kRows, 0), {}, 0})).ok());
    passed += test->Release(book.Take(test->Describe(), 1).value()).value() ? 1 : 0;
  }
  return passed;
}

double ClaimedEpsilon(const Worlds& worlds) {
  return privacy::ComputeBound(privacy::ComposeEvents(privacy::kMember, {privacy::PlanConsensusTest(worlds.spec)}),
                               kDelta)
      .epsilon;
}

double EpsilonLower(std::int64_t hits, std::int64_t false_hits, std::int64_t runs) {
  const double power = ClopperPearson(hits, runs).low, error = ClopperPearson(false_hits, runs).high;
  return std::max(0.0, std::log((power - kDelta) / error));
}

TEST(ConfidentAudit, TestOfTheCostTellsNoMoreThanItClaims) {
  constexpr std::int64_t kRuns = 300;
  Worlds worlds = MakeWorlds();
  const privacy::VoteCosts costs = privacy::VoteCosts::Create({kMembers, kClasses, 5, 4, 1, 3}).value();
  const privacy::PrivacyEvent event = privacy::PlanConsensusTest(worlds.spec);
  const std::vector<privacy::Consensus> eight(kRows, {8, 7});
  const double sensitivity = costs.SmoothSensitivity(eight, event.test.smoothness, 1e-9);
  // Half of the dearer votes pass.
  worlds.spec.release.vote_cost = worlds.dear + sensitivity * event.sensitivity * event.noise_std;
  const std::int64_t cheap = CountPassed(worlds, 9, false, kRuns), dear = CountPassed(worlds, 8, false, kRuns);
  EXPECT_GT(cheap, dear) << "the audit has lost its power";
  EXPECT_GT(dear, kRuns / 3);
  EXPECT_LE(EpsilonLower(cheap, dear, kRuns), ClaimedEpsilon(worlds));
  EXPECT_LE(EpsilonLower(kRuns - dear, kRuns - cheap, kRuns), ClaimedEpsilon(worlds));
}

TEST(ConfidentAudit, CostThatIsPublishedAsItIsIsCaught) {
  constexpr std::int64_t kRuns = 100'000'000;
  Worlds worlds = MakeWorlds();
  worlds.spec.release.vote_cost = (worlds.cheap + worlds.dear) / 2;
  worlds.spec.release.cost_noise = 4;
  const std::int64_t cheap = CountPassed(worlds, 9, true, kRuns), dear = CountPassed(worlds, 8, true, kRuns);
  EXPECT_GT(EpsilonLower(cheap, dear, kRuns), ClaimedEpsilon(worlds));
}

}  // namespace
}  // namespace retort::worker::release::confident_audit_test
