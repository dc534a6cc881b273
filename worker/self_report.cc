#include "worker/self_report.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "cluster/answer.h"
#include "cluster/envelope.h"
#include "worker/failure.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kSide = 512;
constexpr std::chrono::milliseconds kMeasured{300};

double FastestProduct() {
  using Clock = std::chrono::steady_clock;
  const at::NoGradGuard no_grad;
  const at::Tensor left = at::ones({kSide, kSide}), right = at::ones({kSide, kSide});
  double fastest = 0;
  const auto until = Clock::now() + kMeasured;
  while (Clock::now() < until) {
    const auto begin = Clock::now();
    const at::Tensor product = at::mm(left, right);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    fastest = std::max(fastest, 2.0 * kSide * kSide * kSide / std::max(seconds, 1e-9));
  }
  return fastest;
}

}  // namespace

Result<cluster::WorkerReport> ReportSelf(const std::string& build, int threads) {
  cluster::WorkerReport report;
  report.build = build;
  report.envelope = cluster::kEnvelopeVersion;
  report.torch = TORCH_VERSION;
  report.threads = threads;
  const std::optional<Failure> failure = CatchTorch([&]() -> std::optional<Failure> {
    at::set_num_threads(threads);
    report.capability = at::get_cpu_capability();
    report.gflops = FastestProduct() / 1e9;
    return std::nullopt;
  });
  if (failure) return EnvironmentError("LibTorch " + report.torch + " cannot multiply: " + failure->detail);
  return report;
}

Status ServeReport(cluster::SocketLink& link, const std::string& build, const std::string& threads) {
  int count = 0;
  const auto [end, error] = std::from_chars(threads.data(), threads.data() + threads.size(), count);
  if (error != std::errc() || end != threads.data() + threads.size() || count < 1 || count > 1024)
    return cluster::SendAnswer(link, UsageError("`" + threads + "` is no number of threads from 1 to 1024"));
  const Result<cluster::WorkerReport> report = ReportSelf(build, count);
  if (!report.ok()) return cluster::SendAnswer(link, report.status());
  return cluster::SendAnswer(link, cluster::EncodeWorkerReport(*report));
}

}  // namespace retort::worker
