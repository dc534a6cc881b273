// Element types of saved tensors, and what becomes of them: f32 for floating types, i64 for integers and
// bool.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/tensor_blob.h"

namespace retort::storage {

enum class ElementType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

[[nodiscard]] std::size_t ByteSize(ElementType type);
[[nodiscard]] bool IsFloating(ElementType type);
[[nodiscard]] DType LoadedType(ElementType type);  // f32 or i64
// "FloatStorage" of torch and torch.cuda. Nothing for a name that is none of them.
[[nodiscard]] std::optional<ElementType> OfTorchStorage(std::string_view name);
// "BF16", as in safetensors. Nothing for a type that is not read.
[[nodiscard]] std::optional<ElementType> OfSafetensors(std::string_view name);

// What converting saw.
struct Converted {
  bool finite = true;    // false: NaN, infinity, or an f64 beyond f32
  bool in_range = true;  // false: a u64 beyond i64
};

// Appends the elements of `bytes` (little endian, a whole number of them), converted, to `out`. Anything but
// 0 is true.
[[nodiscard]] Converted AppendConverted(ElementType type, std::string_view bytes,
                                        std::vector<std::uint8_t>& out);

}  // namespace retort::storage
