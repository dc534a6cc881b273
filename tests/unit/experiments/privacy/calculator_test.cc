#include "experiments/privacy/calculator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/paper_formulas.h"
#include "experiments/privacy/published_settings.h"
#include "tests/unit/experiments/privacy/numbers.h"

namespace retort::privacy {
namespace {

using ::testing::HasSubstr;

// Values at which every claim of every mechanism is finite, for any method.
double Usual(std::string_view name) {
  if (name == "noise" || name == "threshold-noise" || name == "cost-noise") return 8;
  if (name == "answers") return 10;
  if (name == "vote-cost") return 0.5;
  if (name == "vote-order") return 12;
  if (name == "sensitivity" || name == "norm-bound") return 1;
  if (name == "count" || name == "queries" || name == "steps") return 20;
  if (name == "epsilon0") return 0.4;
  if (name == "choices") return 3;
  if (name == "noise-multiplier") return 1.2;
  if (name == "sampling-rate") return 0.02;
  if (name == "scale") return 9;
  if (name == "sigma") return 100;
  if (name == "classes") return 10;
  if (name == "batch") return 16;
  if (name == "query-rate") return 0.2;
  if (name == "examples") return 8000;
  if (name == "retries" || name == "grain") return 2;
  if (name == "reserve-block") return 3;
  if (name == "draws") return 10;
  if (name == "eta") return 1;
  if (name == "base-epsilon") return 1;
  if (name == "base-delta") return 1e-8;
  return 1e-5;  // delta
}

Question UsualQuestion(const MechanismRule& rule) {
  Question question;
  question.mechanism = rule.name;
  question.method = rule.method;
  for (const ParameterRule& parameter : rule.parameters)
    if (parameter.name != "gamma") question.values[std::string(parameter.name)] = Usual(parameter.name);
  return question;
}

std::vector<Answer> AnswersTo(const Question& question) {
  const Result<std::vector<Answer>> answers = ComputeEpsilon(question);
  EXPECT_TRUE(answers.ok()) << answers.status().message();
  return answers.ok() ? *answers : std::vector<Answer>(1);
}

std::string FindError(const Question& question) {
  const Result<std::vector<Answer>> answers = ComputeEpsilon(question);
  EXPECT_FALSE(answers.ok());
  if (answers.ok()) return "";
  EXPECT_EQ(answers.status().code(), StatusCode::usage);
  return answers.status().message();
}

TEST(Calculator, KnownValuesOfEachMechanism) {
  EXPECT_EQ(AnswersTo({"gaussian", "", "", {{"noise", 1}, {"sensitivity", 1}, {"count", 1}, {"delta", 1e-5}}})[0]
                .claim.epsilon,
            4.378);
  EXPECT_EQ(AnswersTo({"votes", "", "", {{"noise", 100}, {"queries", 5000}, {"delta", 1e-5}}})[0].claim.epsilon, 4.378);
  EXPECT_NEAR(
      AnswersTo({"randomized-response", "", "", {{"epsilon0", 1}, {"choices", 3}, {"count", 1000}, {"delta", 1e-5}}})[1]
          .unrounded,
      470.607637017, 1e-5);
  EXPECT_EQ(AnswersTo({"discrete-gaussian",
                       "",
                       "",
                       {{"noise", 4}, {"sensitivity", 1}, {"count", 1}, {"delta", 3.05545464926682e-6}}})[1]
                .claim.epsilon,
            1.001);
  EXPECT_NEAR(
      AnswersTo({"laplace", "", "", {{"scale", 2}, {"sensitivity", 1}, {"count", 1}, {"delta", 0.181269246922018}}})[0]
          .unrounded,
      0.1, 1e-12);
}

TEST(Calculator, PldStandsBetweenItsLowerEndAndRdp) {
  const auto answers =
      AnswersTo({"subsampled-gaussian",
                 "",
                 "",
                 {{"noise-multiplier", 1.5}, {"sampling-rate", 0.04}, {"steps", 2250}, {"delta", 1e-5}}});
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0].claim.accountant, "pld");
  EXPECT_EQ(answers[0].claim.epsilon, 6.769);
  ASSERT_TRUE(answers[0].claim.lower);
  EXPECT_GT(*answers[0].claim.lower, 6.7575);
  EXPECT_LT(*answers[0].claim.lower, 6.769);
  EXPECT_EQ(answers[1].claim.accountant, "pld");
  EXPECT_EQ(answers[1].claim.neighbour, Neighbour::replace);
  EXPECT_EQ(answers[1].claim.epsilon, 13.489);
  ASSERT_TRUE(answers[1].claim.lower);
  EXPECT_GT(*answers[1].claim.lower, 13.46);
  EXPECT_EQ(answers[2].claim.accountant, "rdp");
  EXPECT_GT(answers[2].claim.epsilon, answers[0].claim.epsilon);
  EXPECT_EQ(answers[3].claim.accountant, "rdp-group-of-2");
  EXPECT_EQ(answers[3].claim.neighbour, Neighbour::replace);
  EXPECT_GT(answers[3].claim.epsilon, answers[1].claim.epsilon);
}

