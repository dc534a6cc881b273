#include "storage/weights/element_type.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace retort::storage {
namespace {

struct TypeName {
  ElementType type;
  std::size_t bytes;
  std::string_view torch, safetensors;
};
constexpr std::array kTypes = {TypeName{ElementType::f64, 8, "DoubleStorage", "F64"},
                               TypeName{ElementType::f32, 4, "FloatStorage", "F32"},
                               TypeName{ElementType::f16, 2, "HalfStorage", "F16"},
                               TypeName{ElementType::bf16, 2, "BFloat16Storage", "BF16"},
                               TypeName{ElementType::i64, 8, "LongStorage", "I64"},
                               TypeName{ElementType::i32, 4, "IntStorage", "I32"},
                               TypeName{ElementType::i16, 2, "ShortStorage", "I16"},
                               TypeName{ElementType::i8, 1, "CharStorage", "I8"},
                               TypeName{ElementType::u64, 8, "", "U64"},
                               TypeName{ElementType::u32, 4, "", "U32"},
                               TypeName{ElementType::u16, 2, "", "U16"},
                               TypeName{ElementType::u8, 1, "ByteStorage", "U8"},
                               TypeName{ElementType::boolean, 1, "BoolStorage", "BOOL"}};

constexpr std::uint32_t kExponent = 0x7F800000;
constexpr std::size_t kBlock = 4096;  // elements at a time, through a buffer that stays in the cache

// IEEE half precision, by way of a product that normalises what is subnormal.
std::uint32_t OfHalf(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U, rest = half & 0x7FFFU;
  if (rest >= 0x7C00U) return sign | kExponent | ((rest & 0x3FFU) << 13U);
  const float scaled = std::bit_cast<float>(rest << 13U) * 0x1p112F;
  return sign | std::bit_cast<std::uint32_t>(scaled);
}

template <typename In, typename Out, typename F>
void AppendEach(std::string_view bytes, std::vector<std::uint8_t>& out, F convert) {
  std::array<In, kBlock> in;
  std::array<Out, kBlock> made;
  while (!bytes.empty()) {
    const std::size_t count = std::min(kBlock, bytes.size() / sizeof(In));
    std::memcpy(in.data(), bytes.data(), count * sizeof(In));
    for (std::size_t i = 0; i < count; ++i) made[i] = convert(in[i]);
    const auto* begin = reinterpret_cast<const std::uint8_t*>(made.data());
    out.insert(out.end(), begin, begin + count * sizeof(Out));
    bytes.remove_prefix(count * sizeof(In));
  }
}

template <typename In>
void AppendIntegers(std::string_view bytes, std::vector<std::uint8_t>& out) {
  AppendEach<In, std::int64_t>(bytes, out, [](In value) { return static_cast<std::int64_t>(value); });
}

bool AllFinite(const std::uint8_t* floats, std::size_t bytes) {
  std::uint32_t bad = 0;
  for (std::size_t at = 0; at < bytes; at += 4) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, floats + at, 4);
    bad |= static_cast<std::uint32_t>((bits & kExponent) == kExponent);
  }
  return bad == 0;
}

void AppendFloats(ElementType type, std::string_view bytes, std::vector<std::uint8_t>& out) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (type == ElementType::f32) {
    out.insert(out.end(), begin, begin + bytes.size());
  } else if (type == ElementType::f64) {
    AppendEach<double, float>(bytes, out, [](double value) { return static_cast<float>(value); });
  } else if (type == ElementType::f16) {
    AppendEach<std::uint16_t, std::uint32_t>(bytes, out, &OfHalf);
  } else {
    AppendEach<std::uint16_t, std::uint32_t>(
        bytes, out, [](std::uint16_t value) { return static_cast<std::uint32_t>(value) << 16U; });
  }
}

void AppendWhole(ElementType type, std::string_view bytes, std::vector<std::uint8_t>& out) {
  switch (type) {
    case ElementType::i64:
    case ElementType::u64:
      return AppendIntegers<std::int64_t>(bytes, out);
    case ElementType::i32:
      return AppendIntegers<std::int32_t>(bytes, out);
    case ElementType::i16:
      return AppendIntegers<std::int16_t>(bytes, out);
    case ElementType::i8:
      return AppendIntegers<std::int8_t>(bytes, out);
    case ElementType::u32:
      return AppendIntegers<std::uint32_t>(bytes, out);
    case ElementType::u16:
      return AppendIntegers<std::uint16_t>(bytes, out);
    case ElementType::u8:
      return AppendIntegers<std::uint8_t>(bytes, out);
    default:
      AppendEach<std::uint8_t, std::int64_t>(bytes, out,
                                             [](std::uint8_t value) { return std::int64_t{value != 0}; });
  }
}

}  // namespace

std::size_t ByteSize(ElementType type) { return kTypes[static_cast<std::size_t>(type)].bytes; }

bool IsFloating(ElementType type) { return type <= ElementType::bf16; }

DType LoadedType(ElementType type) { return IsFloating(type) ? DType::f32 : DType::i64; }

std::optional<ElementType> OfTorchStorage(std::string_view name) {
  for (const TypeName& entry : kTypes)
    if (!entry.torch.empty() && entry.torch == name) return entry.type;
  return std::nullopt;
}

std::optional<ElementType> OfSafetensors(std::string_view name) {
  for (const TypeName& entry : kTypes)
    if (entry.safetensors == name) return entry.type;
  return std::nullopt;
}

Converted AppendConverted(ElementType type, std::string_view bytes, std::vector<std::uint8_t>& out) {
  const std::size_t before = out.size();
  Converted saw;
  if (IsFloating(type)) {
    AppendFloats(type, bytes, out);
    saw.finite = AllFinite(out.data() + before, out.size() - before);
    return saw;
  }
  AppendWhole(type, bytes, out);
  if (type != ElementType::u64) return saw;
  for (std::size_t at = before + 7; at < out.size(); at += 8) saw.in_range = saw.in_range && out[at] < 0x80;
  return saw;
}

}  // namespace retort::storage
