// Seconds of one forward pass in evaluation: one for each line of its input, printed as it is done.
// usage: forward_bench NETWORK CHANNELS SIDE ROWS CLASSES THREADS
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linspace.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "worker/models/model_registry.h"
#include "worker/run/worker_service.h"

namespace retort::worker {
namespace {

int Serve(const std::string& name, ImageShape shape, std::int64_t rows, std::int64_t classes) {
  const auto network = MakeNetwork(name, shape, classes, RngStream(1, Purpose::parameters));
  if (!network.ok()) {
    std::fprintf(stderr, "forward_bench: %s\n", network.status().message().c_str());
    return 2;
  }
  const at::NoGradGuard no_grad;
  const at::Tensor images = at::linspace(-1, 1, rows * shape.size(), at::kFloat)
                                .sin()
                                .view({rows, shape.channels, shape.height, shape.width});
  for (std::string line; std::getline(std::cin, line);) {
    const auto began = std::chrono::steady_clock::now();
    static_cast<void>((*network)->Forward(images).logits);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("%.9f\n", took.count());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace retort::worker

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: forward_bench NETWORK CHANNELS SIDE ROWS CLASSES THREADS\n");
    return 2;
  }
  const std::int64_t side = std::stoll(argv[3]);
  retort::worker::PrepareTorch();  // memory as a worker has it
  at::set_num_threads(std::stoi(argv[6]));
  return retort::worker::Serve(argv[1], {std::stoll(argv[2]), side, side}, std::stoll(argv[4]), std::stoll(argv[5]));
}
