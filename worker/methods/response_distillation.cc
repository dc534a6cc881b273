// DP-DFD (Algorithm 1), and the label branches of DPSD (Algorithm 1) and FedDPSD (Algorithm 2, s = 0): generate, ask
// for randomised responses over the student's candidates, teach the student, improve the generator. An ensemble's
// members each answer for themselves, and their labels are averaged.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "worker/distill/candidates.h"
#include "worker/distill/response_targets.h"
#include "worker/distill/transfer_set.h"
#include "worker/evaluation.h"
#include "worker/methods/learner.h"
#include "worker/methods/lessons.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/released_rows.h"
#include "worker/methods/sample_gallery.h"
#include "worker/methods/image_source.h"
#include "worker/methods/structure_facts.h"
#include "worker/models/model_registry.h"
#include "worker/optim/schedule.h"
#include "worker/release/mechanism.h"
#include "worker/release/randomized_response.h"
#include "worker/release/teacher_critic.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kSamples = 64;
constexpr std::int64_t kEvaluateEvery = 20;

struct Parts {
  std::unique_ptr<release::TeacherModel> teacher;
  std::optional<release::TeacherCritic> critic;  // where the raw teacher is the generator's discriminator
  std::unique_ptr<release::RandomizedResponse> mechanism;
  std::unique_ptr<Network> student;
  std::unique_ptr<ImageSource> source;
};

class ResponseDistillation final : public Method {
 public:
  ResponseDistillation(const MethodInputs& inputs, Parts parts)
      : spec_(inputs.spec),
        data_(inputs.data),
        tape_(inputs.tape),
        gang_(inputs.gang),
        teacher_(std::move(parts.teacher)),
        critic_(std::move(parts.critic)),
        mechanism_(std::move(parts.mechanism)),
        source_(std::move(parts.source)),
        shards_disjoint_(ShardsAreDisjoint(*inputs.teacher, inputs.data)),
        members_apart_(MembersAreApart(*inputs.teacher)),
        learner_(std::move(parts.student), inputs.gang, SettingsOf(inputs.spec)),
        transfer_(std::clamp<std::int64_t>(spec_.replay, 1, spec_.steps), spec_.batch, data_.shape, data_.classes,
                  data_.device),
        released_(spec_.steps * spec_.batch, data_.classes, IsSoft(spec_) ? at::kFloat : at::kInt),
        gallery_(std::min(kSamples, spec_.batch), {data_.shape.channels, data_.shape.height, data_.shape.width},
                 data_.classes, data_.device) {}

