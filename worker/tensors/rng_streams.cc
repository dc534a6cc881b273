#include "worker/tensors/rng_streams.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <cmath>
#include <tuple>
#include <utility>

#include "experiments/base/status.h"
#include "worker/tensors/vector_clones.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kGrain = 1 << 15;

void FillNormals(float* out, std::int64_t columns, const RngStream& lane) {
  for (std::int64_t c = 0; c < columns; c += 2) {
    const auto [even, odd] = DrawNormalPair(static_cast<std::uint64_t>(c), lane);
    out[c] = static_cast<float>(even);
    if (c + 1 < columns) out[c + 1] = static_cast<float>(odd);
  }
}

// Value `index` of the normals, or of the first further lane whose value there lies within two deviations.
double TruncatedNormal(double drawn, std::uint64_t index, const RngStream& stream) {
  for (std::uint64_t lane = 0; std::abs(drawn) > 2; ++lane) drawn = DrawNormalPair(2 * index, stream.Lane(lane)).first;
  return drawn;
}

// f32 of `shape`: value(normal, index) of each element, whatever the number of threads.
template <typename Value>
at::Tensor FilledInPairs(at::IntArrayRef shape, const RngStream& stream, const Value& value) {
  at::Tensor out = at::empty(shape, at::kFloat);
  float* data = out.mutable_data_ptr<float>();
  const std::int64_t n = out.numel();
  at::parallel_for(0, (n + 1) / 2, kGrain / 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t pair = begin; pair < end; ++pair) {
      const auto index = static_cast<std::uint64_t>(2 * pair);
      const auto [even, odd] = DrawNormalPair(index, stream);
      data[2 * pair] = value(even, index);
      if (2 * pair + 1 < n) data[2 * pair + 1] = value(odd, index + 1);
    }
  });
  return out;
}

// Factors of Wang and Wellons' finaliser.
constexpr std::uint32_t kFirstFactor = 0x21f0aaadU, kSecondFactor = 0xd35a2d97U;

struct MaskKeys {
  std::uint32_t first, second, threshold;
  float keep;
};

std::uint32_t ComputeThreshold(double p) { return static_cast<std::uint32_t>(std::llround(p * 0x1p32)); }
float ComputeKeep(double p) { return static_cast<float>(1.0 / (1.0 - p)); }

// mask[i] for i in [0, count): `keep` where a keyed 32-bit hash of first + i (Wang and Wellons' finaliser) is at or
// above `threshold`, else 0. Cheap enough to vectorise; plenty for dropout.
RETORT_VECTOR_CLONES void FillMask(float* mask, std::uint32_t first, std::uint32_t count, const MaskKeys& keys) {
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t h = (first + i) ^ keys.first;
    h = (h ^ (h >> 16)) * kFirstFactor;
    h = (h ^ (h >> 15)) * kSecondFactor;
    h = (h ^ (h >> 15)) * keys.second;
    mask[i] = h >= keys.threshold ? keys.keep : 0.0F;
  }
}

// The same by operations of the device that `mask` lies on, in 64-bit numbers of which the low half counts. first_key,
// second_key: numbers, or tensors of one number on the device.
template <typename Key>
void FillMaskOnDevice(at::Tensor& mask, std::int64_t first, const Key& first_key, const Key& second_key, double p) {
  constexpr std::int64_t kLow = 0xffffffff;
  at::Tensor h = at::arange(first, first + mask.numel(), mask.options().dtype(at::kLong));
  const auto mix = [&h](std::int64_t shift, const auto& factor) {
    h.bitwise_xor_(h.bitwise_right_shift(shift)).mul_(factor).bitwise_and_(kLow);
  };
  h.bitwise_xor_(first_key);
  mix(16, std::int64_t{kFirstFactor});
  mix(15, std::int64_t{kSecondFactor});
  mix(15, second_key);
  const at::Tensor kept = h.ge(std::int64_t{ComputeThreshold(p)}).to(at::kFloat).mul_(ComputeKeep(p));
  mask.copy_(kept.as_strided(mask.sizes(), mask.strides()));
}

// What the keys of a stream are, as 64-bit numbers below 2^32.
std::pair<std::int64_t, std::int64_t> KeysFrom(const RngStream& stream) {
  return {static_cast<std::uint32_t>(stream.Word(0)), static_cast<std::uint32_t>(stream.Word(1)) | 1U};
}

