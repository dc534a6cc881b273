// A selection attacked from end to end: a worst pair of data sets, of which one candidate tells; K, candidates and the
// best one by the code of the sweep. What the released one tells apart is held against the selection's claim. The same
// attack on ten, or thirty, candidates of which the best is simply shown passes the claim of one trial: it can see.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "experiments/privacy/attack_bounds.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/selection_plan.h"
#include "orchestrator/journal/selection_draw.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort {
namespace {

constexpr int kRuns = 200'000;
constexpr std::size_t kDraws = 10'000;  // which take longer than a run, and are used again
constexpr double kConfidence = 1 - 1e-6, kNothing = -100;

// One noisy sum over all examples: a Gaussian that a neighbour moves by 1 / noise deviations.
TrialSpec Candidate(double noise) {
  TrialSpec spec = privacy::DpGd(Role::student);
  spec.steps = 1;
  spec.release.noise_multiplier = noise;
  return spec;
}

class World {
 public:
  World(bool neighbour, std::uint64_t seed) : neighbour_(neighbour), random_(seed) {}
  // What a candidate releases, which is its score as well: the first one tells of the neighbour, the others hardly.
  double Run(std::size_t candidate) {
    const double moved = neighbour_ ? 1 / (candidate == 0 ? kLoud : kQuiet) : 0;
    return std::normal_distribution<double>(moved, 1)(random_);
  }
  double Best(const std::vector<std::size_t>& picks) {
    double best = kNothing;
    for (const std::size_t pick : picks) best = std::max(best, Run(pick));
    return best;
  }
  static constexpr double kLoud = 2, kQuiet = 200;

 private:
  bool neighbour_;
  std::mt19937_64 random_;
};

using Draw = std::function<std::vector<std::size_t>()>;

// The better of both directions.
double AttackedEpsilon(const Draw& draw, double delta) {
  World here(false, 1), there(true, 2);
  std::vector<double> in, out, low_in, low_out;
  for (int i = 0; i < kRuns; ++i) {
    in.push_back(there.Best(draw()));
    out.push_back(here.Best(draw()));
    low_in.push_back(-out.back());
    low_out.push_back(-in.back());
  }
  return std::max(privacy::ScoreEpsilonLower(in, out, delta, kConfidence),
                  privacy::ScoreEpsilonLower(low_in, low_out, delta, kConfidence));
}

double FindEpsilon(const std::vector<privacy::Claim>& claims) {
  for (const privacy::Claim& claim : claims)
    if (claim.neighbour == privacy::Neighbour::add_remove) return claim.epsilon;
  return 0;
}

double ClaimOfOne() {
  const TrialSpec spec = Candidate(World::kLoud);
  return FindEpsilon(privacy::ComputeClaims({&spec, {}}, privacy::PlanEvents(spec).value()));
}

struct Attacked {
  double lower = 0, claimed = 0;
};

Attacked AttackSelection(const std::string& distribution, double mean, std::vector<TrialSpec> candidates) {
  const privacy::DrawLaw law = privacy::MakeDrawLaw(distribution, mean, std::nullopt).value();
  const privacy::PrivacyEvent event = privacy::PlanSelection(law, candidates, 0).value();
  std::mt19937_64 random(3);
  std::vector<std::vector<std::size_t>> pool(kDraws);
  for (std::vector<std::size_t>& picks : pool)
    for (const auto& pick : orchestrator::DrawSelection(TrialId(1), law, candidates.size(), std::ref(random)).picks)
      picks.push_back(pick.candidate);
  const Draw draw = [&] { return pool[random() % kDraws]; };
  const double delta = candidates.front().privacy.delta;
  return {AttackedEpsilon(draw, delta), FindEpsilon(privacy::ComputeSelectionClaims(candidates.front(), event))};
}

TEST(SelectionAudit, ReleasedCandidatesTellLessThanTheClaim) {
  for (const char* distribution : {"poisson", "geometric", "logarithmic"}) {
    const Attacked attacked = AttackSelection(distribution, 10, {Candidate(World::kLoud)});
    EXPECT_LT(attacked.lower, attacked.claimed) << distribution;
    EXPECT_GT(attacked.lower, 0.25 * attacked.claimed) << distribution << ": too weak to tell";
    const Attacked mixed = AttackSelection(
        distribution, 10, {Candidate(World::kLoud), Candidate(World::kQuiet), Candidate(World::kQuiet)});
    EXPECT_LT(mixed.lower, mixed.claimed) << distribution;
    EXPECT_GT(mixed.lower, 0) << distribution;
  }
}

TEST(SelectionAuditMutants, BestOfKUnderTheClaimOfOneTrialIsCaught) {
  const Draw thirty = [] { return std::vector<std::size_t>(30, 0); };
  EXPECT_GT(AttackedEpsilon(thirty, Candidate(World::kLoud).privacy.delta), ClaimOfOne());
  const Draw one = [] { return std::vector<std::size_t>(1, 0); };
  EXPECT_LT(AttackedEpsilon(one, Candidate(World::kLoud).privacy.delta), ClaimOfOne());
}

// A selection whose worst candidate was left out of its claim.
TEST(SelectionAuditMutants, ClaimOfTheQuietCandidatesIsCaught) {
  const Attacked attacked = AttackSelection("geometric", 10, {Candidate(World::kLoud), Candidate(World::kQuiet)});
  const Attacked quiet = AttackSelection("geometric", 10, {Candidate(World::kQuiet)});
  EXPECT_GT(attacked.lower, quiet.claimed);
}

}  // namespace
}  // namespace retort
