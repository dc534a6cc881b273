#include "worker/methods/student_method.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "worker/tensors/tensor_codec.h"
#include "worker/training/evaluation.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kEvaluateEvery = 20;

}  // namespace

StudentBatches::StudentBatches(const TrialSpec& spec, std::int64_t step, Batch fresh, const TransferSet* earlier,
                               Recall recall)
    : spec_(spec),
      fresh_(std::move(fresh)),
      earlier_(earlier),
      recall_(std::move(recall)),
      order_(spec.seed, Purpose::queries, static_cast<std::uint64_t>(step)),
      replay_(spec.seed, Purpose::replay, static_cast<std::uint64_t>(step)),
      dropout_(spec.seed, Purpose::dropout, static_cast<std::uint64_t>(step)) {}

StudentBatches::Batch StudentBatches::Rows(std::int64_t i) const {
  const auto wanted = static_cast<double>(spec_.distill.student_batch);
  const std::int64_t replayed =
      earlier_ != nullptr ? static_cast<std::int64_t>(wanted * spec_.distill.replay_fraction) : 0;
  const at::Tensor rows = FreshRows(i, spec_.distill.student_batch - replayed);
  Batch batch{fresh_.first.index_select(0, rows), fresh_.second.index_select(0, rows)};
  if (replayed > 0) {
    const RngStream stream = replay_.Lane(static_cast<std::uint64_t>(i));
    const auto [kept, y] =
        spec_.distill.balance ? earlier_->SampleEvenly(replayed, stream) : earlier_->Sample(replayed, stream);
    batch = {at::cat({batch.first, recall_ ? recall_(kept) : kept}), at::cat({batch.second, y})};
  }
  return batch;
}

at::Tensor StudentBatches::FreshRows(std::int64_t i, std::int64_t count) const {
  const std::int64_t rows_of_batch = fresh_.first.size(0);
  std::vector<std::int64_t> rows, permutation;
  std::int64_t pass = -1;
  for (std::int64_t k = i * count; k < (i + 1) * count; ++k) {
    if (k / rows_of_batch != pass) {
      pass = k / rows_of_batch;
      permutation = Permutation(rows_of_batch, order_.Lane(static_cast<std::uint64_t>(pass)));
    }
    rows.push_back(permutation[static_cast<std::size_t>(k % rows_of_batch)]);
  }
  return at::tensor(rows, at::device(fresh_.first.device()).dtype(at::kLong));
}

SampleGallery::SampleGallery(std::int64_t rows, std::vector<std::int64_t> image_shape, std::int64_t classes,
                             at::Device device)
    : annotations_(at::zeros({rows, classes}, at::device(device).dtype(at::kFloat))), step_(at::zeros({1}, at::kLong)) {
  image_shape.insert(image_shape.begin(), rows);
  images_ = at::zeros(image_shape, annotations_.options());
}

void SampleGallery::Offer(std::int64_t step, const at::Tensor& images, const at::Tensor& annotations) {
  const at::NoGradGuard no_grad;
  rows_ = std::min(images.size(0), images_.size(0));
  images_.narrow(0, 0, rows_).copy_(images.narrow(0, 0, rows_));
  annotations_.narrow(0, 0, rows_).copy_(annotations.narrow(0, 0, rows_));
  step_.fill_(step);
}

void SampleGallery::Register(TrainState& state, const std::string& prefix) {
  state.AddRows(prefix + "images", images_, &rows_);
  state.AddRows(prefix + "annotations", annotations_, &rows_);
  state.Add(prefix + "step", step_);
}

storage::Samples SampleGallery::ToSamples(const std::string& claim, const PixelScale& scale) const {
  storage::Samples samples;
  samples.images = ToBlob("images", ToBytes(images_.narrow(0, 0, rows_), scale));
  samples.released = ToBlob("released", annotations_.narrow(0, 0, rows_));
  samples.step.assign(static_cast<std::size_t>(rows_), static_cast<std::uint64_t>(step_.item<std::int64_t>()));
  samples.mean = scale.mean;
  samples.std = scale.std;
  samples.claim = claim;
  return samples;
}

