#include "worker/methods/rona_teacher.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "worker/distill/vote_targets.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/student_method.h"
#include "worker/release/loss_noise.h"
#include "worker/release/mechanism.h"
#include "worker/release/noisy_votes.h"
#include "worker/training/evaluation.h"

namespace retort::worker {

namespace {

constexpr std::int64_t kRowsAtATime = 500;

LearnerSettings AtPrecision(Precision precision) {
  LearnerSettings settings;
  settings.precision = precision;
  return settings;
}

}  // namespace

AuxiliaryTeacher::AuxiliaryTeacher(std::unique_ptr<Network> network, const Examples& images, Collective& gang,
                                   Precision precision)
    : images_(images),
      learner_(std::move(network), gang, AtPrecision(precision)),
      hint_(FindHintLayer(learner_.network().layers(), learner_.network().plan(), learner_.network().input())) {}

at::Tensor AuxiliaryTeacher::FindLogits(const at::Tensor& rows) {
  if (!logits_.defined()) logits_ = ComputeAllLogits(learner_.network(), images_);
  return logits_.index_select(0, rows);
}

at::Tensor AuxiliaryTeacher::ComputeHint(const at::Tensor& images) const {
  const at::NoGradGuard no_grad;
  return learner_.network().ForwardTo(hint_.value().place, images);
}

at::Tensor ComputeAllLogits(const Network& network, const Examples& images) {
  const at::NoGradGuard no_grad;
  const std::int64_t at_once = std::min(kRowsAtATime, ComputeMaxRowsPerPass(network.input()));
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < images.size(); first += at_once)
    parts.push_back(network.Forward(images.Range(first, std::min(at_once, images.size() - first))).logits);
  return at::cat(parts);
}

namespace {

using release::Answers;
using release::Oracle;
using release::Query;

at::Tensor OwnRows(const at::Tensor& whole, const QueryBatch& batch) {
  return whole.narrow(0, batch.first, batch.images.size(0));
}

// The whole batch, which every member can see: it is public.
at::Tensor WholeImages(const Dataset& data, const QueryBatch& batch) { return data.public_split.Batch(batch.rows); }

// working and printed: gradients of a loss whose value was clipped and noised.
class LossTeacher final : public RonaTeacher {
 public:
  LossTeacher(const MethodInputs& inputs, std::unique_ptr<release::TeacherModel> teacher,
              std::unique_ptr<release::LossNoise> mechanism, AuxiliaryTeacher* auxiliary)
      : spec_(inputs.spec),
        data_(inputs.data),
        tape_(inputs.tape),
        gang_(inputs.gang),
        teacher_(std::move(teacher)),
        mechanism_(std::move(mechanism)),
        auxiliary_(auxiliary) {}

  // The tape keeps a release's product with the student's own Jacobian, which has the size of the parameters; the
  // gradient at the hint layer would have the size of all its activations.
  Result<at::Tensor> HintGradient(const QueryBatch& batch, const at::Tensor& adapted, HintLearning& hints) override {
    if (auxiliary_ != nullptr)
      RETORT_RETURN_IF_ERROR(AdaptBound(release::HintLosses(auxiliary_->ComputeHint(batch.images), adapted), batch));
    return tape_.Obtain(batch.step, [&](release::ChargeBook* book) -> Result<at::Tensor> {
      Query whole{WholeImages(data_, batch), {}, batch.step};
      RETORT_ASSIGN_OR_RETURN(whole.student_hint, GatherRowsToRoot(adapted.detach(), batch.size(), gang_));
      Query own{batch.images, {}, batch.step};
      own.student_hint = adapted.detach();
      RETORT_ASSIGN_OR_RETURN(const Answers answers, Oracle::GatherRows(Oracle::Ask(*teacher_, own), whole, gang_));
      RETORT_ASSIGN_OR_RETURN(const at::Tensor released, PayAndRelease(*mechanism_, answers, answers.rows(), book));
      RETORT_ASSIGN_OR_RETURN(const at::Tensor seed, BroadcastFromRoot(released, gang_));
      return hints.ParameterGradient(adapted, OwnRows(seed, batch));
    });
  }

