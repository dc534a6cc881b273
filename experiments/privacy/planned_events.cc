#include "experiments/privacy/planned_events.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "experiments/methods/methods.h"
#include "experiments/privacy/accountants/lattice_noise.h"

namespace retort::privacy {
namespace {

NoiseSource FindSource(const TrialSpec& spec, NoiseSource secure) {
  return spec.noise == NoiseMode::seeded ? NoiseSource::seeded : secure;
}

PrivacyEvent GradientEvent(const TrialSpec& spec) {
  PrivacyEvent event;
  event.kind = MechanismKind::gaussian_gradient;
  event.rows_per_batch = spec.batch;
  const NoiseForm form = FindNoiseForm(spec.reading);
  event.unit = form == NoiseForm::shared ? EventUnit::batch : EventUnit::row;
  event.count = form == NoiseForm::shared ? spec.steps : spec.steps * spec.batch;
  event.sensitivity = 2 * spec.release.norm_bound;
  event.noise_std = spec.release.sigma * spec.release.norm_bound;
  if (form == NoiseForm::by_row_over_batch) event.noise_std /= static_cast<double>(spec.batch);
  event.noise_coordinates = event.release_coordinates = spec.data->classes;
  event.frobenius = spec.release.normalization == Normalization::frobenius;
  event.source = FindSource(spec, NoiseSource::secure_lattice);
  // DPSD's equation 3 draws for every row inside the sum that all rows share.
  if (form == NoiseForm::shared && AddsUpRowNoise(spec)) event.noise_std *= std::sqrt(static_cast<double>(spec.batch));
  if (!spec.release.detach) event.voids.emplace_back(kVoidTeacherJacobian);
  event.granularity = ComputeLatticeStep(spec.release.norm_bound, event.noise_std);
  return event;
}

// An ensemble adds noise to every row of every step, on the sum of the members or on each member's own gradient.
PrivacyEvent MemberGradientEvent(const TrialSpec& spec) {
  PrivacyEvent event = GradientEvent(spec);
  event.kind = MechanismKind::member_gradient;
  event.unit = EventUnit::row;
  event.count = spec.steps * spec.batch;
  event.noise_std = spec.release.sigma * spec.release.norm_bound;
  event.granularity = ComputeLatticeStep(spec.release.norm_bound, event.noise_std);
  event.frobenius = false;
  event.assumptions.emplace_back(kAssumeDisjointShards);
  if (HasBranches(spec) && spec.release.trust == Trust::trusted) event.assumptions.emplace_back(kAssumeTrustedServer);
  std::sort(event.assumptions.begin(), event.assumptions.end());
  return event;
}

PrivacyEvent PlanGradients(const TrialSpec& spec) {
  return AsksEnsemble(spec) ? MemberGradientEvent(spec) : GradientEvent(spec);
}

PrivacyEvent ResponseEvent(const TrialSpec& spec) {
  PrivacyEvent event;
  event.kind = AsksEnsemble(spec) ? MechanismKind::member_response : MechanismKind::randomized_response;
  event.unit = EventUnit::row;
  event.count = spec.steps * spec.batch;
  event.rows_per_batch = spec.batch;
  event.epsilon0 = spec.release.epsilon0;
  event.choices = 2;
  event.noise_coordinates = event.release_coordinates = spec.data->classes;
  event.source = FindSource(spec, NoiseSource::secure_lattice);
  // DP-DFD as printed, and answers over every class, which are not all candidates (DPSD, equation 5).
  const bool soft = GivesSoftAnswers(spec);
  const bool whole = spec.release.threshold == 0 && spec.release.top_k == spec.data->classes;
  if (soft) event.voids.emplace_back(kVoidSoftOutput);
  if (!soft && spec.release.response_over == ResponseOver::classes && !whole)
    event.voids.emplace_back(kVoidSupportLeak);
  if (AsksEnsemble(spec)) event.assumptions.emplace_back(kAssumeDisjointShards);
  return event;
}

PrivacyEvent VoteEvent(const TrialSpec& spec) {
  PrivacyEvent event;
  event.kind = MechanismKind::noisy_votes;
  event.unit = EventUnit::vote;
  event.count = spec.queries;
  event.sensitivity = std::sqrt(2.0) * static_cast<double>(spec.release.grain);
  event.noise_std = spec.release.vote_noise * static_cast<double>(spec.release.grain);
  event.noise_coordinates = event.release_coordinates = spec.data->classes;
  event.source = FindSource(spec, NoiseSource::secure_lattice);
  event.assumptions.emplace_back(kAssumeDisjointShards);
  return event;
}

// Every query is held against the threshold, where there is one; as many as may be answered are charged as answered.
bool HasThreshold(const TrialSpec& spec) { return spec.release.threshold_noise > 0; }

PrivacyEvent ThresholdEvent(const TrialSpec& spec) {
  PrivacyEvent event = VoteEvent(spec);
  event.kind = MechanismKind::vote_threshold;
  event.sensitivity = 1;
  event.noise_std = spec.release.threshold_noise;
  event.noise_coordinates = event.release_coordinates = 1;
  return event;
}

PrivacyEvent ConsensusEvent(const TrialSpec& spec) {
  PrivacyEvent event = ThresholdEvent(spec);
  event.kind = MechanismKind::consensus_test;
  event.count = 1;
  event.sensitivity = ComputeTestMargin(spec.privacy.delta);
  event.noise_std = spec.release.cost_noise;
  event.test = {spec.release.vote_cost,       spec.release.vote_order, ComputeTestSmoothness(spec.release.vote_order),
                spec.release.threshold_noise, spec.release.vote_noise, spec.queries};
  return event;
}

void AddVoteEvents(const TrialSpec& spec, std::vector<PrivacyEvent>& events) {
  PrivacyEvent votes = VoteEvent(spec);
  if (HasThreshold(spec)) {
    if (spec.release.vote_cost > 0) events.push_back(ConsensusEvent(spec));
    events.push_back(ThresholdEvent(spec));
    votes.count = CountPlannedAnswers(spec);
  }
  events.push_back(std::move(votes));
}

PrivacyEvent RawEvent(const TrialSpec& spec) {
  PrivacyEvent event;
  event.kind = MechanismKind::none;
  event.unit = EventUnit::row;
  event.count = FindTraits(FindKind(spec)).asks_once ? spec.data->PublicExamples() : spec.steps * spec.batch;
  event.rows_per_batch = spec.batch;
  event.release_coordinates = spec.data->classes;
  return event;
}

PrivacyEvent DpSgdEvent(const TrialSpec& spec) {
  PrivacyEvent event;
  event.kind = MechanismKind::subsampled_gaussian;
  event.unit = EventUnit::step;
  event.count = spec.steps;
  event.sensitivity = spec.release.norm_bound;
  event.noise_std = spec.release.noise_multiplier * spec.release.norm_bound;
  event.sampling_rate = static_cast<double>(spec.batch) / static_cast<double>(spec.data->PrivateExamples());
  event.rows_per_batch = spec.batch;
  event.noise_coordinates = event.release_coordinates = 1;  // parameters are counted when the network exists
  event.source = FindSource(spec, NoiseSource::secure_lattice);
  event.granularity = ComputeLatticeStep(event.sensitivity, event.noise_std);
  if (event.sampling_rate < 1) event.assumptions.emplace_back(kAssumePoissonSampling);
  return event;
}

// One noisy sum of vectors, by class.
PrivacyEvent EmbeddingEvent(const TrialSpec& spec) {
  PrivacyEvent event;
  event.kind = MechanismKind::subsampled_gaussian;
  event.unit = EventUnit::step;
  event.count = 1;
  event.sensitivity = 1;
  event.noise_std = spec.release.noise_multiplier;
  event.noise_coordinates = event.release_coordinates = FindTraits(FindKind(spec)).features(spec) * spec.data->classes;
  event.source = FindSource(spec, NoiseSource::secure_lattice);
  event.granularity = ComputeLatticeStep(event.sensitivity, event.noise_std);
  return event;
}

// Rows of the batches that a pass of rona over its queries asks about.
std::int64_t QueriesOfAnEpoch(const TrialSpec& spec) {
  const auto rows = static_cast<double>(spec.data->PublicExamples());
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(rows * spec.rona.query_fraction)));
}

