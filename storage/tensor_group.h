// Named tensors in an HDF5 file, in their order.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/tensor_blob.h"

namespace retort::storage {

class Hdf5Reader;
class Hdf5Writer;

// Each at `root`/<name>, with its position in the attribute `order`. `root` is "" for the top.
void WriteTensors(Hdf5Writer& writer, const std::string& root, const std::vector<TensorBlob>& tensors);
// Those whose name begins with one of `prefixes`, in the order written. No prefix may begin another.
[[nodiscard]] Result<std::vector<TensorBlob>> ReadTensors(const Hdf5Reader& reader, const std::string& root,
                                                          const std::vector<std::string>& prefixes);

}  // namespace retort::storage
