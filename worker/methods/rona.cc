// RONA (AAAI-19, Algorithm 1): hint learning, then rounds of self learning on public labels and distillation learning
// on public images that the student selects. Readings printed and working train on losses whose values were noised;
// sound takes noisy votes of an ensemble, or the answers of a teacher that was itself trained privately.
#include "worker/methods/rona.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "experiments/base/status.h"
#include "experiments/methods/methods.h"
#include "worker/data/split_overlap.h"
#include "worker/distill/hint_learning.h"
#include "worker/distill/query_selection.h"
#include "worker/methods/method.h"
#include "worker/methods/rona_teacher.h"
#include "worker/methods/stop_rule.h"
#include "worker/models/model_registry.h"
#include "worker/models/training_scopes.h"
#include "worker/optim/schedule.h"
#include "worker/training/evaluation.h"
#include "worker/training/learner.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {

std::string_view GetPhaseName(RonaPhase phase) {
  switch (phase) {
    case RonaPhase::auxiliary:
      return "auxiliary";
    case RonaPhase::hint:
      return "hint";
    case RonaPhase::self:
      return "self";
    case RonaPhase::ask:
      return "release";
    case RonaPhase::distill:
      return "distill";
  }
  CheckFailed("a known phase", __FILE__, __LINE__, "");
}

RonaSchedule::RonaSchedule(const RonaVolume& volume) : volume_(volume) {
  Add(RonaPhase::auxiliary, 0, volume.auxiliary_epochs, volume.examples);
  Add(RonaPhase::hint, 0, volume.hint_epochs, volume.queries);
  Add(RonaPhase::self, 0, volume.warm_epochs, volume.examples);
  for (std::int64_t round = 0; round < volume.rounds; ++round) {
    const std::int64_t fewer = volume.printed ? 0 : 2 * round;
    const std::int64_t self = std::max(volume.self_epochs - fewer, std::min<std::int64_t>(volume.self_epochs, 1));
    if (volume.printed) Add(RonaPhase::self, round, self, volume.examples);
    if (volume.votes > 0) Add(RonaPhase::ask, round, 1, VotesUntil(round + 1) - VotesUntil(round));
    Add(RonaPhase::distill, round, volume.distill_epochs, volume.votes > 0 ? VotesUntil(round + 1) : volume.queries);
    if (!volume.printed) Add(RonaPhase::self, round, self, volume.examples);
  }
}

std::int64_t RonaSchedule::VotesUntil(std::int64_t round) const {
  return volume_.rounds == 0
             ? 0
             : volume_.votes / volume_.rounds * round + volume_.votes % volume_.rounds * round / volume_.rounds;
}

void RonaSchedule::Add(RonaPhase phase, std::int64_t round, std::int64_t epochs, std::int64_t rows) {
  if (epochs == 0 || rows == 0) return;
  const bool own = phase == RonaPhase::self || phase == RonaPhase::auxiliary;
  const std::int64_t batch = std::min(own ? volume_.student_batch : volume_.batch, rows);
  sections_.push_back({phase, round, epochs, rows, batch, steps_, epochs_});
  steps_ += epochs * ((rows + batch - 1) / batch);
  epochs_ += epochs;
}

RonaStep RonaSchedule::At(std::int64_t step) const {
  RETORT_CHECK(step >= 0 && step < steps_);
  const auto after = std::find_if(sections_.begin(), sections_.end(),
                                  [step](const Section& section) { return section.first_step > step; });
  const Section& section = *(after - 1);
  const std::int64_t per_epoch = (section.rows + section.batch - 1) / section.batch, within = step - section.first_step;
  RonaStep out{section.phase,
               section.round,
               section.first_epoch + within / per_epoch,
               within % per_epoch * section.batch,
               0,
               section.rows,
               1};
  out.rows = std::min(section.batch, section.rows - out.first);
  if (!volume_.printed && section.round > volume_.rounds * 7 / 10) out.rate = 0.1;
  return out;
}

namespace {

// Streams of Purpose::parameters.
constexpr std::uint64_t kAuxiliaryStream = 2, kAdapterStream = 3;

struct TrainingParts {
  std::unique_ptr<Network> student;
  std::unique_ptr<AuxiliaryTeacher> auxiliary;  // null where nothing needs it
  std::unique_ptr<RonaTeacher> teacher;         // null where no teacher is asked
  std::optional<MiddleLayer> hint, guided;      // where hints are learnt
};

class Rona final : public Method {
 public:
  Rona(const MethodInputs& inputs, TrainingParts parts, const RonaVolume& volume)
      : spec_(inputs.spec),
        data_(inputs.data),
        gang_(inputs.gang),
        schedule_(volume),
        auxiliary_(std::move(parts.auxiliary)),
        teacher_(std::move(parts.teacher)),
        learner_(std::move(parts.student), inputs.gang, MakeLearnerSettings(inputs.spec, inputs.graphs)),
        distilling_(learner_.network(), inputs.gang, MakeLearnerSettings(inputs.spec).adam, spec_.precision),
        auxiliary_steps_(AuxiliarySteps()),
        selected_(at::zeros({std::max<std::int64_t>(volume.queries, volume.votes)}, at::kLong)) {
    if (parts.guided)
      hints_.emplace(learner_.network(), *parts.guided, parts.hint->channels, inputs.gang,
                     RngStream(spec_.seed, Purpose::parameters, kAdapterStream), MakeLearnerSettings(inputs.spec).adam,
                     spec_.precision);
  }

