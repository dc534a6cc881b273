// DPDFD (IJCAI-23, Algorithm 1) with a single teacher: generate, query, release, teach the student, improve the
// generator. Readings working, printed and row-averaged release noisy gradients at the student's logits; sound
// takes the answers of a teacher that was itself trained privately (R1).
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "worker/distill/transfer_set.h"
#include "worker/evaluation.h"
#include "worker/methods/learner.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/sample_gallery.h"
#include "worker/methods/source_generator.h"
#include "worker/methods/structure_facts.h"
#include "worker/models/model_registry.h"
#include "worker/optim/schedule.h"
#include "worker/release/mechanism.h"
#include "worker/release/post_processing.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kSamples = 64;
constexpr std::int64_t kEvaluateEvery = 20;

struct Parts {
  std::unique_ptr<release::TeacherModel> teacher;
  std::unique_ptr<release::Mechanism> mechanism;
  std::unique_ptr<Network> student;
  std::unique_ptr<SourceGenerator> source;
};

class DataFreeDistillation final : public Method {
 public:
  DataFreeDistillation(const MethodInputs& inputs, Parts parts)
      : spec_(inputs.spec),
        data_(inputs.data),
        tape_(inputs.tape),
        gang_(inputs.gang),
        teacher_(std::move(parts.teacher)),
        mechanism_(std::move(parts.mechanism)),
        source_(std::move(parts.source)),
        learner_(std::move(parts.student), inputs.gang, SettingsOf(inputs.spec)),
        gallery_(std::min(kSamples, spec_.batch), {data_.shape.channels, data_.shape.height, data_.shape.width},
                 data_.classes, data_.device) {
    if (spec_.replay > 0) transfer_.emplace(spec_.replay, spec_.batch, data_.shape, data_.classes, data_.device);
  }

