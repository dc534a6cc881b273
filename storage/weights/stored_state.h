// Where in a file the tensors of a state dict lie, whatever the container; and the reading of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/env.h"
#include "storage/tensor_blob.h"
#include "storage/weights/element_type.h"

namespace retort::storage {

// Elements that follow one another in the file, little endian.
struct StoredStorage {
  ElementType type = ElementType::f32;
  std::uint64_t offset = 0;          // of the first, in the file
  std::uint64_t count = 0;           // elements
  std::optional<std::uint32_t> crc;  // of all of them, where the container says
};

// A view of one storage.
struct StoredTensor {
  std::string name;
  std::size_t storage = 0;                   // position in StoredState::storages
  std::int64_t first = 0;                    // element
  std::vector<std::int64_t> shape, strides;  // in elements, as many of either
  std::uint64_t at = 0;                      // offset in the file of what describes it
};

struct StoredState {
  std::string container;
  std::vector<StoredStorage> storages;
  std::vector<StoredTensor> tensors;
  std::vector<std::string> path, left_out;  // as of StateDict
  std::vector<std::string> class_names;     // in the order of the outputs; empty where the file names none
  std::shared_ptr<const InputFile> unpacked;  // in which the storages lie; null: in the file
};

// The tensors in order, row-major, converted. Nothing is read before every view has been seen to lie inside
// its storage, every storage inside the file, and all tensors together to take at most 16 times the file's
// bytes. Errors name file, tensor and offset: damage (checksum, bounds), refused (NaN or infinity unless
// `non_finite`, two tensors of one name, u64 beyond i64), environment.
[[nodiscard]] Result<std::vector<TensorBlob>> LoadTensors(const InputFile& file, const std::string& name,
                                                          const StoredState& state, bool non_finite);

}  // namespace retort::storage
