#include "worker/methods/student_method.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "worker/tensors/loss_sum.h"
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

StudentBatches::Places StudentBatches::Draw() const {
  const std::int64_t steps = spec_.distill.student_steps, rows_of_batch = fresh_.first.size(0);
  const auto wanted = static_cast<double>(spec_.distill.student_batch);
  const std::int64_t replayed =
      earlier_ != nullptr ? static_cast<std::int64_t>(wanted * spec_.distill.replay_fraction) : 0;
  const std::int64_t count = spec_.distill.student_batch - replayed;
  Places places{at::empty({steps, count}, at::kLong), {}};
  auto* place = places.fresh.mutable_data_ptr<std::int64_t>();
  std::vector<std::int64_t> permutation;
  for (std::int64_t k = 0; k < steps * count; ++k) {
    if (k % rows_of_batch == 0)
      permutation = DrawPermutation(rows_of_batch, order_.Lane(static_cast<std::uint64_t>(k / rows_of_batch)));
    place[k] = permutation[static_cast<std::size_t>(k % rows_of_batch)];
  }
  if (replayed == 0) return places;
  places.kept = at::empty({steps, replayed}, at::kLong);
  for (std::int64_t i = 0; i < steps; ++i) {
    const RngStream stream = replay_.Lane(static_cast<std::uint64_t>(i));
    places.kept[i].copy_(spec_.distill.balance ? earlier_->DrawEvenly(replayed, stream)
                                               : earlier_->Draw(replayed, stream));
  }
  return places;
}

StudentBatches::Batch StudentBatches::Take(const Batch& fresh, const at::Tensor& places, const at::Tensor& kept) const {
  const at::Tensor here = places.to(fresh.first.device());
  Batch batch{fresh.first.index_select(0, here), fresh.second.index_select(0, here)};
  if (!kept.defined()) return batch;
  const auto [stored, y] = earlier_->Take(kept);
  return {at::cat({batch.first, recall_ ? recall_(stored) : stored}), at::cat({batch.second, y})};
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
  samples.images = MakeTensorBlob("images", ConvertToBytes(images_.narrow(0, 0, rows_), scale));
  samples.released = MakeTensorBlob("released", annotations_.narrow(0, 0, rows_));
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
      learner_(std::move(parts.student), inputs.gang, MakeLearnerSettings(inputs.spec, inputs.graphs)),
      gallery_(sample_rows, {data_.shape.channels, data_.shape.height, data_.shape.width}, data_.classes, data_.device),
      teaching_(inputs.graphs, "student"),
      asking_(inputs.graphs, "student logits"),
      evaluating_(inputs.graphs, "evaluation") {}

std::vector<std::string> StudentMethod::SelectStudentFacts(bool detached_target, bool student_drives_generator) const {
  return SelectFacts({{privacy::kFactDetachedTarget, detached_target},
                      {privacy::kFactStudentDrivesGenerator, student_drives_generator},
                      {privacy::kFactDisjointShards, shards_disjoint_},
                      {privacy::kFactIndependentMembers, members_independent_}});
}

Status StudentMethod::PretrainGenerator(std::int64_t step, Series& series) {
  RETORT_ASSIGN_OR_RETURN(const at::Tensor loss, source_->Pretrain(step, spec_.batch, *critic_, spec_.generator.lr));
  return RecordLoss(loss, "train.generator_loss", gang_, series);
}

at::Tensor StudentMethod::StudentLogits(const at::Tensor& images) {
  const at::NoGradGuard no_grad;
  const auto ask = [&](const Tensors& in) -> Result<Tensors> {
    return Tensors{learner_.network().Forward(in[0]).logits};
  };
  return asking_.Run({images}, ask).value()[0];
}

Result<at::Tensor> StudentMethod::TeachStudent(const StudentBatches& batches, double learning_rate, double temperature,
                                               const Expectation& expect) {
  if (!batches.TakesFromDevice()) teaching_.Decline("the images of the batches are read by the host");
  const StudentBatches::Places places = batches.Draw();
  std::vector<at::Tensor> masks;
  for (std::int64_t i = 0; i < spec_.distill.student_steps; ++i)
    masks.push_back(learner_.MakeNumbers(learning_rate, batches.Dropout(i)).masks);
  const bool masked = !masks.empty() && masks[0].defined();
  const auto teach = [&](const Tensors& in) -> Result<Tensors> {
    at::Tensor loss = LossSum().Total();
    for (std::int64_t i = 0; i < spec_.distill.student_steps; ++i) {
      const auto [x, y] = batches.Take({in[0], in[1]}, in[2][i], in[3].defined() ? in[3][i] : in[3]);
      RETORT_ASSIGN_OR_RETURN(
          loss, learner_.Step(OwnMinibatch(x, y, gang_), {in[4], masked ? in[5][i] : in[5]}, temperature, expect));
    }
    return Tensors{loss};
  };
  const auto& [images, targets] = batches.fresh();
  RETORT_ASSIGN_OR_RETURN(const Tensors out,
                          teaching_.Run({images, targets, places.fresh, places.kept, MakeRate(learning_rate),
                                         masked ? at::stack(masks) : at::Tensor()},
                                        teach, {temperature}));
  return out[0];
}

void StudentMethod::RecordPublicAccuracy(std::int64_t step, Series& series) {
  if (gang_.rank().value == 0 && (step + 1) % kEvaluateEvery == 0 && data_.public_split.size() > 0)
    series.emplace_back("public.accuracy", Evaluate(learner_.network(), data_.public_split, &evaluating_).accuracy);
}

Outcome StudentMethod::EvaluateStudent() {
  Outcome out = EvaluateOutcome(learner_.network(), data_.test, "student/", &evaluating_);
  if (source_ != nullptr)
    for (auto& blob : source_->Blobs("generator/")) out.parameters.push_back(std::move(blob));
  return out;
}

}  // namespace retort::worker
