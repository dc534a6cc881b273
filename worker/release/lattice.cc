#include "worker/release/lattice.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "experiments/privacy/accountants/lattice_noise.h"
#include "worker/noise/lattice_normal.h"
#include "worker/noise/lattice_pair.h"
#include "worker/tensors/vector_clones.h"

namespace retort::worker::release {

Result<Lattice> Lattice::For(double norm_bound, double noise_std) {
  RETORT_CHECK(norm_bound > 0 && noise_std > 0);
  Lattice lattice;
  lattice.step = privacy::ComputeLatticeStep(norm_bound, noise_std);
  lattice.longest = std::floor(norm_bound / lattice.step);
  lattice.scale = noise_std / lattice.step;
  RETORT_RETURN_IF_ERROR(noise::CheckLatticeScale(lattice.scale));
  return lattice;
}

double Lattice::ComputeTarget(std::int64_t coordinates) const {
  return std::max(longest - std::sqrt(static_cast<double>(coordinates)) / 2 - 1, longest / 2);
}

at::Tensor Lattice::ToFloat(const at::Tensor& steps) const { return (steps * step).to(at::kFloat); }

at::Tensor RoundAndBound(const at::Tensor& steps, double longest, bool whole) {
  const at::NoGradGuard no_grad;
  const at::Tensor rounded = steps.round();
  const at::Tensor squares = rounded.square();
  const at::Tensor norms = whole ? squares.sum() : squares.sum(-1, /*keepdim=*/true);
  return at::where(norms <= noise::LongestSquare(longest), rounded, at::zeros({}, rounded.options()));
}

namespace {

using noise::LongestSquare;
using noise::NearestWhole;

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kChunk = 65536;  // numbers of the rows that are multiplied at once
constexpr std::int64_t kColumns = 512;  // columns that are added up at once: their sums fit into the L1 cache

double Total(const std::array<double, kLanes>& lanes) {
  double total = 0;
  for (const double lane : lanes) total += lane;
  return total;
}

RETORT_VECTOR_CLONES double SquaredNorm(const float* row, std::int64_t count) {
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
RETORT_VECTOR_CLONES double RoundedSquaredNorm(const float* row, double factor, std::int64_t count) {
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

RETORT_VECTOR_CLONES void AddRow(const float* row, double factor, double* sum, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += NearestWhole(row[i] * factor);
}

// The row times `factor`, rounded. Returns the sum of its squares.
RETORT_VECTOR_CLONES double RoundRow(const float* row, double factor, double* rounded, std::int64_t count) {
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = NearestWhole(row[i + lane] * factor);
      rounded[i + lane] = value;
      lanes[static_cast<std::size_t>(lane)] += value * value;
    }
  }
  for (; i < count; ++i) {
    rounded[i] = NearestWhole(row[i] * factor);
    lanes[0] += rounded[i] * rounded[i];
  }
  return Total(lanes);
}

// Rows whose numbers lie side by side.
at::Tensor Packed(const at::Tensor& rows) {
  return rows.stride(1) == 1 || rows.size(1) == 1 ? rows : rows.contiguous();
}

double ClipFactor(const float* row, std::int64_t count, double target, const Lattice& lattice) {
  const double norm = std::sqrt(SquaredNorm(row, count));
  const double factor = norm * (1 / lattice.step) <= target ? 1 / lattice.step : target / norm;
  return RoundedSquaredNorm(row, factor, count) <= LongestSquare(lattice.longest) ? factor : 0.0;
}

std::int64_t ChooseGrain(std::int64_t count) {
  return std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(count, 1));
}

// The steps of |right_i|: half of the lattice's bits.
double RightLength(const Lattice& lattice) { return std::ldexp(1.0, std::ilogb(lattice.longest) / 2); }

// Rounds left_i and right_i so that their product is no longer than the bound: a and b whole numbers. All are 0 where
// the product is not finite or too long.
void CutOuter(const float* left, std::int64_t a, const float* right, std::int64_t b, const Lattice& lattice,
              double* cut_left, double* cut_right) {
  const double length = std::sqrt(SquaredNorm(right, b)), across = std::sqrt(SquaredNorm(left, a));
  const double by_right = RightLength(lattice) / length;
  const double rounded = RoundRow(right, by_right, cut_right, b);
  const double target = lattice.longest / std::sqrt(rounded) - std::sqrt(static_cast<double>(a)) / 2 - 1;
  const double plain = length / (RightLength(lattice) * lattice.step);
  const double kept = RoundRow(left, across * plain <= target ? plain : target / across, cut_left, a);
  if (kept * rounded <= LongestSquare(lattice.longest)) return;
  std::fill(cut_left, cut_left + a, 0.0);
  std::fill(cut_right, cut_right + b, 0.0);
}

at::Tensor FactorsElsewhere(const at::Tensor& rows, const Lattice& lattice) {
  const at::Tensor wide = rows.to(at::kDouble);
  const at::Tensor factors = (lattice.ComputeTarget(rows.size(1)) / wide.norm(2, 1)).clamp_max(1 / lattice.step);
  const at::Tensor squares = (wide * factors.unsqueeze(1)).round().square().sum(1);
  return at::where(squares <= LongestSquare(lattice.longest), factors, 0.0);
}

at::Tensor OuterElsewhere(const at::Tensor& left, const at::Tensor& right, const Lattice& lattice) {
  const at::Tensor length = right.to(at::kDouble).norm(2, 1), across = left.to(at::kDouble).norm(2, 1);
  const at::Tensor cut_right = (right.to(at::kDouble) * (RightLength(lattice) / length).unsqueeze(1)).round();
  const at::Tensor rounded = cut_right.square().sum(1);
  const double margin = std::sqrt(static_cast<double>(left.size(1))) / 2 + 1;
  const at::Tensor by_left =
      at::minimum(length / (RightLength(lattice) * lattice.step), (lattice.longest / rounded.sqrt() - margin) / across);
  const at::Tensor cut_left = (left.to(at::kDouble) * by_left.unsqueeze(1)).round();
  const at::Tensor kept = (cut_left.square().sum(1) * rounded <= LongestSquare(lattice.longest)).unsqueeze(1);
  return at::matmul(at::where(kept, cut_left, 0.0).t(), at::where(kept, cut_right, 0.0));
}

// Rows [first, last) of both, cut, and their outer products added up: f64 [a, b].
at::Tensor SumOfOuter(const at::Tensor& left, const at::Tensor& right, const Lattice& lattice, std::int64_t first,
                      std::int64_t last) {
  const std::int64_t a = left.size(1), b = right.size(1);
  const at::Tensor cut_left = at::empty({last - first, a}, at::kDouble),
                   cut_right = at::empty({last - first, b}, at::kDouble);
  const auto *l = left.const_data_ptr<float>(), *r = right.const_data_ptr<float>();
  for (std::int64_t i = first; i < last; ++i) {
    CutOuter(l + i * left.stride(0), a, r + i * right.stride(0), b, lattice,
             cut_left.data_ptr<double>() + (i - first) * a, cut_right.data_ptr<double>() + (i - first) * b);
  }
  return at::mm(cut_left.t(), cut_right);
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
  const double target = lattice.ComputeTarget(count);
  at::parallel_for(0, packed.size(0), ChooseGrain(count), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) factor[i] = ClipFactor(row + i * stride, count, target, lattice);
  });
  return factors;
}