TEST(Calculator, LossesBeyondAllNumbersSayThatTheyAre) {
  const auto answers =
      AnswersTo({"gaussian", "", "", {{"noise", 1e-300}, {"sensitivity", 1e300}, {"count", 1}, {"delta", 1e-5}}});
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].claim.reason, reason::kTooLarge);
  EXPECT_EQ(answers[1].claim.reason, reason::kNoFiniteOrder);
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.claim.status, ClaimStatus::unbounded);
    EXPECT_EQ(answer.detail, DescribeReason(answer.claim.reason));
    EXPECT_NE(answer.detail, answer.claim.reason);
  }
}

// One removal and one addition cannot be solved for where epsilon is huge, and still it is finite.
TEST(Calculator, ReplacementFallsBackToTheUnsampledBound) {
  const std::map<std::string, double> values = {
      {"noise-multiplier", 1e-3}, {"sampling-rate", 0.01}, {"steps", 1e15}, {"delta", 1e-5}};
  for (const Answer& answer : AnswersTo({"subsampled-gaussian", "", "", values})) {
    EXPECT_EQ(answer.claim.status, ClaimStatus::proven);
    if (answer.claim.neighbour != Neighbour::replace) continue;
    EXPECT_THAT(answer.claim.reason, HasSubstr("sampling left out"));
    EXPECT_NEAR(answer.unrounded, 2e21, 1e16);  // mu^2 / 2 with mu = 2 sqrt(steps)/z
  }
}

TEST(Calculator, EveryClaimSaysHowItWasReachedOrWhyNot) {
  for (const MechanismRule& rule : ListMechanismRules()) {
    for (const Answer& answer : AnswersTo(UsualQuestion(rule))) {
      const std::string where = std::string(rule.name) + " " + std::string(rule.method) + " " + answer.variant;
      EXPECT_FALSE(answer.claim.reason.empty() && answer.theorem.empty()) << where;
      EXPECT_FALSE(answer.claim.units.empty()) << where;
      if (answer.claim.status == ClaimStatus::unbounded) {
        EXPECT_EQ(answer.claim.epsilon, kInfinity) << where;
        EXPECT_FALSE(answer.detail.empty()) << where;
      } else {
        EXPECT_GE(answer.claim.epsilon, answer.unrounded) << where;
        EXPECT_LE(answer.claim.epsilon, answer.unrounded + 0.00101) << where;
        EXPECT_FALSE(answer.claim.accountant.empty()) << where;
      }
      const bool formula = answer.claim.accountant.starts_with("paper:");
      EXPECT_EQ(answer.claim.status == ClaimStatus::paper_formula, formula) << where;
    }
  }
}

// Noise hides, everything that can be solved for besides costs.
TEST(Calculator, EveryClaimIsMonotoneInWhatIsSolvedFor) {
  for (const MechanismRule& rule : ListMechanismRules()) {
    for (const std::string_view name : rule.solvable) {
      Question more = UsualQuestion(rule);
      more.values[std::string(name)] *= 2;
      const auto before = AnswersTo(UsualQuestion(rule));
      const auto after = AnswersTo(more);
      ASSERT_EQ(before.size(), after.size());
      const bool noise = name == "noise" || name == "sigma" || name == "scale" || name == "noise-multiplier";
      for (std::size_t i = 0; i < before.size(); ++i) {
        const double b = before[i].claim.epsilon;
        const double a = after[i].claim.epsilon;
        EXPECT_TRUE(noise ? a <= b : a >= b) << rule.name << " " << rule.method << " " << name << " " << i;
      }
    }
  }
}