Result<at::Tensor> PayAndRelease(release::Mechanism& mechanism, const release::Answers& answers, std::int64_t rows,
                                 release::ChargeBook* book) {
  if (book == nullptr) return at::Tensor();
  RETORT_ASSIGN_OR_RETURN(release::Charge charge, book->Take(mechanism.Describe(rows), mechanism.DrawsFor(answers)));
  RETORT_ASSIGN_OR_RETURN(const release::Released released, mechanism.Release(answers, std::move(charge)));
  return released.values;
}

Result<release::TeacherCritic> MakeCritic(const MethodInputs& inputs, release::TeacherModel& teacher) {
  const Dataset& data = inputs.data;
  const at::Tensor blank = at::zeros({1, data.shape.channels, data.shape.height, data.shape.width},
                                     at::device(data.device).dtype(at::kFloat));
  return release::TeacherCritic::FromSpec(inputs.spec, teacher, blank);
}

StudentMethod::StudentMethod(const MethodInputs& inputs, StudentParts parts, std::int64_t sample_rows)
    : spec_(inputs.spec),
      data_(inputs.data),
      tape_(inputs.tape),
      gang_(inputs.gang),
      teacher_(std::move(parts.teacher)),
      source_(std::move(parts.source)),
      critic_(std::move(parts.critic)),
      shards_disjoint_(inputs.teacher != nullptr && AreShardsDisjoint(*inputs.teacher, inputs.data)),
      members_independent_(inputs.teacher != nullptr && AreMembersIndependent(*inputs.teacher)),
      learner_(std::move(parts.student), inputs.gang, MakeLearnerSettings(inputs.spec)),
      gallery_(sample_rows, {data_.shape.channels, data_.shape.height, data_.shape.width}, data_.classes,
               data_.device) {}

std::vector<std::string> StudentMethod::SelectStudentFacts(bool detached_target, bool student_drives_generator) const {
  return SelectFacts({{privacy::kFactDetachedTarget, detached_target},
                      {privacy::kFactStudentDrivesGenerator, student_drives_generator},
                      {privacy::kFactDisjointShards, shards_disjoint_},
                      {privacy::kFactIndependentMembers, members_independent_}});
}

Status StudentMethod::PretrainGenerator(std::int64_t step, Series& series) {
  RETORT_ASSIGN_OR_RETURN(const double loss, source_->Pretrain(step, spec_.batch, *critic_, spec_.generator.lr));
  return RecordLoss(loss, "train.generator_loss", gang_, series);
}

at::Tensor StudentMethod::StudentLogits(const at::Tensor& images) const {
  const at::NoGradGuard no_grad;
  return learner_.network().Forward(images).logits;
}

Result<double> StudentMethod::TeachStudent(const StudentBatches& batches, double learning_rate, double temperature,
                                           const Expectation& expect) {
  double loss = 0;
  for (std::int64_t i = 0; i < spec_.distill.student_steps; ++i) {
    const auto [x, y] = batches.Rows(i);
    RETORT_ASSIGN_OR_RETURN(
        loss, learner_.Teach(OwnMinibatch(x, y, gang_), learning_rate, batches.Dropout(i), temperature, expect));
  }
  return loss;
}

void StudentMethod::RecordPublicAccuracy(std::int64_t step, Series& series) const {
  if (gang_.rank().value == 0 && (step + 1) % kEvaluateEvery == 0 && data_.public_split.size() > 0)
    series.emplace_back("public.accuracy", Evaluate(learner_.network(), data_.public_split).accuracy);
}

Outcome StudentMethod::EvaluateStudent() const {
  Outcome out = EvaluateOutcome(learner_.network(), data_.test, "student/");
  if (source_ != nullptr)
    for (auto& blob : source_->Blobs("generator/")) out.parameters.push_back(std::move(blob));
  return out;
}

}  // namespace retort::worker
