#include "worker/models/onnx/feature_graphs.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "worker/models/features/patches.h"
#include "worker/models/features/scattering.h"

namespace retort::worker::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

std::string AddNormalisedRows(GraphBuilder& graph, const std::string& rows, double norm) {
  const std::string squares = graph.Add("ReduceSumSquare", {rows}, {{"axes", Integers{1}}, {"keepdims", 1}});
  const std::string norms = graph.Add("Sqrt", {graph.AtLeast(squares, kMinSquare)});
  return graph.Add("Mul", {rows, graph.Add("Div", {graph.AddNumber(norm), norms})});
}

std::string AddFlattened(GraphBuilder& graph, const std::string& x) { return graph.Add("Flatten", {x}, {{"axis", 1}}); }

// ComputeOpponentColours, where there are three; else the images.
std::string AddPlanes(GraphBuilder& graph, const std::string& images, ImageShape shape) {
  if (shape.channels != 3) return images;
  const std::string r = graph.Slice(images, 1, 0, 1), g = graph.Slice(images, 1, 1, 2),
                    b = graph.Slice(images, 1, 2, 3);
  const std::string both = graph.Add("Add", {r, g});
  return graph.Add("Concat",
                   {graph.Scale(graph.Add("Sub", {r, g}), 1 / std::sqrt(2.0)),
                    graph.Scale(graph.Add("Sub", {both, graph.Scale(b, 2)}), 1 / std::sqrt(6.0)),
                    graph.Scale(graph.Add("Add", {both, b}), 1 / std::sqrt(3.0))},
                   {{"axis", 1}});
}

// atan2(y, x), from the angle in the first eighth of the circle: no operator has it.
std::string AddAngle(GraphBuilder& graph, const std::string& y, const std::string& x) {
  constexpr double kPi = std::numbers::pi, kTiny = std::numeric_limits<float>::min();
  const std::string up = graph.Add("Abs", {y}), side = graph.Add("Abs", {x});
  const std::string longer = graph.AtLeast(graph.Add("Max", {up, side}), kTiny);
  const std::string first = graph.Add("Atan", {graph.Add("Div", {graph.Add("Min", {up, side}), longer})});
  const std::string steep = graph.Add("Greater", {up, side});
  const std::string quarter = graph.Add("Where", {steep, graph.Add("Sub", {graph.AddNumber(kPi / 2), first}), first});
  const std::string half = graph.Add("Where", {graph.Add("Less", {x, graph.AddNumber(0)}),
                                               graph.Add("Sub", {graph.AddNumber(kPi), quarter}), quarter});
  return graph.Add("Where", {graph.Add("Less", {y, graph.AddNumber(0)}), graph.Add("Neg", {half}), half});
}

// f32 [to, from]: the share of each pixel in each mean of PoolTo along one side.
at::Tensor PoolingWeights(std::int64_t from, std::int64_t to) {
  at::Tensor weights = at::zeros({to, from}, at::kFloat);
  auto* weight = weights.mutable_data_ptr<float>();
  for (std::int64_t k = 0; k < to; ++k) {
    const std::int64_t first = k * from / to, past = ((k + 1) * from + to - 1) / to;
    for (std::int64_t i = first; i < past; ++i) weight[k * from + i] = 1 / static_cast<float>(past - first);
  }
  return weights;
}

std::string AddProductBefore(GraphBuilder& graph, const at::Tensor& rows, const std::string& x) {
  return graph.Add("MatMul", {graph.AddTensor(rows), x});
}

std::string AddProductBehind(GraphBuilder& graph, const std::string& x, const at::Tensor& columns) {
  return graph.Add("MatMul", {x, graph.AddTensor(columns)});
}

