// The calculator's claims over all that it accepts: each is a number or has its reason, none is below what is
// known to leak, and more noise, fewer releases or a larger delta never cost more. Longer runs: as
// never_below_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/scalar_noise.h"
#include "experiments/privacy/calculator.h"
#include "experiments/privacy/calculator_selection.h"
#include "tests/unit/experiments/privacy/accountants/exact_selection.h"
#include "tests/unit/experiments/privacy/drawn_parameters.h"
#include "tests/unit/experiments/privacy/exact_truth.h"

namespace retort::privacy {
namespace {

constexpr double kMostWhole = 1e15;
using Values = std::map<std::string, double>;

std::string Shown(const std::string& mechanism, const Values& values) {
  std::string text = mechanism;
  for (const auto& [name, value] : values) text += " --" + name + " " + FormatExactNumber(value);
  return text;
}

std::vector<Answer> Asked(const std::string& mechanism, const Values& values, const std::string& accountant = "") {
  Question question;
  question.mechanism = mechanism;
  question.accountant = accountant;
  question.values = values;
  const Result<std::vector<Answer>> answers = ComputeEpsilon(question);
  EXPECT_TRUE(answers.ok()) << Shown(mechanism, values) << ": " << answers.status().message();
  return answers.ok() ? *answers : std::vector<Answer>();
}

// A delta that is known to leak at the claim's epsilon; 0 where nothing is.
using Floor = std::function<Exact(const Claim& claim)>;

void CheckClaims(const std::string& mechanism, const Values& values, const std::vector<Answer>& answers,
                 const Floor& floor) {
  const std::string what = Shown(mechanism, values);
  for (const Answer& answer : answers) {
    const Claim& claim = answer.claim;
    ASSERT_GE(claim.epsilon, 0) << what;
    ASSERT_EQ(std::isfinite(claim.epsilon), claim.status == ClaimStatus::proven) << what;
    if (!std::isfinite(claim.epsilon)) {
      ASSERT_FALSE(claim.reason.empty()) << what;
      continue;
    }
    ASSERT_LE(claim.lower.value_or(0), claim.epsilon) << what;
    ASSERT_LE(floor(claim), Exact(claim.delta) * (1 + 1e-6))
        << what << ": " << claim.accountant << " " << claim.epsilon;
  }
}

double Least(const std::vector<Answer>& answers, Neighbour neighbour) {
  double least = std::numeric_limits<double>::infinity();
  for (const Answer& answer : answers)
    if (answer.claim.neighbour == neighbour) least = std::min(least, answer.claim.epsilon);
  return least;
}

// `costlier`: names whose values cost more where they are larger (1) or smaller (-1). `jitter` is what a
// search or a grid may be off by, relatively, beside a thousandth.
void CheckOrder(const std::string& mechanism, const Values& values, const std::vector<Answer>& answers,
                const std::map<std::string, int>& costlier, double jitter, double factor) {
  for (const auto& [name, sign] : costlier) {
    Values more = values;
    double& value = more.at(name);
    const bool whole = value >= 1 && value == std::floor(value) && value <= kMostWhole && sign > 0;
    value = sign > 0 ? value * factor : value / factor;
    if (whole) value = std::min(std::ceil(value), kMostWhole);
    if (name == "sampling-rate") value = std::min(value, 1.0);
    if (name == "delta" && sign > 0) value = std::min(value, 1 - 1e-15);
    if (!(value > 0) || std::isinf(value)) continue;
    const std::vector<Answer> others = Asked(mechanism, more);
    for (const Neighbour neighbour :
         {Neighbour::replace, Neighbour::add_remove, Neighbour::zero_out, Neighbour::answer}) {
      const double less = Least(answers, neighbour), most = Least(others, neighbour);
      ASSERT_LE(less, most * (1 + jitter) + (jitter > 0 ? 0.001 : 0))
          << Shown(mechanism, values) << "\nagainst " << Shown(mechanism, more);
    }
  }
}

TEST(CalculatorExtremes, Gaussian) {
  Draw draw(20);
  for (int i = 0; i < 400; ++i) {
    const bool usual = i % 2 == 0;
    const Values values = {{"noise", usual ? draw.Log(1e-3, 1e6) : draw.Log(kLeast, kMost)},
                           {"sensitivity", usual ? draw.Log(1e-3, 1e3) : draw.Log(kLeast, kMost)},
                           {"count", draw.Whole(1, kMostWhole)},
                           {"delta", draw.Delta()}};
    const std::vector<Answer> answers = Asked("gaussian", values);
    const Exact mu = sqrt(Exact(values.at("count"))) * values.at("sensitivity") / values.at("noise");
    CheckClaims("gaussian", values, answers,
                [&](const Claim& claim) { return ComputeGaussianDelta(claim.epsilon, mu); });
    CheckOrder("gaussian", values, answers, {{"noise", -1}, {"sensitivity", 1}, {"count", 1}, {"delta", -1}}, 0,
               1 + draw.Log(1e-9, 10));
  }
}

// The best of K Gaussian releases, each its own score, is what its claims are held against.
TEST(CalculatorExtremes, Selection) {
  Draw draw(29);
  for (int i = 0; i < 60; ++i) {
    Question question;
    question.mechanism = "select";
    question.method = "gaussian";
    question.values = {{"noise", draw.Log(0.3, 300)},
                       {"sensitivity", 1},
                       {"count", 1},
                       {"delta", draw.Log(1e-9, 0.1)},
                       {"draws", 1 + draw.Log(1e-3, 300)}};
    if (i % 3 == 0) question.distribution = "poisson";
    if (i % 3 == 1) question.values["eta"] = draw.Log(0.05, 20) - 0.55;
    const std::string what = Shown("select " + question.distribution, question.values);
    const Result<DrawLaw> law = ReadDrawLaw(question);
    ASSERT_TRUE(law.ok()) << what << law.status().message();
    const Result<std::vector<Answer>> answers = ComputeEpsilon(question);
    ASSERT_TRUE(answers.ok()) << what;
    const double mu = 1 / question.values.at("noise");
    CheckClaims("select", question.values, *answers, [&](const Claim& claim) {
      return Exact(SelectedGaussianDelta(mu, MakeGenerating(*law), claim.epsilon));
    });
    for (const auto& [name, factor] : std::map<std::string, double>{{"noise", 0.9}, {"draws", 1.2}, {"delta", 0.5}}) {
      Question more = question;
      more.values.at(name) *= factor;
      const Result<std::vector<Answer>> others = ComputeEpsilon(more);
      ASSERT_TRUE(others.ok()) << what;
      ASSERT_LE(answers->front().claim.epsilon, others->front().claim.epsilon * 1.002 + 0.001) << what << " " << name;
    }
  }
}

TEST(CalculatorExtremes, Votes) {
  Draw draw(21);
  for (int i = 0; i < 200; ++i) {
    const Values values = {{"noise", i % 2 == 0 ? draw.Log(0.1, 1e6) : draw.Log(kLeast, kMost)},
                           {"queries", draw.Whole(1, kMostWhole)},
                           {"delta", draw.Delta()}};
    const std::vector<Answer> answers = Asked("votes", values);
    const Exact noise = values.at("noise"), queries = values.at("queries");
    CheckClaims("votes", values, answers, [&](const Claim& claim) {
      const int factor = claim.neighbour == Neighbour::zero_out ? 1 : 2;
      const Exact count = claim.adjacency == Adjacency::answer ? Exact(1) : queries;
      return ComputeGaussianDelta(claim.epsilon, sqrt(factor * count) / noise);
    });
    CheckOrder("votes", values, answers, {{"noise", -1}, {"queries", 1}, {"delta", -1}}, 0, 1 + draw.Log(1e-9, 10));
  }
}

TEST(CalculatorExtremes, RandomizedResponse) {
  Draw draw(22);
  for (int i = 0; i < 300; ++i) {
    const bool usual = i % 2 == 0;
    // Long sums take a tenth of a second.
    const double count = i % 50 == 0  ? draw.Whole(1, 4e6)
                         : i % 3 == 0 ? draw.Whole(4e6 + 1, kMostWhole)
                                      : draw.Whole(1, 300);
    const Values values = {{"epsilon0", usual ? draw.Log(1e-9, 100) : draw.Log(kLeast, kMost)},
                           {"choices", usual ? 2 : draw.Whole(2, 1e9)},
                           {"count", count},
                           {"delta", draw.Delta()}};
    const std::vector<Answer> answers = Asked("randomized-response", values);
    const double one = values.at("epsilon0");
    CheckClaims("randomized-response", values, answers, [&](const Claim& claim) -> Exact {
      if (claim.adjacency == Adjacency::answer) return claim.epsilon < one ? 1 : 0;
      if (one > 1e5) return 0;
      // The claim of two choices bounds that of more, so that these are a floor of both.
      const auto k = static_cast<std::int64_t>(values.at("choices"));
      const Exact few = ComputeResponseDelta(one, k, static_cast<std::int64_t>(std::min(count, 300.0)), claim.epsilon);
      return std::max(few, Exact(NormalDeltaFloor(ResponseAtoms(one, k), count, claim.epsilon)));
    });
    if (count < 300 || count > 5e6)
      CheckOrder("randomized-response", values, answers, {{"epsilon0", 1}, {"count", 1}, {"delta", -1}}, 1e-6,
                 1 + draw.Log(1e-6, 10));
  }
}

TEST(CalculatorExtremes, Laplace) {
  Draw draw(23);
  for (int i = 0; i < 24; ++i) {
    const bool usual = i % 2 == 0;
    const Values values = {{"scale", usual ? draw.Log(1e-2, 1e6) : draw.Log(kLeast, kMost)},
                           {"sensitivity", usual ? draw.Log(0.1, 10) : draw.Log(kLeast, kMost)},
                           {"count", i % 3 == 0 ? 1 : draw.Whole(1, kMostWhole)},
                           {"delta", draw.Delta()}};
    const std::vector<Answer> answers = Asked("laplace", values);
    const Exact ratio = Exact(values.at("sensitivity")) / values.at("scale");
    CheckClaims("laplace", values, answers, [&](const Claim& claim) -> Exact {
      const Exact one = ratio > claim.epsilon ? Exact(-expm1((claim.epsilon - ratio) / 2)) : Exact(0);
      const auto r = static_cast<double>(ratio);
      if (!(r > 1e-300 && r < 700)) return one;
      return std::max(one, Exact(NormalDeltaFloor(LaplaceAtoms(r), values.at("count"), claim.epsilon)));
    });
    CheckOrder("laplace", values, answers, {{"scale", -1}, {"sensitivity", 1}, {"count", 1}, {"delta", -1}}, 2e-3,
               1 + draw.Log(1e-2, 10));
  }
}

// Exact for one draw, from the definition.
Exact ComputeDiscreteDelta(double sigma, std::int64_t sensitivity, double epsilon) {
  const Exact precision = 1 / (2 * Exact(sigma) * sigma), change = sensitivity;
  Exact all = 0, delta = 0;
  const auto reach = static_cast<std::int64_t>(std::ceil(45 * sigma) + 2);
  for (std::int64_t x = -reach; x <= reach; ++x) {
    const Exact mass = exp(-precision * x * x), gain = epsilon - (2 * Exact(x) + change) * change * precision;
    all += mass;
    if (gain < 0) delta -= mass * expm1(gain);
  }
  return delta / all;
}

TEST(CalculatorExtremes, DiscreteGaussian) {
  Draw draw(24);
  for (int i = 0; i < 40; ++i) {
    const Values values = {{"noise", i % 2 == 0 ? draw.Log(0.1, 30) : draw.Log(kLeast, kMost)},
                           {"sensitivity", i % 2 == 0 ? draw.Whole(1, 30) : draw.Log(kLeast, kMost)},
                           {"count", i % 3 != 0 ? 1 : draw.Whole(1, kMostWhole)},
                           {"delta", draw.Delta()}};
    const std::vector<Answer> answers = Asked("discrete-gaussian", values);
    const double noise = values.at("noise"), sensitivity = values.at("sensitivity");
    CheckClaims("discrete-gaussian", values, answers, [&](const Claim& claim) -> Exact {
      if (noise > 30 || sensitivity != std::floor(sensitivity) || sensitivity > 1e9) return 0;
      return ComputeDiscreteDelta(noise, static_cast<std::int64_t>(sensitivity), claim.epsilon);
    });
    CheckOrder("discrete-gaussian", values, answers, {{"count", 1}, {"delta", -1}}, 2e-3, 1 + draw.Log(1e-2, 10));
  }
}

TEST(CalculatorExtremes, SubsampledGaussian) {
  Draw draw(25);
  for (int i = 0; i < 12; ++i) {
    const bool usual = i % 2 == 0;
    const double z = usual ? draw.Log(0.3, 30) : draw.Log(kLeast, kMost);
    const double q = usual ? draw.Log(1e-10, 1) : draw.Log(kLeast, 1);
    const double steps = draw.Whole(1, usual && i % 4 == 0 ? 1e6 : kMostWhole);
    const Values values = {{"noise-multiplier", z}, {"sampling-rate", q}, {"steps", steps}, {"delta", draw.Delta()}};
    const std::vector<Answer> answers = Asked("subsampled-gaussian", values);
    CheckClaims("subsampled-gaussian", values, answers, [&](const Claim& claim) -> Exact {
      if (claim.epsilon > 1e4) return 0;
      const bool replaced = claim.neighbour == Neighbour::replace;
      Exact most = replaced ? ReplacedDeltaFloor(q, z, claim.epsilon) : ComputeSubsampledDelta(q, z, claim.epsilon);
      if (z < 0.15 || z > 1e100) return most;
      const LossAtoms atoms = replaced ? ReplacedAtoms(q, z) : SubsampledAtoms(q, z);
      return std::max(most, Exact(NormalDeltaFloor(atoms, steps, claim.epsilon)));
    });
    CheckOrder("subsampled-gaussian", values, answers,
               {{"noise-multiplier", -1}, {"sampling-rate", 1}, {"steps", 1}, {"delta", -1}}, 0.1,
               1 + draw.Log(1e-2, 10));
  }
}

// What these printed as <= 0.000 leaks more than that.
TEST(CalculatorExtremes, WhatLeaksALittleIsNotNothing) {
  struct Case {
    std::string mechanism;
    Values values;
    double truth;
  };
  const Case cases[] = {
      {"subsampled-gaussian",
       {{"noise-multiplier", 1}, {"sampling-rate", 1e-10}, {"steps", 1e15}, {"delta", 1e-5}},
       0.0071},
      {"subsampled-gaussian",
       {{"noise-multiplier", 1}, {"sampling-rate", 6e-10}, {"steps", 1e15}, {"delta", 3e-5}},
       0.05},
      {"randomized-response", {{"epsilon0", 3e-10}, {"choices", 2}, {"count", 1e15}, {"delta", 1e-9}}, 0.046},
      {"gaussian", {{"noise", 1}, {"sensitivity", 1e12}, {"count", 1}, {"delta", 1e-5}}, 5e23},
      {"gaussian", {{"noise", 1e20}, {"sensitivity", 1}, {"count", 1}, {"delta", 1e-21}}, 1e-22},
  };
  for (const Case& one : cases) {
    for (const Answer& answer : Asked(one.mechanism, one.values)) {
      if (answer.claim.adjacency == Adjacency::answer) continue;
      EXPECT_GE(answer.claim.epsilon, one.truth) << Shown(one.mechanism, one.values) << " " << answer.claim.accountant;
    }
  }
}

struct Asking {
  std::string mechanism, accountant;
  std::string noise, count;  // what can be left out
  double least, most;        // of the noise
};

// All but one of the two that can be left out.
Question Incomplete(const Asking& asking, Draw& draw, bool usual, bool without_noise) {
  Question question;
  question.mechanism = asking.mechanism;
  question.accountant = asking.accountant;
  Values& values = question.values;
  values["delta"] = draw.Delta();
  if (without_noise)
    values[asking.count] = draw.Whole(1, 1e4);
  else
    values[asking.noise] = usual ? draw.Log(asking.least, asking.most) : draw.Log(kLeast, kMost);
  if (asking.mechanism == "randomized-response") values["choices"] = draw.Whole(2, 100);
  if (asking.mechanism == "subsampled-gaussian") values["sampling-rate"] = draw.Log(1e-6, 1);
  if (asking.mechanism == "discrete-gaussian") values["sensitivity"] = draw.Whole(1, 5);
  if (asking.mechanism == "gaussian" || asking.mechanism == "laplace") values["sensitivity"] = draw.Log(0.1, 10);
  return question;
}

// Solved parameters meet the epsilon that they were solved for, or there is an error.
TEST(CalculatorExtremes, CalibrationMeetsItsEpsilon) {
  const Asking all[] = {{"gaussian", "", "noise", "count", 0.1, 1e3},
                        {"votes", "", "noise", "queries", 1, 1e4},
                        {"randomized-response", "", "epsilon0", "count", 1e-3, 10},
                        {"laplace", "", "scale", "count", 0.1, 1e3},
                        {"discrete-gaussian", "", "noise", "count", 0.1, 1e3},
                        {"subsampled-gaussian", "rdp", "noise-multiplier", "steps", 0.3, 30}};
  Draw draw(26);
  int solved = 0;
  for (int i = 0; i < 60; ++i) {
    Question question = Incomplete(all[i % 6], draw, i % 4 != 0, i / 6 % 2 == 0);
    const double epsilon = draw.Log(0.002, 100);
    const Result<Solution> solution = SolveQuestion(question, epsilon);
    if (!solution.ok()) continue;
    ++solved;
    question.values[solution->parameter] = solution->value;
    const Result<std::vector<Answer>> answers = ComputeEpsilon(question);
    ASSERT_TRUE(answers.ok()) << Shown(question.mechanism, question.values);
    EXPECT_LE(answers->front().claim.epsilon, epsilon) << Shown(question.mechanism, question.values);
  }
  EXPECT_GT(solved, 20);
}

}  // namespace
}  // namespace retort::privacy
