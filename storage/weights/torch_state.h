// From the value of a pickle to the tensors of a state dict.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/weights/stored_state.h"
#include "storage/weights/torch_pickle.h"

namespace retort::storage {

// Where the storage of each key lies, with the type and count that the container declares.
using StorageByKey = std::map<std::string, StoredStorage>;

// Finds the state dict in `pickle`: under what a training script nests it ("state_dict", "model_state_dict", "model",
// "net", at most 4 deep) where a dict with tensors is there, else the root. `storages` is asked for every storage
// that a tensor of it views. Errors, naming file and offset: refused when there is no state dict, or several of those
// keys hold one; damage when a storage is absent or of another type or size.
[[nodiscard]] Result<StoredState> BuildStoredState(const Pickle& pickle, const StorageByKey& storages,
                                                   const std::string& container, const std::string& file);

}  // namespace retort::storage
