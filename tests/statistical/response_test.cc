// Randomised response as it comes out of the real mechanism: the law of its answers, what an attacker can
// tell from them at worst, and the two printed variants that give away more than they claim.
#include <gtest/gtest.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <vector>

#include "tests/statistical/noise_checks.h"
#include "tests/statistical/not_private.h"
#include "worker/release/noiseless.h"
#include "worker/release/randomized_response.h"

namespace retort::worker::release {
namespace {

constexpr std::int64_t kRows = 4096, kClasses = 6, kSteps = 25, kTrials = kRows * kSteps;
constexpr std::int64_t kFirst = 2, kPast = 5;  // candidates 2, 3 and 4
constexpr double kEpsilon = 1;

using Make = std::function<std::unique_ptr<Mechanism>()>;

std::unique_ptr<Mechanism> Response(double epsilon = kEpsilon) {
  return RandomizedResponse::Create({epsilon, kClasses, kRows}, noise::NoiseKey::FromOperatingSystem())
      .value();
}

at::Tensor Candidates() {
  at::Tensor candidates = at::zeros({kRows, kClasses}, at::kBool);
  candidates.slice(1, kFirst, kPast).fill_(true);
  return candidates;
}

// A teacher that is sure of `label` on every row, in soft values that are its own.
FixedTeacher Sure(std::int64_t label) {
  at::Tensor logits = at::zeros({kRows, kClasses});
  logits.select(1, label).fill_(3);
  return FixedTeacher(logits);
}

// For each class, how often it was answered about a teacher that says `label`; values between 0 and 1, as a
// soft answer has them, are counted apart at the end.
std::vector<std::int64_t> Answered(const Make& make, std::int64_t label) {
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  const auto mechanism = make();
  FixedTeacher teacher = Sure(label);
  std::vector<std::int64_t> counts(kClasses + 1, 0);
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const Answers answers = Oracle::Ask(teacher, {DistinctInputs(kRows, step), {}, step, 1, Candidates()});
    const at::Tensor values = ChargeAndRelease(*mechanism, answers, book).value().values.to(at::kDouble);
    const at::Tensor soft = (values != values.round()).any(1).logical_or(values.sum(1) != 1);
    const at::Tensor hard = values.masked_fill(soft.unsqueeze(1), 0).sum(0);
    for (std::int64_t c = 0; c < kClasses; ++c)
      counts[static_cast<std::size_t>(c)] += static_cast<std::int64_t>(hard[c].item<double>());
    counts.back() += soft.sum().item<std::int64_t>();
  }
  return counts;
}

// Pearson's statistic against `law`; an outcome of probability 0 may not occur at all.
Alarm CheckLaw(const std::vector<std::int64_t>& counts, const std::vector<double>& law) {
  double statistic = 0, cells = 0;
  for (std::size_t c = 0; c < law.size(); ++c) {
    const double expected = law[c] * static_cast<double>(kTrials);
    if (expected == 0 && counts[c] > 0)
      return "class " + std::to_string(c) + " was answered and is no candidate";
    if (expected == 0) continue;
    statistic += std::pow(static_cast<double>(counts[c]) - expected, 2) / expected;
    ++cells;
  }
  const double bound =
      boost::math::quantile(boost::math::complement(boost::math::chi_squared(cells - 1), kFalseAlarm));
  return statistic < bound ? Alarm() : "chi-square is " + std::to_string(statistic);
}

std::vector<double> LawOf(std::int64_t label, double epsilon = kEpsilon) {
  std::vector<double> law(kClasses + 1, 0.0);
  const double k = kPast - kFirst, kept = std::exp(epsilon) / (std::exp(epsilon) + k - 1);
  const bool inside = label >= kFirst && label < kPast;
  for (std::int64_t c = kFirst; c < kPast; ++c)
    law[static_cast<std::size_t>(c)] = !inside ? 1 / k : c == label ? kept : (1 - kept) / (k - 1);
  return law;
}

// The best lower bound on epsilon over all single outcomes and both orders of the two teachers.
double EpsilonLowerBound(const Make& make, std::int64_t label, std::int64_t other) {
  const auto one = Answered(make, label), two = Answered(make, other);
  double best = 0;
  for (std::size_t c = 0; c < one.size(); ++c) {
    for (const auto& [hits, misses] : {std::pair(one[c], two[c]), std::pair(two[c], one[c])}) {
      const double power = ClopperPearson(hits, kTrials).low, error = ClopperPearson(misses, kTrials).high;
      if (power > 0) best = std::max(best, std::log(power / error));
    }
  }
  return best;
}

TEST(RandomizedResponseLaw, IsTheOneItsEventSpeaksOf) {
  for (std::int64_t label = 0; label < kClasses; ++label)
    EXPECT_EQ(CheckLaw(Answered([] { return Response(); }, label), LawOf(label)), "") << label;
}

TEST(RandomizedResponseLaw, TellsAQuarterMoreEpsilonApart) {
  EXPECT_NE(CheckLaw(Answered([] { return Response(1.25 * kEpsilon); }, 2), LawOf(2)), "");
}

TEST(ReleaseAudit, RandomizedResponseGivesAwayWhatItsEventClaimsAndNoMore) {
  const double inside = EpsilonLowerBound([] { return Response(); }, 2, 3);
  EXPECT_LE(inside, kEpsilon);
  EXPECT_GE(inside, 0.9 * kEpsilon) << "the audit has lost its power";
  EXPECT_LE(EpsilonLowerBound([] { return Response(); }, 2, 0), kEpsilon);
}

TEST(ReleaseAudit, SoftAnswerCalledRandomizedResponseIsCaught) {
  const Make soft = []() -> std::unique_ptr<Mechanism> {
    return std::make_unique<NotPrivateMechanism>(Response()->Describe(1),
                                                 std::make_unique<Noiseless>(kClasses, kRows));
  };
  EXPECT_GT(Answered(soft, 2).back(), 0);
  EXPECT_NE(CheckLaw(Answered(soft, 2), LawOf(2)), "");
}

// DPSD equation 5: over all classes where the teacher's is a candidate, over the candidates elsewhere.
class NotPrivateEquation5 final : public NotPrivateMechanism {
 public:
  explicit NotPrivateEquation5(bool inside)
      : NotPrivateMechanism(Response()->Describe(1),
                            inside ? std::make_unique<OverEveryClass>() : Response()) {}

