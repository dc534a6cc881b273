// What one attempt works on: its spec, its data set, and what its teacher left.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/spec/trial_spec.h"
#include "storage/env.h"
#include "worker/data/dataset.h"
#include "worker/devices.h"
#include "worker/failure.h"
#include "worker/methods/method.h"
#include "worker/trial_host.h"
#include "worker/trial_order.h"

namespace retort::worker {

struct TrialInputs {
  TrialSpec spec;
  Dataset data;  // on the attempt's device
  bool splits_share = false;  // a picture of the private split is in another one of `data`, too
  noise::NoiseKernels* noise = nullptr;  // that device's; null: the CPU's
  std::shared_ptr<const EnergyMeter> meter;  // that device's, or null
  std::optional<TeacherArtifact> teacher;
  std::vector<privacy::Claim> teacher_claims;  // as the ledger has it; without a bound where that is not known
  std::string teacher_digest;  // over its parameters; empty without a teacher
};

// What voids claims of this trial because of where its teacher is from, or because its splits share a picture: the names
// of privacy_event.h, sorted.
[[nodiscard]] std::vector<std::string> VoidsOf(const TrialInputs& inputs);

// Fills `inputs`, or says what is missing: configuration, device, data, or disk for the teacher's file. `host` is
// told how far that is and may stop it (LoadReport); null: nobody is.
[[nodiscard]] std::optional<Failure> LoadTrialInputs(const TrialOrder& order, storage::Env& env,
                                                     const DeviceOpener& open, TrialInputs& inputs,
                                                     TrialHost* host = nullptr);

}  // namespace retort::worker
