#include "worker/release/lattice_rows.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "worker/noise/lattice_pair.h"

// One version of a loop for each width of vectors; the loader takes the widest that the processor has.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define RETORT_VECTOR_LOOP __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RETORT_VECTOR_LOOP
#endif

namespace retort::worker::release {
namespace {

using noise::LongestSquare;
using noise::NearestWhole;

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kColumns = 512;  // that are added up at once: their sums stay in the nearest cache

double Total(const std::array<double, kLanes>& lanes) {
  double total = 0;
  for (const double lane : lanes) total += lane;
  return total;
}

RETORT_VECTOR_LOOP double SquaredNorm(const float* row, std::int64_t count) {
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = row[i + lane];
      lanes[static_cast<std::size_t>(lane)] += value * value;
    }
  }
  for (; i < count; ++i) lanes[0] += static_cast<double>(row[i]) * static_cast<double>(row[i]);
  return Total(lanes);
}

// Of the row times `factor`, rounded.
RETORT_VECTOR_LOOP double RoundedSquaredNorm(const float* row, double factor, std::int64_t count) {
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = NearestWhole(row[i + lane] * factor);
      lanes[static_cast<std::size_t>(lane)] += value * value;
    }
  }
  for (; i < count; ++i) {
    const double value = NearestWhole(row[i] * factor);
    lanes[0] += value * value;
  }
  return Total(lanes);
}

RETORT_VECTOR_LOOP void AddRow(const float* row, double factor, double* sum, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += NearestWhole(row[i] * factor);
}

RETORT_VECTOR_LOOP void RoundRow(const float* row, double factor, double* rounded, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) rounded[i] = NearestWhole(row[i] * factor);
}

RETORT_VECTOR_LOOP void AddScaled(const double* row, double scale, double* sum, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += row[i] * scale;
}

// Rows whose numbers lie side by side.
at::Tensor Packed(const at::Tensor& rows) { return rows.stride(1) == 1 || rows.size(1) == 1 ? rows : rows.contiguous(); }

double ClipFactor(const float* row, std::int64_t count, double target, const Lattice& lattice) {
  const double norm = std::sqrt(SquaredNorm(row, count));
  const double factor = norm * (1 / lattice.step) <= target ? 1 / lattice.step : target / norm;
  return RoundedSquaredNorm(row, factor, count) <= LongestSquare(lattice.longest) ? factor : 0.0;
}

std::int64_t GrainOf(std::int64_t count) { return std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(count, 1)); }

// How an outer product is cut: right is taken to the length `right` in steps of its own, left to what remains.
struct OuterFactors {
  at::Tensor left, right;  // f64 [examples, a] whole numbers, f64 [examples] factors
};

// The steps of |right_i|: half of the lattice's bits.
double RightLength(const Lattice& lattice) { return std::ldexp(1.0, std::ilogb(lattice.longest) / 2); }

// left_i rounded, [a] whole numbers; all 0 where the product is not finite or too long. `factor` receives right's.
void CutOuter(const float* left, std::int64_t a, const float* right, std::int64_t b, const Lattice& lattice,
              double* cut, double* factor) {
  const double length = std::sqrt(SquaredNorm(right, b)), across = std::sqrt(SquaredNorm(left, a));
  const double by_right = RightLength(lattice) / length;
  const double rounded = RoundedSquaredNorm(right, by_right, b);
  const double target = lattice.longest / std::sqrt(rounded) - std::sqrt(static_cast<double>(a)) / 2 - 1;
  const double plain = length / (RightLength(lattice) * lattice.step);
  const double by_left = across * plain <= target ? plain : target / across;
  RoundRow(left, by_left, cut, a);
  double squares = 0;
  for (std::int64_t c = 0; c < a; ++c) squares += cut[c] * cut[c];
  const bool kept = squares * rounded <= LongestSquare(lattice.longest);
  *factor = kept ? by_right : 0.0;
  if (!kept) std::fill(cut, cut + a, 0.0);
}

at::Tensor FactorsElsewhere(const at::Tensor& rows, const Lattice& lattice) {
  const at::Tensor wide = rows.to(at::kDouble);
  const at::Tensor factors = (lattice.TargetOf(rows.size(1)) / wide.norm(2, 1)).clamp_max(1 / lattice.step);
  const at::Tensor squares = (wide * factors.unsqueeze(1)).round().square().sum(1);
  return at::where(squares <= LongestSquare(lattice.longest), factors, 0.0);
}

// Zeros where the factor is 0, whatever the row holds.
at::Tensor RoundedRows(const at::Tensor& rows, const at::Tensor& factors) {
  const at::Tensor by = factors.unsqueeze(1);
  return at::where(by != 0, (rows.to(at::kDouble) * by).round(), 0.0);
}