  Result<at::Tensor> LogitGradient(const QueryBatch& batch, const at::Tensor& logits) override {
    if (auxiliary_ != nullptr) {
      const at::Tensor told = auxiliary_->FindLogits(OwnRows(batch.rows, batch));
      RETORT_RETURN_IF_ERROR(
          AdaptBound(release::ComputeDistillationLosses(told, logits.detach(), spec_.distill.temperature), batch));
    }
    RETORT_ASSIGN_OR_RETURN(const at::Tensor all, AllGatherRows(logits.detach(), batch.size(), gang_));
    RETORT_ASSIGN_OR_RETURN(
        const at::Tensor released, tape_.Obtain(batch.step, [&](release::ChargeBook* book) -> Result<at::Tensor> {
          const Query own{batch.images, logits.detach(), batch.step};
          RETORT_ASSIGN_OR_RETURN(
              const Answers answers,
              Oracle::GatherRows(Oracle::Ask(*teacher_, own), {WholeImages(data_, batch), all, batch.step}, gang_));
          return PayAndRelease(*mechanism_, answers, answers.rows(), book);
        }));
    return OwnRows(released, batch);
  }

 private:
  // The norm bound is the batch's mean loss against the auxiliary teacher.
  Status AdaptBound(const release::RowLosses& own, const QueryBatch& batch) {
    std::vector<double> sum = {own.losses.sum().item<double>()};
    RETORT_RETURN_IF_ERROR(SumOverGang(sum, gang_));
    const double mean = sum[0] / static_cast<double>(batch.size());
    if (!(mean > 0))
      return Refused("The loss against the auxiliary teacher is " + std::to_string(mean) + ", no norm bound.");
    mechanism_->SetNormBound(mean);
    return {};
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  ReleaseReplay& tape_;
  Collective& gang_;
  std::unique_ptr<release::TeacherModel> teacher_;
  std::unique_ptr<release::LossNoise> mechanism_;
  AuxiliaryTeacher* auxiliary_;  // null: the norm bound stays
};

// sound: hints of the auxiliary teacher, which is public.
class SoundTeacher : public RonaTeacher {
 public:
  explicit SoundTeacher(AuxiliaryTeacher* auxiliary) : auxiliary_(auxiliary) {}
  Result<at::Tensor> HintGradient(const QueryBatch& batch, const at::Tensor& adapted, HintLearning& hints) override {
    RETORT_CHECK(auxiliary_ != nullptr);
    const release::RowLosses losses = release::HintLosses(auxiliary_->ComputeHint(batch.images), adapted);
    return hints.ParameterGradient(adapted, losses.gradients / static_cast<double>(batch.size()));
  }

 private:
  AuxiliaryTeacher* auxiliary_;
};

// By a DP-SGD teacher: its answers are post-processing of its training.
class PrivateTeacher final : public SoundTeacher {
 public:
  PrivateTeacher(const MethodInputs& inputs, std::unique_ptr<release::TeacherModel> teacher,
                 AuxiliaryTeacher* auxiliary)
      : SoundTeacher(auxiliary),
        spec_(inputs.spec),
        data_(inputs.data),
        tape_(inputs.tape),
        gang_(inputs.gang),
        teacher_(std::move(teacher)),
        mechanism_(inputs.data.classes, inputs.spec.batch) {}

  Result<at::Tensor> LogitGradient(const QueryBatch& batch, const at::Tensor& logits) override {
    RETORT_ASSIGN_OR_RETURN(
        const at::Tensor released, tape_.Obtain(batch.step, [&](release::ChargeBook* book) -> Result<at::Tensor> {
          RETORT_ASSIGN_OR_RETURN(const Answers answers,
                                  Oracle::GatherRows(Oracle::Ask(*teacher_, {batch.images, at::Tensor(), batch.step}),
                                                     {WholeImages(data_, batch), at::Tensor(), batch.step}, gang_));
          return PayAndRelease(mechanism_, answers, answers.rows(), book);
        }));
    return release::ComputeDistillationLosses(OwnRows(released, batch), logits.detach(), spec_.distill.temperature)
        .gradients.div_(static_cast<double>(batch.size()));
  }