// Algorithm 2 draws once a batch, the authors' code once a row.
PrivacyEvent LossEvent(const TrialSpec& spec) {
  const bool by_row = FindNoiseForm(spec.reading) != NoiseForm::shared;
  const std::int64_t rows = QueriesOfAnEpoch(spec), batches = (rows + spec.batch - 1) / spec.batch;
  PrivacyEvent event;
  event.kind = MechanismKind::loss_noise;
  event.unit = by_row ? EventUnit::row : EventUnit::batch;
  event.count = (spec.rona.hint_epochs + spec.rounds * spec.rona.distill_epochs) * (by_row ? rows : batches);
  event.sensitivity = 1;
  event.noise_std = spec.release.sigma;
  event.rows_per_batch = spec.batch;
  event.noise_coordinates = 1;
  event.release_coordinates = spec.data->classes;
  event.source = FindSource(spec, NoiseSource::secure_lattice);
  event.granularity = ComputeLatticeStep(event.sensitivity, event.noise_std);
  return event;
}

void AddQueryEvents(const TrialSpec& spec, std::vector<PrivacyEvent>& events) {
  const std::int64_t passes = spec.rounds * spec.rona.distill_epochs;
  if (spec.reading == Reading::sound) {  // the hints of the sound reading are public
    if (passes == 0) return;
    PrivacyEvent event = IsTaughtByVotes(spec) ? VoteEvent(spec) : RawEvent(spec);
    if (!IsTaughtByVotes(spec)) event.count = QueriesOfAnEpoch(spec) * passes;
    events.push_back(std::move(event));
  } else if (PrivacyEvent event = LossEvent(spec); event.count > 0) {
    events.push_back(std::move(event));
  }
}

