#include "orchestrator/cli/run_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/allocation_end.h"
#include "cluster/launch_environment.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/version.h"
#include "orchestrator/system_clock.h"

namespace retort::orchestrator::cli {

RunOptions RunOptionsOf(const Invocation& call) {
  RunOptions options;
  options.environment = call.environment;
  options.version = VersionText();
  options.build_facts = BuildFacts();
  options.slots = std::max(call.line.slots, 1);
  options.metrics_listen = call.line.metrics_listen;
  options.metrics_auth = call.line.metrics_auth;
  options.metrics_tls = call.line.metrics_tls;
  if (call.line.share) options.shared_umask = call.umask;
  if (call.line.grace_seconds > 0) options.grace_seconds = call.line.grace_seconds;
  options.time_limit_seconds = call.line.time_limit_seconds;
  options.quiet = call.line.global.quiet;
  options.color = call.console.options().color_err;
  options.worker_program = cluster::FindVariable(call.environment, "RETORT_WORKER").value_or("");
  return options;
}

std::optional<int> KeepToAllocation(const Invocation& call, RunOptions& options) {
  const Result<std::optional<cluster::AllocationEnd>> found = cluster::FindAllocationEnd(options.environment);
  if (!found.ok()) return call.console.Fail(found.status());
  if (!found->has_value()) return std::nullopt;
  const cluster::AllocationEnd& end = **found;
  const double now = ReadClocks().unix_seconds;
  const double work = cluster::WorkSeconds(end, now, options.grace_seconds);
  const std::string ends = fmt::format("the allocation ends in {} ({})",
                                       DurationText(std::max(0.0, end.unix_seconds - now)), end.named_by);
  if (work <= 0) {
    call.console.Message(
        fmt::format("{}: too little to start anything; run the same command in a new one", ends));
    return ExitCode(StatusCode::cancelled);
  }
  call.console.Message(fmt::format("{}; work stops, saved, in {}", ends, DurationText(work)));
  const double limit = options.time_limit_seconds;
  options.time_limit_seconds = limit > 0 ? std::min(limit, work) : work;
  return std::nullopt;
}

}  // namespace retort::orchestrator::cli
