#include "worker/audit/attacked_examples.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "experiments/methods/methods.h"
#include "worker/data/split_overlap.h"
#include "worker/training/supervised_training.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kMinPopulation = 100;

// Marks places of a split.
using Marks = std::vector<bool>;

void Mark(const std::vector<std::int64_t>& places, Marks& marks) {
  for (const std::int64_t place : places) marks[static_cast<std::size_t>(place)] = true;
}

std::vector<std::int64_t> Unmarked(const Marks& marks) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (!marks[i]) places.push_back(static_cast<std::int64_t>(i));
  return places;
}

Examples At(const Examples& examples, const std::vector<std::int64_t>& places) {
  return examples.Rows(at::tensor(places, at::kLong));
}

void ChoosePopulation(const AuditedTrial& trial, const std::vector<std::int64_t>& left, AttackedExamples& chosen) {
  const Dataset& data = trial.inputs.data;
  const bool taught = trial.inputs.spec.source == QuerySource::public_split;
  if (static_cast<std::int64_t>(left.size()) >= kMinPopulation) {
    chosen.population = At(data.test, left);
    chosen.population_name = "test";
  } else if (!taught && data.public_split.size() >= kMinPopulation) {
    chosen.population = data.public_split;
    chosen.population_name = "public";
  } else {
    chosen.population = Examples::Joined(chosen.members, chosen.others);
    chosen.population_name = "attacked";
  }
}

}  // namespace

std::vector<std::int64_t> ListQueriedPlaces(const TrialSpec& spec, std::int64_t examples) {
  const bool asked = Releases(FindKind(spec), ReleaseKind::gradients) && spec.source == QuerySource::private_split;
  if (!asked) return {};
  Marks chosen(static_cast<std::size_t>(examples));
  for (std::int64_t step = 0; step < spec.steps; ++step) {
    const at::Tensor rows = ChoosePrivateRows(spec, examples, step).cpu().contiguous();
    const auto* row = rows.const_data_ptr<std::int64_t>();
    Mark({row, row + rows.numel()}, chosen);
  }
  chosen.flip();
  return Unmarked(chosen);
}

AttackedExamples ChooseAttacked(const AuditedTrial& trial) {
  const Dataset& data = trial.inputs.data;
  AttackedExamples chosen;
  Marks private_marks(static_cast<std::size_t>(data.train.size())),
      test_marks(static_cast<std::size_t>(data.test.size()));
  const std::vector<std::int64_t> queried = ListQueriedPlaces(trial.inputs.spec, data.train.size());
  Mark(queried, private_marks);
  chosen.queried = static_cast<std::int64_t>(queried.size());
  if (trial.inputs.splits_share) {
    const std::vector<std::int64_t> open = ListShared(data.train, data.public_split),
                                    measured = ListShared(data.train, data.test);
    Mark(open, private_marks);
    Mark(measured, private_marks);
    Mark(ListShared(data.test, data.train), test_marks);
    Mark(ListShared(data.test, data.public_split), test_marks);
    chosen.shared = std::count(private_marks.begin(), private_marks.end(), true) - chosen.queried;
  }
  chosen.places = Unmarked(private_marks);
  std::vector<std::int64_t> test = Unmarked(test_marks);
  const std::size_t n = std::min(chosen.places.size(), test.size());
  chosen.places.resize(n);
  const auto end = test.begin() + static_cast<std::ptrdiff_t>(n);
  chosen.others_places.assign(test.begin(), end);
  chosen.members = At(data.train, chosen.places);
  chosen.others = At(data.test, chosen.others_places);
  ChoosePopulation(trial, {end, test.end()}, chosen);
  return chosen;
}

std::vector<double> ComputeConfidenceScores(const Network& network, const Examples& examples) {
  constexpr std::int64_t kRows = 256;
  const at::NoGradGuard no_grad;
  std::vector<double> scores;
  scores.reserve(static_cast<std::size_t>(examples.size()));
  for (std::int64_t first = 0; first < examples.size(); first += kRows) {
    const std::int64_t rows = std::min(kRows, examples.size() - first);
    const at::Tensor logits = network.Forward(examples.Range(first, rows)).logits.to(at::kDouble);
    const at::Tensor label = examples.labels.narrow(0, first, rows).unsqueeze(1);
    const at::Tensor others = logits.scatter(1, label, -std::numeric_limits<double>::infinity()).logsumexp(1);
    const at::Tensor part =
        at::nan_to_num(logits.gather(1, label).squeeze(1) - others, std::numeric_limits<double>::lowest())
            .cpu()
            .contiguous();
    const auto* score = part.const_data_ptr<double>();
    scores.insert(scores.end(), score, score + rows);
  }
  return scores;
}

}  // namespace retort::worker::audit
