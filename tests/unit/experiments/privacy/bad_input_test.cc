// Whatever the parameters are: a clear error, or claims that are numbers or infinity with a reason, in
// bounded time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <limits>
#include <random>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/calculator.h"
#include "experiments/privacy/calibration.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "tests/unit/experiments/privacy/numbers.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();
constexpr double kTiniest = std::numeric_limits<double>::denorm_min();
constexpr double kSeconds = 5;  // of the processor, for one call; the slowest takes a fraction

// Processor time of this process, so that a busy machine changes nothing.
class Stopwatch {
 public:
  [[nodiscard]] double Seconds() const {
    return static_cast<double>(std::clock() - began_) / static_cast<double>(CLOCKS_PER_SEC);
  }

 private:
  std::clock_t began_ = std::clock();
};

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  [[nodiscard]] bool OneIn(unsigned n) { return random_() % n == 0; }
  [[nodiscard]] double Pick(std::initializer_list<double> values) { return values.begin()[random_() % values.size()]; }
  [[nodiscard]] double LogUniform(double least, double most) {
    const double share = static_cast<double>(random_()) / static_cast<double>(std::mt19937::max());
    return std::exp(std::log(least) + share * (std::log(most) - std::log(least)));
  }
  [[nodiscard]] double Inside(ParameterRange range) {
    switch (range) {
      case ParameterRange::positive:
        return OneIn(2) ? LogUniform(1e-3, 1e3)
                        : Pick({kTiniest, 1e-300, 1e-150, 1e-20, 1e-8, 1, 1e8, 1e20, 1e150, 1e300, kMost});
      case ParameterRange::rate:
        return OneIn(2) ? LogUniform(1e-4, 1) : Pick({kTiniest, 1e-300, 1e-12, 1e-7, 1 - 0x1p-53, 1});
      case ParameterRange::probability:
        return OneIn(2) ? LogUniform(1e-10, 0.1) : Pick({kTiniest, 1e-300, 1e-100, 1e-16, 0.5, 0.999, 1 - 0x1p-53});
      case ParameterRange::whole:
        return OneIn(2) ? std::floor(LogUniform(1, 1e5)) : Pick({1, 2, 1e6, 4e6, 1e7, 1e9, 1e12, 1e15});
      case ParameterRange::choices:
        return OneIn(2) ? std::floor(LogUniform(2, 100)) : Pick({2, 3, 1e6, 1e9});
      case ParameterRange::retries:
        return Pick({0, 1, 5, 1000});
      case ParameterRange::grain:
        return Pick({1, 2, 10, 1024});
      case ParameterRange::shape:
        return OneIn(2) ? LogUniform(1e-3, 10) - 1e-3 : Pick({-1 + 0x1p-53, -0.9, -1e-300, 0, 1, 1e6});
    }
    return 1;
  }
  [[nodiscard]] double Outside(ParameterRange range) {
    switch (range) {
      case ParameterRange::positive:
        return Pick({0, -0.0, -1, -1e300, -kTiniest, kNaN, kInfinity, -kInfinity});
      case ParameterRange::rate:
      case ParameterRange::probability:
        return Pick({0, -1e-9, 1 + 0x1p-52, 2, 1e300, kNaN, kInfinity, -kInfinity});
      case ParameterRange::whole:
      case ParameterRange::choices:
        return Pick({0, -1, 2.5, 0x1p53, 1e16, 1e300, kNaN, kInfinity, -kInfinity});
      case ParameterRange::retries:
      case ParameterRange::grain:
        return Pick({-1, 2.5, 1025, 1e300, kNaN, kInfinity, -kInfinity});
      case ParameterRange::shape:
        return Pick({-1, -2, 1e7, 1e300, kNaN, kInfinity, -kInfinity});
    }
    return kNaN;
  }

 private:
  std::mt19937 random_;
};

std::string Text(const Question& question) {
  std::string text = question.mechanism + " " + question.method + " " + question.accountant;
  for (const auto& [name, value] : question.values) text += " --" + name + " " + FormatExactNumber(value);
  return text;
}

void ExpectSound(const std::vector<Answer>& answers, const std::string& where) {
  EXPECT_FALSE(answers.empty()) << where;
  for (const Answer& answer : answers) {
    const Claim& claim = answer.claim;
    EXPECT_TRUE(claim.epsilon >= 0) << where << ": " << claim.epsilon;
    // A formula that is undefined stays a formula: infinite, with its reason.
    if (claim.status != ClaimStatus::paper_formula) {
      EXPECT_EQ(std::isinf(claim.epsilon), claim.status == ClaimStatus::unbounded) << where;
    }
    if (std::isinf(claim.epsilon)) {
      EXPECT_NE(DescribeReason(claim.reason), claim.reason) << where << ": a reason without a sentence";
    }
    if (claim.lower) {
      EXPECT_LE(*claim.lower, claim.epsilon) << where;
    }
    if (claim.lower) {
      EXPECT_GE(*claim.lower, 0) << where;
    }
  }
}

