// The method "sleep": holds its device for a time and trains nothing. No tensors, no data set, no releases.
#pragma once

#include <optional>

#include "cluster/messages.h"
#include "storage/files/env.h"
#include "worker/sleep/trial_host.h"

namespace retort::worker {

// Whether the order is for a trial of the method "sleep". False for a spec that does not decode.
[[nodiscard]] bool IsSleep(const cluster::Start& start);

// One attempt. Nothing is written to disk unless the attempt is saved: at a stop, and each
// `checkpoint_every`; the trial folder is made then. parameters_digest of the answer depends on the seed
// and on every step, each taken once: a trial that was resumed wrongly shows another one. Between two
// looks for a stop at most 20 ms pass. Never throws and always answers.
[[nodiscard]] cluster::Ended RunSleepTrial(const TrialOrder& order, TrialHost& host, storage::Env& env);

}  // namespace retort::worker
