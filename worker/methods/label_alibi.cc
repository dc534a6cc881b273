// ALIBI (Malek et al. 2021): Laplace noise on the one-hot labels once; then the student is trained on what the noisy
// label and its own prediction say together.
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <optional>
#include <utility>

#include "worker/distill/label_prior.h"
#include "worker/evaluation.h"
#include "worker/methods/epoch_batches.h"
#include "worker/methods/label_stages.h"
#include "worker/methods/learner.h"
#include "worker/methods/method.h"
#include "worker/methods/structure_facts.h"
#include "worker/methods/supervised_step.h"
#include "worker/models/model_registry.h"
#include "worker/release/label_response.h"
#include "worker/release/mechanism.h"
#include "worker/stop_rule.h"

namespace retort::worker {
namespace {

class Alibi final : public Method {
 public:
  Alibi(const MethodInputs& inputs, release::UnlabelledExamples examples,
        std::unique_ptr<release::LabelResponse> mechanism, std::unique_ptr<Network> student)
      : spec_(inputs.spec),
        test_(inputs.data.test),
        scale_(inputs.data.scale),
        tape_(inputs.tape),
        gang_(inputs.gang),
        examples_(std::move(examples)),
        mechanism_(std::move(mechanism)),
        learner_(std::move(student), inputs.gang, SettingsOf(inputs.spec)),
        rows_(at::arange(examples_.labels.size(), at::device(inputs.data.device).dtype(at::kLong))),
        batches_(rows_, spec_.batch, spec_.seed),
        noisy_(at::zeros({examples_.labels.size(), inputs.data.classes},
                         at::device(inputs.data.device).dtype(at::kFloat))) {}

  std::int64_t steps() const override { return spec_.epochs * batches_.per_epoch(); }
  std::string phase(std::int64_t) const override { return "train"; }
  std::vector<std::string> Facts() const override {
    return FactsThatHold({{privacy::kFactDisjointParts, EachRowOnce(rows_)}, {privacy::kFactEndlessNoise, true}});
  }
  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    state.Add("labels/noisy", noisy_);
  }

  Status Step(std::int64_t step, Series& series) override {
    if (step == 0) {
      RETORT_ASSIGN_OR_RETURN(const at::Tensor released,
                              tape_.Obtain(step, [&](release::ChargeBook* book) { return Release(step, book); }));
      noisy_.copy_(released);
    }
    const double scale = release::LabelLaplaceScale(spec_.epsilon0);
    const auto noisy = [&](const at::Tensor& rows) { return noisy_.index_select(0, rows); };
    const auto posterior = [&](const at::Tensor& log_p, const at::Tensor& labels) {
      return LaplacePosterior(labels, log_p, scale);
    };
    const SupervisedStep here{batches_.Of(step), step, 0, RateAt(spec_, step, steps())};
    std::vector<double> loss = {0};
    RETORT_ASSIGN_OR_RETURN(
        loss[0], TeachRows(spec_, scale_, examples_.images, here, noisy, learner_, gang_, posterior));
    if (RecordsLoss(spec_, step, step, steps())) {
      RETORT_RETURN_IF_ERROR(SumOverGang(loss, gang_));
      series.emplace_back("train.loss", loss[0]);
    }
    return {};
  }

  Result<Outcome> Finish() override {
    Outcome out;
    out.evaluation = Evaluate(learner_.network(), test_);
    out.metrics = TestMetrics(*out.evaluation);
    out.parameters = learner_.network().StateBlobs("student/");
    return out;
  }

 private:
  // Gang rank 0 draws.
  Result<at::Tensor> Release(std::int64_t step, release::ChargeBook* book) {
    if (book == nullptr) return at::Tensor();
    const std::int64_t labels = examples_.labels.size();
    RETORT_ASSIGN_OR_RETURN(release::Charge charge, book->Take(mechanism_->Describe(0), labels));
    return mechanism_->AddLaplace(examples_.labels, 0, rows_, step, std::move(charge));
  }

  const TrialSpec& spec_;
  const Examples& test_;
  const PixelScale& scale_;
  ReleaseTape& tape_;
  Collective& gang_;
  release::UnlabelledExamples examples_;
  std::unique_ptr<release::LabelResponse> mechanism_;
  Learner learner_;
  at::Tensor rows_;   // i64 [private examples]: whose labels leave
  EpochBatches batches_;
  at::Tensor noisy_;  // f32 [private examples, classes]: released
};

}  // namespace

Result<std::unique_ptr<Method>> MakeAlibi(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  if (spec.epochs < 1) return UsageError("alibi needs epochs >= 1.");
  if (inputs.data.train.size() == 0) return UsageError("alibi needs private examples: split.train is empty.");
  release::UnlabelledExamples examples = release::SealLabels(inputs.data.train);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<release::LabelResponse> mechanism,
                          release::LabelResponse::Create({.noise = release::LabelNoise::laplace,
                                                          .epsilon0 = spec.epsilon0,
                                                          .classes = inputs.data.classes,
                                                          .parts = {examples.labels.size()}},
                                                         release::KeyFor(spec)));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> student,
                          MakeNetwork(spec.network, inputs.data.shape, inputs.data.classes,
                                      RngStream(spec.seed, Purpose::parameters), inputs.data.device));
  return std::unique_ptr<Method>(
      std::make_unique<Alibi>(inputs, std::move(examples), std::move(mechanism), std::move(student)));
}

}  // namespace retort::worker
