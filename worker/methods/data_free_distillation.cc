// The gradient family: DPDFD (IJCAI-23, Algorithm 1), its ensemble and its direct training on private images
// (section 4.4), DPSD's data branch and FedDPSD's. Generate, query, release, teach the student, improve the
// generator. Readings working, printed and row-averaged release noisy gradients at the student's logits, of one
// teacher or summed over an ensemble; sound takes the answers of a teacher that was itself trained privately (R1).
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "worker/distill/transfer_set.h"
#include "worker/evaluation.h"
#include "worker/methods/asked_pictures.h"
#include "worker/methods/learner.h"
#include "worker/methods/lessons.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/private_queries.h"
#include "worker/methods/sample_gallery.h"
#include "worker/methods/image_source.h"
#include "worker/methods/structure_facts.h"
#include "worker/models/model_registry.h"
#include "worker/optim/schedule.h"
#include "worker/release/gaussian_gradient.h"
#include "worker/release/mechanism.h"
#include "worker/release/post_processing.h"
#include "worker/release/teacher_critic.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kSamples = 64;
constexpr std::int64_t kEvaluateEvery = 20;

struct Parts {
  std::unique_ptr<release::TeacherModel> teacher;
  std::unique_ptr<release::Mechanism> mechanism;
  std::unique_ptr<Network> student;
  std::unique_ptr<ImageSource> source;            // null: private images
  std::optional<release::TeacherCritic> critic;       // discriminator = teacher
};

// What one step asks about.
struct Asked {
  at::Tensor own;     // this member's images [own rows, C, H, W], part of the graph to a generator
  at::Tensor images;  // all of them, without a graph
  at::Tensor kept;    // what the transfer set holds of them: the images, or where the private ones are
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
        critic_(std::move(parts.critic)),
        shards_disjoint_(ShardsAreDisjoint(*inputs.teacher, inputs.data)),
        members_apart_(MembersAreApart(*inputs.teacher)),
        learner_(std::move(parts.student), inputs.gang, SettingsOf(inputs.spec)),
        gallery_(std::min(kSamples, spec_.batch), {data_.shape.channels, data_.shape.height, data_.shape.width},
                 data_.classes, data_.device) {
    if (source_ != nullptr && spec_.reading != Reading::sound && spec_.detach) before_.emplace(spec_.steps * spec_.batch);
    if (spec_.replay == 0) return;
    if (source_ != nullptr)
      transfer_.emplace(spec_.replay, spec_.batch, data_.shape, data_.classes, data_.device);
    else
      transfer_.emplace(TransferSet::OfPlaces(spec_.replay, spec_.batch, data_.classes, data_.device));
  }

