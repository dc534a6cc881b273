#include "worker/worker_service.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <malloc.h>

#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "worker/socket_host.h"
#include "worker/trial_runner.h"

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
    return FormGangBy(meet, start, generation, trial_host);
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
      if (received.status().code() == StatusCode::refused) continue;   // one frame that does not decode
      return received.status().code() == StatusCode::cancelled ? Status() : received.status();
    }
    // A stop, or an answer, that crossed the end of its attempt.
    if (!received->has_value() || !std::holds_alternative<cluster::Start>((*received)->message)) continue;
    RETORT_RETURN_IF_ERROR(RunAttempt(link, env, build, devices, **received));
  }
}

}  // namespace retort::worker