TEST(Calculator, FallsWithDelta) {
  for (const MechanismRule& rule : ListMechanismRules()) {
    Question larger = UsualQuestion(rule);
    larger.values["delta"] = 1e-3;
    const auto before = AnswersTo(UsualQuestion(rule));
    const auto after = AnswersTo(larger);
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_LE(after[i].claim.epsilon, before[i].claim.epsilon) << rule.name << " " << rule.method << " " << i;
  }
}

TEST(CalculatorRules, EveryParameterRefusesWhatIsOutsideItsRange) {
  for (const MechanismRule& rule : ListMechanismRules()) {
    for (const ParameterRule& parameter : rule.parameters) {
      std::vector<double> bad = {kNaN, kInfinity, -kInfinity, 0.0, -1.0};
      if (parameter.range == ParameterRange::rate) bad.push_back(1.0001);
      if (parameter.range == ParameterRange::probability) bad.push_back(1.0);
      if (parameter.range == ParameterRange::whole || parameter.range == ParameterRange::choices) bad.push_back(2.5);
      if (parameter.range == ParameterRange::choices) bad.push_back(1.0);
      if (parameter.range == ParameterRange::retries) bad = {kNaN, kInfinity, -1.0, 0.5, 1001.0};
      if (parameter.range == ParameterRange::grain) bad.push_back(1025.0);
      if (parameter.range == ParameterRange::shape) bad = {kNaN, kInfinity, -kInfinity, -1.0, 1e7};
      for (const double value : bad) {
        Question question = UsualQuestion(rule);
        question.values[std::string(parameter.name)] = value;
        EXPECT_THAT(FindError(question), HasSubstr("--" + std::string(parameter.name) + " must ")) << value;
      }
    }
  }
}

TEST(CalculatorRules, MissingAndStrayParametersAreNamed) {
  for (const MechanismRule& rule : ListMechanismRules()) {
    for (const ParameterRule& parameter : rule.parameters) {
      if (parameter.optional) continue;
      Question question = UsualQuestion(rule);
      question.values.erase(std::string(parameter.name));
      EXPECT_THAT(FindError(question), HasSubstr("needs --" + std::string(parameter.name)));
    }
    Question question = UsualQuestion(rule);
    question.values["moon"] = 1;
    EXPECT_THAT(FindError(question), HasSubstr("--moon is no parameter of"));
  }
}

TEST(CalculatorRules, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_THAT(FindError({"gausian", "", "", {}}), HasSubstr("did you mean gaussian"));
  EXPECT_THAT(FindError({"paper", "", "", {}}), HasSubstr("needs --method"));
  EXPECT_THAT(FindError({"paper", "dpdfc", "", {}}), HasSubstr("did you mean dpdfd"));
  EXPECT_THAT(FindError({"votes", "dpdfd", "", {}}), HasSubstr("--method belongs to `paper`"));
  EXPECT_THAT(FindError({"select", "", "", {}}), HasSubstr("needs --base: one of subsampled-gaussian, gaussian"));
  EXPECT_THAT(FindError({"select", "gausian", "", {}}), HasSubstr("There is no base `gausian`; did you mean gaussian"));
  Question question = UsualQuestion(ListMechanismRules()[0]);
  question.accountant = "pld";
  EXPECT_THAT(FindError(question), HasSubstr("--accountant belongs to subsampled-gaussian"));
  question = {"subsampled-gaussian",
              "",
              "prv",
              {{"noise-multiplier", 1}, {"sampling-rate", 0.1}, {"steps", 1}, {"delta", 1e-5}}};
  EXPECT_THAT(FindError(question), HasSubstr("no accountant `prv`"));
}

TEST(CalculatorSolve, SolutionIsTheTightestThatMeetsEpsilon) {
  for (const MechanismRule& rule : ListMechanismRules()) {
    for (const std::string_view name : rule.solvable) {
      Question question = UsualQuestion(rule);
      const double epsilon = std::ceil(AnswersTo(question)[0].claim.epsilon * 1370) / 1000;
      question.values.erase(std::string(name));
      const Result<Solution> solution = SolveQuestion(question, epsilon);
      const std::string where = std::string(rule.name) + " " + std::string(rule.method) + " " + std::string(name);
      ASSERT_TRUE(solution.ok()) << where << ": " << solution.status().message();
      EXPECT_EQ(solution->parameter, name);
      EXPECT_LE(solution->answers[0].claim.epsilon, epsilon) << where;
      const bool whole = name == "count" || name == "queries" || name == "steps";
      const bool cheaper = name == "epsilon0" || name == "base-epsilon" || whole;
      question.values[std::string(name)] = whole ? solution->value + 1 : solution->value * (cheaper ? 1.003 : 0.997);
      EXPECT_GT(AnswersTo(question)[0].unrounded, solution->answers[0].unrounded) << where;
    }
  }
}

