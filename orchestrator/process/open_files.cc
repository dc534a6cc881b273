#include "orchestrator/process/open_files.h"

#include <sys/resource.h>

#include <algorithm>

namespace retort::orchestrator {
namespace {

constexpr int kMinConnections = 2;

std::optional<std::uint64_t> Number(rlim_t limit) {
  return limit == RLIM_INFINITY ? std::nullopt : std::optional<std::uint64_t>(limit);
}

}  // namespace

std::optional<std::uint64_t> GetHardOpenFileLimit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? Number(limit.rlim_max) : std::nullopt;
}

std::optional<std::uint64_t> RaiseOpenFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  return Number(::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur);
}

int ComputeMaxConnections(std::optional<std::uint64_t> open_files, std::uint64_t workers, int most) {
  if (!open_files) return most;
  const std::uint64_t needed = kFilesPerRun + workers * kFilesPerWorker;
  const std::uint64_t left = *open_files - std::min(*open_files, needed);
  return static_cast<int>(std::clamp<std::uint64_t>(left, kMinConnections, static_cast<std::uint64_t>(most)));
}

}  // namespace retort::orchestrator