 private:
  class OverEveryClass final : public Mechanism {
   public:
    privacy::PrivacyEvent Describe(std::int64_t rows) const override { return inner_->Describe(rows); }
    Result<Released> Release(const Answers& answers, Charge&& charge) override {
      const Charge spent = std::move(charge);
      FixedTeacher same = Sure(2);  // the caller's, which is sure of a candidate
      return ChargeAndRelease(
          *inner_, Oracle::Ask(same, {DistinctInputs(kRows, answers.step()), {}, answers.step()}), book_);
    }

   private:
    std::unique_ptr<Mechanism> inner_ = Response();
    MemoryPort port_;
    ChargeBook book_{&port_, 1, INT64_MAX};
  };
};

TEST(ReleaseAudit, Equation5WithFewerCandidatesThanClassesIsCaught) {
  const Make inside = [] { return std::make_unique<NotPrivateEquation5>(true); };
  const Make outside = [] { return std::make_unique<NotPrivateEquation5>(false); };
  const auto one = Answered(inside, 2), two = Answered(outside, 0);
  // A class that is no candidate: possible under one teacher, impossible under the other.
  const double power = ClopperPearson(one[5], kTrials).low, error = ClopperPearson(two[5], kTrials).high;
  EXPECT_GT(std::log(power / error), kEpsilon);
  EXPECT_EQ(two[5], 0);
  EXPECT_NE(CheckLaw(one, LawOf(2)), "");
}

}  // namespace
}  // namespace retort::worker::release