TEST(Calculator, LostAttemptsAreChargedABlockEach) {
  const auto charged = [](double queries, std::map<std::string, double> more) {
    more.insert({{"noise", 100}, {"queries", queries}, {"delta", 1e-5}});
    return AnswersTo({"votes", "", "", more})[0].claim.epsilon;
  };
  EXPECT_EQ(charged(5000, {{"retries", 0}}), charged(5000, {}));
  EXPECT_EQ(charged(5000, {{"retries", 2}, {"reserve-block", 10}, {"batch", 50}}), charged(6000, {}));
  EXPECT_EQ(charged(5000, {{"retries", 1}, {"batch", 1e9}}), charged(10000, {}));
  EXPECT_EQ(charged(5000, {{"retries", 1}}), charged(10000, {})) << "a block of unknown size is all of them";
  EXPECT_EQ(charged(5000, {{"grain", 8}}), charged(5000, {})) << "the noise grows with the parts of a vote";
  EXPECT_THAT(FindError({"votes", "", "", {{"noise", 2000}, {"queries", 9}, {"delta", 1e-5}, {"grain", 1000}}}),
              HasSubstr("--noise times --grain"));
}

TEST(CalculatorSolve, RoomIsLeftForLostAttempts) {
  for (const std::string accountant : {"pld", "rdp"}) {
    const Question few{
        "subsampled-gaussian",
        "",
        accountant,
        {{"noise-multiplier", 1.1}, {"sampling-rate", 0.02}, {"delta", 1e-5}, {"retries", 3}, {"reserve-block", 20}}};
    Question none = few;
    none.values.erase("retries");
    const Result<Solution> with = SolveQuestion(few, 2), without = SolveQuestion(none, 2);
    ASSERT_TRUE(with.ok() && without.ok());
    EXPECT_EQ(with->value, without->value - 60) << accountant;
    EXPECT_LE(with->answers[0].claim.epsilon, 2);
    Question noise = few;
    noise.values.erase("noise-multiplier");
    noise.values["steps"] = with->value;
    EXPECT_NEAR(SolveQuestion(noise, 2)->value, 1.1, 2e-3) << accountant;
  }
}

Question Selection(std::map<std::string, double> more, const std::string& distribution = "") {
  Question question{"select", "gaussian", "", {{"noise", 8}, {"sensitivity", 1}, {"count", 4}, {"delta", 1e-5}}};
  question.values.insert(more.begin(), more.end());
  question.distribution = distribution;
  return question;
}

TEST(CalculatorSelection, DistributionsOfKAreCheckedByName) {
  EXPECT_THAT(FindError(Selection({})), HasSubstr("needs --draws"));
  EXPECT_THAT(FindError(Selection({{"draws", 10}, {"gamma", 0.1}})), HasSubstr("Give --draws or --gamma"));
  EXPECT_THAT(FindError(Selection({{"draws", 10}, {"eta", 2}}, "geometric")), HasSubstr("--eta belongs to"));
  EXPECT_THAT(FindError(Selection({{"draws", 10}}, "negative-binomial")), HasSubstr("needs --eta"));
  EXPECT_THAT(FindError(Selection({{"gamma", 0.1}}, "poisson")), HasSubstr("--gamma belongs to"));
  EXPECT_THAT(FindError(Selection({{"draws", 10}}, "poison")), HasSubstr("did you mean poisson"));
  EXPECT_THAT(FindError(Selection({{"draws", 0.5}})), HasSubstr("must be above 1"));
  EXPECT_THAT(FindError(Selection({{"draws", 10}, {"eta", -1}})), HasSubstr("--eta must be above -1"));
  EXPECT_THAT(FindError(Selection({{"gamma", 1.0}})), HasSubstr("--gamma must lie between 0 and 1"));
  EXPECT_EQ(AnswersTo(Selection({{"draws", 10}}))[0].claim,
            AnswersTo(Selection({{"gamma", 0.1}}, "geometric"))[0].claim);
  EXPECT_EQ(AnswersTo(Selection({{"draws", 10}, {"eta", 0}}))[0].claim,
            AnswersTo(Selection({{"draws", 10}}, "logarithmic"))[0].claim);
  EXPECT_GT(AnswersTo(Selection({{"draws", 0.5}}, "poisson"))[0].claim.epsilon, 0);
}