at::Tensor OuterElsewhere(const at::Tensor& left, const at::Tensor& right, const Lattice& lattice) {
  const at::Tensor length = right.to(at::kDouble).norm(2, 1), across = left.to(at::kDouble).norm(2, 1);
  const at::Tensor cut_right = (right.to(at::kDouble) * (RightLength(lattice) / length).unsqueeze(1)).round();
  const at::Tensor rounded = cut_right.square().sum(1);
  const double margin = std::sqrt(static_cast<double>(left.size(1))) / 2 + 1;
  const at::Tensor by_left = at::minimum(length / (RightLength(lattice) * lattice.step),
                                         (lattice.longest / rounded.sqrt() - margin) / across);
  const at::Tensor cut_left = (left.to(at::kDouble) * by_left.unsqueeze(1)).round();
  const at::Tensor kept =
      (cut_left.square().sum(1) * rounded <= LongestSquare(lattice.longest)).unsqueeze(1);
  return at::matmul(at::where(kept, cut_left, 0.0).t(), at::where(kept, cut_right, 0.0));
}

OuterFactors CutAll(const at::Tensor& left, const at::Tensor& right, const Lattice& lattice) {
  const std::int64_t examples = left.size(0), a = left.size(1), b = right.size(1);
  OuterFactors cut{at::empty({examples, a}, at::kDouble), at::empty({examples}, at::kDouble)};
  const auto *l = left.const_data_ptr<float>(), *r = right.const_data_ptr<float>();
  const std::int64_t l_stride = left.stride(0), r_stride = right.stride(0);
  auto *rounded = cut.left.data_ptr<double>(), *factors = cut.right.data_ptr<double>();
  at::parallel_for(0, examples, GrainOf(b), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      CutOuter(l + i * l_stride, a, r + i * r_stride, b, lattice, rounded + i * a, factors + i);
  });
  return cut;
}

}  // namespace

at::Tensor ClipFactors(const at::Tensor& rows, const Lattice& lattice) {
  const at::NoGradGuard no_grad;
  if (!rows.is_cpu()) return FactorsElsewhere(rows, lattice);
  const at::Tensor packed = Packed(rows);
  at::Tensor factors = at::empty({rows.size(0)}, at::kDouble);
  const auto* row = packed.const_data_ptr<float>();
  auto* factor = factors.data_ptr<double>();
  const std::int64_t count = packed.size(1), stride = packed.stride(0);
  const double target = lattice.TargetOf(count);
  at::parallel_for(0, packed.size(0), GrainOf(count), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) factor[i] = ClipFactor(row + i * stride, count, target, lattice);
  });
  return factors;
}

void AddRounded(const at::Tensor& rows, const at::Tensor& factors, at::Tensor& sum) {
  const at::NoGradGuard no_grad;
  if (!rows.is_cpu()) {
    sum += RoundedRows(rows, factors).sum(0).cpu();
    return;
  }
  const at::Tensor packed = Packed(rows);
  const auto* row = packed.const_data_ptr<float>();
  const auto* factor = factors.const_data_ptr<double>();
  auto* total = sum.data_ptr<double>();
  const std::int64_t examples = packed.size(0), stride = packed.stride(0), chunks = (sum.size(0) + kColumns - 1) / kColumns;
  at::parallel_for(0, chunks, GrainOf(examples * kColumns), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t at = first * kColumns; at < std::min(last * kColumns, sum.size(0)); at += kColumns) {
      const std::int64_t count = std::min(kColumns, sum.size(0) - at);
      for (std::int64_t i = 0; i < examples; ++i) {
        if (factor[i] != 0) AddRow(row + i * stride + at, factor[i], total + at, count);
      }
    }
  });
}

void AddRoundedOuter(const at::Tensor& left, const at::Tensor& right, const Lattice& lattice, at::Tensor& sum) {
  const at::NoGradGuard no_grad;
  if (!left.is_cpu()) {
    sum += OuterElsewhere(left, right, lattice).flatten().cpu();
    return;
  }
  const at::Tensor l = Packed(left), r = Packed(right);
  const OuterFactors cut = CutAll(l, r, lattice);
  const std::int64_t examples = l.size(0), a = l.size(1), b = r.size(1), stride = r.stride(0);
  const auto* row = r.const_data_ptr<float>();
  const auto *whole = cut.left.const_data_ptr<double>(), *factor = cut.right.const_data_ptr<double>();
  auto* total = sum.data_ptr<double>();
  at::parallel_for(0, (b + kColumns - 1) / kColumns, 1, [&](std::int64_t first, std::int64_t last) {
    std::array<double, kColumns> rounded;
    for (std::int64_t at = first * kColumns; at < std::min(last * kColumns, b); at += kColumns) {
      const std::int64_t count = std::min(kColumns, b - at);
      for (std::int64_t i = 0; i < examples; ++i) {
        if (factor[i] == 0) continue;
        RoundRow(row + i * stride + at, factor[i], rounded.data(), count);
        for (std::int64_t c = 0; c < a; ++c) AddScaled(rounded.data(), whole[i * a + c], total + c * b + at, count);
      }
    }
  });
}

}  // namespace retort::worker::release
