// DPDFD, sound by an ensemble (R2), on public queries or on pictures that a procedure draws: release noisy votes, spread them over pictures that are alike
// where that is asked for, fit a student to them, relabel every public image by student and votes together, and fit once
// more. PATE's confident aggregator without its threshold
// (Papernot et al. 2018, GNMax) is the same with the votes' first class for a label, and one fit.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/trial_kind.h"
#include "worker/distill/vote_targets.h"
#include "worker/data/shared_pictures.h"
#include "worker/evaluation.h"
#include "worker/methods/learner.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/procedural_source.h"
#include "worker/methods/public_lessons.h"
#include "worker/methods/sample_gallery.h"
#include "worker/methods/structure_facts.h"
#include "worker/models/model_registry.h"
#include "worker/release/mechanism.h"
#include "worker/release/noisy_votes.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kSamples = 64;

class VoteDistillation final : public Method {
 public:
  // `asked`: owns inputs.data, whose public split are the pictures that may be asked about.
  VoteDistillation(const MethodInputs& inputs, std::unique_ptr<const Dataset> asked,
                   std::unique_ptr<release::TeacherModel> teacher, std::unique_ptr<release::NoisyVotes> mechanism,
                   std::unique_ptr<Network> student)
      : spec_(inputs.spec),
        asked_(std::move(asked)),
        data_(*asked_),
        tape_(inputs.tape),
        gang_(inputs.gang),
        teacher_(std::move(teacher)),
        mechanism_(std::move(mechanism)),
        shards_disjoint_(ShardsAreDisjoint(*inputs.teacher, inputs.data)),
        members_apart_(MembersAreApart(*inputs.teacher)),
        lessons_(inputs, std::move(student)),
        rows_(std::min(spec_.batch, spec_.queries)),
        releases_((spec_.queries + rows_ - 1) / rows_),
        histograms_(at::zeros({spec_.queries, data_.classes}, at::device(data_.device).dtype(at::kInt))),
        gallery_(std::min(kSamples, spec_.queries),
                 {data_.shape.channels, data_.shape.height, data_.shape.width}, data_.classes, data_.device) {
  }

  std::int64_t steps() const override { return releases_ + (spec_.refit ? 2 : 1) * spec_.label_steps; }
  std::string phase(std::int64_t step) const override {
    if (step < releases_) return "release";
    return step < releases_ + spec_.label_steps ? "fit" : "refit";
  }
  // No generator learns.
  std::vector<std::string> Facts() const override {
    return FactsThatHold({{privacy::kFactDetachedTarget, true},
                          {privacy::kFactStudentDrivesGenerator, true},
                          {privacy::kFactDisjointShards, shards_disjoint_},
                          {privacy::kFactMembersApart, members_apart_}});
  }
  void Register(TrainState& state) override {
    lessons_.Register(state);
    state.Add("votes/histograms", histograms_);
    gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t step, Series& series) override {
    if (step < releases_) return Query(step);
    const std::int64_t fit = step - releases_, within = fit % spec_.label_steps;
    if (fit == 0) RETORT_RETURN_IF_ERROR(AimAtVotes(series));
    if (fit == spec_.label_steps) AimAtEverything();
    const bool asked_alone = fit < spec_.label_steps && spec_.neighbours == 0 && !drawn();
    return lessons_.Fit(step, within, asked_alone ? spec_.queries : data_.public_split.size(), series);
  }

  Result<Outcome> Finish() override {
    Outcome out;
    out.evaluation = Evaluate(lessons_.learner().network(), data_.test);
    out.metrics = TestMetrics(*out.evaluation);
    out.parameters = lessons_.learner().network().StateBlobs("student/");
    out.samples = gallery_.ToSamples((drawn() ? "drawn" : "public") +
                                         std::string(" queries and their noisy votes; charged as the trial's ledger says"),
                                     data_.scale);
    return out;
  }