TEST(CalculatorSelection, WorstCandidateDecidesAndIsChecked) {
  Question question = Selection({{"draws", 10}});
  const double alike = AnswersTo(question)[0].claim.epsilon;
  question.candidates = {{{"noise", 4}}, {{"noise", 8}, {"count", 2}}, {}};
  const double worst = AnswersTo(question)[0].claim.epsilon;
  EXPECT_GT(worst, 1.5 * alike);
  question.candidates = {{{"noise", 4}}};
  EXPECT_EQ(AnswersTo(question)[0].claim.epsilon, worst);
  question.candidates = {{{"moon", 4}}};
  EXPECT_THAT(FindError(question), HasSubstr("--candidate: moon is no parameter of one candidate"));
  question.candidates = {{{"delta", 1e-3}}};
  EXPECT_THAT(FindError(question), HasSubstr("--candidate: delta is no parameter"));
  question.candidates = {{{"noise", -4}}};
  EXPECT_THAT(FindError(question), HasSubstr("--candidate: noise must be a finite number above 0"));
  Question votes = UsualQuestion(ListMechanismRules()[1]);
  votes.distribution = "poisson";
  EXPECT_THAT(FindError(votes), HasSubstr("belong to `select`"));
}

TEST(CalculatorSelection, ClaimsSayWhatTheyAssume) {
  for (const Answer& answer : AnswersTo(Selection({{"draws", 10}}, "poisson"))) {
    EXPECT_THAT(answer.claim.assumptions, ::testing::Contains("unselected-hidden"));
    EXPECT_THAT(answer.claim.accountant, ::testing::StartsWith("selection-"));
    EXPECT_THAT(answer.claim.reason, HasSubstr("Poisson, E[K] = 10"));
    EXPECT_THAT(answer.detail, HasSubstr("one candidate costs"));
  }
}

TEST(CalculatorSolve, PublishedNoiseOfTheGaussian) {
  const Result<Solution> solution =
      SolveQuestion({"gaussian", "", "", {{"sensitivity", 1}, {"count", 1}, {"delta", 1e-5}}}, 1);
  ASSERT_TRUE(solution.ok());
  EXPECT_NEAR(solution->value, 3.73063163482, 2e-8);
  EXPECT_GE(solution->value, 3.73063163481594);
}

TEST(CalculatorSolve, ExactlyOneParameterIsLeftOut) {
  const MechanismRule& rule = ListMechanismRules()[0];
  EXPECT_THAT(SolveQuestion(UsualQuestion(rule), 1).status().message(),
              HasSubstr("Leave out exactly one of --noise and --count"));
  Question both = UsualQuestion(rule);
  both.values.erase("noise");
  both.values.erase("count");
  EXPECT_THAT(SolveQuestion(both, 1).status().message(), HasSubstr("Leave out exactly one"));
}

TEST(CalculatorSolve, WhatCannotBeMetIsAnError) {
  Question votes{"votes", "", "", {{"noise", 1}, {"delta", 1e-5}}};
  EXPECT_THAT(SolveQuestion(votes, 0.5).status().message(), HasSubstr("No --queries brings epsilon to 0.5"));
  for (const double epsilon : {0.0, -1.0, kNaN, kInfinity})
    EXPECT_THAT(SolveQuestion(votes, epsilon).status().message(), HasSubstr("--epsilon must be"));
}

TEST(CalculatorSolve, FindsStepsHoweverManyThereAre) {
  const auto steps = [](double noise, const std::string& accountant) {
    return SolveQuestion({"subsampled-gaussian",
                          "",
                          accountant,
                          {{"sampling-rate", 1e-4}, {"noise-multiplier", noise}, {"delta", 1e-5}}},
                         8);
  };
  for (const char* accountant : {"", "rdp", "pld"}) {
    const Result<Solution> many = steps(1000, accountant);
    ASSERT_TRUE(many.ok()) << accountant << ": " << many.status().message();
    EXPECT_GT(many->value, 1e12) << "beyond what loss distributions are composed for";
    EXPECT_FALSE(many->more);
    const Result<Solution> most = steps(1e6, accountant);
    ASSERT_TRUE(most.ok()) << accountant << ": " << most.status().message();
    EXPECT_TRUE(most->more);
    EXPECT_EQ(most->value, 1e15);
  }
}