  std::int64_t steps() const override { return spec_.pretrain_steps + spec_.steps; }
  std::string phase(std::int64_t step) const override { return step < spec_.pretrain_steps ? "pretrain" : "distill"; }
  // A critic is the raw teacher. Without one, Improve takes the student alone, and targets without a graph.
  std::vector<std::string> Facts() const override {
    return FactsThatHold({{privacy::kFactDetachedTarget, true},
                          {privacy::kFactStudentDrivesGenerator, !critic_},
                          {privacy::kFactDisjointShards, shards_disjoint_},
                          {privacy::kFactMembersApart, members_apart_}});
  }

  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    source_->Register(state, "generator/");
    transfer_.Register(state, "transfer/");
    released_.Register(state, "released/");
    gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t step, Series& series) override {
    return step < spec_.pretrain_steps ? Pretrain(step, series) : Distill(step, step - spec_.pretrain_steps, series);
  }

  Result<Outcome> Finish() override {
    Outcome out;
    out.evaluation = Evaluate(learner_.network(), data_.test);
    out.metrics = TestMetrics(*out.evaluation);
    out.parameters = learner_.network().StateBlobs("student/");
    for (auto& blob : source_->Blobs("generator/"))
      out.parameters.push_back(std::move(blob));
    out.samples = gallery_.ToSamples("synthetic queries and the labels released for them; charged as the trial's "
                                     "ledger says", data_.scale);
    return out;
  }

 private:
  static bool IsSoft(const TrialSpec& spec) {
    return release::ResponseOf(spec, 2, 1).form == release::ResponseForm::soft;
  }

  Status Pretrain(std::int64_t step, Series& series) {
    std::vector<double> loss = {0};
    RETORT_ASSIGN_OR_RETURN(loss[0], source_->Pretrain(step, spec_.batch, *critic_, spec_.generator_lr));
    RETORT_RETURN_IF_ERROR(SumOverGang(loss, gang_));
    series.emplace_back("train.generator_loss", loss[0]);
    return {};
  }

  // `step` of the trial, `stage` of the paper.
  Status Distill(std::int64_t step, std::int64_t stage, Series& series) {
    // This member's; the rest is whole batches.
    RETORT_ASSIGN_OR_RETURN(const at::Tensor images, source_->Images(stage, spec_.batch));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor queried, AllGatherRows(images.detach(), spec_.batch, gang_));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor logits,
                            AllGatherRows(StudentLogits(images.detach()), spec_.batch, gang_));
    const release::Query query{.inputs = queried, .student_logits = {}, .step = step,
                               .candidates = CandidatesOf(spec_, logits)};
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released, tape_.Obtain(step, [&](release::ChargeBook* book) {
      return Release(query, images, book);
    }));
    released_.Append(queried, released);
    const std::int64_t members = teacher_->members();
    const at::Tensor labels = released.to(at::kFloat) / static_cast<double>(members);
    const at::Tensor lesson = Weighs() ? AnnotateResponses(released, query.candidates, members) : labels;
    const double decay = HoldThenLinear(stage, spec_.steps, spec_.lr_hold, spec_.lr_end);
    std::vector<double> losses = {0, 0};
    RETORT_ASSIGN_OR_RETURN(losses[0], TeachStudent(stage, queried, lesson, spec_.lr * decay));
    const GeneratorTarget aim{.y = Own(labels, ShareOf(spec_.batch, gang_)), .released = {}};
    RETORT_ASSIGN_OR_RETURN(losses[1], source_->Improve(stage, images, spec_.batch, learner_.network(), aim,
                                                        source_->RatesAt(decay), Discriminator()));
    RETORT_RETURN_IF_ERROR(SumOverGang(losses, gang_));
    transfer_.Push(queried, lesson);
    gallery_.Offer(stage, queried, labels);
    series.emplace_back("train.student_loss", losses[0]);
    series.emplace_back("train.generator_loss", losses[1]);
    series.emplace_back("train.candidates", query.candidates.sum(1).to(at::kDouble).mean().item<double>());
    if (gang_.rank().value == 0 && (stage + 1) % kEvaluateEvery == 0 && data_.public_split.size() > 0)
      series.emplace_back("public.accuracy", Evaluate(learner_.network(), data_.public_split).accuracy);
    return {};
  }

  const release::TeacherCritic* Discriminator() const {
    return spec_.discriminator == retort::Discriminator::teacher ? &*critic_ : nullptr;
  }

  at::Tensor StudentLogits(const at::Tensor& images) const {
    const at::NoGradGuard no_grad;
    return learner_.network().Forward(images).logits;
  }

  // Each member of the gang asks the teacher about its own rows, or its share of an ensemble about all of them; gang
  // rank 0 has the answers and releases.
  Result<at::Tensor> Release(const release::Query& whole, const at::Tensor& images, release::ChargeBook* book) {
    RETORT_ASSIGN_OR_RETURN(const release::Answers answers, Ask(whole, images));
    if (book == nullptr) return at::Tensor();
    const auto [digests, values] = released_.TakeNew();  // earlier attempts' too
    mechanism_->RememberDigests(digests, values);
    RETORT_ASSIGN_OR_RETURN(release::Charge charge,
                            book->Take(mechanism_->Describe(spec_.batch), mechanism_->DrawsFor(answers)));
    RETORT_ASSIGN_OR_RETURN(const release::Released released, mechanism_->Release(answers, std::move(charge)));
    return released.values;
  }

  Result<release::Answers> Ask(const release::Query& whole, const at::Tensor& images) {
    const std::int64_t members = teacher_->members();
    if (members > 1) return release::Oracle::GatherMembers(release::Oracle::Ask(*teacher_, whole), members, gang_);
    release::Query own = whole;
    own.inputs = images;
    own.candidates = Own(whole.candidates, ShareOf(spec_.batch, gang_));
    return release::Oracle::GatherRows(release::Oracle::Ask(*teacher_, own), whole, gang_);
  }

  [[nodiscard]] bool Weighs() const { return spec_.response_loss == ResponseLoss::likelihood; }

  // spec.student_steps steps on this stage's rows and those of earlier stages that the transfer set keeps.
  Result<double> TeachStudent(std::int64_t stage, const at::Tensor& images, const at::Tensor& lesson, double rate) {
    const Lessons lessons(spec_, stage, {images, lesson}, transfer_.stored() > 0 ? &transfer_ : nullptr);
    const auto weigh = [epsilon0 = spec_.epsilon0](const at::Tensor& log_p, const at::Tensor& annotation) {
      return ExpectedClasses(log_p, annotation, epsilon0);
    };
    double loss = 0;
    for (std::int64_t i = 0; i < spec_.student_steps; ++i) {
      const auto [x, y] = lessons.Rows(i);
      RETORT_ASSIGN_OR_RETURN(loss, learner_.Teach(OwnPart(x, y, gang_), rate, lessons.Dropout(i), 1,
                                                   Weighs() ? Expectation(weigh) : Expectation()));
    }
    return loss;
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  ReleaseTape& tape_;
  Collective& gang_;
  std::unique_ptr<release::TeacherModel> teacher_;
  std::optional<release::TeacherCritic> critic_;
  std::unique_ptr<release::RandomizedResponse> mechanism_;
  std::unique_ptr<ImageSource> source_;
  bool shards_disjoint_, members_apart_;
  Learner learner_;
  TransferSet transfer_;    // earlier stages
  ReleasedRows released_;
  SampleGallery gallery_;
};

}  // namespace

