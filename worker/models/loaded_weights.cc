#include "worker/models/loaded_weights.h"

#include <algorithm>
#include <utility>

#include "worker/models/model_registry.h"

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

namespace {

// Under the network's name, or behind what wrappers put before it: the shortest such name.
const storage::TensorBlob* FindSaved(const std::vector<storage::TensorBlob>& saved, const std::string& name) {
  const storage::TensorBlob* found = nullptr;
  for (const storage::TensorBlob& blob : saved) {
    if (!blob.name.ends_with(name)) continue;
    const std::size_t before = blob.name.size() - name.size();
    if (before > 0 && blob.name[before - 1] != '.') continue;
    if (found == nullptr || blob.name.size() < found->name.size()) found = &blob;
  }
  return found;
}

bool Fits(const std::string& network, ImageShape image, std::int64_t classes,
          const std::vector<storage::TensorBlob>& saved) {
  const Result<std::vector<StateEntry>> state = StateOf(network, image, classes);
  return state.ok() && std::all_of(state->begin(), state->end(), [&saved](const StateEntry& entry) {
           const storage::TensorBlob* blob = FindSaved(saved, entry.name);
           return blob == nullptr || blob->shape == entry.shape;
         });
}

}  // namespace

std::int64_t ClassesOf(const std::string& network, ImageShape image, const std::vector<storage::TensorBlob>& saved) {
  const Result<std::vector<StateEntry>> two = StateOf(network, image, 2), three = StateOf(network, image, 3);
  if (!two.ok() || !three.ok()) return 0;
  for (std::size_t i = 0; i < two->size(); ++i) {
    const std::vector<std::int64_t> &of_two = (*two)[i].shape, &of_three = (*three)[i].shape;
    if (of_two == of_three || !(*two)[i].used) continue;
    const storage::TensorBlob* blob = FindSaved(saved, (*two)[i].name);
    if (blob == nullptr || blob->shape.size() != of_two.size()) continue;
    for (std::size_t axis = 0; axis < of_two.size(); ++axis)
      if (of_two[axis] == 2 && of_three[axis] == 3) return blob->shape[axis];
  }
  return 0;
}

ImageShape ImagesOf(const std::string& network, ImageShape usual, std::int64_t classes,
                    const std::vector<storage::TensorBlob>& saved) {
  if (Fits(network, usual, classes, saved)) return usual;
  for (const std::int64_t side : {28, 32, 48, 64, 84, 96, 112, 128, 160, 192, 224})
    for (const std::int64_t channels : {1, 3})
      if (const ImageShape image{channels, side, side}; Fits(network, image, classes, saved)) return image;
  return usual;
}

}  // namespace retort::worker