// So many that a grid bounds them loosely, and RDP does better.
TEST(CalculatorSolve, OneMoreStepCostsMoreThanAsked) {
  Question question = {
      "subsampled-gaussian", "", "", {{"sampling-rate", 1e-6}, {"noise-multiplier", 1}, {"delta", 1e-5}}};
  const Result<Solution> solution = SolveQuestion(question, 1);
  ASSERT_TRUE(solution.ok()) << solution.status().message();
  EXPECT_LE(solution->answers.front().claim.epsilon, 1);
  question.values["steps"] = solution->value + 1;
  question.quick = true;
  const Result<std::vector<Answer>> more = ComputeEpsilon(question);
  ASSERT_TRUE(more.ok());
  EXPECT_GT(more->front().claim.epsilon, 1) << solution->value;
}

TEST(CalculatorPapers, PrintedMechanismsWithoutABoundSaySo) {
  Question label = {"paper", "dpsd-label", "", {{"epsilon0", 1}, {"choices", 3}, {"classes", 10}, {"delta", 1e-5}}};
  const auto below = AnswersTo(label);
  EXPECT_EQ(below[0].claim.status, ClaimStatus::paper_formula);
  EXPECT_EQ(below[0].claim.adjacency, Adjacency::label);
  EXPECT_EQ(below[0].claim.delta, 0);
  EXPECT_EQ(below[1].claim.status, ClaimStatus::unbounded);
  EXPECT_THAT(below[1].detail, HasSubstr("0.597"));
  label.values["classes"] = 3;  // plain randomised response
  for (const Answer& answer : AnswersTo(label)) EXPECT_NE(answer.claim.status, ClaimStatus::unbounded);
  label.values["classes"] = 2;
  EXPECT_THAT(FindError(label), HasSubstr("--choices must be at most --classes"));
  label.method = "dp-dfd";
  EXPECT_THAT(FindError(label), HasSubstr("--choices must be at most --classes"));
  label.values["classes"] = 10;
  EXPECT_EQ(AnswersTo(label)[0].claim.epsilon, 1);
  const auto rona =
      AnswersTo({"paper", "rona", "", {{"sigma", 10}, {"query-rate", 0.5}, {"steps", 3200}, {"delta", 1e-5}}});
  EXPECT_NEAR(rona[0].claim.epsilon, 9.597, 0.0011);
  EXPECT_EQ(rona[1].claim.reason, reason::kLossNoise);
}

// The formula falls with C, the truth does not: scaling by a public constant is post-processing.
TEST(CalculatorPapers, HonestClaimsDoNotDependOnTheNormBound) {
  const auto rule = std::find_if(ListMechanismRules().begin(), ListMechanismRules().end(),
                                 [](const MechanismRule& one) { return one.method == "dpdfd"; });
  Question question = UsualQuestion(*rule);
  question.values["norm-bound"] = 1e-3;
  const auto small = AnswersTo(question);
  question.values["norm-bound"] = 5e-3;
  const auto large = AnswersTo(question);
  EXPECT_LT(small[0].claim.epsilon, large[0].claim.epsilon);
  for (std::size_t i = 1; i < small.size(); ++i)
    EXPECT_NEAR(small[i].unrounded, large[i].unrounded, 1e-3 + 1e-6 * large[i].unrounded);
}

TEST(ComputePublishedSettings, FormulasOfLabelsAreOfALabelAtDeltaZero) {
  int of_labels = 0;
  for (const PublishedSetting& setting : ComputePublishedSettings()) {
    for (const Claim& claim : setting.printed) {
      const bool label = IsLabelFormula(claim.accountant);
      EXPECT_EQ(claim.adjacency, label ? Adjacency::label : Adjacency::example) << setting.method;
      EXPECT_EQ(claim.delta, label ? 0 : 1e-5) << setting.method;
      of_labels += label ? 1 : 0;
    }
    for (const Claim& claim : setting.example) EXPECT_NE(claim.status, ClaimStatus::paper_formula) << setting.method;
  }
  EXPECT_EQ(of_labels, 7);
}

