// Inception score (Salimans et al. 2016): how clearly pictures show one class each, and how many classes in all.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "experiments/spec/status.h"
#include "worker/audit/audit_run.h"
#include "worker/audit/audited_trial.h"
#include "worker/models/network.h"

namespace retort::worker::audit {

// exp of the mean over pictures of KL(p(y | picture) || mean of p(y | .)): 1 where all pictures are judged alike, the
// number of classes where each shows one class for certain and all are shown alike.
// probabilities f32 or f64 [pictures, classes], rows that add up to 1; at least one picture.
[[nodiscard]] double InceptionScore(const at::Tensor& probabilities);

// The judge: the trial's own network, trained without noise on the test examples alone, so that it knows the classes
// and nothing of who is private. Error: that of its training, and usage without test examples.
[[nodiscard]] Result<std::unique_ptr<Network>> TrainJudge(const AuditedTrial& trial, const AuditProgress& progress);

}  // namespace retort::worker::audit
