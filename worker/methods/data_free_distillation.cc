// The gradient family: DPDFD (IJCAI-23, Algorithm 1), its ensemble and its direct training on private images
// (section 4.4), DPSD's data branch and FedDPSD's. Generate, query, release, teach the student, improve the
// generator. Readings working, printed and row-averaged release noisy gradients at the student's logits, of one
// teacher or summed over an ensemble; sound takes the answers of a teacher that was itself trained privately.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/methods.h"
#include "worker/distill/transfer_set.h"
#include "worker/methods/image_source.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/student_method.h"
#include "worker/optim/schedule.h"
#include "worker/release/answer_memory.h"
#include "worker/release/gaussian_gradient.h"
#include "worker/release/mechanism.h"
#include "worker/release/output_gradient.h"
#include "worker/release/teacher_critic.h"
#include "worker/tensors/train_state.h"
#include "worker/training/evaluation.h"
#include "worker/training/learner.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {

namespace {

// Remembers which images a trial has asked about: fresh noise on an answer that was given before would reveal more
// than one answer does.
class AskedImages {
 public:
  // No more rows than the capacity in all.
  explicit AskedImages(std::int64_t capacity);
  // bool [rows] on the CPU: the images [rows, ...] that were asked about before, or stand earlier among these, byte
  // for byte. By digests of 64 bits: of two that differ a later one may be taken for the other.
  [[nodiscard]] at::Tensor Again(const at::Tensor& pictures);
  // Those of the newest Again were answered. A step that ends before that is begun anew, and asks about them again.
  void Remember();
  void Register(TrainState& state, const std::string& prefix);

 private:
  at::Tensor digests_;  // i64 [capacity], on the CPU
  std::int64_t rows_ = 0, known_ = 0;
  std::unordered_set<std::int64_t> asked_;  // of the first known_ rows
  std::vector<std::int64_t> newest_;
};

AskedImages::AskedImages(std::int64_t capacity) : digests_(at::empty({capacity}, at::kLong)) {}

at::Tensor AskedImages::Again(const at::Tensor& pictures) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = pictures.size(0);
  const auto* digests = digests_.const_data_ptr<std::int64_t>();
  for (; known_ < rows_; ++known_) asked_.insert(digests[known_]);
  const at::Tensor found = release::QueryDigests(pictures).view(at::kLong).contiguous();
  const at::Tensor again = at::empty({rows}, at::kBool);
  std::unordered_set<std::int64_t> among;
  newest_.clear();
  for (std::int64_t i = 0; i < rows; ++i) {
    newest_.push_back(found.const_data_ptr<std::int64_t>()[i * found.size(1)]);
    again.mutable_data_ptr<bool>()[i] = asked_.count(newest_.back()) > 0 || !among.insert(newest_.back()).second;
  }
  return again;
}

void AskedImages::Remember() {
  RETORT_CHECK(rows_ + static_cast<std::int64_t>(newest_.size()) <= digests_.size(0));
  auto* digests = digests_.mutable_data_ptr<std::int64_t>();
  for (const std::int64_t digest : newest_) digests[rows_++] = digest;
  newest_.clear();
}

void AskedImages::Register(TrainState& state, const std::string& prefix) {
  state.AddRows(prefix + "digests", digests_, &rows_);
}

// What one step asks about.
struct Asked {
  at::Tensor own;     // this member's images [own rows, C, H, W], part of the graph to a generator
  at::Tensor images;  // all of them, without a graph
  at::Tensor kept;    // what the transfer set holds of them: the images, or where the private ones are
};

class DataFreeDistillation final : public StudentMethod {
 public:
  DataFreeDistillation(const MethodInputs& inputs, StudentParts parts, std::unique_ptr<release::Mechanism> mechanism)
      : StudentMethod(inputs, std::move(parts), std::min(kMaxGalleryImages, inputs.spec.batch)),
        mechanism_(std::move(mechanism)) {
    if (source_ != nullptr && spec_.reading != Reading::sound && spec_.release.detach)
      before_.emplace(spec_.steps * spec_.batch);
    if (spec_.distill.replay == 0) return;
    if (source_ != nullptr)
      transfer_.emplace(spec_.distill.replay, spec_.batch, data_.shape, data_.classes, data_.device);
    else
      transfer_.emplace(TransferSet::OfPlaces(spec_.distill.replay, spec_.batch, data_.classes, data_.device));
  }