std::string AddQuarters(GraphBuilder& graph, const std::string& images, ImageShape shape, const PatchForm& form) {
  const auto patch_mean = [&](const std::string& x) {
    const std::string mean = graph.Add("ReduceMean", {x}, {{"axes", Integers{1}}, {"keepdims", 1}});
    return graph.Add("AveragePool", {mean}, {{"kernel_shape", Integers(2, form.extent)}, {"strides", Integers{1, 1}}});
  };
  const std::string mean = patch_mean(images), square = patch_mean(graph.Add("Mul", {images, images}));
  const std::string variance = graph.AtLeast(graph.Add("Sub", {square, graph.Add("Mul", {mean, mean})}), 0);
  const std::string deviation = graph.Add("Sqrt", {graph.Add("Add", {variance, graph.AddNumber(kPatchFloor)})});
  const std::string met = graph.Add("Conv", {images, form.filters}, {{"kernel_shape", Integers(2, form.extent)}});
  const std::string seen =
      graph.Add("Sub", {graph.Add("Div", {met, deviation}), graph.Reshape(form.offset, {1, form.count, 1, 1})});
  const std::string beyond = graph.Add("Shrink", {seen}, {{"lambd", form.threshold}, {"bias", form.threshold}});
  const ImageShape places = {form.count, shape.height - form.extent + 1, shape.width - form.extent + 1};
  const std::string sum = AddPoolTo(graph, graph.Add("Abs", {beyond}), places, 2, 2);
  const std::string difference = AddPoolTo(graph, beyond, places, 2, 2);
  const std::string sides =
      graph.Add("Concat", {graph.Add("Add", {sum, difference}), graph.Add("Sub", {sum, difference})}, {{"axis", 1}});
  return graph.Scale(AddFlattened(graph, sides), 0.5);
}

// Of planes [..., height, width].
struct Complex {
  std::string real, imaginary;
};

// f32 [samples, samples]: what the transform of so many samples multiplies them by. Both are symmetric.
struct Waves {
  at::Tensor cosine, sine;
};
Waves MakeWaves(std::int64_t samples) {
  const at::Tensor places = at::arange(samples, at::kLong);
  const at::Tensor turns = at::outer(places, places).remainder(samples).to(at::kDouble);
  const at::Tensor angle = turns * (2 * std::numbers::pi / static_cast<double>(samples));
  return {at::cos(angle).to(at::kFloat), at::sin(angle).to(at::kFloat)};
}

Complex AddTransform(GraphBuilder& graph, const std::string& planes, std::int64_t height, std::int64_t width) {
  const Waves across = MakeWaves(width), down = MakeWaves(height);
  const std::string even = AddProductBehind(graph, planes, across.cosine),
                    odd = AddProductBehind(graph, planes, across.sine);
  // (cos - i sin) (even - i odd)
  return {graph.Add("Sub", {AddProductBefore(graph, down.cosine, even), AddProductBefore(graph, down.sine, odd)}),
          graph.Add("Neg", {graph.Add("Add", {AddProductBefore(graph, down.cosine, odd),
                                              AddProductBefore(graph, down.sine, even)})})};
}

// |the inverse transform| * factor.
std::string AddModulus(GraphBuilder& graph, const Complex& transform, std::int64_t height, std::int64_t width,
                       double factor = 1) {
  const Waves across = MakeWaves(width), down = MakeWaves(height);
  const auto turned = [&](const std::string& x, const std::string& y, const char* op) {
    return graph.Add(op, {AddProductBehind(graph, x, across.cosine), AddProductBehind(graph, y, across.sine)});
  };
  const std::string real = turned(transform.real, transform.imaginary, "Sub"),
                    imaginary = turned(transform.imaginary, transform.real, "Add");
  const auto finished = [&](const std::string& x, const std::string& y, const char* op) {
    return graph.Add(op, {AddProductBefore(graph, down.cosine, x), AddProductBefore(graph, down.sine, y)});
  };
  const std::string a = finished(real, imaginary, "Sub"), b = finished(imaginary, real, "Add");
  const std::string square = graph.Add("Add", {graph.Add("Mul", {a, a}), graph.Add("Mul", {b, b})});
  return graph.Scale(graph.Add("Sqrt", {square}), factor / static_cast<double>(height * width));
}