 private:
  const TrialSpec& spec_;
  const Dataset& data_;
  ReleaseReplay& tape_;
  Collective& gang_;
  std::unique_ptr<release::TeacherModel> teacher_;
  release::Noiseless mechanism_;
};

// By an ensemble (R2): noisy votes, asked once for each public image and kept.
class VoteTeacher final : public SoundTeacher {
 public:
  VoteTeacher(const MethodInputs& inputs, std::unique_ptr<release::TeacherModel> teacher,
              std::unique_ptr<release::NoisyVotes> mechanism, AuxiliaryTeacher* auxiliary)
      : SoundTeacher(auxiliary),
        spec_(inputs.spec),
        data_(inputs.data),
        tape_(inputs.tape),
        gang_(inputs.gang),
        shards_disjoint_(AreShardsDisjoint(*inputs.teacher, inputs.data)),
        members_independent_(AreMembersIndependent(*inputs.teacher)),
        teacher_(std::move(teacher)),
        mechanism_(std::move(mechanism)),
        histograms_(at::zeros({spec_.queries, data_.classes}, at::device(data_.device).dtype(at::kInt))),
        asked_(at::zeros({spec_.queries}, at::kLong)),
        count_(at::zeros({1}, at::kLong)) {}

  Status Ask(const QueryBatch& batch) override {
    const at::Tensor images = WholeImages(data_, batch);
    RETORT_ASSIGN_OR_RETURN(
        const at::Tensor released, tape_.Obtain(batch.step, [&](release::ChargeBook* book) -> Result<at::Tensor> {
          RETORT_ASSIGN_OR_RETURN(
              const Answers answers,
              Oracle::SumVotes(Oracle::Ask(*teacher_, {images, at::Tensor(), batch.step, spec_.release.grain}), gang_));
          if (book != nullptr) RememberAnswers();
          return PayAndRelease(*mechanism_, answers, answers.rows(), book);
        }));
    const std::int64_t first = Count();
    histograms_.narrow(0, first, batch.size()).copy_(released);
    asked_.narrow(0, first, batch.size()).copy_(batch.rows);
    count_.fill_(first + batch.size());
    return {};
  }

  std::vector<std::int64_t> Asked() const override {
    const auto* row = asked_.const_data_ptr<std::int64_t>();
    return {row, row + Count()};
  }

  // The votes' evidence for a label takes the place of a teacher's logit.
  Result<at::Tensor> LogitGradient(const QueryBatch& batch, const at::Tensor& logits) override {
    const at::Tensor known = histograms_.narrow(0, 0, Count());
    const double gap = EstimateVoteGap(known, spec_.release.vote_noise, teacher_->members(), spec_.release.grain);
    const at::Tensor heard = known.index_select(0, FindPlaces(OwnRows(batch.rows, batch)));
    return release::ComputeDistillationLosses(
               ComputeVoteEvidence(heard, gap, spec_.release.vote_noise, spec_.release.grain), logits.detach(),
               spec_.distill.temperature)
        .gradients.div_(static_cast<double>(batch.size()));
  }

  void Register(TrainState& state, const std::string& prefix) override {
    state.Add(prefix + "histograms", histograms_);
    state.Add(prefix + "asked", asked_);
    state.Add(prefix + "count", count_);
  }

  std::vector<std::pair<std::string_view, bool>> Facts() const override {
    return {{privacy::kFactDisjointShards, shards_disjoint_}, {privacy::kFactIndependentMembers, members_independent_}};
  }

 private:
  std::int64_t Count() const { return count_.item<std::int64_t>(); }