  std::int64_t steps() const override { return spec_.steps; }
  std::string phase(std::int64_t) const override { return "distill"; }
  // Improve takes a network and no teacher, and refuses targets with a graph unless detach = false.
  std::vector<std::string> Facts() const override {
    return FactsThatHold(
        {{privacy::kFactDetachedTarget, spec_.detach}, {privacy::kFactStudentDrivesGenerator, true}});
  }

  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    source_->Register(state, "generator/");
    if (transfer_) transfer_->Register(state, "transfer/");
    gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t step, Series& series) override {
    const at::Tensor images = source_->Images(step, spec_.batch);  // this member's; the rest is whole batches
    RETORT_ASSIGN_OR_RETURN(const at::Tensor queried, AllGatherRows(images.detach(), spec_.batch, gang_));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor logits,
                            AllGatherRows(StudentLogits(images.detach()), spec_.batch, gang_));
    at::Tensor undetached;
    bool replayed = false;
    const auto draw = [&](release::ChargeBook* book) {
      return Release({queried, logits, step}, images, undetached, book);
    };
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released, tape_.Obtain(step, draw, &replayed));
    if (replayed && !spec_.detach) {
      RETORT_ASSIGN_OR_RETURN(undetached, mechanism_->GraphOf(
                                              release::Oracle::AskUndetached(*teacher_, {images, logits, step})));
    }
    const double gamma = LinearBetween(step, steps(), spec_.kappa, spec_.kappa_end) / spec_.norm_bound;
    const at::Tensor targets = TargetsOf(logits, released.detach(), gamma);
    std::vector<double> losses = {0, 0};
    RETORT_ASSIGN_OR_RETURN(losses[0], TeachStudent(step, queried, targets));
    const GeneratorTarget aim{Own(targets, ShareOf(spec_.batch, gang_)), undetached, -gamma};
    RETORT_ASSIGN_OR_RETURN(losses[1], source_->Improve(step, images, spec_.batch, learner_.network(), aim,
                                                        spec_.generator_lr * Decay(step)));
    RETORT_RETURN_IF_ERROR(SumOverGang(losses, gang_));
    if (transfer_) transfer_->Push(queried, targets);
    gallery_.Offer(step, queried, released);
    series.emplace_back("train.student_loss", losses[0]);
    series.emplace_back("train.generator_loss", losses[1]);
    if (gang_.rank().value == 0 && (step + 1) % kEvaluateEvery == 0 && data_.public_split.size() > 0) {
      series.emplace_back("public.accuracy", Evaluate(learner_.network(), data_.public_split).accuracy);
    }
    return {};
  }

  Result<Outcome> Finish() override {
    Outcome out;
    out.evaluation = Evaluate(learner_.network(), data_.test);
    out.metrics = TestMetrics(*out.evaluation);
    out.parameters = learner_.network().StateBlobs("student/");
    for (auto& blob : source_->generator().parameters().ToBlobs("generator/")) out.parameters.push_back(std::move(blob));
    out.samples = gallery_.ToSamples("synthetic queries and their releases; charged as the trial's ledger says",
                                     data_.scale);
    return out;
  }

 private:
  double Decay(std::int64_t step) const { return HoldThenLinear(step, steps(), spec_.lr_hold, spec_.lr_end); }

  at::Tensor StudentLogits(const at::Tensor& images) const {
    const at::NoGradGuard no_grad;
    return learner_.network().Forward(images).logits;
  }

  // Each member asks about its own rows; gang rank 0 has all answers and releases. `undetached` keeps the
  // release's graph to the images where the trap is asked for, in a gang of one.
  Result<at::Tensor> Release(const release::Query& whole, const at::Tensor& images, at::Tensor& undetached,
                             release::ChargeBook* book) {
    const release::Query own{images, Own(whole.student_logits, ShareOf(spec_.batch, gang_)), whole.step};
    RETORT_ASSIGN_OR_RETURN(
        const release::Answers answers,
        release::Oracle::GatherRows(spec_.detach ? release::Oracle::Ask(*teacher_, own)
                                                 : release::Oracle::AskUndetached(*teacher_, own),
                                    whole, gang_));
    if (book == nullptr) return at::Tensor();
    RETORT_ASSIGN_OR_RETURN(release::Charge charge,
                            book->Take(mechanism_->Describe(spec_.batch), mechanism_->DrawsFor(answers)));
    RETORT_ASSIGN_OR_RETURN(const release::Released released, mechanism_->Release(answers, std::move(charge)));
    if (!spec_.detach) undetached = released.values;
    return released.values.detach();
  }

  // What the student is taught: y = p - gamma g~, or the private teacher's softened prediction.
  at::Tensor TargetsOf(const at::Tensor& logits, const at::Tensor& released, double gamma) const {
    if (spec_.reading == Reading::sound) return at::softmax(released / spec_.temperature, 1);
    return release::SoftTarget(logits, release::ZeroSum(released), gamma);
  }

  // spec.student_steps steps of student_batch rows: fresh ones of this batch and replayed ones of earlier batches.
  Result<double> TeachStudent(std::int64_t step, const at::Tensor& images, const at::Tensor& targets) {
    const bool replaying = transfer_ && transfer_->stored() > 0;
    const auto wanted = static_cast<double>(spec_.student_batch);
    const std::int64_t replayed = replaying ? static_cast<std::int64_t>(wanted * spec_.replay_fraction) : 0;
    const std::int64_t fresh = spec_.student_batch - replayed;
    const auto at_step = static_cast<std::uint64_t>(step);
    const RngStream order(spec_.seed, Purpose::queries, at_step), replay(spec_.seed, Purpose::replay, at_step),
        dropout(spec_.seed, Purpose::dropout, at_step);
    double loss = 0;
    for (std::int64_t i = 0; i < spec_.student_steps; ++i) {
      const auto lane = static_cast<std::uint64_t>(i);
      const at::Tensor rows = FreshRows(order, i, fresh);
      at::Tensor x = images.index_select(0, rows), y = targets.index_select(0, rows);
      if (replayed > 0) {
        const auto [old_x, old_y] = transfer_->Sample(replayed, replay.Lane(lane));
        x = at::cat({x, old_x});
        y = at::cat({y, old_y});
      }
      RETORT_ASSIGN_OR_RETURN(loss, learner_.Teach(OwnPart(x, y, gang_), spec_.lr * Decay(step),
                                                   dropout.Lane(lane), spec_.temperature));
    }
    return loss;
  }

  // Rows of the fresh batch for student step i: the batch in permuted order, again and again.
  at::Tensor FreshRows(const RngStream& order, std::int64_t i, std::int64_t count) const {
    std::vector<std::int64_t> rows;
    std::vector<std::int64_t> permutation;
    std::int64_t pass = -1;
    for (std::int64_t k = i * count; k < (i + 1) * count; ++k) {
      if (k / spec_.batch != pass) {
        pass = k / spec_.batch;
        permutation = Permutation(spec_.batch, order.Lane(static_cast<std::uint64_t>(pass)));
      }
      rows.push_back(permutation[static_cast<std::size_t>(k % spec_.batch)]);
    }
    return at::tensor(rows, at::device(data_.device).dtype(at::kLong));
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  ReleaseTape& tape_;
  Collective& gang_;
  std::unique_ptr<release::TeacherModel> teacher_;
  std::unique_ptr<release::Mechanism> mechanism_;
  std::unique_ptr<SourceGenerator> source_;
  Learner learner_;
  std::optional<TransferSet> transfer_;
  SampleGallery gallery_;
};

}  // namespace

Result<std::unique_ptr<Method>> MakeDataFreeDistillation(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  if (spec.source != QuerySource::generator) {
    return UsageError("dpdfd with a single teacher queries a generator: source must be \"generator\".");
  }
  if (!spec.detach && inputs.gang.size() > 1) {
    return UsageError("detach = false keeps the teacher's graph to the images, which no gang can share: set devices = 1.");
  }
  Parts parts;
  RETORT_ASSIGN_OR_RETURN(parts.teacher, LoadTeacher(*inputs.teacher, inputs.data, inputs.gang));
  RETORT_ASSIGN_OR_RETURN(parts.mechanism,
                          release::MakeMechanism(spec, inputs.data.classes, 1, release::KeyFor(spec), inputs.noise));
  RETORT_ASSIGN_OR_RETURN(parts.student, MakeNetwork(spec.network, inputs.data.shape, inputs.data.classes,
                                                     RngStream(spec.seed, Purpose::parameters), inputs.data.device));
  RETORT_ASSIGN_OR_RETURN(parts.source, SourceGenerator::Create(spec, inputs.data.shape, inputs.gang,
                                                                inputs.data.device));
  return std::unique_ptr<Method>(std::make_unique<DataFreeDistillation>(inputs, std::move(parts)));
}

}  // namespace retort::worker
