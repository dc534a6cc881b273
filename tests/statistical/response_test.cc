// Randomised response as it comes out of the real mechanism: the law of its answers, what an attacker can
// tell from them at worst, and the two printed forms that give away more than their papers claim.
#include <gtest/gtest.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <vector>

#include "tests/statistical/noise_checks.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/release/randomized_response.h"

namespace retort::worker::release::response_test {
namespace {

constexpr std::int64_t kRows = 4096, kClasses = 6, kSteps = 25, kTrials = kRows * kSteps;
constexpr std::int64_t kFirst = 2, kPast = 5;  // candidates 2, 3 and 4
constexpr double kEpsilon = 1;

using Make = std::function<std::unique_ptr<Mechanism>()>;

std::unique_ptr<Mechanism> Response(double epsilon = kEpsilon) {
  const ResponseSettings settings{.epsilon0 = epsilon, .classes = kClasses, .batch = kRows};
  return RandomizedResponse::Create(settings, noise::NoiseKey::FromOperatingSystem()).value();
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
    if (expected == 0 && counts[c] > 0) return "class " + std::to_string(c) + " was answered and is no candidate";
    if (expected == 0) continue;
    statistic += std::pow(static_cast<double>(counts[c]) - expected, 2) / expected;
    ++cells;
  }
  const double bound = boost::math::quantile(boost::math::complement(boost::math::chi_squared(cells - 1), kFalseAlarm));
  return statistic < bound ? Alarm() : "chi-square is " + std::to_string(statistic);
}

std::vector<double> ComputeLaw(std::int64_t label, double epsilon = kEpsilon) {
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
    EXPECT_EQ(CheckLaw(Answered([] { return Response(); }, label), ComputeLaw(label)), "") << label;
}

TEST(RandomizedResponseLaw, TellsAQuarterMoreEpsilonApart) {
  EXPECT_NE(CheckLaw(Answered([] { return Response(1.25 * kEpsilon); }, 2), ComputeLaw(2)), "");
}

TEST(ReleaseAudit, RandomizedResponseLeaksNoMoreThanClaimed) {
  const double inside = EpsilonLowerBound([] { return Response(); }, 2, 3);
  EXPECT_LE(inside, kEpsilon);
  EXPECT_GE(inside, 0.9 * kEpsilon) << "the audit has lost its power";
  EXPECT_LE(EpsilonLowerBound([] { return Response(); }, 2, 0), kEpsilon);
}

// The printed forms, with the laws of their papers.
std::unique_ptr<Mechanism> Printed(ResponseForm form, std::int64_t candidates) {
  const ResponseSettings settings{
      .epsilon0 = kEpsilon, .classes = kClasses, .batch = kRows, .form = form, .candidates = candidates};
  return RandomizedResponse::Create(settings, noise::NoiseKey::FromOperatingSystem()).value();
}

std::unique_ptr<Mechanism> Soft() { return Printed(ResponseForm::soft, 0); }
std::unique_ptr<Mechanism> Equation5() { return Printed(ResponseForm::every_class, kPast - kFirst); }

// The law of the soft form: what the working form says of the teacher's own class is said in soft values.
std::vector<double> ComputeSoftLaw(std::int64_t label) {
  std::vector<double> law = ComputeLaw(label);
  if (label >= kFirst && label < kPast) std::swap(law[static_cast<std::size_t>(label)], law.back());
  return law;
}

// Equation 5: e^e / (e^e + c - 1) and 1 / (e^e + c - 1) over all classes for a candidate, 1 / k over the candidates
// otherwise.
std::vector<double> ComputeEquation5Law(std::int64_t label) {
  if (label < kFirst || label >= kPast) return ComputeLaw(label);
  const double total = std::exp(kEpsilon) + kClasses - 1;
  std::vector<double> law(kClasses + 1, 1 / total);
  law[static_cast<std::size_t>(label)] = std::exp(kEpsilon) / total;
  law.back() = 0;
  return law;
}

TEST(RandomizedResponseLaw, PrintedFormsAreThoseOfTheirPapers) {
  for (std::int64_t label = 0; label < kClasses; ++label) {
    EXPECT_EQ(CheckLaw(Answered(Soft, label), ComputeSoftLaw(label)), "") << label;
    EXPECT_EQ(CheckLaw(Answered(Equation5, label), ComputeEquation5Law(label)), "") << label;
  }
}

TEST(ReleaseAudit, SoftAnswerCalledRandomizedResponseIsCaught) {
  // Two teachers sure of the same class whose soft values differ: what one says the other never does.
  EXPECT_GT(Answered(Soft, 2).back(), 0);
  EXPECT_NE(CheckLaw(Answered(Soft, 2), ComputeLaw(2)), "");
  EXPECT_GT(EpsilonLowerBound(Soft, 2, 0), 2 * kEpsilon);
}

TEST(ReleaseAudit, Equation5WithFewerCandidatesThanClassesIsCaught) {
  // A class that is no candidate: possible under one teacher, impossible under the other.
  EXPECT_EQ(Answered(Equation5, 0)[5], 0);
  EXPECT_GT(Answered(Equation5, 2)[5], 0);
  EXPECT_GT(EpsilonLowerBound(Equation5, 2, 0), 2 * kEpsilon);
  EXPECT_NE(CheckLaw(Answered(Equation5, 2), ComputeLaw(2)), "");
}

// Each of three members by itself: every member's answers have the law that its event speaks of, and what one member
// says tells nothing of the others'.
TEST(RandomizedResponseLaw, MembersAnswerApart) {
  constexpr std::int64_t kMembers = 3;
  const ResponseSettings settings{.epsilon0 = kEpsilon, .classes = kClasses, .batch = kRows, .members = kMembers};
  const auto mechanism = RandomizedResponse::Create(settings, noise::NoiseKey::FromOperatingSystem()).value();
  at::Tensor logits = at::zeros({kMembers, kRows, kClasses});
  for (std::int64_t member = 0; member < kMembers; ++member) logits[member].select(1, kFirst + member).fill_(3);
  FixedTeacher ensemble(logits);
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  // How often the three candidates got 0, 1, 2 or 3 answers, against the law of three independent ones.
  std::vector<double> law(64, 0.0), seen(64, 0.0);
  const double kept = std::exp(kEpsilon) / (std::exp(kEpsilon) + 2), other = (1 - kept) / 2;
  const auto cell = [](std::int64_t a, std::int64_t b, std::int64_t c) {
    return static_cast<std::size_t>(16 * a + 4 * b + c);
  };
  for (std::int64_t said = 0; said < 27; ++said) {
    const std::int64_t by[kMembers] = {said % 3, said / 3 % 3, said / 9};
    std::int64_t counts[3] = {0, 0, 0};
    double p = 1;
    for (std::int64_t member = 0; member < kMembers; ++member) {
      ++counts[by[member]];
      p *= by[member] == member ? kept : other;
    }
    law[cell(counts[0], counts[1], counts[2])] += p;
  }
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const Answers answers = Oracle::Ask(ensemble, {DistinctInputs(kRows, step), {}, step, 1, Candidates()});
    const at::Tensor values = ChargeAndRelease(*mechanism, answers, book).value().values;
    ASSERT_TRUE(values.sum(1).eq(kMembers).all().item<bool>());
    const auto rows = values.accessor<std::int32_t, 2>();
    for (std::int64_t row = 0; row < kRows; ++row)
      ++seen[cell(rows[row][kFirst], rows[row][kFirst + 1], rows[row][kFirst + 2])];
  }
  std::vector<std::int64_t> counts(seen.begin(), seen.end());
  EXPECT_EQ(CheckLaw(counts, law), "");
}

}  // namespace
}  // namespace retort::worker::release::response_test