  std::int64_t steps() const override { return spec_.generator.pretrain_steps + spec_.steps; }
  std::string phase(std::int64_t step) const override {
    return step < spec_.generator.pretrain_steps ? "pretrain" : "distill";
  }
  // Improve takes a network and, but for a critic, no teacher, and refuses targets with a graph unless
  // detach = false.
  std::vector<std::string> Facts() const override { return SelectStudentFacts(spec_.release.detach, !critic_); }

  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    if (source_) source_->Register(state, "generator/");
    if (transfer_) transfer_->Register(state, "transfer/");
    if (before_) before_->Register(state, "asked/");
    if (source_) gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t at, Series& series) override {
    if (at < spec_.generator.pretrain_steps) return PretrainGenerator(at, series);
    const std::int64_t step = at - spec_.generator.pretrain_steps;
    RETORT_ASSIGN_OR_RETURN(const Asked asked, Ask(step));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor logits,
                            AllGatherRows(StudentLogits(asked.own.detach()), spec_.batch, gang_));
    at::Tensor undetached;
    bool replayed = false;
    release::Query query{asked.images, logits, at};
    if (before_) query.again = before_->Again(asked.images);
    const auto draw = [&](release::ChargeBook* book) { return Release(query, asked, undetached, book); };
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released, tape_.Obtain(at, draw, &replayed));
    if (before_) before_->Remember();
    if (replayed && !spec_.release.detach) {
      RETORT_ASSIGN_OR_RETURN(
          undetached, mechanism_->MakeGraph(release::Oracle::AskUndetached(*teacher_, {asked.own, logits, at})));
    }
    const double gamma = ComputeGamma(step);
    const at::Tensor targets = ComputeTargets(logits, released.detach(), gamma);
    std::vector<LossPart> losses;
    RETORT_ASSIGN_OR_RETURN(at::Tensor taught, TeachBatch(step, asked.images, targets));
    losses.emplace_back("train.student_loss", std::move(taught));
    if (source_) {
      const double slope = spec_.distill.target == GradientTarget::gradient ? 1 : -gamma;
      const GeneratorTarget aim{Own(targets, ComputeRowShare(spec_.batch, gang_)), undetached, slope};
      RETORT_ASSIGN_OR_RETURN(at::Tensor improved,
                              source_->Improve(step, asked.own, spec_.batch, learner_.network(), aim,
                                               source_->RatesAt(Decay(step)), critic_ ? &*critic_ : nullptr));
      losses.emplace_back("train.generator_loss", std::move(improved));
    }
    if (transfer_) transfer_->Push(asked.kept, targets);
    if (source_) gallery_.Offer(step, asked.images, released);
    RETORT_RETURN_IF_ERROR(RecordLosses(losses, gang_, series));
    RecordPublicAccuracy(step, series);
    return {};
  }

  Result<Outcome> Finish() override {
    Outcome out = EvaluateStudent();
    if (!source_) return out;  // private images are not kept as samples
    out.samples =
        gallery_.ToSamples("synthetic queries and their releases; charged as the trial's ledger says", data_.scale);
    return out;
  }

 private:
  double Decay(std::int64_t step) const {
    return HoldThenLinear(step, spec_.steps, spec_.optimization.lr_hold, spec_.optimization.lr_end);
  }

  // Of y = p - gamma g~.
  double ComputeGamma(std::int64_t step) const {
    const DistillValues& distill = spec_.distill;
    if (distill.gamma > 0) return distill.gamma;
    return InterpolateLinearly(step, spec_.steps, distill.kappa, distill.kappa_end) / spec_.release.norm_bound;
  }

  Result<Asked> Ask(std::int64_t step) {
    if (!source_) {
      const at::Tensor places = ChoosePrivateRows(spec_, data_.train.size(), step).to(data_.device);
      const at::Tensor images = data_.train.Batch(places);
      return Asked{Own(images, ComputeRowShare(spec_.batch, gang_)), images, places};
    }
    RETORT_ASSIGN_OR_RETURN(const at::Tensor own, source_->Images(step, spec_.batch));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor images, AllGatherRows(own.detach(), spec_.batch, gang_));
    return Asked{own, images, images};
  }

  // In place of a teacher: says of private images, which lie at `places`, what their labels are.
  release::ScriptedTeacher LabelsAt(const at::Tensor& places) const {
    const at::Tensor labels = data_.train.labels.index_select(0, places.to(data_.train.labels.device()));
    return release::ScriptedTeacher(MakeOneHotTargets(labels, data_.classes));
  }

  Result<release::Answers> AskLabels(const release::Query& whole, const at::Tensor& places) const {
    const RowShare share = ComputeRowShare(spec_.batch, gang_);
    release::ScriptedTeacher labels = LabelsAt(Own(places, share));
    const release::Query own{Own(whole.inputs, share), Own(whole.student_logits, share), whole.step};
    return release::Oracle::GatherRows(release::Oracle::Ask(labels, own), whole, gang_);
  }

  // Of a single teacher each member asks about its own rows; of an ensemble its own networks about all rows. Gang
  // rank 0 has all answers and releases.
  Result<release::Answers> AskTeacher(const release::Query& whole, const at::Tensor& images) {
    if (teacher_->members() > 1) {
      release::Query query = whole;
      query.gradients = release::ChooseMemberRule(spec_);
      return release::Oracle::SumGradients(release::Oracle::Ask(*teacher_, query), gang_);
    }
    const RowShare share = ComputeRowShare(spec_.batch, gang_);
    release::Query own{images, Own(whole.student_logits, share), whole.step};
    if (whole.again.defined()) own.again = Own(whole.again, share);
    return release::Oracle::GatherRows(
        spec_.release.detach ? release::Oracle::Ask(*teacher_, own) : release::Oracle::AskUndetached(*teacher_, own),
        whole, gang_);
  }

  // `undetached` keeps the release's graph to the images where detach = false, in a gang of one.
  Result<at::Tensor> Release(const release::Query& whole, const Asked& asked, at::Tensor& undetached,
                             release::ChargeBook* book) {
    RETORT_ASSIGN_OR_RETURN(const release::Answers answers,
                            teacher_ ? AskTeacher(whole, asked.own) : AskLabels(whole, asked.kept));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor values, PayAndRelease(*mechanism_, answers, spec_.batch, book));
    if (book == nullptr) return values;
    if (!spec_.release.detach) undetached = values;
    return values.detach();
  }

  // What the student is taught: y = p - gamma g~, the mean noised gradient as it is, or the private teacher's softened
  // prediction.
  at::Tensor ComputeTargets(const at::Tensor& logits, const at::Tensor& released, double gamma) const {
    if (spec_.reading == Reading::sound) return at::softmax(released / spec_.distill.temperature, 1);
    if (spec_.distill.target == GradientTarget::gradient) return released;
    if (!spec_.distill.project) return at::softmax(logits, 1) - gamma * released;
    return release::ComputeSoftTarget(logits, release::SubtractRowMean(released), gamma);
  }

  // Fresh rows of this batch and replayed ones of earlier batches.
  Result<at::Tensor> TeachBatch(std::int64_t step, const at::Tensor& images, const at::Tensor& targets) {
    const auto find_images = [this](const at::Tensor& places) { return data_.train.Batch(places); };
    const StudentBatches batches(spec_, step, {images, targets},
                                 transfer_ && transfer_->stored() > 0 ? &*transfer_ : nullptr,
                                 source_ ? StudentBatches::Recall() : StudentBatches::Recall(find_images));
    return TeachStudent(batches, spec_.optimization.lr * Decay(step), spec_.distill.temperature);
  }

  std::unique_ptr<release::Mechanism> mechanism_;
  std::optional<TransferSet> transfer_;
  std::optional<AskedImages> before_;  // where answers are noised
};

