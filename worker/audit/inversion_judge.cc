#include "worker/audit/inversion_judge.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <vector>

#include "experiments/methods/methods.h"
#include "experiments/methods/presets.h"
#include "worker/audit/inversion.h"
#include "worker/audit/retraining.h"
#include "worker/training/evaluation.h"
#include "worker/training/frechet.h"

namespace retort::worker::audit {
namespace {

constexpr std::array<std::string_view, 2> kGreyJudges = {"bn-cnn", "dense-mnist"},
                                          kColourJudges = {"cnn-128", "bn-cnn"};
constexpr std::int64_t kMinJudgeSteps = 150;
constexpr double kFar = 1e30;  // where no private example has the class

NetworkOutput ForwardInParts(const Network& network, const at::Tensor& images) {
  const std::int64_t rows = ComputeMaxRowsPerPass(network.input());
  std::vector<at::Tensor> logits, features;
  for (std::int64_t first = 0; first < images.size(0); first += rows) {
    const NetworkOutput part = network.Forward(images.narrow(0, first, std::min(rows, images.size(0) - first)));
    logits.push_back(part.logits);
    features.push_back(part.features);
  }
  return {at::cat(logits), at::cat(features)};
}

at::Tensor ComputeFeatures(const Network& network, const Examples& examples) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  const std::int64_t rows = ComputeMaxRowsPerPass(network.input());
  for (std::int64_t first = 0; first < examples.size(); first += rows)
    parts.push_back(network.Forward(examples.Range(first, std::min(rows, examples.size() - first))).features);
  return at::cat(parts);
}

// Of classes without a private example: nothing.
double ComputeNearestDistance(const InversionJudge& judge, const at::Tensor& features, const at::Tensor& labels) {
  constexpr std::int64_t kRows = 64;
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < features.size(0); first += kRows) {
    const std::int64_t rows = std::min(kRows, features.size(0) - first);
    const at::Tensor distance = at::cdist(features.narrow(0, first, rows), judge.features);
    const at::Tensor same = labels.narrow(0, first, rows).unsqueeze(1) == judge.labels;
    parts.push_back(std::get<0>(at::where(same, distance, at::full({}, kFar, distance.options())).min(1)));
  }
  const at::Tensor nearest = at::cat(parts), found = nearest.masked_select(nearest < kFar / 2);
  return found.numel() == 0 ? 0 : found.mean().item<double>();
}

}  // namespace

std::string ChooseJudgeNetwork(const std::string& attacked, const ImageShape& shape) {
  const auto& names = shape.channels == 1 ? kGreyJudges : kColourJudges;
  return std::string(names[attacked == names[0] ? 1 : 0]);
}

Result<InversionJudge> TrainInversionJudge(const AuditedTrial& trial, const AuditProgress& progress) {
  const Dataset& data = trial.inputs.data;
  TrialSpec spec = MakeScoringSpec(trial.inputs.spec, data.train.size(), kMinJudgeSteps);
  spec.network = ChooseJudgeNetwork(trial.inputs.spec.network, data.shape);
  spec.layers = nullptr;
  spec.activation = TrialSpec().activation;
  InversionJudge judge;
  judge.name = spec.network;
  RETORT_ASSIGN_OR_RETURN(judge.network,
                          Retrain(spec, data, *trial.env, [&progress](std::int64_t done, std::int64_t of) {
                            progress("inversion: the judge", done, of);
                          }));
  judge.features = ComputeFeatures(*judge.network, data.train);
  judge.labels = data.train.labels;
  return judge;
}

InversionScores ScoreLabelledImages(const InversionJudge& judge, const at::Tensor& images, const at::Tensor& labels) {
  const at::NoGradGuard no_grad;
  const NetworkOutput output = ForwardInParts(*judge.network, images);
  const storage::Evaluation found = Evaluate(output.logits, labels);
  InversionScores scores;
  scores.accuracy = found.accuracy;
  scores.top5 = found.top5;
  scores.frechet = ComputeFrechetDistance(output.features, judge.features);
  scores.distance = ComputeNearestDistance(judge, output.features, labels);
  scores.inception = ComputeInceptionScore(output.logits.softmax(1));
  return scores;
}

}  // namespace retort::worker::audit
