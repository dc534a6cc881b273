// Release-step audit of the embedding of the private examples by class: one example, present or absent.
#pragma once

#include <functional>

#include "experiments/privacy/audit_report.h"
#include "experiments/spec/status.h"
#include "worker/audit/release_step.h"
#include "worker/release/class_embedding.h"

namespace retort::worker::audit {

// A new mechanism with a fresh key at each call; all of the same settings.
using EmbeddingMaker = std::function<Result<release::ClassEmbedding>()>;

// Of `classes` rows of `features` numbers, as the mechanism's. The example's features are far longer than 1. Error: those
// of the mechanism; refused, when nothing is proven of its event (a seeded source).
[[nodiscard]] Result<privacy::AuditFinding> AuditEmbeddingStep(const EmbeddingMaker& make,
                                                               const release::EmbeddingSettings& settings,
                                                               const StepAuditSettings& audit);

// What dp-merf and dp-spectral release, small, with noise multiplier 1 / mu.
[[nodiscard]] release::EmbeddingSettings ScaledEmbedding(double mu);

}  // namespace retort::worker::audit