  std::int64_t steps() const override { return spec_.pretrain_steps + spec_.steps; }
  std::string phase(std::int64_t step) const override {
    return step < spec_.pretrain_steps ? "pretrain" : "distill";
  }
  // Improve takes a network and, but for a critic, no teacher, and refuses targets with a graph unless
  // detach = false.
  std::vector<std::string> Facts() const override {
    return FactsThatHold({{privacy::kFactDetachedTarget, spec_.detach},
                          {privacy::kFactStudentDrivesGenerator, !critic_},
                          {privacy::kFactDisjointShards, shards_disjoint_},
                          {privacy::kFactMembersApart, members_apart_}});
  }

  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    if (source_) source_->Register(state, "generator/");
    if (transfer_) transfer_->Register(state, "transfer/");
    if (before_) before_->Register(state, "asked/");
    if (source_) gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t at, Series& series) override {
    if (at < spec_.pretrain_steps) return Pretrain(at, series);
    const std::int64_t step = at - spec_.pretrain_steps;
    RETORT_ASSIGN_OR_RETURN(const Asked asked, Ask(step));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor logits,
                            AllGatherRows(StudentLogits(asked.own.detach()), spec_.batch, gang_));
    at::Tensor undetached;
    bool replayed = false;
    release::Query query{asked.images, logits, at};
    if (before_) query.again = before_->Again(asked.images);
    const auto draw = [&](release::ChargeBook* book) { return Release(query, asked.own, undetached, book); };
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released, tape_.Obtain(at, draw, &replayed));
    if (before_) before_->Remember();
    if (replayed && !spec_.detach) {
      RETORT_ASSIGN_OR_RETURN(undetached, mechanism_->GraphOf(release::Oracle::AskUndetached(
                                              *teacher_, {asked.own, logits, at})));
    }
    const double gamma = LinearBetween(step, spec_.steps, spec_.kappa, spec_.kappa_end) / spec_.norm_bound;
    const at::Tensor targets = TargetsOf(logits, released.detach(), gamma);
    std::vector<double> losses = {0, 0};
    RETORT_ASSIGN_OR_RETURN(losses[0], TeachStudent(step, asked.images, targets));
    if (source_) {
      const GeneratorTarget aim{Own(targets, ShareOf(spec_.batch, gang_)), undetached, -gamma};
      RETORT_ASSIGN_OR_RETURN(losses[1],
                              source_->Improve(step, asked.own, spec_.batch, learner_.network(), aim,
                                               source_->RatesAt(Decay(step)), critic_ ? &*critic_ : nullptr));
    }
    RETORT_RETURN_IF_ERROR(SumOverGang(losses, gang_));
    if (transfer_) transfer_->Push(asked.kept, targets);
    series.emplace_back("train.student_loss", losses[0]);
    if (source_) {
      gallery_.Offer(step, asked.images, released);
      series.emplace_back("train.generator_loss", losses[1]);
    }
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
    if (!source_) return out;  // private images are nobody's samples
    for (auto& blob : source_->Blobs("generator/")) out.parameters.push_back(std::move(blob));
    out.samples = gallery_.ToSamples("synthetic queries and their releases; charged as the trial's ledger says",
                                     data_.scale);
    return out;
  }

 private:
  double Decay(std::int64_t step) const { return HoldThenLinear(step, spec_.steps, spec_.lr_hold, spec_.lr_end); }

  // A step of the generator against the fixed teacher; nothing is asked, and nothing is learned by the student.
  Status Pretrain(std::int64_t step, Series& series) {
    std::vector<double> loss = {0};
    RETORT_ASSIGN_OR_RETURN(loss[0], source_->Pretrain(step, spec_.batch, *critic_, spec_.generator_lr));
    RETORT_RETURN_IF_ERROR(SumOverGang(loss, gang_));
    series.emplace_back("train.generator_loss", loss[0]);
    return {};
  }

  Result<Asked> Ask(std::int64_t step) {
    if (!source_) {
      const at::Tensor places = PrivatePlaces(spec_, data_.train.size(), step).to(data_.device);
      const at::Tensor images = data_.train.Batch(places);
      return Asked{Own(images, ShareOf(spec_.batch, gang_)), images, places};
    }
    RETORT_ASSIGN_OR_RETURN(const at::Tensor own, source_->Images(step, spec_.batch));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor images, AllGatherRows(own.detach(), spec_.batch, gang_));
    return Asked{own, images, images};
  }

  at::Tensor StudentLogits(const at::Tensor& images) const {
    const at::NoGradGuard no_grad;
    return learner_.network().Forward(images).logits;
  }

  // Of a single teacher each member asks about its own rows; of an ensemble its own networks about all rows. Gang
  // rank 0 has all answers and releases.
  Result<release::Answers> AskTeacher(const release::Query& whole, const at::Tensor& images) {
    if (teacher_->members() > 1) {
      release::Query query = whole;
      query.gradients = release::MemberRuleOf(spec_);
      return release::Oracle::SumGradients(release::Oracle::Ask(*teacher_, query), gang_);
    }
    const RowShare share = ShareOf(spec_.batch, gang_);
    release::Query own{images, Own(whole.student_logits, share), whole.step};
    if (whole.again.defined()) own.again = Own(whole.again, share);
    return release::Oracle::GatherRows(spec_.detach ? release::Oracle::Ask(*teacher_, own)
                                                    : release::Oracle::AskUndetached(*teacher_, own),
                                       whole, gang_);
  }

  // `undetached` keeps the release's graph to the images where the trap is asked for, in a gang of one.
  Result<at::Tensor> Release(const release::Query& whole, const at::Tensor& images, at::Tensor& undetached,
                             release::ChargeBook* book) {
    RETORT_ASSIGN_OR_RETURN(const release::Answers answers, AskTeacher(whole, images));
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
    const auto of_places = [this](const at::Tensor& places) { return data_.train.Batch(places); };
    const Lessons lessons(spec_, step, {images, targets}, transfer_ && transfer_->stored() > 0 ? &*transfer_ : nullptr,
                          source_ ? Lessons::Recall() : Lessons::Recall(of_places));
    double loss = 0;
    for (std::int64_t i = 0; i < spec_.student_steps; ++i) {
      const auto [x, y] = lessons.Rows(i);
      RETORT_ASSIGN_OR_RETURN(loss, learner_.Teach(OwnPart(x, y, gang_), spec_.lr * Decay(step), lessons.Dropout(i),
                                                   spec_.temperature));
    }
    return loss;
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  ReleaseTape& tape_;
  Collective& gang_;
  std::unique_ptr<release::TeacherModel> teacher_;
  std::unique_ptr<release::Mechanism> mechanism_;
  std::unique_ptr<ImageSource> source_;
  std::optional<release::TeacherCritic> critic_;
  bool shards_disjoint_, members_apart_;
  Learner learner_;
  std::optional<TransferSet> transfer_;
  std::optional<AskedPictures> before_;  // where answers are noised
  SampleGallery gallery_;
};

}  // namespace

