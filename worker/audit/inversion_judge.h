// Scores of images that an attack recovered, by a network that the attacker has not.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "experiments/base/status.h"
#include "worker/audit/audit_run.h"
#include "worker/audit/audited_trial.h"
#include "worker/data/dataset.h"
#include "worker/models/network.h"

namespace retort::worker::audit {

// An evaluation classifier (Zhang et al. 2020): another network than the one attacked, trained without noise on the
// private examples. It knows all that they show and is therefore never exported; so are its features of them.
struct InversionJudge {
  std::string name;  // of its kind of network
  std::unique_ptr<Network> network;
  at::Tensor features, labels;  // of the private examples: f32 [n, values] and i64 [n]
};

// "bn-cnn" or "dense-mnist" of grey images, "cnn-128" or "bn-cnn" of others: the first that is not `attacked`.
[[nodiscard]] std::string ChooseJudgeNetwork(const std::string& attacked, const ImageShape& shape);
// Error: that of its training.
[[nodiscard]] Result<InversionJudge> TrainInversionJudge(const AuditedTrial& trial, const AuditProgress& progress);

struct InversionScores {
  double accuracy = 0;   // part of the images that the judge takes for the class that was aimed at
  double top5 = 0;       // part for which that is among its five surest
  double frechet = 0;    // Frechet distance to the private examples, in the judge's features: FID with another network
  double distance = 0;   // mean, over the images, of the distance in these features to the nearest private example
                         // of the class that was aimed at: "KNN distance" of the papers
  double inception = 0;  // exp of the mean KL divergence of the judge's predictions from their mean
};

// images f32 [rows, ...], normalised as the data, and the classes aimed at, i64 [rows]; at least two rows. A Frechet
// distance of few images is too large: compare those of equally many.
[[nodiscard]] InversionScores ScoreLabelledImages(const InversionJudge& judge, const at::Tensor& images,
                                                  const at::Tensor& labels);

}  // namespace retort::worker::audit