Complex AddFiltered(GraphBuilder& graph, const Complex& transform, const std::string& wavelets) {
  return {graph.Add("Mul", {transform.real, wavelets}), graph.Add("Mul", {transform.imaginary, wavelets})};
}

// Of [rows, ..., height, width] with `planes` extents between: what HalvedModulus of scattering.cc says.
std::string AddHalvedModulus(GraphBuilder& graph, const Complex& filtered, const Shape& planes, std::int64_t height,
                             std::int64_t width) {
  Shape quarters = {0};
  quarters.insert(quarters.end(), planes.begin(), planes.end());
  for (const std::int64_t side : {height, width}) quarters.insert(quarters.end(), {2, side / 2});
  const std::int64_t rank = std::ssize(quarters);
  const auto sum = [&](const std::string& x) {
    return graph.Add("ReduceSum", {graph.Reshape(x, quarters), graph.AddIntegers({rank - 4, rank - 2})},
                     {{"keepdims", 0}});
  };
  return AddModulus(graph, {sum(filtered.real), sum(filtered.imaginary)}, height / 2, width / 2, 0.25);
}

}  // namespace

std::string AddPoolTo(GraphBuilder& graph, const std::string& planes, ImageShape shape, std::int64_t height,
                      std::int64_t width) {
  if (shape.height % height == 0 && shape.width % width == 0) {
    const Integers windows = {shape.height / height, shape.width / width};
    return graph.Add("AveragePool", {planes}, {{"kernel_shape", windows}, {"strides", windows}});
  }
  const std::string across = AddProductBehind(graph, planes, PoolingWeights(shape.width, width).t());
  return AddProductBefore(graph, PoolingWeights(shape.height, height), across);
}

std::string AddOrientations(GraphBuilder& graph, const std::string& images, ImageShape shape,
                            const OrientationForm& form) {
  const std::string wide = graph.Pad(AddPlanes(graph, images, shape), {0, 0, 1, 1, 0, 0, 1, 1}, "edge");
  const std::string middle = graph.Slice(wide, 2, 1, shape.height + 1),
                    column = graph.Slice(wide, 3, 1, shape.width + 1);
  const auto gradient = [&](const std::string& x, std::int64_t axis, std::int64_t size) {
    return graph.Scale(graph.Add("Sub", {graph.Slice(x, axis, 2, size + 2), graph.Slice(x, axis, 0, size)}), 0.5);
  };
  const std::string x = gradient(middle, 3, shape.width), y = gradient(column, 2, shape.height);
  const std::string square = graph.Add("Add", {graph.Add("Mul", {x, x}), graph.Add("Mul", {y, y})});
  const Shape by_bin = {0, shape.channels, 1, shape.height, shape.width};
  const std::string size = graph.Reshape(graph.Add("Sqrt", {graph.AtLeast(square, kMinSquare)}), by_bin);
  const auto bins = static_cast<double>(form.bins);
  const std::string angle = graph.Reshape(graph.Scale(AddAngle(graph, y, x), bins / (2 * std::numbers::pi)), by_bin);
  const at::Tensor bin = at::arange(form.bins, at::kFloat).view({1, 1, form.bins, 1, 1});
  const std::string away = graph.Add("Sub", {angle, graph.AddTensor(bin)});
  const std::string turns = graph.Add("Round", {graph.Scale(away, 1 / bins)});
  const std::string apart = graph.Add("Abs", {graph.Add("Sub", {away, graph.Scale(turns, bins)})});
  const std::string share = graph.Add("Relu", {graph.Add("Sub", {graph.AddNumber(1), apart})});
  const std::string across =
      AddProductBehind(graph, graph.Add("Mul", {share, size}), ComputeWindowWeights(shape.width, form));
  const std::string down = AddProductBefore(graph, ComputeWindowWeights(shape.height, form).t(), across);
  const std::string held = graph.Add("Sqrt", {graph.AtLeast(AddFlattened(graph, down), kMinSquare)});
  return AddNormalisedRows(graph, held, form.norm);
}

