// Model inversion (Fredrikson, Jha and Ristenpart 2015): pictures of each class recovered from a network.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "experiments/base/status.h"
#include "experiments/privacy/audit_report.h"
#include "worker/audit/audit_run.h"
#include "worker/audit/audited_trial.h"
#include "worker/data/dataset.h"
#include "worker/models/network.h"

namespace retort::worker::audit {

// Inception score (Salimans et al. 2016): how clearly pictures show one class each, and how many classes in all.

// exp of the mean over pictures of KL(p(y | picture) || mean of p(y | .)): 1 where all pictures get the same
// prediction, the number of classes where each shows one class for certain and all are shown alike. probabilities f32
// or f64 [pictures, classes], rows that add up to 1; at least one picture.
[[nodiscard]] double InceptionScore(const at::Tensor& probabilities);

// Trains the network that scores pictures: the trial's own, without noise, on the test examples alone, so that it knows
// the classes and no private example. Error: that of its training, and usage without test examples.
[[nodiscard]] Result<std::unique_ptr<Network>> TrainScoringNetwork(const AuditedTrial& trial,
                                                                   const AuditProgress& progress);

// One picture a class, found by gradient ascent on the network's confidence, and how much they resemble the
// private examples: beside pictures from an untrained network of the same shape, and beside test examples,
// since a picture that is as near to those says nothing about who was in the training set; and their
// Inception score by a network trained on the test examples. Figures and no bound. The pictures go to
// audit-inversion.pgm (.ppm of three channels) in the trial's folder: a row of networks' pictures above a
// row of class means of the private examples.
[[nodiscard]] Result<privacy::AuditFinding> AuditInversion(const AuditedTrial& trial, const AuditProgress& progress);

// Pictures [classes, channels, height, width] f32, normalised as the data, that `network` is surest of. The
// same every time.
[[nodiscard]] at::Tensor InvertClasses(const Network& network, std::int64_t classes, const PixelScale& scale);

}  // namespace retort::worker::audit