// The parts of the private labels that are released in turn: as equal as they can be.
void AddLabelEvents(const TrialSpec& spec, std::vector<PrivacyEvent>& events) {
  const MethodTraits* method = FindMethod(spec.method);
  const std::int64_t parts = method != nullptr && method->stages ? spec.staged.stages : 1;
  const std::int64_t labels = spec.data->PrivateExamples();
  for (std::int64_t part = 0; part < parts; ++part) {
    PrivacyEvent event;
    event.kind = MechanismKind::label_response;
    event.unit = EventUnit::row;
    event.count = event.rows_per_batch = labels * (part + 1) / parts - labels * part / parts;
    event.epsilon0 = spec.release.epsilon0;
    event.choices = 2;
    event.noise_coordinates = part + 1;
    event.release_coordinates = spec.data->classes;
    event.source = FindSource(spec, NoiseSource::secure_lattice);
    if (event.count > 0) events.push_back(std::move(event));
  }
}

Status CheckCounts(const TrialSpec& spec, ReleaseKind release) {
  const bool steps = release != ReleaseKind::votes;
  if (!spec.data) return UsageError("The trial has no data set.");
  constexpr std::int64_t kMaxRows = 4'000'000'000'000'000'000;
  if (spec.batch < 1) return UsageError("batch must be at least 1.");
  if (steps && spec.steps < 1) return UsageError("steps must be at least 1.");
  if (steps && spec.steps > kMaxRows / spec.batch) return UsageError("steps times batch is too large to account for.");
  const std::int64_t examples = spec.data->PrivateExamples();
  if (release == ReleaseKind::steps && spec.batch > examples)
    return UsageError("batch (" + std::to_string(spec.batch) + ") is larger than the private training split (" +
                      std::to_string(examples) + "): the sampling rate of DP-SGD is their ratio, at most 1.");
  return {};
}

// What a trial of each kind of release charges, in the order of the enumeration.
struct ReleasePlan {
  ReleaseKind release;
  void (*add)(const TrialSpec& spec, std::vector<PrivacyEvent>& events);
};
template <PrivacyEvent (*Plan)(const TrialSpec&)>
void AddOne(const TrialSpec& spec, std::vector<PrivacyEvent>& events) {
  events.push_back(Plan(spec));
}
constexpr std::array kPlans = {
    ReleasePlan{ReleaseKind::none, [](const TrialSpec&, std::vector<PrivacyEvent>&) {}},
    ReleasePlan{ReleaseKind::gradients, AddOne<PlanGradients>},
    ReleasePlan{ReleaseKind::responses, AddOne<ResponseEvent>},
    ReleasePlan{ReleaseKind::losses, AddQueryEvents},
    ReleasePlan{ReleaseKind::raw_answers, AddOne<RawEvent>},
    ReleasePlan{ReleaseKind::votes, AddVoteEvents},
    ReleasePlan{ReleaseKind::steps, AddOne<DpSgdEvent>},
    ReleasePlan{ReleaseKind::embedding, AddOne<EmbeddingEvent>},
    ReleasePlan{ReleaseKind::labels, AddLabelEvents},
};
constexpr const ReleasePlan& FindPlan(ReleaseKind release) { return kPlans[static_cast<std::size_t>(release)]; }
static_assert(std::all_of(kKindTraits.begin(), kKindTraits.end(), [](const KindTraits& kind) {
  return static_cast<std::size_t>(kind.release) < kPlans.size() && FindPlan(kind.release).release == kind.release;
}));