  std::int64_t steps() const override { return schedule_.steps(); }
  std::string phase(std::int64_t step) const override { return std::string(GetPhaseName(schedule_.At(step).phase)); }
  // Public images: no generator.
  std::vector<std::string> Facts() const override {
    std::vector<std::pair<std::string_view, bool>> facts = {{privacy::kFactDetachedTarget, true},
                                                            {privacy::kFactStudentDrivesGenerator, true}};
    if (teacher_ != nullptr)
      for (const auto& fact : teacher_->Facts()) facts.push_back(fact);
    return SelectFacts(facts);
  }

  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    distilling_.Register(state, "distillation/adam/");
    if (hints_) hints_->Register(state, "hint/");
    if (auxiliary_ != nullptr) auxiliary_->learner().Register(state, "auxiliary/");
    if (teacher_ != nullptr) teacher_->Register(state, "answers/");
    state.Add("selected", selected_);
  }

  Status Step(std::int64_t step, Series& series) override {
    const RonaStep at = schedule_.At(step);
    RETORT_RETURN_IF_ERROR(Learn(step, at, series));
    const bool of_student = at.phase == RonaPhase::self || at.phase == RonaPhase::distill;
    if (of_student && EndsEpoch(step, at) && gang_.rank().value == 0)
      series.emplace_back("test.accuracy", Evaluate(learner_.network(), data_.test).accuracy);
    return {};
  }

  Result<Outcome> Finish() override { return EvaluateOutcome(learner_.network(), data_.test, "student/"); }

 private:
  Status Learn(std::int64_t step, const RonaStep& at, Series& series) {
    switch (at.phase) {
      case RonaPhase::auxiliary:
        return LearnLabels(step, at, auxiliary_->learner(), AuxiliaryRate(step), series);
      case RonaPhase::self:
        return LearnLabels(step, at, learner_, spec_.optimization.lr * at.rate, series);
      case RonaPhase::hint:
        return LearnHints(step, at);
      case RonaPhase::ask:
        return Ask(step, at);
      case RonaPhase::distill:
        return Distill(step, at);
    }
    CheckFailed("a known phase", __FILE__, __LINE__, "");
  }

  bool EndsEpoch(std::int64_t step, const RonaStep& at) const {
    return step + 1 == schedule_.steps() || schedule_.At(step + 1).epoch != at.epoch;
  }
  std::int64_t AuxiliarySteps() const {
    std::int64_t steps = 0;
    while (steps < schedule_.steps() && schedule_.At(steps).phase == RonaPhase::auxiliary) ++steps;
    return steps;
  }
  double AuxiliaryRate(std::int64_t step) const {
    return spec_.optimization.lr *
           HoldThenLinear(step, auxiliary_steps_, spec_.optimization.lr_hold, spec_.optimization.lr_end);
  }

