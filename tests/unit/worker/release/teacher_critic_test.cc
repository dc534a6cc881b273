// The raw teacher as a discriminator: each term against its definition and against finite differences.
#include "worker/release/teacher_critic.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "worker/gang/local_collective.h"
#include "worker/gang/row_share.h"
#include "worker/models/model_registry.h"

namespace retort::worker::release::teacher_critic_test {
namespace {

constexpr std::int64_t kRows = 4, kClasses = 3;

at::Tensor Wave(at::IntArrayRef shape, double from) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return at::sin(at::arange(n, at::kDouble).mul(1.3).add(from)).reshape(shape);
}

// images [rows, 1, 3, 3] -> conv to two channels of 2 x 2, which reach a batch norm; their tanh is the features.
class GlassTeacher final : public TeacherModel {
 public:
  std::int64_t classes() const override { return kClasses; }
  static at::Tensor Reaching(const at::Tensor& images) { return at::conv2d(images, Wave({2, 1, 2, 2}, 0.4)); }
  static at::Tensor Features(const at::Tensor& images) { return at::tanh(Reaching(images).flatten(1)); }
  static at::Tensor Answer(const at::Tensor& images) { return at::matmul(Features(images), Wave({8, kClasses}, 2)); }
  static at::Tensor Mean() { return at::tensor({0.3, -0.2}, at::kDouble); }
  static at::Tensor Variance() { return at::tensor({0.5, 2.0}, at::kDouble); }

 protected:
  at::Tensor Logits(const at::Tensor& images) override { return Answer(images); }
  TeacherInternals ForwardWithInternals(const at::Tensor& images) override {
    const at::Tensor reaching = Reaching(images), features = at::tanh(reaching.flatten(1));
    return {at::matmul(features, Wave({8, kClasses}, 2)), features, {{reaching, Mean(), Variance()}}};
  }
};

// Says logits and nothing else.
class OpaqueTeacher final : public TeacherModel {
 public:
  explicit OpaqueTeacher(std::int64_t members = 1) : members_(members) {}
  std::int64_t classes() const override { return kClasses; }
  std::int64_t members() const override { return members_; }

 protected:
  at::Tensor Logits(const at::Tensor& images) override { return GlassTeacher::Answer(images); }

 private:
  std::int64_t members_;
};

at::Tensor Images() { return Wave({kRows, 1, 3, 3}, 0.1) * 1.5; }

CriticGradient Judged(const at::Tensor& images, const CriticWeights& weights, GeneratorForm form) {
  GlassTeacher teacher;
  const auto solo = MakeSoloCollective();
  return TeacherCritic::Create(teacher, images.narrow(0, 0, 1), weights, form)
      .value()
      .Judge(images, images.size(0), *solo)
      .value();
}

// The terms by their definitions, number by number.
double OneHot(const at::Tensor& images) {
  const at::Tensor p = GlassTeacher::Answer(images).softmax(1);
  double sum = 0;
  for (std::int64_t i = 0; i < kRows; ++i) sum -= std::log(p[i].max().item<double>());
  return sum / kRows;
}

double MeanEntropy(const at::Tensor& images) {
  const at::Tensor mean = GlassTeacher::Answer(images).softmax(1).mean(0);
  double sum = 0;
  for (std::int64_t c = 0; c < kClasses; ++c) sum += mean[c].item<double>() * std::log(mean[c].item<double>());
  return sum;
}

double MeanFeature(const at::Tensor& images) { return -GlassTeacher::Features(images).abs().mean().item<double>(); }

double BatchNormStatistics(const at::Tensor& images) {
  const at::Tensor x = GlassTeacher::Reaching(images);
  double mean_square = 0, variance_square = 0;
  for (std::int64_t channel = 0; channel < 2; ++channel) {
    const at::Tensor values = x.select(1, channel).contiguous();
    const auto* v = values.const_data_ptr<double>();
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < values.numel(); ++i) mean += v[i] / static_cast<double>(values.numel());
    for (std::int64_t i = 0; i < values.numel(); ++i)
      variance += (v[i] - mean) * (v[i] - mean) / static_cast<double>(values.numel());
    mean_square += std::pow(mean - GlassTeacher::Mean()[channel].item<double>(), 2);
    variance_square += std::pow(variance - GlassTeacher::Variance()[channel].item<double>(), 2);
  }
  return std::sqrt(mean_square) + std::sqrt(variance_square);
}

struct Term {
  CriticWeights weights;
  double (*value)(const at::Tensor& images);
};