// Theorem 2 of DPSD: epsilon, of a label, at delta 0.
TEST(ComputePublishedSettings, LabelBranchOfDpsdHasItsClaim) {
  for (const PublishedSetting& setting : ComputePublishedSettings()) {
    if (!setting.method.starts_with("DPSD label branch")) continue;
    ASSERT_EQ(setting.printed.size(), 2U);
    for (const auto& [claim, epsilon] : {std::pair{setting.printed[0], 1.0}, std::pair{setting.printed[1], 10.0}}) {
      EXPECT_EQ(claim.status, ClaimStatus::paper_formula);
      EXPECT_EQ(claim.accountant, kDpsdLabelFormula);
      EXPECT_EQ(claim.epsilon, epsilon);
    }
    return;
  }
  FAIL() << "no row";
}

TEST(ComputePublishedSettings, HonestValuesOfEveryReading) {
  const auto settings = ComputePublishedSettings();
  const auto of = [&](const std::string& start) -> const PublishedSetting& {
    for (const PublishedSetting& one : settings)
      if (one.method.starts_with(start)) return one;
    ADD_FAILURE() << start;
    return settings.front();
  };
  const PublishedSetting& printed = of("DPDFD Alg. 1");
  EXPECT_NEAR(printed.printed[0].epsilon, 0.0456, 0.001);
  EXPECT_NEAR(printed.printed[1].epsilon, 0.2614, 0.001);
  EXPECT_NEAR(printed.example[0].epsilon, 2929.279, 0.002);
  EXPECT_NEAR(printed.answer[0].epsilon, 0.0586, 0.001);
  EXPECT_NEAR(printed.answer[1].epsilon, 1.0608, 0.001);
  EXPECT_NEAR(of("DPDFD, fresh").example[0].epsilon, 28.8387, 0.001);
  EXPECT_NEAR(of("DPDFD, Frobenius").example[0].epsilon, 28.8387, 0.001);
  EXPECT_NEAR(of("DPDFD, Frobenius").answer[0].epsilon, 1.22, 0.005);
  EXPECT_NEAR(of("DPDFD formula").printed[0].epsilon, 168.8, 0.05);
  EXPECT_NEAR(of("DPDFD formula").example[0].epsilon, 162.6, 0.05);
  EXPECT_NEAR(of("DPDFD multi").member[0].epsilon, 28.8387, 0.001);
  EXPECT_NEAR(of("DPDFD multi").member[1].epsilon, 11.6512, 0.001);
  EXPECT_EQ(of("DP-DFD as printed").example[0].epsilon, kInfinity);
  EXPECT_EQ(of("DP-DFD as printed").answer[0].reason, kVoidSoftOutput);
  EXPECT_NEAR(of("DP-DFD, one-hot").example[0].epsilon, 23948, 1);
  EXPECT_NEAR(of("DP-DFD, one-hot").answer[0].epsilon, 1, 0.001);
  EXPECT_EQ(of("RONA as printed").answer[0].epsilon, kInfinity);
  EXPECT_NEAR(of("RONA as printed").printed[0].epsilon, 8.87, 0.005);
  EXPECT_NEAR(of("RONA, had").example[0].epsilon, 38.7255, 0.001);
  EXPECT_NEAR(of("RONA, had").example[1].epsilon, 8.7208, 0.001);
  EXPECT_NEAR(of("RONA, had").answer[1].epsilon, 0.160, 0.0011);
  EXPECT_NEAR(of("DPSD data").example[0].epsilon, 28.8387, 0.001);
  EXPECT_NEAR(of("DPSD data").answer[0].epsilon, 0.0025, 0.001);
  EXPECT_EQ(of("DPSD label").example[0].epsilon, kInfinity);
  EXPECT_EQ(of("FedDPSD s = 1, server not").member[0].epsilon, kInfinity);
  EXPECT_NEAR(of("FedDPSD s = 1, server trusted").member[1].epsilon, 11.6512, 0.001);
  EXPECT_NEAR(of("FedDPSD s = 0").member[0].epsilon, 512000, 1);
  EXPECT_EQ(settings.size(), 16U);
}

}  // namespace
}  // namespace retort::privacy
