// What a checkpoint says of the trial, gang and program that wrote it, and on which kinds of device.
#pragma once

#include <map>
#include <string>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"

namespace retort::worker {

// The format of a checkpoint's tensors and attributes; raised when an older one can no longer be continued
// bit for bit.
inline constexpr int kCheckpointRevision = 1;

// A stamp keeps a checkpoint from being loaded into another trial, gang or program.
void StampCheckpoint(std::map<std::string, std::string>& attributes, const TrialSpec& spec, int gang_size);
// Error: refused, naming what differs and what to do about it.
[[nodiscard]] Status CheckStamp(const std::map<std::string, std::string>& attributes, const TrialSpec& spec,
                                int gang_size);

// Kinds of device that the trial's steps were made on, in order, up to and with `device`: "cuda, cpu". Stated in
// the provenance, never refused: equal bits are promised on one kind of device alone.
[[nodiscard]] std::string DescribeTrainedOn(const std::map<std::string, std::string>& attributes,
                                            const std::string& device);
void StampTrainedOn(std::map<std::string, std::string>& attributes, const std::string& trained_on);

}  // namespace retort::worker
