// Where in a file the tensors of a state dict lie, whatever the container, and loading them: f32 for floating types,
// i64 for integers and bool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/formats/tensor_blob.h"

namespace retort::storage {

// What a file of weights may declare at most.
inline constexpr std::size_t kMaxTensorExtents = 64;
inline constexpr std::size_t kMaxTensorNameBytes = 1024;

enum class ElementType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

[[nodiscard]] std::size_t ComputeByteSize(ElementType type);
[[nodiscard]] bool IsFloating(ElementType type);
[[nodiscard]] DType GetLoadedType(ElementType type);  // f32 or i64
// "FloatStorage" of torch and torch.cuda. Nothing for a name that is none of them.
[[nodiscard]] std::optional<ElementType> ParseTorchStorageType(std::string_view name);
// "BF16", as in safetensors. Nothing for a type that is not read.
[[nodiscard]] std::optional<ElementType> ParseSafetensorsType(std::string_view name);

// What converting saw.
struct Converted {
  bool finite = true;    // false: NaN, infinity, or an f64 beyond f32
  bool in_range = true;  // false: a u64 beyond i64
};

// Appends the elements of `bytes` (little endian, a whole number of them), converted, to `out`. Anything but
// 0 is true.
[[nodiscard]] Converted AppendConverted(ElementType type, std::string_view bytes, std::vector<std::uint8_t>& out);

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
  std::vector<std::string> path, left_out;    // as of StateDict
  std::vector<std::string> class_names;       // in the order of the outputs; empty where the file names none
  std::shared_ptr<const InputFile> unpacked;  // in which the storages lie; null: in the file
};

// The tensors in order, row-major, converted. Nothing is read before every view has been seen to lie inside
// its storage, every storage inside the file, and all tensors together to take at most 16 times the file's
// bytes. Errors name file, tensor and offset: damage (checksum, bounds), refused (NaN or infinity unless
// `non_finite`, two tensors of one name, u64 beyond i64), environment.
[[nodiscard]] Result<std::vector<TensorBlob>> LoadTensors(const InputFile& file, const std::string& name,
                                                          const StoredState& state, bool non_finite);

}  // namespace retort::storage
