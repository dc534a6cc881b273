// The three containers of torch.save: each function finds where every tensor lies, and reads none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/weights/stored_state.h"
#include "storage/weights/torch_pickle.h"

namespace retort::storage {

// Each: `name` stands in messages; errors as of ReadWeights (read_weights.h).
// torch.save since 1.6: a zip archive of entries PREFIX/data.pkl, PREFIX/data/KEY, PREFIX/byteorder, ..., stored, or
// deflated by whoever packed it anew: as torch.load takes it.
[[nodiscard]] Result<StoredState> ReadTorchZip(std::shared_ptr<const InputFile> file, const std::string& name);
// torch.save before 1.6: a pickle each of magic number, protocol, system, object and storage keys, then of
// each storage its element count (i64) and elements.
[[nodiscard]] Result<StoredState> ReadTorchLegacy(const InputFile& file, const std::string& name);
// torch.save of 0.1: a tar archive of sys_info, pickle, tensors and storages.
[[nodiscard]] Result<StoredState> ReadTorchTar(const InputFile& file, const std::string& name);

// From the value of a pickle to the tensors of a state dict.

// Where the storage of each key lies, with the type and count that the container declares.
using StorageByKey = std::map<std::string, StoredStorage>;

// Finds the state dict in `pickle`: under what a training script nests it ("state_dict", "model_state_dict", "model",
// "net", at most 4 deep) where a dict with tensors is there, else the root. `storages` is asked for every storage
// that a tensor of it views. Errors, naming file and offset: refused when there is no state dict, or several of those
// keys hold one; damage when a storage is absent or of another type or size.
[[nodiscard]] Result<StoredState> BuildStoredState(const Pickle& pickle, const StorageByKey& storages,
                                                   const std::string& container, const std::string& file);

}  // namespace retort::storage
