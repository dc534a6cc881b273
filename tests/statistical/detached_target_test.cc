// Nothing of the teacher's Jacobian reaches the generator: two teachers that agree at the queried points
// and differ everywhere else must give bit-equal gradients at the inputs.
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/statistical/noise_checks.h"
#include "tests/statistical/not_private.h"
#include "worker/release/gaussian_gradient.h"
#include "worker/release/output_gradient.h"

namespace retort::worker::release::detached_target_test {
namespace {

constexpr std::int64_t kRows = 8, kClasses = 4;

at::Tensor Wave(std::int64_t rows, std::int64_t columns, double phase) {
  return at::sin(at::arange(rows * columns, at::kFloat).mul(0.9).add(phase)).reshape({rows, columns});
}

// logits(x) = level + (x - at) jacobian: the same answers at `at` for every jacobian.
class AffineTeacher final : public TeacherModel {
 public:
  AffineTeacher(at::Tensor at, at::Tensor jacobian) : at_(std::move(at)), jacobian_(std::move(jacobian)) {}
  std::int64_t classes() const override { return kClasses; }

 protected:
  at::Tensor Logits(const at::Tensor& inputs) override {
    return 3 * Wave(kRows, kClasses, 2) + (inputs - at_).matmul(jacobian_);
  }

 private:
  at::Tensor at_, jacobian_;
};

using Asking = std::function<Answers(TeacherModel&, const Query&)>;

// d (cross-entropy of the student to y) / d inputs, for a teacher with this Jacobian.
at::Tensor InputGradient(const at::Tensor& jacobian, Mechanism& mechanism, const Asking& ask) {
  MemoryPort port;
  ChargeBook book(&port, 1, 100);
  const at::Tensor at = Wave(kRows, 5, 0);
  AffineTeacher teacher(at, jacobian);
  const at::Tensor inputs = at.clone().requires_grad_(true);
  const at::Tensor logits = inputs.matmul(Wave(5, kClasses, 1));
  const Answers answers = ask(teacher, {inputs, logits, 0});
  const at::Tensor released = ChargeAndRelease(mechanism, answers, book).value().values;
  const at::Tensor y = ComputeSoftTarget(logits.detach(), released, 250);
  const at::Tensor loss = -(y * logits.log_softmax(-1)).sum();
  return torch::autograd::grad({loss}, {inputs})[0];
}

std::unique_ptr<Mechanism> Gradient(bool detach) {
  GradientSettings settings;
  settings.batch = kRows;
  settings.classes = kClasses;
  settings.detach = detach;
  return GaussianGradient::Create(settings, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
}

// An alarm when the teacher's Jacobian changed the update and the event does not say so.
Alarm CheckDetached(const std::function<std::unique_ptr<Mechanism>()>& make, const Asking& ask) {
  const auto first = make(), second = make();
  const bool equal =
      at::equal(InputGradient(Wave(5, kClasses, 3), *first, ask), InputGradient(Wave(5, kClasses, 8), *second, ask));
  if (equal || !first->Describe(kRows).voids.empty()) return {};
  return "the teacher's Jacobian reaches the generator, and the event does not say so";
}

TEST(DetachedTarget, TeachersJacobianNeverReachesTheInputs) {
  const auto first = Gradient(true), second = Gradient(true);
  EXPECT_TRUE(at::equal(InputGradient(Wave(5, kClasses, 3), *first, Oracle::Ask),
                        InputGradient(Wave(5, kClasses, 8), *second, Oracle::Ask)));
  EXPECT_EQ(CheckDetached([] { return Gradient(true); }, Oracle::Ask), "");
}

TEST(DetachedTarget, DetachingMechanismCutsEvenAnUndetachedAnswer) {
  EXPECT_EQ(CheckDetached([] { return Gradient(true); }, Oracle::AskUndetached), "");
}

TEST(DetachedTarget, PrintedTrapRunsAndItsEventSaysSo) {
  const auto first = Gradient(false), second = Gradient(false);
  EXPECT_FALSE(at::equal(InputGradient(Wave(5, kClasses, 3), *first, Oracle::AskUndetached),
                         InputGradient(Wave(5, kClasses, 8), *second, Oracle::AskUndetached)));
  EXPECT_EQ(first->Describe(1).voids, std::vector<std::string>{std::string(privacy::kVoidTeacherJacobian)});
  EXPECT_EQ(CheckDetached([] { return Gradient(false); }, Oracle::AskUndetached), "");
}

TEST(DetachedTarget, MutantThatHidesTheTrapIsCaught) {
  const auto mutant = []() -> std::unique_ptr<Mechanism> {
    return std::make_unique<NotPrivateMechanism>(Gradient(true)->Describe(1), Gradient(false));
  };
  EXPECT_NE(CheckDetached(mutant, Oracle::AskUndetached), "");
}

}  // namespace
}  // namespace retort::worker::release::detached_target_test