at::Tensor EmptyMask(const at::Tensor& like) {
  at::Tensor mask = at::empty_like(like, at::kFloat);
  RETORT_CHECK(mask.is_non_overlapping_and_dense() && mask.scalar_type() == at::kFloat);
  return mask;
}

// Place of the first element of a mask whose first row stands at `row`.
std::int64_t FindOffset(const at::Tensor& mask, std::int64_t row) {
  const std::int64_t size = mask.size(0) > 0 ? mask.numel() / mask.size(0) : 0;
  RETORT_CHECK(row * size + mask.numel() < (std::int64_t{1} << 32));
  return row * size;
}

at::Tensor DrawMask(const at::Tensor& like, double p, std::int64_t row, std::pair<std::int64_t, std::int64_t> keys) {
  RETORT_CHECK(p >= 0 && p < 1);
  at::Tensor mask = EmptyMask(like);
  const std::int64_t offset = FindOffset(mask, row);
  if (!mask.is_cpu()) {
    FillMaskOnDevice(mask, offset, keys.first, keys.second, p);
    return mask.to(like.scalar_type());
  }
  const MaskKeys words{static_cast<std::uint32_t>(keys.first), static_cast<std::uint32_t>(keys.second),
                       ComputeThreshold(p), ComputeKeep(p)};
  float* data = mask.mutable_data_ptr<float>();
  at::parallel_for(0, mask.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    FillMask(data + begin, static_cast<std::uint32_t>(offset + begin), static_cast<std::uint32_t>(end - begin), words);
  });
  return mask.to(like.scalar_type());
}

}  // namespace

at::Tensor DrawNormalRows(std::int64_t rows, std::int64_t columns, const RngStream& stream, std::int64_t first_row) {
  at::Tensor out = at::empty({rows, columns}, at::kFloat);
  float* data = out.mutable_data_ptr<float>();
  at::parallel_for(0, rows, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      FillNormals(data + r * columns, columns, stream.Lane(static_cast<std::uint64_t>(first_row + r)));
    }
  });
  return out;
}

at::Tensor DrawUniformTensor(at::IntArrayRef shape, double bound, const RngStream& stream) {
  at::Tensor out = at::empty(shape, at::kFloat);
  float* data = out.mutable_data_ptr<float>();
  at::parallel_for(0, out.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      data[i] = static_cast<float>(bound * (2.0 * stream.Uniform(static_cast<std::uint64_t>(i)) - 1.0));
  });
  return out;
}

at::Tensor DrawNormalTensor(at::IntArrayRef shape, double deviation, const RngStream& stream) {
  return FilledInPairs(shape, stream,
                       [&](double drawn, std::uint64_t) { return static_cast<float>(deviation * drawn); });
}

at::Tensor DrawTruncatedNormalTensor(at::IntArrayRef shape, double deviation, const RngStream& stream) {
  return FilledInPairs(shape, stream, [&](double drawn, std::uint64_t index) {
    return static_cast<float>(deviation * TruncatedNormal(drawn, index, stream));
  });
}

at::Tensor DrawDropoutMask(const at::Tensor& like, double p, const RowStream& rows) {
  RETORT_CHECK(rows.places.consecutive());
  return DrawMask(like, p, rows.places.Of(0), KeysFrom(rows.stream));
}

at::Tensor DropoutMasks::Keys(const RngStream& stream, std::int64_t layers) {
  at::Tensor keys = at::empty({layers, 2}, at::kLong);
  auto* key = keys.mutable_data_ptr<std::int64_t>();
  for (std::int64_t layer = 0; layer < layers; ++layer)
    std::tie(key[2 * layer], key[2 * layer + 1]) = KeysFrom(stream.Lane(static_cast<std::uint64_t>(layer)));
  return keys;
}

at::Tensor DropoutMasks::Draw(const at::Tensor& like, double p, std::uint64_t layer) const {
  if (rows_) return DrawDropoutMask(like, p, RowStream(rows_->stream.Lane(layer), rows_->places));
  const at::Tensor keys = keys_.select(0, static_cast<std::int64_t>(layer));
  if (keys.is_cpu()) {
    const auto* key = keys.const_data_ptr<std::int64_t>();
    return DrawMask(like, p, first_, {key[0], key[1]});
  }
  RETORT_CHECK(p >= 0 && p < 1);
  at::Tensor mask = EmptyMask(like);
  FillMaskOnDevice(mask, FindOffset(mask, first_), keys.select(0, 0), keys.select(0, 1), p);
  return mask.to(like.scalar_type());
}

}  // namespace retort::worker