at::Tensor RoundRows(const at::Tensor& rows, const at::Tensor& factors) {
  const at::NoGradGuard no_grad;
  const at::Tensor by = factors.unsqueeze(1);
  return at::where(by != 0, (rows.to(at::kDouble) * by).round(), 0.0);
}

void AddRounded(const at::Tensor& rows, const at::Tensor& factors, at::Tensor& sum) {
  const at::NoGradGuard no_grad;
  if (!rows.is_cpu()) {
    sum += RoundRows(rows, factors).sum(0).to(sum.device());
    return;
  }
  const at::Tensor packed = Packed(rows);
  const auto* row = packed.const_data_ptr<float>();
  const auto* factor = factors.const_data_ptr<double>();
  auto* total = sum.data_ptr<double>();
  const std::int64_t examples = packed.size(0), stride = packed.stride(0),
                     chunks = (sum.size(0) + kColumns - 1) / kColumns;
  at::parallel_for(0, chunks, ChooseGrain(examples * kColumns), [&](std::int64_t first, std::int64_t last) {
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
    sum += OuterElsewhere(left, right, lattice).flatten().to(sum.device());
    return;
  }
  const at::Tensor l = Packed(left), r = Packed(right);
  const std::int64_t rows = std::max<std::int64_t>(1, kChunk / r.size(1)), chunks = (l.size(0) + rows - 1) / rows;
  at::Tensor total = sum.view({l.size(1), r.size(1)});
  std::mutex adding;
  at::parallel_for(0, chunks, 1, [&](std::int64_t first, std::int64_t last) {
    const at::NoGradGuard here;  // of this thread
    at::Tensor own = at::zeros_like(total);
    for (std::int64_t chunk = first; chunk < last; ++chunk)
      own += SumOfOuter(l, r, lattice, chunk * rows, std::min((chunk + 1) * rows, l.size(0)));
    const std::lock_guard lock(adding);
    total += own;
  });
}

}  // namespace retort::worker::release
