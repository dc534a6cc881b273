// What a checkpoint says about itself, so that it is never loaded into another trial, gang or program.
#pragma once

#include <map>
#include <string>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"

namespace retort::worker {

// Of the checkpoint's tensors and attributes as a whole; raised when an older one can no longer be continued
// bit for bit.
inline constexpr int kCheckpointRevision = 1;

void StampCheckpoint(std::map<std::string, std::string>& attributes, const TrialSpec& spec, int gang_size);
// Error: refused, naming what differs and what to do about it.
[[nodiscard]] Status CheckStamp(const std::map<std::string, std::string>& attributes, const TrialSpec& spec,
                                int gang_size);

// Kinds of device that the trial's steps were made on, in order, up to and with `device`: "cuda, cpu". Told by
// provenance, refused by nothing: bits are promised on the same kind of device alone.
[[nodiscard]] std::string TrainedOn(const std::map<std::string, std::string>& attributes, const std::string& device);
void StampTrainedOn(std::map<std::string, std::string>& attributes, const std::string& trained_on);

}  // namespace retort::worker