// The exact accountant of composed Gaussians is never above the others.
void ExpectOrdered(const std::string& mechanism, const std::vector<Answer>& answers, const std::string& where) {
  if (mechanism != "gaussian") return;
  EXPECT_LE(answers[0].unrounded, answers[1].unrounded * (1 + 1e-9) + 1e-9) << where;
  EXPECT_LE(answers[1].unrounded, answers[2].unrounded * (1 + 1e-9) + 1e-9) << where;
}

Question Drawn(const MechanismRule& rule, Dice& dice, bool* valid) {
  Question question;
  question.mechanism = rule.name;
  question.method = rule.method;
  if (rule.name == "select") question.distribution = dice.OneIn(2) ? "" : dice.OneIn(2) ? "poisson" : "logarithmic";
  if (rule.name == "subsampled-gaussian") question.accountant = dice.OneIn(2) ? "rdp" : "pld";
  *valid = true;
  for (const ParameterRule& parameter : rule.parameters) {
    if (parameter.optional && dice.OneIn(2)) continue;
    const bool bad = dice.OneIn(30);
    question.values[std::string(parameter.name)] = bad ? dice.Outside(parameter.range) : dice.Inside(parameter.range);
    if (bad) *valid = false;
  }
  return question;
}

TEST(BadInput, EveryCalculatorAnswersAnythingInBoundedTime) {
  Dice dice(6);
  double slowest = 0;
  for (int round = 0; round < 60; ++round) {
    for (const MechanismRule& rule : ListMechanismRules()) {
      bool valid = true;
      const Question question = Drawn(rule, dice, &valid);
      const std::string where = Text(question);
      const Stopwatch watch;
      const Result<std::vector<Answer>> answers = ComputeEpsilon(question);
      slowest = std::max(slowest, watch.Seconds());
      ASSERT_LT(watch.Seconds(), kSeconds) << where;
      if (answers.ok()) {
        EXPECT_TRUE(valid) << where;
        ExpectSound(*answers, where);
        ExpectOrdered(question.mechanism, *answers, where);
      } else {
        EXPECT_EQ(answers.status().code(), StatusCode::usage) << where;
        EXPECT_GT(answers.status().message().size(), 20U) << where;
        // Valid ranges that together have no meaning: more choices than classes, too many rows, an undefined
        // formula, a distribution that no gamma gives.
        if (valid) {
          EXPECT_TRUE(question.mechanism == "paper" || question.mechanism == "select" ||
                      question.values.contains("grain"))
              << where << ": " << answers.status().message();
        }
      }
    }
  }
  RecordProperty("slowest_seconds", std::to_string(slowest));
}

TEST(BadInput, EverySolverAnswersAnythingInBoundedTime) {
  Dice dice(7);
  double slowest = 0;
  for (int round = 0; round < 12; ++round) {
    for (const MechanismRule& rule : ListMechanismRules()) {
      bool valid = true;
      Question question = Drawn(rule, dice, &valid);
      const std::string_view unknown = rule.solvable[round % rule.solvable.size()];
      question.values.erase(std::string(unknown));
      const double epsilon = dice.OneIn(8)   ? dice.Outside(ParameterRange::positive)
                             : dice.OneIn(2) ? dice.LogUniform(0.1, 20)
                                             : dice.Pick({kTiniest, 1e-300, 1e-9, 9e-4, 0.001, 1e3, 1e6, 1e300});
      const std::string where =
          "solve " + std::string(unknown) + " for " + FormatExactNumber(epsilon) + ": " + Text(question);
      const Stopwatch watch;
      const Result<Solution> solution = SolveQuestion(question, epsilon);
      slowest = std::max(slowest, watch.Seconds());
      ASSERT_LT(watch.Seconds(), kSeconds) << where;
      if (!solution.ok()) {
        EXPECT_EQ(solution.status().code(), StatusCode::usage) << where;
        continue;
      }
      EXPECT_TRUE(epsilon > 0 && std::isfinite(epsilon)) << where;
      EXPECT_TRUE(std::isfinite(solution->value) && solution->value > 0) << where;
      ExpectSound(solution->answers, where);
      EXPECT_LE(solution->answers.front().claim.epsilon, epsilon) << where;
    }
  }
  RecordProperty("slowest_seconds", std::to_string(slowest));
}