Result<std::unique_ptr<Method>> MakeResponseDistillation(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  const Dataset& data = inputs.data;
  if (spec.source != QuerySource::generator && spec.source != QuerySource::procedural)
    return UsageError("A student by randomised response queries images that are made: source must be \"generator\" or "
                      "\"procedural\".");
  Parts parts;
  RETORT_ASSIGN_OR_RETURN(parts.teacher, LoadTeacher(*inputs.teacher, data, inputs.gang));
  const release::ResponseSettings settings = release::ResponseOf(spec, data.classes, parts.teacher->members());
  RETORT_ASSIGN_OR_RETURN(parts.mechanism, release::RandomizedResponse::Create(settings, release::KeyFor(spec)));
  if (settings.generator_touched_teacher) {
    const at::Tensor blank = at::zeros({1, data.shape.channels, data.shape.height, data.shape.width},
                                       at::device(data.device).dtype(at::kFloat));
    RETORT_ASSIGN_OR_RETURN(parts.critic, release::TeacherCritic::FromSpec(spec, *parts.teacher, blank));
  }
  RETORT_ASSIGN_OR_RETURN(parts.student, MakeNetwork(spec.network, data.shape, data.classes,
                                                     RngStream(spec.seed, Purpose::parameters), data.device));
  RETORT_ASSIGN_OR_RETURN(parts.source, MakeImageSource(spec, data, inputs.gang));
  return std::unique_ptr<Method>(std::make_unique<ResponseDistillation>(inputs, std::move(parts)));
}

}  // namespace retort::worker
