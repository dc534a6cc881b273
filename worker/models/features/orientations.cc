#include "worker/models/features/orientations.h"

#include <ATen/TensorOperators.h>
#include <ATen/TracerMode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/atan2.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/round.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "worker/models/resampling.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kPixels = std::int64_t{1} << 14;  // worked on at a time

std::int64_t CountCells(std::int64_t pixels, const OrientationForm& form) {
  return (pixels + 2 * form.padding - form.window) / form.stride + 1;
}

// As ComputeWindowWeights, without a copy from the host, which a recorded step may not make.
at::Tensor WindowWeightsElsewhere(std::int64_t pixels, const OrientationForm& form, at::Device device) {
  const auto whole = at::device(device).dtype(at::kDouble);
  // Of each pixel in each window, from the window's first pixel on.
  const at::Tensor place = (at::arange(pixels, whole) + static_cast<double>(form.padding)).unsqueeze(1) -
                           at::arange(CountCells(pixels, form), whole) * static_cast<double>(form.stride);
  const at::Tensor inside = (place >= 0).logical_and_(place < static_cast<double>(form.window));
  const at::Tensor half = at::full({}, static_cast<double>(form.window) / 2, whole);
  const at::Tensor weight = 1 - (place - static_cast<double>(form.window - 1) / 2).abs() / half;
  return at::where(inside, weight, 0.0).to(at::kFloat);
}

at::Tensor OfPlanes(const at::Tensor& planes, const OrientationForm& form) {
  const std::int64_t height = planes.size(2), width = planes.size(3);
  const at::Tensor wide = RepeatBorder(planes, {1, 1, 1, 1});
  const at::Tensor middle = wide.narrow(2, 1, height), column = wide.narrow(3, 1, width);
  const at::Tensor x = (middle.narrow(3, 2, width) - middle.narrow(3, 0, width)) * 0.5;
  const at::Tensor y = (column.narrow(2, 2, height) - column.narrow(2, 0, height)) * 0.5;
  const at::Tensor size = ComputeRoot((x * x + y * y).clamp_min(kMinSquare));
  const auto bins = static_cast<double>(form.bins);
  const at::Tensor angle = at::atan2(y, x) * (bins / (2 * std::numbers::pi));  // in bins
  const at::Tensor bin = at::arange(form.bins, planes.options()).view({1, 1, form.bins, 1, 1});
  at::Tensor apart = angle.unsqueeze(2) - bin;
  apart = apart - at::round(apart.detach() * (1 / bins)) * bins;  // the shorter way round
  const at::Tensor shares = at::relu(1 - apart.abs()) * size.unsqueeze(2);
  const at::Tensor across = at::matmul(shares, ComputeWindowWeights(width, form, planes.device()));
  const at::Tensor down = at::matmul(ComputeWindowWeights(height, form, planes.device()).t(), across);
  return NormaliseRows(ComputeRoot(down.flatten(1).clamp_min(kMinSquare)), form.norm);
}

}  // namespace

at::Tensor ComputeWindowWeights(std::int64_t pixels, const OrientationForm& form, at::Device device) {
  if (!device.is_cpu()) return WindowWeightsElsewhere(pixels, form, device);
  // TorchScript's recording takes the tensor for a constant, and not for the zeros that it began as.
  const at::tracer::impl::NoTracerDispatchMode as_constant;
  const std::int64_t windows = CountCells(pixels, form);
  at::Tensor weights = at::zeros({pixels, windows}, at::kFloat);
  auto* weight = weights.data_ptr<float>();
  const double middle = static_cast<double>(form.window - 1) / 2, half = static_cast<double>(form.window) / 2;
  for (std::int64_t k = 0; k < windows; ++k) {
    for (std::int64_t i = 0; i < form.window; ++i) {
      const std::int64_t pixel = k * form.stride - form.padding + i;
      if (pixel < 0 || pixel >= pixels) continue;
      weight[pixel * windows + k] = static_cast<float>(1 - std::abs(static_cast<double>(i) - middle) / half);
    }
  }
  return weights;
}

at::Tensor ComputeOpponentColours(const at::Tensor& images) {
  const at::Tensor r = images.narrow(1, 0, 1), g = images.narrow(1, 1, 1), b = images.narrow(1, 2, 1);
  return at::cat(
      {(r - g) * (1 / std::sqrt(2.0)), (r + g - b * 2) * (1 / std::sqrt(6.0)), (r + g + b) * (1 / std::sqrt(3.0))}, 1);
}

at::Tensor ComputeRoot(const at::Tensor& values) { return at::pow(values, 0.5); }

at::Tensor NormaliseRows(const at::Tensor& rows, double norm) {
  const at::Tensor norms = ComputeRoot((rows * rows).sum(1, true).clamp_min(kMinSquare));
  return rows * (norm / norms);
}

at::Tensor ComputeOrientationFeatures(const at::Tensor& images, const OrientationForm& form) {
  const at::Tensor planes = (images.size(1) == 3 ? ComputeOpponentColours(images) : images).contiguous();
  return ComputeInParts(planes, kPixels, [&form](const at::Tensor& rows) { return OfPlanes(rows, form); });
}

}  // namespace retort::worker
