#include "orchestrator/core/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "experiments/base/digests.h"
#include "experiments/methods/methods.h"

namespace retort::orchestrator {
namespace {

// Before anything is measured, trials of one shape are taken to differ by this much (standard deviation of
// the logarithm), which weighs as much as so many measurements.
constexpr double kUsualSpread = 0.15;
constexpr int kUsualWeight = 4;
constexpr double kNormal90 = 1.6449;
constexpr std::string_view kSharing = "/shares";

// Two-sided 90 % quantile of Student's t for at least kUsualWeight degrees of freedom.
double StudentQuantile(int degrees) {
  constexpr std::array<double, 17> kTable = {2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782,
                                             1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725};
  const auto index = static_cast<std::size_t>(std::max(degrees - kUsualWeight, 0));
  return kTable[std::min(index, kTable.size() - 1)];
}

std::optional<double> FindTiming(const std::vector<std::pair<std::string, double>>& timings, std::string_view name) {
  for (const auto& [key, value] : timings)
    if (key == name && std::isfinite(value) && value >= 0) return value;
  return std::nullopt;
}

bool SameEnd(const CostSample& a, const CostSample& b) {
  return a.trial == b.trial && a.unit_seconds == b.unit_seconds && a.start_seconds == b.start_seconds;
}

// Spread of the logarithm of the time of one more trial, scaled to a normal deviate.
double ComputeSpread(const std::vector<CostSample>& samples, double work) {
  double mean = 0, squares = 0;
  std::vector<double> logs;
  for (const CostSample& sample : samples) logs.push_back(std::log(sample.unit_seconds * work + sample.start_seconds));
  for (const double value : logs) mean += value / static_cast<double>(logs.size());
  for (const double value : logs) squares += (value - mean) * (value - mean);
  const int degrees = kUsualWeight + static_cast<int>(logs.size()) - 1;
  const double variance = (kUsualWeight * kUsualSpread * kUsualSpread + squares) / degrees;
  return std::sqrt(variance) * StudentQuantile(degrees) / kNormal90;
}

CostEstimate SleepEstimate(const TrialSpec& spec) {
  CostEstimate estimate;
  estimate.seconds = estimate.low = estimate.high = spec.seconds;
  estimate.unit_seconds = spec.seconds / CountWorkUnits(spec);
  estimate.file_bytes = 0;
  return estimate;
}

double CountSteps(const TrialSpec& spec) { return static_cast<double>(spec.steps); }

double CountEpochSteps(const TrialSpec& spec) {
  if (!spec.data) return CountSteps(spec);
  const auto examples = static_cast<double>(spec.data->PrivateExamples());
  // Members that are fitted in one step see each example once.
  if (spec.shards.ridge > 0) return examples;
  const double rows = examples / static_cast<double>(std::max<std::int64_t>(spec.members, 1));
  const double batch = static_cast<double>(std::max<std::int64_t>(spec.batch, 1));
  return static_cast<double>(spec.epochs) * std::ceil(std::floor(rows) / batch);
}

double CountTestExamples(const TrialSpec& spec) {
  return spec.data ? static_cast<double>(spec.data->split.test.size()) : CountSteps(spec);
}

double CountOnce(const TrialSpec&) { return 1; }

std::string AddNothing(const TrialSpec&) { return ""; }

std::string NamePhases(const TrialSpec& spec) {
  return fmt::format("/once:{}*{}:{}:{}:{}:{}:{}:{}:{}:{}", spec.epochs, spec.rounds, spec.rona.hint_epochs,
                     spec.rona.distill_epochs, spec.rona.self_epochs, spec.rona.query_fraction, spec.shards.clients,
                     spec.steps, spec.merf.synthetic, spec.staged.stages);
}

std::string NameFit(const TrialSpec& spec) {
  return fmt::format("/spectral:{}:{}", spec.labels.label_steps, spec.labels.eigenvectors);
}

std::string NameVotes(const TrialSpec& spec) {
  return fmt::format("/votes:{}:{}:{}", spec.queries, spec.labels.label_steps, spec.steps);
}

// Files may describe different networks under one name.
std::string NameDescribed(const std::string& name, const std::string& layers) {
  return name + "~" + ComputeSha256Hex(layers).substr(0, 8);
}

std::string NameNetwork(const TrialSpec& spec) {
  return spec.layers ? NameDescribed(spec.network, *spec.layers) : spec.network;
}

// What each shape's units of work are, and what a unit's cost depends on besides what it does for all trials; in the
// order of the enumeration. A trial that is one unit of work names there all that it consists of.
struct ShapeRow {
  CostShape shape;
  double (*count_units)(const TrialSpec&);
  std::string (*name_rest)(const TrialSpec&);
};
constexpr std::array kShapes = {
    ShapeRow{CostShape::steps, CountSteps, AddNothing},
    ShapeRow{CostShape::epochs, CountEpochSteps, AddNothing},
    ShapeRow{CostShape::pool, CountPoolSteps, AddNothing},
    ShapeRow{CostShape::evaluation, CountTestExamples, AddNothing},
    ShapeRow{CostShape::phases, CountOnce, NamePhases},
    ShapeRow{CostShape::fit, CountOnce, NameFit},
    ShapeRow{CostShape::votes, CountOnce, NameVotes},
};
constexpr const ShapeRow& FindShape(TrialKind kind) { return kShapes[static_cast<std::size_t>(FindTraits(kind).cost)]; }
static_assert(std::all_of(kKindTraits.begin(), kKindTraits.end(), [](const KindTraits& kind) {
  return static_cast<std::size_t>(kind.cost) < kShapes.size() && FindShape(kind.kind).shape == kind.cost;
}));

}  // namespace

std::string NameGenerator(const TrialSpec& spec) {
  const GeneratorValues& generator = spec.generator;
  return generator.layers ? NameDescribed(generator.network, *generator.layers) : generator.network;
}

std::string ComputeCostShape(const TrialSpec& spec, const TrialSpec* teacher) {
  const TrialKind kind = FindKind(spec);
  std::string data = "none";
  if (spec.data)
    data = fmt::format("{}x{}x{}:{}", spec.data->channels, spec.data->height, spec.data->width, spec.data->classes);
  std::string shape =
      fmt::format("{}/{}/{}/{}/{}/{}x{}/b{}/t{}/d{}", spec.role == Role::teacher ? "teacher" : "student", spec.method,
                  static_cast<int>(kind), static_cast<int>(spec.reading), NameNetwork(spec), data, spec.members,
                  spec.batch, spec.threads, spec.devices);
  if (spec.precision == Precision::bfloat16) shape += "/bf16";
  if (spec.precision == Precision::tf32) shape += "/tf32";
  if (spec.shards.ridge > 0) shape += "/ridge";
  if (spec.role == Role::student && (spec.parent || TakesOwnLabels(spec))) {
    shape += fmt::format("/{}+{}*{}/g{}*{}+{}/q{}:{}", spec.distill.replay, spec.distill.student_steps,
                         spec.distill.student_batch, spec.generator.steps, spec.generator.width, spec.generator.latent,
                         static_cast<int>(spec.source), static_cast<int>(spec.distill.loss));
    if (teacher != nullptr)
      shape +=
          fmt::format("/of:{}:{}x{}", static_cast<int>(FindKind(*teacher)), NameNetwork(*teacher), teacher->members);
  }
  if (spec.generator.layers) shape += "/g:" + NameGenerator(spec);
  shape += FindShape(kind).name_rest(spec);
  if (spec.execution.pack == PackMode::automatic && spec.devices == 1) shape += kSharing;
  return shape;
}

double CountWorkUnits(const TrialSpec& spec) { return std::max(FindShape(FindKind(spec)).count_units(spec), 1.0); }

std::optional<CostSample> MakeSample(const TrialSpec& spec, const std::vector<std::pair<std::string, double>>& timings,
                                     double total_steps) {
  const std::optional<double> seconds = FindTiming(timings, "seconds");
  if (!seconds) return std::nullopt;
  const double work = CountWorkUnits(spec);
  CostSample sample;
  sample.trial = spec.id.Hex();
  sample.unit_seconds = *seconds / work;
  const std::optional<double> training = FindTiming(timings, "training_seconds");
  if (training && *training <= *seconds) {
    sample.start_seconds = *seconds - *training;
    // A resumed attempt trained only the last steps, so the time of one step is multiplied by all of them.
    const std::optional<double> step = FindTiming(timings, "step_seconds");
    const double whole = step && total_steps > 0 ? *step * total_steps : *training;
    sample.unit_seconds = whole / work;
  }
  if (sample.unit_seconds <= 0) return std::nullopt;
  const double share = FindTiming(timings, kDeviceShare).value_or(1);
  sample.share = share > 0 ? std::min(share, 1.0) : 1;
  return sample;
}

void CostModel::Add(const std::string& shape, const CostSample& sample) {
  std::vector<CostSample>& kept = samples_[shape];
  const auto known =
      std::find_if(kept.begin(), kept.end(), [&](const CostSample& other) { return SameEnd(sample, other); });
  if (known != kept.end()) {
    known->at = std::max(known->at, sample.at);
    known->file_bytes = std::max(known->file_bytes, sample.file_bytes);
    known->checkpoint_bytes = std::max(known->checkpoint_bytes, sample.checkpoint_bytes);
    return;
  }
  const auto later =
      std::find_if(kept.begin(), kept.end(), [&](const CostSample& other) { return other.at > sample.at; });
  kept.insert(later, sample);
  if (kept.size() > kKept) kept.erase(kept.begin());
}

void CostModel::Merge(const CostModel& other) {
  for (const auto& [shape, samples] : other.samples_)
    for (const CostSample& sample : samples) Add(shape, sample);
}

std::optional<CostEstimate> CostModel::For(const TrialSpec& spec, const TrialSpec* teacher) const {
  if (IsSleeper(FindKind(spec))) return SleepEstimate(spec);
  const std::string shape = ComputeCostShape(spec, teacher);
  auto found = samples_.find(shape);
  if (found == samples_.end() && shape.ends_with(kSharing))
    found = samples_.find(shape.substr(0, shape.size() - kSharing.size()));
  if (found == samples_.end() || found->second.empty()) return std::nullopt;
  const std::vector<CostSample>& samples = found->second;
  const auto count = static_cast<double>(samples.size());
  const double work = CountWorkUnits(spec);
  CostEstimate estimate;
  estimate.measured = static_cast<int>(samples.size());
  double file_bytes = 0;
  estimate.share = 0;
  for (const CostSample& sample : samples) {
    estimate.share += sample.share * sample.unit_seconds / count;
    estimate.unit_seconds += sample.unit_seconds / count;
    estimate.start_seconds += sample.start_seconds / count;
    file_bytes = std::max(file_bytes, sample.file_bytes);
    estimate.checkpoint_bytes = std::max(estimate.checkpoint_bytes, sample.checkpoint_bytes);
  }
  estimate.share /= estimate.unit_seconds;  // so that their product is the mean of what each one took
  if (file_bytes > 0) estimate.file_bytes = file_bytes;
  estimate.seconds = estimate.unit_seconds * work + estimate.start_seconds;
  estimate.spread = ComputeSpread(samples, work);
  const double reach = std::exp(kNormal90 * estimate.spread * std::sqrt(1 + 1 / count));
  estimate.low = estimate.seconds / reach;
  estimate.high = estimate.seconds * reach;
  return estimate;
}

}  // namespace retort::orchestrator
