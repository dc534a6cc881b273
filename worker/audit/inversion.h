// Model inversion (Fredrikson, Jha and Ristenpart 2015): images of each class recovered from a network. And what all
// attacks of this kind share.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/audit_report.h"
#include "worker/audit/audit_run.h"
#include "worker/audit/audited_trial.h"
#include "worker/audit/inversion_judge.h"
#include "worker/data/dataset.h"
#include "worker/models/network.h"

namespace retort::worker::audit {

// Inception score (Salimans et al. 2016): how clearly images show one class each, and how many classes in all.

// exp of the mean over images of KL(p(y | image) || mean of p(y | .)): 1 where all images get the same
// prediction, the number of classes where each shows one class for certain and all are shown alike. probabilities f32
// or f64 [images, classes], rows that add up to 1; at least one image.
[[nodiscard]] double ComputeInceptionScore(const at::Tensor& probabilities);

// A trial that trains the audited one's network on so many examples, without noise, for five epochs and for `min_steps`
// steps at least.
[[nodiscard]] TrialSpec MakeScoringSpec(const TrialSpec& trial, std::int64_t examples, std::int64_t min_steps);

// Trains the network that scores images: the trial's own, without noise, on the test examples alone, so that it knows
// the classes and no private example. Error: that of its training, and usage without test examples.
[[nodiscard]] Result<std::unique_ptr<Network>> TrainScoringNetwork(const AuditedTrial& trial,
                                                                   const AuditProgress& progress);

// Every inversion that the order asks for, in its order, all scored by one judge. Findings that did not run say why.
// Error: that of training the judge, reading the trial's network or writing images.
[[nodiscard]] Result<std::vector<privacy::AuditFinding>> AuditInversions(const AuditedTrial& trial,
                                                                         const AuditProgress& progress);

// One image a class, found by gradient ascent on the network's confidence, and how much they resemble the
// private examples: beside images from an untrained network of the same shape, and beside test examples,
// since an image that is as near to those says nothing about who was in the training set; their Inception score by a
// network trained on the test examples, and the judge's scores. Figures and no bound. The images go to
// audit-inversion.pgm (.ppm of three channels) in the trial's folder: a row of networks' images above a
// row of class means of the private examples.
[[nodiscard]] Result<privacy::AuditFinding> AuditFredrikson(const AuditedTrial& trial, const InversionJudge& judge,
                                                            const AuditProgress& progress);

// "audit-gmi.pgm"; "audit-inversion.pgm" for fredrikson; ".ppm" where images have colours.
[[nodiscard]] std::string FormatInvertedImagesName(const std::string& attack, const ImageShape& shape);
// Writes images [classes, channels, height, width], class by class, above the means of the private examples: to that
// name in the trial's folder. Does nothing where images have neither one nor three channels. Error: that of writing.
[[nodiscard]] Status WriteInvertedImages(const AuditedTrial& trial, const std::string& attack,
                                         const at::Tensor& images);

// Images [classes, channels, height, width] f32, normalised as the data, that `network` is surest of. The
// same every time.
[[nodiscard]] at::Tensor InvertClasses(const Network& network, std::int64_t classes, const PixelScale& scale);

}  // namespace retort::worker::audit