// Beyond what a sweep file accepts: descriptions may come from elsewhere.
TrialSpec DrawnTrial(Dice& dice) {
  const auto positive = [&] {
    return dice.OneIn(8) ? dice.Outside(ParameterRange::positive) : dice.Inside(ParameterRange::positive);
  };
  const auto count = [&] {
    return static_cast<std::int64_t>(dice.OneIn(8) ? dice.Pick({0, -1, -1e18, 9e18, 0x1p53})
                                                   : dice.Inside(ParameterRange::whole));
  };
  TrialSpec spec = dice.OneIn(3)   ? VoteStudent()
                   : dice.OneIn(2) ? DpSgd(Role::student)
                                   : GradientStudent(dice.OneIn(2) ? Reading::working : Reading::printed);
  spec.release.sigma = positive();
  spec.release.norm_bound = positive();
  spec.release.noise_multiplier = positive();
  spec.release.vote_noise = positive();
  spec.privacy.delta =
      dice.OneIn(8) ? dice.Outside(ParameterRange::probability) : dice.Inside(ParameterRange::probability);
  spec.privacy.epsilon = positive();
  spec.steps = count();
  spec.queries = count();
  if (dice.OneIn(2)) spec.batch = count();
  spec.execution.retries = dice.OneIn(4) ? 1000 : 0;
  spec.execution.reserve_block = dice.OneIn(4) ? 1'000'000'000 : 64;
  return spec;
}

std::string Text(const TrialSpec& spec) {
  std::string text = spec.method + (spec.queries > 0 ? " votes" : "");
  for (const double value : {spec.release.sigma, spec.release.norm_bound, spec.release.noise_multiplier,
                             spec.release.vote_noise, spec.privacy.delta, spec.privacy.epsilon})
    text += " " + FormatExactNumber(value);
  for (const std::int64_t value :
       {spec.steps, spec.queries, spec.batch, spec.execution.retries, spec.execution.reserve_block})
    text += " " + std::to_string(value);
  return text + " reading " + std::to_string(static_cast<int>(spec.reading)) + " calibrate " +
         std::to_string(static_cast<int>(spec.privacy.calibrate)) + " claim " +
         std::to_string(static_cast<int>(spec.privacy.claim));
}

void ExpectSound(const std::vector<Claim>& claims, const std::string& where) {
  for (const Claim& claim : claims) {
    EXPECT_TRUE(claim.epsilon >= 0) << where << ": " << claim.epsilon;
    if (std::isinf(claim.epsilon)) {
      EXPECT_NE(DescribeReason(claim.reason), claim.reason) << where << ": a reason without a sentence";
    }
    if (claim.status == ClaimStatus::proven) {
      EXPECT_TRUE(std::isfinite(claim.epsilon)) << where;
    }
  }
}

TEST(BadInput, EveryTrialIsPlannedClaimedAndTotalledInBoundedTime) {
  Dice dice(8);
  for (int round = 0; round < 1500; ++round) {
    TrialSpec spec = DrawnTrial(dice);
    const std::string where = "trial " + std::to_string(round) + ": " + Text(spec);
    const Stopwatch watch;
    const Result<std::vector<PrivacyEvent>> events = PlanEvents(spec);
    if (events.ok()) {
      const std::vector<Claim> claims = ComputeClaims({&spec, {}}, *events);
      ExpectSound(claims, where);
      const bool delta = spec.privacy.delta > 0 && spec.privacy.delta < 1;
      for (const Claim& claim : claims)
        if (!delta) {
          EXPECT_NE(claim.status, ClaimStatus::proven) << where;
        }
      EXPECT_TRUE(ComputeTotalEpsilon({*events, *events}, spec.privacy.delta) >= 0) << where;
    }
    ASSERT_LT(watch.Seconds(), kSeconds) << where;
  }
}

TEST(BadInput, EveryCalibrationEndsInBoundedTimeAndMeetsItsTarget) {
  Dice dice(9);
  for (int round = 0; round < 300; ++round) {
    TrialSpec spec = DrawnTrial(dice);
    spec.privacy.calibrate = dice.OneIn(2) ? Calibrate::noise : Calibrate::steps;
    spec.privacy.claim = dice.OneIn(3) ? ClaimTarget::paper : ClaimTarget::example;
    const std::string where = "trial " + std::to_string(round) + ": " + Text(spec);
    const Stopwatch watch;
    const Status status = CalibrateTrial(spec);
    ASSERT_LT(watch.Seconds(), kSeconds) << where << ": " << status.message();
    if (!status.ok()) {
      EXPECT_EQ(status.code(), StatusCode::usage) << where;
      continue;
    }
    const Result<std::vector<PrivacyEvent>> events = PlanEvents(spec);
    ASSERT_TRUE(events.ok()) << where << ": " << events.status().message();
    const std::vector<Claim> claims = ComputeClaims({&spec, {}}, *events);
    const bool paper = spec.privacy.claim == ClaimTarget::paper;
    const Neighbour neighbour = spec.method == "dpsgd" ? Neighbour::add_remove : Neighbour::replace;
    const Claim* claim = paper ? FindPaper(claims) : Find(claims, Adjacency::example, neighbour);
    ASSERT_NE(claim, nullptr) << where;
    EXPECT_LE(claim->epsilon, spec.privacy.epsilon) << where;
  }
}

}  // namespace
}  // namespace retort::privacy
