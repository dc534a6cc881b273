// Model inversion (Fredrikson, Jha and Ristenpart 2015): what does the network think that a class looks like?
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/privacy/audit_report.h"
#include "worker/audit/audit_run.h"
#include "worker/audit/audited_trial.h"
#include "worker/data/dataset.h"

namespace retort::worker::audit {

// One picture a class, found by gradient ascent on the network's confidence, and how much they resemble the
// private examples: beside pictures from an untrained network of the same shape, and beside test examples,
// since a picture that is as near to those says nothing about who was in the training set; and their
// Inception score by a judge that learnt from the test examples. Figures and no bound. The pictures go to
// audit-inversion.pgm (.ppm of three channels) in the trial's folder: a row of networks' pictures above a
// row of class means of the private examples.
[[nodiscard]] Result<privacy::AuditFinding> AuditInversion(const AuditedTrial& trial,
                                                           const AuditProgress& progress);

// Pictures [classes, channels, height, width] f32, normalised as the data, that `network` is surest of. The
// same every time.
[[nodiscard]] at::Tensor InvertedClasses(const Network& network, std::int64_t classes, const PixelScale& scale);

}  // namespace retort::worker::audit
