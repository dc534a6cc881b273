// Seconds of one piece of work: one for each line of its input, printed as it is done.
// usage: features_bench WORK THREADS, WORK: features (histograms of orientations of 2,000 grey images of 28 pixels),
// step (one step of DP-GD on 8,000 examples of 201 values and 10 classes, as many normal numbers included), propagation
// (labels of 300 of 1,000 images over a graph of 10 neighbours, the graph included)
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/zeros.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <utility>

#include "worker/distill/similarity_graph.h"
#include "worker/models/features/orientations.h"
#include "worker/release/dpsgd_step.h"
#include "worker/run/worker_service.h"
#include "worker/tensors/rng_streams.h"
#include "worker/training/per_sample_gradients.h"

namespace retort::worker {
namespace {

using Work = std::function<void()>;

Work Features() {
  const at::Tensor images = DrawNormalRows(2000, 28 * 28, RngStream(1)).view({2000, 1, 28, 28});
  return [images] { static_cast<void>(ComputeOrientationFeatures(images, {})); };
}

// The charge of a real release is durable; what is timed here is arithmetic.
Work Step() {
  const at::Tensor seen = DrawNormalRows(8000, 201, RngStream(2)) / std::sqrt(201.0);
  const at::Tensor labels = at::remainder(at::arange(8000, at::kLong), 10);
  at::Tensor weight = at::zeros({10, 201});
  std::uint64_t step = 0;
  release::DpSgdSettings settings;
  settings.norm_bound = 0.15;
  settings.coordinates = 2010;
  const auto mechanism = std::make_shared<release::DpSgdStep>(
      release::DpSgdStep::Create(settings, noise::NoiseKey::FromOperatingSystem()).value());
  return [=]() mutable {
    release::ClippedSum sum = mechanism->NewSum();
    const OuterGradients gradients = ComputeHeadGradients(weight, seen, labels);
    sum.AddOuter(gradients.left, gradients.right);
    const at::Tensor noisy = DrawNormalRows(1, 2010, RngStream(3).Lane(step++));
    weight.sub_(noisy.view({10, 201}), 1e-3);
  };
}

Work Propagation() {
  const at::Tensor features = DrawNormalRows(1000, 201, RngStream(4));
  at::Tensor labels = at::zeros({1000, 10});
  labels.narrow(0, 0, 300).copy_(DrawNormalRows(300, 10, RngStream(5)));
  return [=] { static_cast<void>(SimilarityGraph(features, 10).PropagateLabels(labels, 0.99)); };
}

int Serve(const Work& work) {
  const at::NoGradGuard no_grad;
  for (std::string line; std::getline(std::cin, line);) {
    const auto began = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("%.9f\n", took.count());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace retort::worker

int main(int argc, char** argv) {
  using namespace retort::worker;
  const std::string work = argc == 3 ? argv[1] : "";
  if (work != "features" && work != "step" && work != "propagation") {
    std::fprintf(stderr, "usage: features_bench features|step|propagation THREADS\n");
    return 2;
  }
  PrepareTorch();  // memory as a worker has it
  at::set_num_threads(std::stoi(argv[2]));
  return Serve(work == "features" ? Features() : work == "step" ? Step() : Propagation());
}