const Term kTerms[] = {{{1, 0, 0, 0}, OneHot},
                       {{0, 1, 0, 0}, MeanEntropy},
                       {{0, 0, 1, 0}, MeanFeature},
                       {{0, 0, 0, 1}, BatchNormStatistics}};

TEST(TeacherCritic, EachTermIsWhatItsDefinitionSays) {
  for (const Term& term : kTerms)
    EXPECT_NEAR(Judged(Images(), term.weights, GeneratorForm::dafl).loss.item<double>(), term.value(Images()), 1e-12);
}

TEST(TeacherCritic, EachTermsGradientIsTheFiniteDifference) {
  constexpr double kStep = 1e-5;
  for (const Term& term : kTerms) {
    const at::Tensor gradient = Judged(Images(), term.weights, GeneratorForm::dafl).images;
    EXPECT_GT(gradient.abs().max().item<double>(), 1e-3);
    for (std::int64_t pixel = 0; pixel < Images().numel(); ++pixel) {
      at::Tensor up = Images(), down = Images();
      up.view(-1)[pixel] += kStep;
      down.view(-1)[pixel] -= kStep;
      EXPECT_NEAR(gradient.view(-1)[pixel].item<double>(), (term.value(up) - term.value(down)) / (2 * kStep), 1e-8)
          << "pixel " << pixel;
    }
  }
}

TEST(TeacherCritic, TermsAddUpWithTheirWeights) {
  const CriticWeights all{0.7, 3, 0.2, 5};
  double loss = 0;
  at::Tensor gradient = at::zeros_like(Images());
  const double weights[] = {all.one_hot, all.information_entropy, all.activation_norm, all.bn_statistics};
  for (std::size_t i = 0; i < 4; ++i) {
    const CriticGradient one = Judged(Images(), kTerms[i].weights, GeneratorForm::dafl);
    loss += weights[i] * one.loss.item<double>();
    gradient += weights[i] * one.images;
  }
  const CriticGradient got = Judged(Images(), all, GeneratorForm::dafl);
  EXPECT_NEAR(got.loss.item<double>(), loss, 1e-12);
  EXPECT_TRUE(at::allclose(got.images, gradient, 1e-9, 1e-12));
}

TEST(TeacherCritic, PrintedFormTakesTheEntropyByRowAndThePlainNorm) {
  const at::Tensor p = GlassTeacher::Answer(Images()).softmax(1);
  EXPECT_NEAR(Judged(Images(), {0, 1, 0, 0}, GeneratorForm::printed).loss.item<double>(),
              (p * p.log()).sum(1).mean().item<double>(), 1e-12);
  EXPECT_NEAR(Judged(Images(), {0, 0, 1, 0}, GeneratorForm::printed).loss.item<double>(),
              GlassTeacher::Features(Images()).norm().item<double>(), 1e-12);
}

TEST(TeacherCritic, AGangJudgesTheWholeBatchTogether) {
  const CriticWeights weights{0.7, 3, 0.2, 5};
  const CriticGradient whole = Judged(Images(), weights, GeneratorForm::dafl);
  auto gang = MakeLocalGang(3, std::chrono::seconds(20));
  std::vector<CriticGradient> parts(3);
  std::vector<std::thread> members;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    members.emplace_back([&, rank] {
      GlassTeacher teacher;
      const at::Tensor own = Own(Images(), ComputeRowShare(kRows, *gang[rank]));
      parts[rank] = TeacherCritic::Create(teacher, Images().narrow(0, 0, 1), weights, GeneratorForm::dafl)
                        .value()
                        .Judge(own, kRows, *gang[rank])
                        .value();
    });
  }
  for (std::thread& member : members) member.join();
  EXPECT_TRUE(at::allclose(at::cat({parts[0].images, parts[1].images, parts[2].images}), whole.images, 1e-9, 1e-12));
  EXPECT_NEAR((parts[0].loss + parts[1].loss + parts[2].loss).item<double>(), whole.loss.item<double>(), 1e-12);
}

TEST(TeacherCritic, AsksForNothingThatATeacherDoesNotShow) {
  OpaqueTeacher opaque;
  const at::Tensor image = Images().narrow(0, 0, 1);
  const auto code = [&](TeacherModel& teacher, const CriticWeights& weights) {
    return TeacherCritic::Create(teacher, image, weights, GeneratorForm::dafl).status().code();
  };
  EXPECT_EQ(code(opaque, {1, 5, 0, 0}), StatusCode::ok);
  EXPECT_EQ(code(opaque, {1, 5, 0.1, 0}), StatusCode::usage);
  EXPECT_EQ(code(opaque, {1, 5, 0, 1}), StatusCode::usage);
}

