#include "worker/models/loaded_weights.h"

#include <array>
#include <string_view>
#include <utility>

namespace retort::worker {

std::vector<storage::WantedTensor> WantedState(const Network& network) {
  std::vector<storage::WantedTensor> wanted;
  for (const StateEntry& entry : network.state())
    wanted.push_back({entry.name, entry.shape, entry.dtype, entry.used});
  return wanted;
}

Result<storage::KeyReport> LoadWeights(Network& network, std::vector<storage::TensorBlob> saved) {
  storage::StateMatch match = storage::MatchState(WantedState(network), std::move(saved));
  if (match.report.complete()) RETORT_RETURN_IF_ERROR(network.LoadState("", match.tensors));
  return std::move(match.report);
}

std::int64_t ClassesOf(const std::vector<storage::TensorBlob>& saved) {
  constexpr std::array<std::string_view, 7> kHeads = {
      "heads.head.bias", "classifier.6.bias", "classifier.1.bias", "classifier.bias",
      "fc2.bias",        "fc.bias",           "linear.bias"};
  for (const std::string_view head : kHeads)
    for (const storage::TensorBlob& blob : saved) {
      const bool named = blob.name == head || blob.name.ends_with("module." + std::string(head));
      if (named && blob.shape.size() == 1) return blob.shape.front();
    }
  return 0;
}

}  // namespace retort::worker
