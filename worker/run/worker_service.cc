#include "worker/run/worker_service.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <torch/headeronly/version.h>

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "cluster/messages.h"
#include "cluster/worker_questions.h"
#include "worker/run/failure.h"
#include "worker/run/trial_runner.h"
#include "worker/sleep/socket_host.h"

namespace retort::worker {

namespace {

constexpr std::chrono::milliseconds kIdleSlice{60'000};

Status RunAttempt(cluster::SocketLink& link, storage::Env& env, const std::string& build, Devices& devices,
                  const cluster::Envelope& envelope) {
  SocketHost host(link, envelope.attempt, envelope.generation);
  const TrialOrder order{envelope.attempt, envelope.generation.value, std::get<cluster::Start>(envelope.message),
                         build};
  const auto open = [&devices](const std::string& name) { return devices.Open(name); };
  const auto meet = [&devices](const GangMembership& membership, const std::string& device) {
    return devices.Meet(membership, device);
  };
  const auto join = [&meet](const cluster::Start& start, Generation generation, TrialHost& trial_host) {
    return FormGangOn(meet, start, generation, trial_host);
  };
  const cluster::Ended ended = RunTrial(order, host, env, join, open);
  devices.Rest();
  return host.Send(ended);
}

}  // namespace

void PrepareTorch() {
  at::set_num_interop_threads(1);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  // Sums on GPUs in the full precision of their numbers, as on CPUs.
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  // Memory that is always written before it is read need not be filled first.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  // Activations of tens of megabytes come and go at every step: kept by the process, not returned and faulted in anew.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  ::mallopt(M_TOP_PAD, 64 << 20);
}

Status ServeAgent(cluster::SocketLink& link, storage::Env& env, const std::string& build, Devices& devices,
                  const std::optional<cluster::Envelope>& first) {
  RETORT_RETURN_IF_ERROR(link.Send({{}, {}, 0, cluster::Hello{build, "cpu", {"cpu"}}}));
  if (first) RETORT_RETURN_IF_ERROR(RunAttempt(link, env, build, devices, *first));
  for (;;) {
    Result<std::optional<cluster::Envelope>> received = link.Receive(kIdleSlice);
    if (!received.ok()) {
      if (received.status().code() == StatusCode::refused) continue;  // one frame that does not decode
      return received.status().code() == StatusCode::cancelled ? Status() : received.status();
    }
    // A stop, or an answer, that crossed the end of its attempt.
    if (!received->has_value() || !std::holds_alternative<cluster::Start>((*received)->message)) continue;
    RETORT_RETURN_IF_ERROR(RunAttempt(link, env, build, devices, **received));
  }
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSide = 512;
constexpr std::chrono::milliseconds kMeasured{300};

double FastestProduct() {
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
