// One attempt of one trial, from its checkpoint (or nothing) to attempt.h5.
#pragma once

#include "cluster/messages.h"
#include "storage/files/env.h"
#include "worker/devices/devices.h"
#include "worker/run/gang_formation.h"
#include "worker/sleep/trial_host.h"

namespace retort::worker {

// Never throws and always answers. Between steps it looks for a stop: then it saves and ends with failure
// `stopped`. The attempt folder holds a checkpoint from before the first step on; after a success it holds
// attempt.h5 and logs.
// Every member of a gang runs it; gang rank 0 alone writes, reserves and returns results. A gang that breaks ends
// each of its members with failure `gang_broken`.
// `open` gives the device that the order names; what the attempt writes does not say which one it was, but for
// provenance, and an attempt on another device goes on from it.
[[nodiscard]] cluster::Ended RunTrial(const TrialOrder& order, TrialHost& host, storage::Env& env,
                                      const GangJoiner& join = FormGang, const DeviceOpener& open = OpenHost);

}  // namespace retort::worker
