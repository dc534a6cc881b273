// How long k-centre selection takes beside the same rule as somebody would write it with LibTorch's operators.
//   query_selection_bench [ROWS] [COUNT] [ROUNDS]
// Exit 3: it is slower.
#include "worker/distill/query_selection.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

double MeasureSeconds(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Each time the row whose least KL(p_row || p_chosen) is largest.
void SelectByOperators(const at::Tensor& log_p, std::int64_t count) {
  const at::Tensor p = log_p.exp();
  const at::Tensor own = (p * log_p).sum(1);
  at::Tensor least = at::full({log_p.size(0)}, 1e30, log_p.options());
  std::int64_t chosen = 0;
  for (std::int64_t i = 1; i < count; ++i) {
    least = at::minimum(least, own - at::mv(p, log_p[chosen]));
    chosen = least.argmax().item<std::int64_t>();
  }
}

int Run(std::int64_t rows, std::int64_t count, int rounds) {
  at::set_num_threads(1);
  const at::NoGradGuard no_grad;
  const at::Tensor log_p = at::log_softmax(DrawNormalRows(rows, 10, RngStream(1, Purpose::queries)), 1);
  double ours = 1e30, peer = 1e30;
  for (int round = 0; round < rounds; ++round) {
    ours = std::min(ours, MeasureSeconds([&] {
                      static_cast<void>(SelectKCentreQueries(log_p, count, RngStream(2, Purpose::queries)));
                    }));
    peer = std::min(peer, MeasureSeconds([&] { SelectByOperators(log_p, count); }));
  }
  std::printf("{\"rows\":%lld,\"count\":%lld,\"seconds\":%.3f,\"peer_seconds\":%.3f,\"ratio\":%.2f}\n",
              static_cast<long long>(rows), static_cast<long long>(count), ours, peer, peer / ours);
  return peer >= ours ? 0 : 3;
}

}  // namespace
}  // namespace retort::worker

int main(int argc, char** argv) {
  return retort::worker::Run(argc > 1 ? std::atol(argv[1]) : 40'000, argc > 2 ? std::atol(argv[2]) : 2'000,
                             argc > 3 ? std::atoi(argv[3]) : 3);
}
