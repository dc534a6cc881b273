#include <chrono>
#include <thread>

#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/known_costs.h"
#include "orchestrator/cli/open_results.h"
#include "orchestrator/cli/sweep_status.h"
#include "orchestrator/refuted_claims.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::chrono::seconds kRefresh{2};

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

int StatusCommand(const Invocation& call) {
  Result<ResultsView> view = OpenShownResults(call);
  if (!view.ok()) return call.console.Fail(view.status());
  const CostCache cache = OpenCosts(call);
  if (call.line.global.json) {
    const RootCharges root = ReadRoot(call.env, *view);
    call.console.Data(StatusAsJson(StatusOf(*view, KnownCosts(cache, &*view), UnixSeconds(), &root)));
    return 0;
  }
  const ConsoleOptions& options = call.console.options();
  std::vector<std::pair<std::string, int>> printed;
  while (true) {
    const RootCharges root = ReadRoot(call.env, *view);
    const SweepStatus status = StatusOf(*view, KnownCosts(cache, &*view), UnixSeconds(), &root);
    if (call.line.watch && options.live) call.console.Data("\x1b[H\x1b[2J");
    // Without a terminal to redraw, only what changed is worth saying again.
    if (options.live || status.counts != printed)
      call.console.Data(StatusAsText(status, UnixSeconds(), options.width));
    printed = status.counts;
    if (!call.line.watch || status.finished) return 0;
    std::this_thread::sleep_for(kRefresh);
    view = ReadResults(call.env, status.view->directory);
    if (!view.ok()) return call.console.Fail(view.status());
    WithdrawRefuted(call.env, *view);
  }
}

}  // namespace retort::orchestrator::cli
