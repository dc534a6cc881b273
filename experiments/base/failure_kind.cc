#include "experiments/base/failure_kind.h"

#include <array>

namespace retort {
namespace {

struct Row {
  FailureKind kind;
  std::string_view name;
  RetryRule rule;
};

// A process that was killed or lost is retried often. A failure that the configuration or the data cause repeats
// itself, and is not retried.
constexpr int kManyAttempts = 20;
constexpr std::array<Row, 18> kRows = {{
    {FailureKind::none, "none", {1, 0.0}},
    {FailureKind::worker_crash, "worker_crash", {3, 0.5}},
    {FailureKind::worker_hang, "worker_hang", {3, 1.0}},
    {FailureKind::out_of_memory, "out_of_memory", {2, 1.0}},
    {FailureKind::not_finite, "not_finite", {1, 0.0}},
    {FailureKind::bad_message, "bad_message", {2, 0.5}},
    {FailureKind::disk, "disk", {2, 5.0}},
    {FailureKind::data, "data", {1, 0.0}},
    {FailureKind::agent_lost, "agent_lost", {kManyAttempts, 0.1}},
    {FailureKind::budget_refused, "budget_refused", {1, 0.0}},
    {FailureKind::configuration, "configuration", {1, 0.0}},
    {FailureKind::spawn, "spawn", {3, 1.0}},
    {FailureKind::stopped, "stopped", {1'000'000, 0.0}},
    {FailureKind::internal, "internal", {2, 0.5}},
    {FailureKind::gang_broken, "gang_broken", {kManyAttempts, 0.1}},
    {FailureKind::device, "device", {3, 1.0}},
    {FailureKind::worker_killed, "worker_killed", {kManyAttempts, 0.1}},
    {FailureKind::crowded, "crowded", {kManyAttempts, 0.1}},
}};

}  // namespace

RetryRule FindRetryRule(FailureKind kind) {
  for (const Row& row : kRows)
    if (row.kind == kind) return row.rule;
  return {1, 0.0};
}

bool IsAmbiguousFailure(FailureKind kind) {
  switch (kind) {
    case FailureKind::worker_crash:
    case FailureKind::worker_hang:
    case FailureKind::out_of_memory:
    case FailureKind::bad_message:
    case FailureKind::spawn:
    case FailureKind::internal:
    case FailureKind::device:
      return true;
    default:
      return false;
  }
}

bool IsExternalFailure(FailureKind kind) { return FindRetryRule(kind).max_attempts == kManyAttempts; }

std::string_view GetFailureName(FailureKind kind) {
  for (const Row& row : kRows)
    if (row.kind == kind) return row.name;
  return "unknown";
}

std::vector<std::string> ListFailureNames() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

std::optional<FailureKind> ParseFailureName(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

}  // namespace retort
