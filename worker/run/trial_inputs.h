// What one attempt works on: its spec, its data set, and what its teacher's trial produced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/claim.h"
#include "storage/files/env.h"
#include "worker/data/dataset.h"
#include "worker/devices/devices.h"
#include "worker/methods/method.h"
#include "worker/run/failure.h"
#include "worker/sleep/trial_host.h"

namespace retort::worker {

struct TrialInputs {
  TrialSpec spec;
  Dataset data;                              // on the attempt's device
  bool splits_share = false;                 // an image of the private split is in another split of `data`, too
  noise::NoiseKernels* noise = nullptr;      // that device's; null: the CPU's
  std::shared_ptr<const DeviceMeter> meter;  // that device's, or null
  GraphDevice* graphs = nullptr;             // that device's, where the trial asks for it; else null
  std::optional<TeacherArtifact> teacher;
  std::vector<privacy::Claim> teacher_claims;  // as the ledger has it; without a bound where that is not known
  std::string teacher_digest;                  // over its parameters; empty without a teacher
};

// What voids claims of this trial because of where its teacher is from, or because its splits share an image: the
// names of privacy_event.h, sorted.
[[nodiscard]] std::vector<std::string> FindVoids(const TrialInputs& inputs);

// Fills `inputs`, or returns what is missing: configuration, device, data, or disk for the teacher's file. Progress is
// reported to `host`, which may stop it; null: to none.
[[nodiscard]] std::optional<Failure> LoadTrialInputs(const TrialOrder& order, storage::Env& env,
                                                     const DeviceOpener& open, TrialInputs& inputs,
                                                     TrialHost* host = nullptr);

}  // namespace retort::worker