std::string AddPatches(GraphBuilder& graph, const std::string& images, ImageShape shape, const PatchForm& form) {
  std::string found = AddQuarters(graph, images, shape, form);
  if (shape.channels == 3) {
    const std::string mirrored = graph.Slice(images, 3, -1, std::numeric_limits<std::int64_t>::min(), -1);
    found = graph.Scale(graph.Add("Add", {found, AddQuarters(graph, mirrored, shape, form)}), 0.5);
  }
  return AddNormalisedRows(graph, found, 1);
}

std::string AddScattering(GraphBuilder& graph, const std::string& images, ImageShape shape, std::int64_t orientations) {
  constexpr std::int64_t kBorder = kScatteringBorder, kStride = kScatteringStride;
  const std::int64_t channels = shape.channels, odd_height = shape.height % 2, odd_width = shape.width % 2,
                     height = shape.height + odd_height + 2 * kBorder, width = shape.width + odd_width + 2 * kBorder;
  const std::string wide = graph.Pad(AddPlanes(graph, images, shape),
                                     {0, 0, kBorder, kBorder, 0, 0, kBorder + odd_height, kBorder + odd_width}, "edge");
  const std::int64_t down = (shape.height + kStride - 1) / kStride, across = (shape.width + kStride - 1) / kStride;
  // The means of `planes` planes a channel, whose samples are `apart` pixels from one another, at the places.
  const auto averaged = [&](const std::string& maps, std::int64_t planes, std::int64_t apart) {
    const std::string rows = graph.Reshape(maps, {0, channels, planes, height / apart, width / apart});
    const std::string columns =
        AddProductBehind(graph, rows, ComputeScatteringAverages(across, width / apart, apart, at::kCPU).t());
    return AddProductBefore(graph, ComputeScatteringAverages(down, height / apart, apart, at::kCPU), columns);
  };
  const std::string fine = graph.AddTensor(MakeScatteringWavelets({height, width}, 0, orientations, at::kCPU)),
                    coarse = graph.AddTensor(MakeScatteringWavelets({height, width}, 1, orientations, at::kCPU));
  const auto by_wavelet = [&](const Complex& x, const Shape& planes) {
    return Complex{graph.Reshape(x.real, planes), graph.Reshape(x.imaginary, planes)};
  };
  const Complex transform = by_wavelet(AddTransform(graph, wide, height, width), {0, channels, 1, height, width});
  const std::string first = AddModulus(graph, AddFiltered(graph, transform, fine), height, width);
  const std::string second =
      AddHalvedModulus(graph, AddFiltered(graph, transform, coarse), {channels, orientations}, height, width);
  const Complex again =
      by_wavelet(AddTransform(graph, first, height, width), {0, channels, orientations, 1, height, width});
  const std::string both =
      AddHalvedModulus(graph, AddFiltered(graph, again, coarse), {channels, orientations, orientations}, height, width);
  const std::string all = graph.Add("Concat",
                                    {averaged(wide, 1, 1), averaged(first, orientations, 1),
                                     averaged(second, orientations, 2), averaged(both, orientations * orientations, 2)},
                                    {{"axis", 2}});
  return AddNormalisedRows(graph, AddFlattened(graph, all), 1);
}

std::string AddWhitening(GraphBuilder& graph, const std::string& rows, const std::string& mean,
                         const std::string& components, double constant) {
  const std::string centred = AddNormalisedRows(graph, graph.Add("Sub", {rows, mean}), 1);
  const std::string along = graph.Add("Gemm", {centred, components}, {{"transB", 1}});
  return graph.Pad(AddNormalisedRows(graph, along, 1), {0, 0, 0, 1}, "constant", constant);
}

}  // namespace retort::worker::onnx
