// The three containers of torch.save: each function finds where every tensor lies, and reads none.
#pragma once

#include <memory>
#include <string>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/weights/stored_state.h"

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

}  // namespace retort::storage
