// Forms the gang of one attempt: how its workers find each other.
#pragma once

#include <functional>
#include <memory>

#include "cluster/messages.h"
#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "worker/devices/devices.h"
#include "worker/gang/collective.h"
#include "worker/sleep/trial_host.h"

namespace retort::worker {

// Makes the collective of the attempt that `start` belongs to. Error: environment, naming the member and the
// cause; cancelled when a stop came first.
using GangJoiner = std::function<Result<std::unique_ptr<Collective>>(const cluster::Start& start, Generation generation,
                                                                     TrialHost& host)>;

// A gang of one has nothing to form. Otherwise gang rank 0 opens a store and announces it to the orchestrator, which
// passes the address to the others; then all `meet` there.
[[nodiscard]] Result<std::unique_ptr<Collective>> FormGangOn(const DeviceMeeting& meet, const cluster::Start& start,
                                                             Generation generation, TrialHost& host);
// The same between CPUs, by Gloo.
[[nodiscard]] Result<std::unique_ptr<Collective>> FormGang(const cluster::Start& start, Generation generation,
                                                           TrialHost& host);

}  // namespace retort::worker