  // A batch of all public images with their labels.
  Status LearnLabels(std::int64_t step, const RonaStep& at, Learner& learner, double rate, Series& series) {
    const at::Tensor batch =
        FindOrder(at.epoch, data_.public_split.size()).narrow(0, at.first, at.rows).to(data_.device);
    const RowShare share = ComputeRowShare(at.rows, gang_);
    const at::Tensor rows = Own(batch, share);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor images,
                            MakeTrainingImages(spec_, data_.scale, data_.public_split, rows, step, share.first));
    const at::Tensor targets = MakeOneHotTargets(data_.public_split.labels.index_select(0, rows), data_.classes);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor loss,
                            learner.Teach({images, targets, share.first, at.rows}, rate, DropoutStream(step)));
    if (at.first == 0 || ShouldRecordLoss(spec_, step, step, steps()))
      RETORT_RETURN_IF_ERROR(
          RecordLoss(loss, at.phase == RonaPhase::self ? "train.student_loss" : "train.auxiliary_loss", gang_, series));
    return {};
  }

  Status LearnHints(std::int64_t step, const RonaStep& at) {
    at::Tensor chosen;
    if (at.first == 0) chosen = DrawRandomQueries(data_.public_split.size(), at.of, QueryStream(at.epoch));
    const QueryBatch batch = MakeBatch(step, at, chosen);
    StatisticsGuard guard(learner_.network());
    const at::Tensor adapted = hints_->Adapted(batch, DropoutStream(step));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor gradient, teacher_->HintGradient(batch, adapted, *hints_));
    RETORT_RETURN_IF_ERROR(hints_->Step(gradient, batch, spec_.optimization.lr * at.rate));
    guard.Keep();
    Keep(chosen);
    return {};
  }

  Status Distill(std::int64_t step, const RonaStep& at) {
    at::Tensor chosen;
    if (at.first == 0) {
      RETORT_ASSIGN_OR_RETURN(chosen, DistillationQueries(at));
    }
    const QueryBatch batch = MakeBatch(step, at, chosen);
    StatisticsGuard guard(learner_.network());
    const at::Tensor logits = distilling_.TrainingLogits(batch, DropoutStream(step));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor seed, teacher_->LogitGradient(batch, logits));
    RETORT_RETURN_IF_ERROR(distilling_.Step(logits, seed, batch, spec_.optimization.lr * at.rate));
    guard.Keep();
    Keep(chosen);
    return {};
  }

  // Votes on images that were not asked about.
  Status Ask(std::int64_t step, const RonaStep& at) {
    at::Tensor chosen;
    if (at.first == 0) {
      RETORT_ASSIGN_OR_RETURN(chosen, Selected(at, teacher_->Asked()));
    }
    RETORT_RETURN_IF_ERROR(teacher_->Ask(MakeBatch(step, at, chosen)));
    Keep(chosen);
    return {};
  }

  // The rows of one epoch: those that were answered already, in any order, or those that the student selects, in the
  // order of selection, from which the paper's algorithm samples batches.
  Result<at::Tensor> DistillationQueries(const RonaStep& at) {
    if (schedule_.VotesUntil(1) > 0) return Shuffled(at::tensor(teacher_->Asked(), at::kLong), at.epoch);
    RETORT_ASSIGN_OR_RETURN(at::Tensor chosen, Selected(at, {}));
    return FollowsAlgorithm(spec_) ? Shuffled(chosen, at.epoch) : chosen;
  }

  // The same on every member, whatever its last bits.
  Result<at::Tensor> Selected(const RonaStep& at, const std::vector<std::int64_t>& asked) {
    return BroadcastFromRoot(
        SelectQueries(spec_.rona.selection, ComputeAllLogits(learner_.network(), data_.public_split),
                      spec_.distill.temperature, at.of, QueryStream(at.epoch), asked),
        gang_);
  }

  at::Tensor Shuffled(const at::Tensor& rows, std::int64_t epoch) {
    return rows.index_select(0, FindOrder(epoch, rows.size(0)));
  }

  // `chosen`: the rows of the whole epoch, of its first batch; undefined: those that were kept.
  QueryBatch MakeBatch(std::int64_t step, const RonaStep& at, const at::Tensor& chosen) const {
    const at::Tensor& all = chosen.defined() ? chosen : selected_;
    const at::Tensor rows = all.narrow(0, at.first, at.rows).to(data_.device, /*non_blocking=*/false, /*copy=*/true);
    const RowShare share = ComputeRowShare(at.rows, gang_);
    return {step, rows, share.first, data_.public_split.Batch(Own(rows, share))};
  }
  void Keep(const at::Tensor& chosen) {
    if (chosen.defined()) selected_.narrow(0, 0, chosen.size(0)).copy_(chosen);
  }

  // i64 [n] on the CPU: the order of an epoch over n rows.
  const at::Tensor& FindOrder(std::int64_t epoch, std::int64_t n) {
    if (epoch != epoch_) {
      epoch_ = epoch;
      order_ = at::tensor(
          DrawPermutation(n, RngStream(spec_.seed, Purpose::batches, static_cast<std::uint64_t>(epoch))), at::kLong);
    }
    return order_;
  }
  RngStream QueryStream(std::int64_t epoch) const {
    return {spec_.seed, Purpose::queries, static_cast<std::uint64_t>(epoch)};
  }
  RngStream DropoutStream(std::int64_t step) const {
    return {spec_.seed, Purpose::dropout, static_cast<std::uint64_t>(step)};
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  Collective& gang_;
  RonaSchedule schedule_;
  std::unique_ptr<AuxiliaryTeacher> auxiliary_;
  std::unique_ptr<RonaTeacher> teacher_;
  Learner learner_;  // the student, and its optimiser of self learning
  LogitLearning distilling_;
  std::optional<HintLearning> hints_;
  std::int64_t auxiliary_steps_;
  at::Tensor selected_;      // i64, on the CPU: public rows of the epoch under way, from the first on
  std::int64_t epoch_ = -1;  // of order_
  at::Tensor order_;
};