  // The place of each of these public rows among those asked.
  at::Tensor FindPlaces(const at::Tensor& rows) {
    for (std::int64_t i = static_cast<std::int64_t>(places_.size()); i < Count(); ++i)
      places_.emplace(asked_.const_data_ptr<std::int64_t>()[i], i);
    const at::Tensor wanted = rows.cpu().contiguous();
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < wanted.numel(); ++i)
      places.push_back(places_.at(wanted.const_data_ptr<std::int64_t>()[i]));
    return at::tensor(places, at::device(data_.device).dtype(at::kLong));
  }

  // What earlier attempts released answers equal images here, too.
  void RememberAnswers() {
    const std::int64_t at_once = data_.public_split.RowsAtOnce();
    for (; remembered_ < Count(); remembered_ += std::min(at_once, Count() - remembered_)) {
      const std::int64_t rows = std::min(at_once, Count() - remembered_);
      mechanism_->Remember(data_.public_split.Batch(asked_.narrow(0, remembered_, rows)),
                           histograms_.narrow(0, remembered_, rows));
    }
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  ReleaseReplay& tape_;
  Collective& gang_;
  bool shards_disjoint_, members_independent_;
  std::unique_ptr<release::TeacherModel> teacher_;
  std::unique_ptr<release::NoisyVotes> mechanism_;
  at::Tensor histograms_;                                  // i32 [queries, classes]: released
  at::Tensor asked_;                                       // i64 [queries], on the CPU: their public rows
  at::Tensor count_;                                       // i64 [1], on the CPU: how many were asked
  std::unordered_map<std::int64_t, std::int64_t> places_;  // public row -> place among the asked
  std::int64_t remembered_ = 0;                            // answers that the mechanism knows
};

release::LossSettings MakeLossSettings(const TrialSpec& spec, std::int64_t classes) {
  return {.sigma = spec.release.sigma,
          .norm_bound = spec.release.norm_bound,
          .temperature = spec.distill.temperature,
          .batch = spec.batch,
          .classes = classes,
          .unit = FindNoiseForm(spec.reading) == NoiseForm::shared ? release::LossUnit::batch : release::LossUnit::row};
}

}  // namespace

Status RonaTeacher::Ask(const QueryBatch&) {
  CheckFailed("votes", __FILE__, __LINE__, "this teacher is not asked ahead");
}

Result<std::unique_ptr<RonaTeacher>> MakeRonaTeacher(const MethodInputs& inputs, AuxiliaryTeacher* auxiliary) {
  const TrialSpec& spec = inputs.spec;
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<release::TeacherModel> teacher,
                          LoadTeacher(*inputs.teacher, inputs.data, inputs.gang, inputs.graphs));
  if (spec.reading == Reading::sound && teacher->members() > 1) {
    RETORT_ASSIGN_OR_RETURN(
        std::unique_ptr<release::NoisyVotes> mechanism,
        release::NoisyVotes::Create(release::MakeVoteSettings(spec, inputs.data.classes), release::MakeNoiseKey(spec)));
    return std::unique_ptr<RonaTeacher>(
        std::make_unique<VoteTeacher>(inputs, std::move(teacher), std::move(mechanism), auxiliary));
  }
  if (spec.reading == Reading::sound)
    return std::unique_ptr<RonaTeacher>(std::make_unique<PrivateTeacher>(inputs, std::move(teacher), auxiliary));
  if (teacher->members() > 1)
    return UsageError("An ensemble answers by noisy votes, which only the reading \"sound\" of rona uses.");
  RETORT_ASSIGN_OR_RETURN(
      std::unique_ptr<release::LossNoise> mechanism,
      release::LossNoise::Create(MakeLossSettings(spec, inputs.data.classes), release::MakeNoiseKey(spec)));
  return std::unique_ptr<RonaTeacher>(
      std::make_unique<LossTeacher>(inputs, std::move(teacher), std::move(mechanism), auxiliary));
}

}  // namespace retort::worker
