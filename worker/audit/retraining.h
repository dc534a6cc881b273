// A trial's network trained once more, on other examples, for audits that need that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "storage/files/env.h"
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

}  // namespace retort::worker::audit
