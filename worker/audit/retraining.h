// Trials trained once more, on other examples, for audits that need that: a network alone, or a teacher and its
// student.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "storage/files/env.h"
#include "worker/audit/audited_trial.h"
#include "worker/data/dataset.h"
#include "worker/models/network.h"

namespace retort::worker::audit {

// Whether Retrain can train such a trial: one network, trained on the private examples alone.
[[nodiscard]] bool CanRetrain(const TrialSpec& spec);

// From the start, by the trial's own method, on `data` in place of its own; noise from the operating system.
// What it writes on the way lies in the system's folder for temporary files and is removed. Nothing is
// charged: the network must not leave the audit. `step` is called with the steps done, and of how many.
// Error: that of the method.
[[nodiscard]] Result<std::unique_ptr<Network>> Retrain(
    const TrialSpec& spec, const Dataset& data, storage::Env& env,
    const std::function<void(std::int64_t done, std::int64_t of)>& step);

// Why there can be no shadows of the trial: its teacher is not trained here, or not known. Empty where there can.
[[nodiscard]] std::string ExplainNoShadows(const AuditedTrial& trial);

// What `part` of a shadow is under way: "network", "teacher" or "student".
using ShadowProgress = std::function<void(const char* part, std::int64_t done, std::int64_t of)>;

// As Retrain, of the whole trial where ExplainNoShadows is empty: its teacher, too, if it has one, on the same `data`,
// and the student by what that teacher answers. Stop rules hold as in the trial. Random numbers are those of seeds that
// are moved by `shift`; but a student that is asked about private examples keeps its own, and with it their places.
[[nodiscard]] Result<std::unique_ptr<Network>> RetrainTrial(const AuditedTrial& trial, const Dataset& data,
                                                            std::uint64_t shift, const ShadowProgress& step);

}  // namespace retort::worker::audit
