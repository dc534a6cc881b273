// How the workers of one attempt find each other.
#pragma once

#include <functional>
#include <memory>

#include "cluster/messages.h"
#include "experiments/spec/ids.h"
#include "experiments/spec/status.h"
#include "worker/devices.h"
#include "worker/gang/collective.h"
#include "worker/trial_host.h"

namespace retort::worker {

// Makes the collective of the attempt that `start` belongs to. Error: environment, naming the member and the
// cause; cancelled when a stop came first.
using GangJoiner = std::function<Result<std::unique_ptr<Collective>>(const cluster::Start& start,
                                                                     Generation generation, TrialHost& host)>;

// A gang of one needs nobody. Otherwise gang rank 0 opens a store and announces it to the orchestrator, which
// tells the others; then all `meet` there.
[[nodiscard]] Result<std::unique_ptr<Collective>> FormGangBy(const DeviceMeeting& meet, const cluster::Start& start,
                                                             Generation generation, TrialHost& host);
// The same between CPUs, by Gloo.
[[nodiscard]] Result<std::unique_ptr<Collective>> FormGang(const cluster::Start& start, Generation generation,
                                                           TrialHost& host);

}  // namespace retort::worker
