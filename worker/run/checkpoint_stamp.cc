#include "worker/run/checkpoint_stamp.h"

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"

namespace retort::worker {

namespace {

constexpr const char* kRevision = "revision";
constexpr const char* kGangSize = "gang_size";
constexpr const char* kSpec = "spec";  // SHA-256 of the canonical encoding
constexpr const char* kTrainedOn = "trained_on";

Status Compare(const std::map<std::string, std::string>& attributes, const std::string& key, const std::string& wanted,
               const std::string& what) {
  const auto found = attributes.find(key);
  if (found != attributes.end() && found->second == wanted) return {};
  const std::string has = found == attributes.end() ? "none" : found->second;
  return Refused("The trial's checkpoint cannot be continued: " + what + " differs (the checkpoint has " + has +
                 ", this attempt " + wanted +
                 "). Go on with the program and the sweep file that wrote it, or move the trial's attempt folders "
                 "away to train it anew, which charges its releases again.");
}

}  // namespace

void StampCheckpoint(std::map<std::string, std::string>& attributes, const TrialSpec& spec, int gang_size) {
  attributes[kRevision] = std::to_string(kCheckpointRevision);
  attributes[kGangSize] = std::to_string(gang_size);
  attributes[kSpec] = ComputeSha256Hex(EncodeCanonically(spec));
}

Status CheckStamp(const std::map<std::string, std::string>& attributes, const TrialSpec& spec, int gang_size) {
  RETORT_RETURN_IF_ERROR(
      Compare(attributes, kRevision, std::to_string(kCheckpointRevision), "the revision of its format"));
  RETORT_RETURN_IF_ERROR(Compare(attributes, kGangSize, std::to_string(gang_size), "the gang's size"));
  return Compare(attributes, kSpec, ComputeSha256Hex(EncodeCanonically(spec)), "the trial's spec");
}

std::string DescribeTrainedOn(const std::map<std::string, std::string>& attributes, const std::string& device) {
  const std::string kind = device.substr(0, device.find(':'));
  const auto found = attributes.find(kTrainedOn);
  if (found == attributes.end() || found->second == kind) return kind;
  return found->second.ends_with(", " + kind) ? found->second : found->second + ", " + kind;
}

void StampTrainedOn(std::map<std::string, std::string>& attributes, const std::string& trained_on) {
  attributes[kTrainedOn] = trained_on;
}

}  // namespace retort::worker