std::int64_t DrawsOfARelease(const TrialSpec& spec, const PrivacyEvent& event) {
  if (event.kind == MechanismKind::label_response) return event.rows_per_batch;
  switch (event.unit) {
    case EventUnit::row:
      return spec.batch;
    case EventUnit::vote:
      return std::min(spec.batch, spec.queries);
    case EventUnit::batch:
    case EventUnit::step:
      break;
  }
  return 1;
}

}  // namespace

std::int64_t CountPlannedAnswers(const TrialSpec& spec) {
  return spec.release.answers > 0 ? std::min(spec.release.answers, spec.queries) : spec.queries;
}

double ComputeTestMargin(double delta) {
  double low = 0, high = 40;
  for (int round = 0; round < 80; ++round) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::numbers::sqrt2) / 2 > delta / 10 ? low : high) = middle;
  }
  return high;
}

// A fifth of the inverse of the order, of which about half is the most that an order allows.
double ComputeTestSmoothness(double order) { return 0.2 / order; }

PrivacyEvent PlanConsensusTest(const TrialSpec& spec) { return ConsensusEvent(spec); }

// Another example at one place, or none, moves the count by 1 at most.
PrivacyEvent PlanScore(const TrialSpec& spec) {
  PrivacyEvent event;
  event.kind = MechanismKind::validation_count;
  event.unit = EventUnit::batch;
  event.count = 1;
  event.sensitivity = 1;
  event.noise_std = spec.score_noise;
  event.noise_coordinates = event.release_coordinates = 1;
  event.source = FindSource(spec, NoiseSource::secure_lattice);
  event.assumptions = {std::string(kAssumeValidationApart)};
  event.facts = ListNeededFacts(event.kind);
  return event;
}

Result<std::vector<PrivacyEvent>> PlanEvents(const TrialSpec& spec) {
  std::vector<PrivacyEvent> events;
  const ReleaseKind release = FindReleaseKind(FindKind(spec));
  if (release == ReleaseKind::none) return events;
  RETORT_RETURN_IF_ERROR(CheckCounts(spec, release));
  FindPlan(release).add(spec, events);
  const bool through_teacher = spec.generator.discriminator == Discriminator::teacher;
  for (PrivacyEvent& event : events) {
    event.facts = ListNeededFacts(event.kind);
    if (AugmentsPrivately(spec)) event.facts.insert(event.facts.begin(), std::string(kFactPerExampleAugmentation));
    if (!spec.release.detach) std::erase(event.facts, kFactDetachedTarget);
    if (!through_teacher) continue;
    std::erase(event.facts, kFactStudentDrivesGenerator);
    event.voids.emplace_back(kVoidGeneratorTouchedTeacher);
    std::sort(event.voids.begin(), event.voids.end());
  }
  return events;
}

Result<std::vector<PrivacyEvent>> PlanEventsWithRetries(const TrialSpec& spec) {
  RETORT_ASSIGN_OR_RETURN(std::vector<PrivacyEvent> events, PlanEvents(spec));
  for (PrivacyEvent& event : events) {
    // min(reserve_block * draws, count), without the product
    const std::int64_t draws = std::max<std::int64_t>(DrawsOfARelease(spec, event), 1);
    // Answers behind a threshold: an attempt that goes on may give as many again (worker/release/confident_votes.h).
    const bool again = HasThreshold(spec) && event.kind == MechanismKind::noisy_votes;
    const bool whole = again || spec.execution.reserve_block > event.count / draws;
    const std::int64_t block = whole ? event.count : spec.execution.reserve_block * draws;
    for (std::int64_t lost = 0; lost < spec.execution.retries; ++lost) event.Count(block);
  }
  return events;
}

}  // namespace retort::privacy
