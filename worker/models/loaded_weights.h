// Saved weights into a network.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/weights/state_dict.h"
#include "storage/weights/state_match.h"
#include "worker/models/network.h"

namespace retort::worker {

// What a network's state asks of a file.
[[nodiscard]] std::vector<storage::WantedTensor> WantedState(const Network& network);

// Matches the names (storage/weights/state_match.h) and loads the tensors, which are used up. The report
// tells what fits; nothing is loaded unless it is complete. Error: of Network::LoadState.
[[nodiscard]] Result<storage::KeyReport> LoadWeights(Network& network,
                                                     std::vector<storage::TensorBlob> saved);

// Classes of a file of that network's weights, by the tensors whose shape depends on them; 0 when that cannot be told.
[[nodiscard]] std::int64_t ClassesOf(const std::string& network, ImageShape image,
                                     const std::vector<storage::TensorBlob>& saved);
// The images for which the network's tensors have the shapes of the file's: `usual` where these fit or nothing else does,
// else the first that does of square ones, grey or of three channels, of 28 to 224 pixels a side.
[[nodiscard]] ImageShape ImagesOf(const std::string& network, ImageShape usual, std::int64_t classes,
                                  const std::vector<storage::TensorBlob>& saved);

}  // namespace retort::worker