TEST(TeacherCritic, EnsembleSpeaksWhereItsRawAnswersAreTakenAnyway) {
  OpaqueTeacher ensemble(3);
  TrialSpec spec;
  spec.method = "dpsd-t";
  spec.generator.activation_norm = 0;
  const at::Tensor image = Images().narrow(0, 0, 1);
  EXPECT_EQ(TeacherCritic::FromSpec(spec, ensemble, image).status().code(), StatusCode::usage);
  spec.method = "dense";
  EXPECT_TRUE(TeacherCritic::FromSpec(spec, ensemble, image).ok());
}

TEST(TeacherCritic, GivenClassesTakeThePlaceOfTheTeachersOwn) {
  GlassTeacher teacher;
  const auto solo = MakeSoloCollective();
  const auto critic =
      TeacherCritic::Create(teacher, Images().narrow(0, 0, 1), {2, 0, 0, 0}, GeneratorForm::dafl).value();
  const at::Tensor labels = at::tensor({2, 0, 1, 2}, at::kLong);
  const at::Tensor log_p = GlassTeacher::Answer(Images()).log_softmax(1);
  double expected = 0;
  for (std::int64_t i = 0; i < kRows; ++i)
    expected -= 2 * log_p[i][labels[i].item<std::int64_t>()].item<double>() / kRows;
  EXPECT_NEAR(critic.Judge(Images(), kRows, *solo, {labels}).value().loss.item<double>(), expected, 1e-6);
}

// images [rows, 1, 4, 4], float: linear, as its student.
class LinearTeacher final : public TeacherModel {
 public:
  std::int64_t classes() const override { return kClasses; }
  static at::Tensor Answer(const at::Tensor& images) {
    return at::matmul(images.flatten(1), Wave({16, kClasses}, 0.3).to(at::kFloat));
  }

 protected:
  at::Tensor Logits(const at::Tensor& images) override { return Answer(images); }
};

TEST(TeacherCritic, AdversarialTermIsTheDivergenceOfMismatches) {
  LinearTeacher teacher;
  const auto solo = MakeSoloCollective();
  const auto student =
      std::move(MakeNetwork("logistic", {1, 4, 4}, kClasses, RngStream(2, Purpose::parameters))).value();
  const at::Tensor images = Wave({8, 1, 4, 4}, 0.2).to(at::kFloat);
  const auto critic =
      TeacherCritic::Create(teacher, images.narrow(0, 0, 1), {0, 0, 0, 0, 1.5}, GeneratorForm::dafl).value();
  const at::Tensor t = LinearTeacher::Answer(images).softmax(1),
                   s = student->Forward(images).logits.detach().softmax(1);
  double expected = 0;
  std::int64_t apart = 0;
  for (std::int64_t i = 0; i < 8; ++i) {
    if (t[i].argmax().item<std::int64_t>() == s[i].argmax().item<std::int64_t>()) continue;
    ++apart;
    expected -= 1.5 * (t[i] * (t[i] / s[i]).log()).sum().item<double>() / 8;
  }
  ASSERT_GT(apart, 0);
  ASSERT_LT(apart, 8);
  const CriticGradient judged = critic.Judge(images, 8, *solo, {{}, student.get()}).value();
  EXPECT_NEAR(judged.loss.item<double>(), expected, 1e-4);
  for (const std::int64_t at : {0, 17, 40, 77, 126}) {
    at::Tensor up = images.clone(), down = images.clone();
    up.view({-1})[at] += 1e-2;
    down.view({-1})[at] -= 1e-2;
    const auto judge = [&](const at::Tensor& at_images) {
      return critic.Judge(at_images, 8, *solo, {{}, student.get()}).value().loss.item<double>();
    };
    const double difference = (judge(up) - judge(down)) / 2e-2;
    EXPECT_NEAR(judged.images.reshape({-1})[at].item<double>(), difference, 2e-3) << at;
  }
}

TEST(TeacherCritic, LooksOnThroughLogitsAlone) {
  OpaqueTeacher opaque;
  const auto solo = MakeSoloCollective();
  const CriticWeights weights{0.7, 3, 0, 0};
  const auto critic = TeacherCritic::Create(opaque, Images().narrow(0, 0, 1), weights, GeneratorForm::dafl).value();
  EXPECT_TRUE(at::allclose(critic.Judge(Images(), kRows, *solo).value().images,
                           Judged(Images(), weights, GeneratorForm::dafl).images, 1e-9, 1e-12));
}

}  // namespace
}  // namespace retort::worker::release::teacher_critic_test
