#include "worker/release/randomized_response.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "experiments/privacy/accountants/randomized_response.h"
#include "experiments/privacy/relation.h"
#include "tests/unit/worker/release/release_fixture.h"

namespace retort::worker::release::randomized_response_test {
namespace {

constexpr std::int64_t kRows = 64, kClasses = 5;

std::unique_ptr<RandomizedResponse> Make(double epsilon0, std::uint64_t seed = 1) {
  return RandomizedResponse::Create({.epsilon0 = epsilon0, .classes = kClasses, .batch = kRows},
                                    noise::NoiseKey::FromSeed(seed, TrialId(1)))
      .value();
}

// Row r's largest class is r mod 5.
at::Tensor Logits() { return at::one_hot(at::arange(kRows) % kClasses, kClasses).to(at::kFloat); }

// Classes 1, 2 and 3 for every row.
at::Tensor Middle(std::int64_t rows = kRows) {
  at::Tensor candidates = at::zeros({rows, kClasses}, at::kBool);
  candidates.slice(1, 1, 4).fill_(true);
  return candidates;
}

class RandomizedResponseTest : public ::testing::Test {
 protected:
  Result<Released> Release(Mechanism& mechanism, const at::Tensor& candidates, std::int64_t step,
                           std::int64_t inputs = 0) {
    FixedTeacher teacher(Logits());
    const Answers answers = Oracle::Ask(teacher, {DistinctInputs(kRows, inputs), {}, step, 1, candidates});
    return ChargeAndRelease(mechanism, answers, book_);
  }
  MemoryPort port_;
  ChargeBook book_{&port_, 1, 1'000'000};
};

TEST_F(RandomizedResponseTest, OneCandidateOfEachRowLeaves) {
  const at::Tensor values = Release(*Make(1), Middle(), 1).value().values;
  EXPECT_TRUE(at::equal(values.sum(1), at::ones({kRows}, at::kLong)));
  EXPECT_EQ(values.max().item<int>(), 1);
  EXPECT_EQ(values.min().item<int>(), 0);
  EXPECT_EQ(values.slice(1, 1, 4).sum().item<std::int64_t>(), kRows);
}

TEST_F(RandomizedResponseTest, LargeEpsilonKeepsTheTeachersCandidate) {
  const at::Tensor values = Release(*Make(700), at::Tensor(), 1).value().values;
  EXPECT_TRUE(at::equal(values.argmax(1), Logits().argmax(1)));
}

TEST_F(RandomizedResponseTest, SameQueryKeepsItsAnswerForOtherCandidates) {
  const auto mechanism = Make(1);
  const at::Tensor first = Release(*mechanism, Middle(), 1).value().values;
  EXPECT_EQ(book_.drawn(), kRows);
  EXPECT_TRUE(at::equal(Release(*mechanism, at::Tensor(), 2).value().values, first));
  EXPECT_EQ(book_.drawn(), kRows);
  const auto resumed = Make(1, 9);
  resumed->Remember(DistinctInputs(kRows, 0), first);
  EXPECT_TRUE(at::equal(Release(*resumed, Middle(), 1).value().values, first));
  EXPECT_EQ(book_.drawn(), kRows);
}

TEST_F(RandomizedResponseTest, RowWithoutASecondCandidateIsRefused) {
  at::Tensor candidates = Middle();
  candidates[3].fill_(false);
  candidates[3][2] = true;
  EXPECT_EQ(Release(*Make(1), candidates, 1).status().code(), StatusCode::refused);
  EXPECT_EQ(Release(*Make(1), Middle(2), 1).status().code(), StatusCode::refused);
}

TEST_F(RandomizedResponseTest, EnsembleAndRepeatedStepAreRefused) {
  FixedTeacher ensemble(Logits().expand({3, kRows, kClasses}));
  EXPECT_EQ(ChargeAndRelease(*Make(1), Oracle::Ask(ensemble, {DistinctInputs(kRows, 0), {}, 1}), book_).status().code(),
            StatusCode::refused);
  const auto mechanism = Make(1);
  ASSERT_TRUE(Release(*mechanism, Middle(), 1).ok());
  EXPECT_EQ(Release(*mechanism, Middle(), 1, 7).status().code(), StatusCode::refused);
}

TEST_F(RandomizedResponseTest, EpsilonOutsideItsRangeIsRefused) {
  for (const double epsilon : {0.0, -1.0, 1e-7, 701.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(RandomizedResponse::Create({.epsilon0 = epsilon, .classes = 5, .batch = 5},
                                         noise::NoiseKey::FromOperatingSystem())
                  .status()
                  .code(),
              StatusCode::usage);
  }
}

TEST_F(RandomizedResponseTest, EventIsAccountedAtTwoChoices) {
  const auto secure = RandomizedResponse::Create({.epsilon0 = 2, .classes = kClasses, .batch = kRows},
                                                 noise::NoiseKey::FromOperatingSystem())
                          .value();
  const privacy::PrivacyEvent event = secure->Describe(300);
  EXPECT_EQ(event.choices, 2);
  EXPECT_EQ(event.count, 300);
  EXPECT_EQ(event.source, privacy::NoiseSource::secure_lattice);
  EXPECT_EQ(Make(2)->Describe(1).source, privacy::NoiseSource::seeded);
  const privacy::Bound bound = privacy::ComputeRelationBound(privacy::kTeacher, {event}, 1e-5, nullptr);
  EXPECT_NEAR(bound.epsilon, privacy::ComputeComposedResponseEpsilon(2, 2, 300, 1e-5), 1.1e-3);
  EXPECT_NEAR(privacy::ComputeRelationBound(privacy::kAnswer, {event}, 1e-5, nullptr).epsilon, 2, 1e-3);
  EXPECT_TRUE(privacy::DecodeEvent(privacy::EncodeEvent(event)).value().SameMechanism(event));
}

ResponseSettings Form(ResponseForm form, std::int64_t candidates = 0) {
  return {.epsilon0 = 700, .classes = kClasses, .batch = kRows, .form = form, .candidates = candidates};
}

std::unique_ptr<RandomizedResponse> Make(const ResponseSettings& settings) {
  return RandomizedResponse::Create(settings, noise::NoiseKey::FromOperatingSystem()).value();
}

// Why the event has no finite bound; empty where it has one.
std::string Unbounded(const privacy::PrivacyEvent& event, const privacy::Relation& relation) {
  const privacy::Bound bound = privacy::ComputeRelationBound(relation, {event}, 1e-5, nullptr);
  return std::isinf(bound.epsilon) ? bound.reason : "";
}

TEST_F(RandomizedResponseTest, SoftFormTellsTheTeachersProbabilities) {
  const at::Tensor values = Release(*Make(Form(ResponseForm::soft)), Middle(), 1).value().values;
  ASSERT_EQ(values.scalar_type(), at::kFloat);
  const at::Tensor soft = at::softmax(Logits(), 1);
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int64_t truth = row % kClasses;
    if (truth >= 1 && truth < 4) {
      EXPECT_TRUE(values[row].equal(soft[row])) << row;
    } else {
      EXPECT_EQ(values[row].max().item<float>(), 1) << row;
      EXPECT_EQ(values[row].sum().item<float>(), 1) << row;
      EXPECT_EQ(values[row].slice(0, 1, 4).sum().item<float>(), 1) << row;
    }
  }
}

TEST_F(RandomizedResponseTest, SoftAnswersAreRememberedBitForBit) {
  const auto mechanism = Make(Form(ResponseForm::soft));
  const at::Tensor first = Release(*mechanism, Middle(), 1).value().values;
  EXPECT_TRUE(Release(*mechanism, at::Tensor(), 2).value().values.equal(first));
  const auto resumed = Make(Form(ResponseForm::soft));
  resumed->RememberDigests(QueryDigests(DistinctInputs(kRows, 0)), first);
  EXPECT_TRUE(Release(*resumed, Middle(), 1).value().values.equal(first));
  EXPECT_EQ(book_.drawn(), kRows);
}

TEST_F(RandomizedResponseTest, PrintedFormsHaveNoFiniteBound) {
  for (const privacy::Relation& relation : {privacy::kTeacher, privacy::kAnswer, privacy::kSlot}) {
    EXPECT_EQ(Unbounded(Make(Form(ResponseForm::soft))->Describe(1), relation), privacy::kVoidSoftOutput);
    EXPECT_EQ(Unbounded(Make(Form(ResponseForm::every_class, 3))->Describe(1), relation), privacy::kVoidSupportLeak);
    EXPECT_EQ(Unbounded(Make(Form(ResponseForm::every_class))->Describe(1), relation), privacy::kVoidSupportLeak);
    // k = c: the two branches are one, and the mechanism is k-ary randomised response.
    EXPECT_EQ(Unbounded(Make(Form(ResponseForm::every_class, kClasses))->Describe(1), relation), "");
    EXPECT_EQ(Unbounded(Make(Form(ResponseForm::one_hot))->Describe(1), relation), "");
  }
}

TEST_F(RandomizedResponseTest, GeneratorThatTouchedTheTeacherLeavesTheAnswerAlone) {
  ResponseSettings settings = Form(ResponseForm::one_hot);
  settings.generator_touched_teacher = true;
  const privacy::PrivacyEvent event = Make(settings)->Describe(1);
  EXPECT_EQ(Unbounded(event, privacy::kTeacher), privacy::kVoidGeneratorTouchedTeacher);
  EXPECT_EQ(Unbounded(event, privacy::kAnswer), "");
}

TEST_F(RandomizedResponseTest, EquationFiveNeedsTheTeachersClass) {
  ResponseSettings settings = Form(ResponseForm::every_class, 3);
  settings.epsilon0 = 1e-6;
  const auto mechanism = Make(settings);
  at::Tensor seen = at::zeros({kRows, kClasses}, at::kLong);
  for (std::int64_t step = 1; step <= 40; ++step) seen += Release(*mechanism, Middle(), step, step).value().values;
  const at::Tensor inside = Middle().gather(1, Logits().argmax(1, true)).squeeze(1);
  const at::Tensor outside_of_set = seen.masked_fill(Middle(), 0).sum(1).gt(0);
  EXPECT_TRUE(outside_of_set.equal(inside));
}

TEST_F(RandomizedResponseTest, NumberOfCandidatesIsTheOneTheEventSpeaksOf) {
  const auto mechanism = Make(Form(ResponseForm::every_class, 3));
  at::Tensor candidates = Middle();
  candidates[3][0] = true;
  EXPECT_EQ(Release(*mechanism, candidates, 1).status().code(), StatusCode::refused);
  EXPECT_TRUE(Release(*mechanism, Middle(), 1).ok());
}

TEST_F(RandomizedResponseTest, EachMemberOfAnEnsembleAnswersOnceARow) {
  ResponseSettings settings = Form(ResponseForm::one_hot);
  settings.members = 3;
  const auto mechanism = Make(settings);
  at::Tensor logits = at::zeros({3, kRows, kClasses});
  for (std::int64_t member = 0; member < 3; ++member) logits[member].select(1, member + 1).fill_(5);
  FixedTeacher ensemble(logits);
  const auto released =
      ChargeAndRelease(*mechanism, Oracle::Ask(ensemble, {DistinctInputs(kRows, 0), {}, 1, 1, Middle()}), book_);
  EXPECT_TRUE(released.value().values.equal(Middle().to(at::kInt)));
  EXPECT_EQ(book_.drawn(), kRows) << "answers of one member";
  EXPECT_EQ(Release(*mechanism, Middle(), 2).status().code(), StatusCode::refused) << "a single teacher";
}

TEST(ResponseSettingsFor, ANumberOfCandidatesHoldsOnlyWithoutAThreshold) {
  TrialSpec spec;
  spec.method = "dpsd-label";
  spec.release.epsilon0 = 1;
  spec.release.top_k = 3;
  EXPECT_EQ(MakeResponseSettings(spec, 10, 1).candidates, 3);
  spec.release.threshold = 0.05;
  EXPECT_EQ(MakeResponseSettings(spec, 10, 1).candidates, 0);
  spec.release.response_over = ResponseOver::classes;
  const auto mechanism =
      RandomizedResponse::Create(MakeResponseSettings(spec, 3, 1), noise::NoiseKey::FromSeed(1, TrialId(1))).value();
  EXPECT_EQ(mechanism->Describe(1).voids, std::vector<std::string>{std::string(privacy::kVoidSupportLeak)})
      << "some row may have fewer than all three";
}

// p / ((1 - p) / (k - 1)) as the thresholds make it, in extended precision: e^e0 at most, and hardly less.
TEST(LeaveThreshold, NeverPromisesLessPrivacyThanItsEpsilon) {
  for (const std::int64_t k : {2, 3, 10, 1000}) {
    for (const double epsilon : {1e-6, 0.01, 1.0, 5.0, 10.0, 30.0}) {
      const long double leave = std::ldexp(static_cast<long double>(LeaveThreshold(epsilon, k)), -64);
      const long double ratio = (1 - leave) * static_cast<long double>(k - 1) / leave;
      EXPECT_LE(std::log(ratio), static_cast<long double>(epsilon)) << k << " " << epsilon;
      EXPECT_GE(std::log(ratio), static_cast<long double>(epsilon) - (epsilon > 20 ? 1e-4L : 1e-9L))
          << k << " " << epsilon;
    }
    EXPECT_EQ(LeaveThreshold(700, k), 1u);
  }
}

}  // namespace
}  // namespace retort::worker::release::randomized_response_test