 private:
  Status Query(std::int64_t step) {
    const std::int64_t first = step * rows_, rows = std::min(rows_, spec_.queries - first);
    const at::Tensor images = data_.public_split.Range(first, rows);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released, tape_.Obtain(step, [&](release::ChargeBook* book) {
      return Release(step, images, book);
    }));
    histograms_.narrow(0, first, rows).copy_(released);
    gallery_.Offer(step, images, released.to(at::kFloat));
    return {};
  }

  // Every member's networks vote; gang rank 0 adds the noise to the sum.
  Result<at::Tensor> Release(std::int64_t step, const at::Tensor& images, release::ChargeBook* book) {
    RETORT_ASSIGN_OR_RETURN(
        const release::Answers answers,
        release::Oracle::SumVotes(
            release::Oracle::Ask(*teacher_, {images, at::Tensor(), step, spec_.grain}), gang_));
    if (book == nullptr) return at::Tensor();
    RememberUntil(step * rows_);
    RETORT_ASSIGN_OR_RETURN(release::Charge charge,
                            book->Take(mechanism_->Describe(rows_), mechanism_->DrawsFor(answers)));
    RETORT_ASSIGN_OR_RETURN(const release::Released released, mechanism_->Release(answers, std::move(charge)));
    return released.values;
  }

  // What earlier attempts released answers equal images here, too.
  void RememberUntil(std::int64_t known) {
    const std::int64_t at_once = data_.public_split.RowsAtOnce();
    for (; remembered_ < known; remembered_ += std::min(at_once, known - remembered_)) {
      const std::int64_t rows = std::min(at_once, known - remembered_);
      mechanism_->Remember(data_.public_split.Range(remembered_, rows), histograms_.narrow(0, remembered_, rows));
    }
  }

  at::Tensor Evidence(double* gap = nullptr) const {
    const double estimate = EstimateVoteGap(histograms_, spec_.vote_noise, teacher_->members(), spec_.grain);
    if (gap != nullptr) *gap = estimate;
    return VoteEvidence(histograms_, estimate, spec_.vote_noise, spec_.grain);
  }

  Status AimAtVotes(Series& series) {
    double gap = 0;
    const at::Tensor posterior = at::softmax(Evidence(&gap), 1);
    series.emplace_back("train.vote_gap", gap);
    if (drawn()) {
      RETORT_ASSIGN_OR_RETURN(const at::Tensor spread,
                              lessons_.Regressed(histograms_.to(at::kFloat),
                                                 spec_.vote_noise * static_cast<double>(spec_.grain)));
      lessons_.Aim(spread);
    } else if (spec_.neighbours > 0) {
      RETORT_ASSIGN_OR_RETURN(const at::Tensor spread, lessons_.Propagated(histograms_.to(at::kFloat)));
      lessons_.Aim(spread);
    } else {
      lessons_.Aim(ByClass() ? FirstClass() : posterior);
    }
    return {};
  }

  // Student and votes as independent evidence on the queried images, the student alone on the others; then the
  // student starts afresh, free of what it memorised of single wrong labels.
  void AimAtEverything() {
    const at::NoGradGuard no_grad;
    at::Tensor said = lessons_.StudentSays();
    if (!ByClass()) said.narrow(0, 0, spec_.queries).add_(Evidence());
    said = at::softmax(said, 1);
    if (ByClass()) said.narrow(0, 0, spec_.queries).copy_(FirstClass());
    lessons_.Aim(said);
    lessons_.StartAfresh();
  }

  [[nodiscard]] bool drawn() const { return spec_.source == QuerySource::procedural; }
  [[nodiscard]] bool ByClass() const { return spec_.vote_label == VoteLabel::argmax; }
  at::Tensor FirstClass() const { return OneHotTargets(histograms_.argmax(1), data_.classes); }

  const TrialSpec& spec_;
  std::unique_ptr<const Dataset> asked_;
  const Dataset& data_;
  ReleaseTape& tape_;
  Collective& gang_;
  std::unique_ptr<release::TeacherModel> teacher_;
  std::unique_ptr<release::NoisyVotes> mechanism_;
  bool shards_disjoint_, members_apart_;
  PublicLessons lessons_;
  std::int64_t rows_, releases_;
  std::int64_t remembered_ = 0;  // queries whose answers the mechanism knows
  at::Tensor histograms_;   // i32 [queries, classes]: released
  SampleGallery gallery_;
};

Status CheckQueries(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  if (KindOf(spec) != TrialKind::vote_student)
    return UsageError("Method \"" + spec.method + "\" takes noisy votes in the reading \"sound\" alone.");
  if (spec.source == QuerySource::private_split) {
    return UsageError("Votes on the private split would let its images leave: name another source.");
  }
  RETORT_CHECK(spec.source != QuerySource::generator);
  if (spec.queries < 1 || spec.label_steps < 1) {
    return UsageError("Votes need queries >= 1 and label_steps >= 1.");
  }
  return {};
}

// spec.steps batches of spec.batch pictures of the first kind that the procedure has: of writing the strokes, about which
// members agree more. Nobody has labelled them.
Examples Drawn(const MethodInputs& inputs) {
  const ProceduralSource source(inputs.spec, inputs.data, inputs.gang);
  const std::int64_t steps = inputs.spec.steps, batch = inputs.spec.batch;
  const ImageShape& shape = inputs.data.shape;
  const at::TensorOptions options = at::device(inputs.data.device);
  at::Tensor images = at::empty({steps * batch, shape.channels, shape.height, shape.width}, options.dtype(at::kFloat));
  for (std::int64_t step = 0; step < steps; ++step)
    images.narrow(0, step * batch, batch).copy_(source.OfFirstKind(step, batch));
  return {images, at::zeros({images.size(0)}, options.dtype(at::kLong))};
}

// The data set with what may be asked about for its public split. Error: there is too little of it, or it is private.
Result<std::unique_ptr<const Dataset>> AskedOf(const MethodInputs& inputs) {
  auto asked = std::make_unique<Dataset>(inputs.data);
  if (inputs.spec.source == QuerySource::procedural)
    asked->public_split = Drawn(inputs);
  else
    RETORT_RETURN_IF_ERROR(RequireApart(inputs.data));
  if (inputs.spec.queries > asked->public_split.size()) {
    return UsageError(std::to_string(inputs.spec.queries) + " queries were asked for, of " +
                      std::to_string(asked->public_split.size()) + " pictures.");
  }
  return std::unique_ptr<const Dataset>(std::move(asked));
}

}  // namespace

Result<std::unique_ptr<Method>> MakeVoteDistillation(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  RETORT_RETURN_IF_ERROR(CheckQueries(inputs));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<const Dataset> asked, AskedOf(inputs));
  const MethodInputs own{.spec = spec, .data = *asked, .teacher = inputs.teacher, .tape = inputs.tape,
                         .gang = inputs.gang, .noise = inputs.noise, .env = inputs.env};
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<release::TeacherModel> teacher,
                          LoadTeacher(*inputs.teacher, inputs.data, inputs.gang));
  RETORT_ASSIGN_OR_RETURN(
      std::unique_ptr<release::NoisyVotes> mechanism,
      release::NoisyVotes::Create(release::VotesOf(spec, inputs.data.classes), release::KeyFor(spec)));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> student,
                          MakeNetwork(spec.network, inputs.data.shape, inputs.data.classes,
                                      RngStream(spec.seed, Purpose::parameters), inputs.data.device));
  return std::unique_ptr<Method>(
      std::make_unique<VoteDistillation>(own, std::move(asked), std::move(teacher), std::move(mechanism),
                                         std::move(student)));
}

}  // namespace retort::worker