namespace {

Status CheckSpec(const MethodInputs& inputs, std::int64_t members) {
  const TrialSpec& spec = inputs.spec;
  if (spec.source == QuerySource::public_split)
    return UsageError("Noisy gradients are asked for at generated or private images: source cannot be \"public\".");
  if (spec.source == QuerySource::private_split && spec.batch > inputs.data.train.size())
    return UsageError("batch = " + std::to_string(spec.batch) + " is more than the " +
                      std::to_string(inputs.data.train.size()) + " private images that are asked about.");
  if (members > 1 && spec.reading == Reading::sound)
    return UsageError("An ensemble's sound answers are votes: set queries to their number.");
  if (!spec.detach && (inputs.gang.size() > 1 || members > 1)) {
    return UsageError(
        "detach = false keeps a single teacher's graph to the images, which no gang can share: set devices = 1, and "
        "name a teacher that is no ensemble.");
  }
  if (spec.pretrain_steps > 0 && spec.discriminator != Discriminator::teacher)
    return UsageError("pretrain_steps train the generator against the teacher: set discriminator = \"teacher\".");
  return {};
}

// The generator, and the teacher as its critic where that is asked for.
Status AddSource(const MethodInputs& inputs, Parts& parts) {
  const TrialSpec& spec = inputs.spec;
  if (spec.source == QuerySource::private_split) return {};
  const Dataset& data = inputs.data;
  RETORT_ASSIGN_OR_RETURN(parts.source, MakeImageSource(spec, data, inputs.gang));
  if (spec.discriminator != Discriminator::teacher) return {};
  const at::Tensor blank = at::zeros({1, data.shape.channels, data.shape.height, data.shape.width},
                                     at::device(data.device).dtype(at::kFloat));
  RETORT_ASSIGN_OR_RETURN(parts.critic, release::TeacherCritic::FromSpec(spec, *parts.teacher, blank));
  return {};
}

}  // namespace

Result<std::unique_ptr<Method>> MakeDataFreeDistillation(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  Parts parts;
  RETORT_ASSIGN_OR_RETURN(parts.teacher, LoadTeacher(*inputs.teacher, inputs.data, inputs.gang));
  const std::int64_t members = parts.teacher->members();
  RETORT_RETURN_IF_ERROR(CheckSpec(inputs, members));
  RETORT_ASSIGN_OR_RETURN(parts.mechanism, release::MakeMechanism(spec, inputs.data.classes, members,
                                                                  release::KeyFor(spec), inputs.noise));
  RETORT_ASSIGN_OR_RETURN(parts.student, MakeNetwork(spec.network, inputs.data.shape, inputs.data.classes,
                                                     RngStream(spec.seed, Purpose::parameters), inputs.data.device));
  RETORT_RETURN_IF_ERROR(AddSource(inputs, parts));
  return std::unique_ptr<Method>(std::make_unique<DataFreeDistillation>(inputs, std::move(parts)));
}

}  // namespace retort::worker