// Whether the trial needs the auxiliary teacher: for adaptive bounds on losses, or for hints that cost no privacy.
bool NeedsAuxiliary(const TrialSpec& spec) {
  return spec.reading == Reading::sound ? spec.rona.hint_epochs > 0 : spec.rona.adaptive_bound && !AsksNoTeacher(spec);
}

RonaVolume MakeVolume(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  RonaVolume volume;
  volume.examples = inputs.data.public_split.size();
  volume.batch = spec.batch;
  volume.student_batch = spec.distill.student_batch;
  volume.auxiliary_epochs = NeedsAuxiliary(spec) ? spec.rona.auxiliary_epochs : 0;
  volume.hint_epochs = spec.rona.hint_epochs;
  volume.printed = FollowsAlgorithm(spec);
  volume.warm_epochs = volume.printed ? 0 : spec.rona.warm_epochs;  // Algorithm 1 has none
  volume.rounds = spec.rounds;
  volume.distill_epochs = spec.rona.distill_epochs;
  volume.self_epochs = spec.rona.self_epochs;
  volume.queries = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(spec.rona.query_fraction * static_cast<double>(volume.examples)), 1, volume.examples);
  if (IsTaughtByVotes(spec) && spec.rona.distill_epochs > 0) volume.votes = spec.queries;
  return volume;
}

Status CheckVolume(const RonaVolume& volume, const Dataset& data) {
  if (data.public_split.size() == 0)
    return UsageError("rona learns from public images, and data.split.public is empty.");
  if (volume.votes > data.public_split.size())
    return UsageError(std::to_string(volume.votes) + " queries were asked for, but the public split has " +
                      std::to_string(data.public_split.size()) + " images.");
  if (RonaSchedule(volume).steps() == 0)
    return UsageError("rona has nothing to do: all of its epochs are 0, or rounds is.");
  return {};
}

// Finds the layers of teacher and student that hint learning connects.
Status PlaceHints(const MethodInputs& inputs, TrainingParts& parts) {
  const std::string& name = inputs.teacher->spec.network;
  const auto where = [](const std::string& network, const Status& status) {
    return UsageError("hint_epochs: of '" + network + "', " + status.message() +
                      ". Set hint_epochs = 0, or name another network.");
  };
  RETORT_ASSIGN_OR_RETURN(const std::vector<Layer> layers,
                          MakeLayers(inputs.teacher->spec, inputs.data.shape, inputs.data.classes));
  RETORT_ASSIGN_OR_RETURN(const LayerPlan plan, PlanLayers(layers, inputs.data.shape));
  const Result<MiddleLayer> hint = FindHintLayer(layers, plan, inputs.data.shape);
  if (!hint.ok()) return where(name, hint.status());
  const Result<MiddleLayer> guided = FindGuidedLayer(parts.student->plan(), *hint);
  if (!guided.ok()) return where(inputs.spec.network, guided.status());
  parts.hint = *hint;
  parts.guided = *guided;
  return {};
}

}  // namespace

Result<std::unique_ptr<Method>> MakeRona(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  const RonaVolume volume = MakeVolume(inputs);
  RETORT_RETURN_IF_ERROR(CheckVolume(volume, inputs.data));
  // Self learning takes the labels of public images as they are.
  RETORT_RETURN_IF_ERROR(RequireApart(inputs.data));
  // A trial that asks nothing has no charge on record that facts could be added to.
  if (AsksNoTeacher(spec)) RETORT_RETURN_IF_ERROR(RequireTestApart(inputs.data));
  TrainingParts parts;
  RETORT_ASSIGN_OR_RETURN(parts.student, DrawNetwork(inputs));
  if (spec.rona.hint_epochs > 0) RETORT_RETURN_IF_ERROR(PlaceHints(inputs, parts));
  if (NeedsAuxiliary(spec)) {
    RETORT_ASSIGN_OR_RETURN(
        std::unique_ptr<Network> network,
        MakeNetwork(ChooseNetwork(inputs.teacher->spec), inputs.data.shape, inputs.data.classes,
                    RngStream(spec.seed, Purpose::parameters, kAuxiliaryStream), inputs.data.device));
    parts.auxiliary =
        std::make_unique<AuxiliaryTeacher>(std::move(network), inputs.data.public_split, inputs.gang, spec.precision);
  }
  if (!AsksNoTeacher(spec)) {
    RETORT_ASSIGN_OR_RETURN(parts.teacher, MakeRonaTeacher(inputs, parts.auxiliary.get()));
  }
  return std::unique_ptr<Method>(std::make_unique<Rona>(inputs, std::move(parts), volume));
}

}  // namespace retort::worker
