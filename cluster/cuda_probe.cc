#include "cluster/cuda_probe.h"

#include <optional>
#include <variant>

#include "cluster/envelope.h"
#include "cluster/worker_process.h"

namespace retort::cluster {
namespace {

constexpr const char* kNone = "none";

}  // namespace

Hello CudaAnswer(const std::string& build, const Result<int>& usable) {
  if (!usable.ok()) return {build, kNone, {usable.status().message()}};
  Hello hello{build, "cuda", {}};
  for (int ordinal = 0; ordinal < *usable; ++ordinal)
    hello.capabilities.push_back("cuda:" + std::to_string(ordinal));
  return hello;
}

Result<int> CountUsableCuda(const std::string& program, const std::vector<std::string>& environment,
                            std::chrono::milliseconds deadline) {
  RETORT_ASSIGN_OR_RETURN(WorkerProcess worker,
                          WorkerProcess::Spawn({program, {kProbeCuda}, environment, ""}));
  const Result<std::optional<Envelope>> received = worker.link().Receive(deadline);
  if (!received.ok()) return EnvironmentError("The worker program ended when it looked for CUDA devices.");
  if (!received->has_value())
    return EnvironmentError("The worker program did not answer whether it has CUDA devices.");
  const Hello* hello = std::get_if<Hello>(&(*received)->message);
  if (hello == nullptr) return EnvironmentError("The worker program answered something else.");
  if (hello->device == "cuda" && !hello->capabilities.empty())
    return static_cast<int>(hello->capabilities.size());
  return EnvironmentError(hello->capabilities.empty() ? "No GPU support." : hello->capabilities.front());
}

}  // namespace retort::cluster