Status CheckSpec(const MethodInputs& inputs, std::int64_t members) {
  const TrialSpec& spec = inputs.spec;
  if (spec.source == QuerySource::public_split)
    return UsageError("Noisy gradients are asked for at generated or private images: source cannot be \"public\".");
  if (spec.source == QuerySource::private_split && spec.batch > inputs.data.train.size())
    return UsageError("batch = " + std::to_string(spec.batch) + " is more than the " +
                      std::to_string(inputs.data.train.size()) + " private images that are asked about.");
  if (members > 1 && spec.reading == Reading::sound)
    return UsageError("An ensemble's sound answers are votes: set queries to their number.");
  if (!spec.release.detach && (inputs.gang.size() > 1 || members > 1)) {
    return UsageError(
        "detach = false keeps a single teacher's graph to the images, which no gang can share: set devices = 1, and "
        "name a teacher that is no ensemble.");
  }
  if (TakesOwnLabels(spec) && (spec.distill.loss != DistillationLoss::ce_hard || !spec.release.detach))
    return UsageError("label = \"true\" is a class: set loss = \"ce-hard\", and do not set detach = false.");
  if (spec.generator.pretrain_steps > 0 && spec.generator.discriminator != Discriminator::teacher)
    return UsageError("pretrain_steps train the generator against the teacher: set discriminator = \"teacher\".");
  return {};
}

// The generator, and the teacher as its critic where that is asked for.
Status AddSource(const MethodInputs& inputs, StudentParts& parts) {
  const TrialSpec& spec = inputs.spec;
  if (spec.source == QuerySource::private_split) return {};
  RETORT_ASSIGN_OR_RETURN(parts.source, MakeImageSource(spec, inputs.data, inputs.gang, inputs.graphs));
  if (spec.generator.discriminator != Discriminator::teacher) return {};
  RETORT_ASSIGN_OR_RETURN(parts.critic, MakeCritic(inputs, *parts.teacher));
  return {};
}

}  // namespace

Result<std::unique_ptr<Method>> MakeDataFreeDistillation(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  StudentParts parts;
  if (!TakesOwnLabels(spec)) {
    RETORT_ASSIGN_OR_RETURN(parts.teacher, LoadTeacher(*inputs.teacher, inputs.data, inputs.gang, inputs.graphs));
  }
  const std::int64_t members = parts.teacher ? parts.teacher->members() : 1;
  RETORT_RETURN_IF_ERROR(CheckSpec(inputs, members));
  RETORT_ASSIGN_OR_RETURN(
      std::unique_ptr<release::Mechanism> mechanism,
      release::MakeMechanism(spec, inputs.data.classes, members, release::MakeNoiseKey(spec), inputs.noise));
  RETORT_ASSIGN_OR_RETURN(parts.student, DrawNetwork(inputs));
  RETORT_RETURN_IF_ERROR(AddSource(inputs, parts));
  return std::unique_ptr<Method>(
      std::make_unique<DataFreeDistillation>(inputs, std::move(parts), std::move(mechanism)));
}

}  // namespace retort::worker
