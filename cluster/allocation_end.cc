#include "cluster/allocation_end.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

#include "cluster/launch_environment.h"

namespace retort::cluster {
namespace {

constexpr const char* kOwn = "RETORT_END_TIME";
constexpr const char* kSlurm = "SLURM_JOB_END_TIME";
// Slurm's INFINITE and NO_VAL: a job without a limit.
constexpr std::int64_t kSlurmNoTime = std::numeric_limits<std::uint32_t>::max() - 1;

std::optional<std::int64_t> Seconds(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

}  // namespace

Result<std::optional<AllocationEnd>> FindAllocationEnd(const std::vector<std::string>& environment) {
  const std::optional<std::string> own = FindVariable(environment, kOwn);
  if (own && !own->empty()) {
    const std::optional<std::int64_t> seconds = Seconds(*own);
    if (!seconds)
      return UsageError(
          std::string(kOwn) + "=" + *own +
          " is no time: give Unix seconds, as `date -d '+1 hour' +%s` prints them, or unset it.");
    return std::optional(AllocationEnd{static_cast<double>(*seconds), kOwn});
  }
  const std::optional<std::int64_t> slurm = Seconds(FindVariable(environment, kSlurm).value_or(""));
  if (!slurm || *slurm >= kSlurmNoTime) return std::optional<AllocationEnd>();
  return std::optional(AllocationEnd{static_cast<double>(*slurm), kSlurm});
}

double WorkSeconds(const AllocationEnd& end, double now, double grace_seconds) {
  return end.unix_seconds - now - grace_seconds - kClosingSeconds;
}

}  // namespace retort::cluster
