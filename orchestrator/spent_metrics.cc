#include "orchestrator/spent_metrics.h"

#include <string_view>
#include <utility>

#include "monitoring/exporter.h"
#include "orchestrator/journal.h"
#include "orchestrator/live_spending.h"
#include "orchestrator/recovery.h"
#include "orchestrator/run_metrics.h"
#include "orchestrator/surroundings.h"
#include "storage/presence.h"
#include "storage/privacy_ledger.h"

namespace retort::orchestrator {
namespace {

using monitoring::Metric;

// A sample of one of the families that tell what is spent, or a comment on it.
bool TellsSpending(std::string_view line) {
  for (const std::string_view comment : {"# HELP ", "# TYPE "})
    if (line.starts_with(comment)) line.remove_prefix(comment.size());
  const std::string_view name = line.substr(0, line.find_first_of("{ "));
  for (const Metric metric : {Metric::epsilon_spent, Metric::epsilon_delta, Metric::epsilon_budget})
    if (name == monitoring::FamilyOf(metric).name) return true;
  return false;
}

// Those lines of a page that do, or that do not.
std::string LinesOf(std::string_view page, bool spending) {
  std::string lines;
  while (!page.empty()) {
    const std::size_t end = page.find('\n');
    const std::size_t size = end == std::string_view::npos ? page.size() : end + 1;
    if (TellsSpending(page.substr(0, size)) == spending) lines += page.substr(0, size);
    page.remove_prefix(size);
  }
  return lines;
}

}  // namespace

Status RepublishSpending(storage::Env& env, const Core& core) {
  const std::string path = core.settings().results + "/metrics.prom";
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::IsThere(env, path));
  if (!there) return {};
  RETORT_ASSIGN_OR_RETURN(const std::string page, env.ReadFile(path));
  monitoring::MetricValues values;
  CollectSpending(SpendingOf(SpendingFactsOf(core)), values);
  return env.WriteFileAtomically(
      path, LinesOf(page, false) + LinesOf(monitoring::ExpositionText(values, core.sweep()), true));
}

Status RepublishLostSpending(storage::Env& env, const std::string& results) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::IsThere(env, JournalPath(results)));
  if (!there) return {};
  Core core(Settings{.results = results, .provenance_json = {}});
  RETORT_ASSIGN_OR_RETURN(const storage::LogContents contents,
                          storage::ReadRecordLog(env, JournalPath(results), storage::LogKind::journal));
  JournalCodec codec;
  RETORT_RETURN_IF_ERROR(ReplayJournal(contents, codec, core));
  const Result<std::vector<storage::LedgerEntry>> ledger = storage::ReadLedger(env, LedgerPath(results));
  core.ledger_lost = ledger.ok() ? LostLedgerText(core, ledger->size()) : ledger.status().message();
  if (core.ledger_lost.empty()) return {};
  if (ledger.ok()) core.charges.Load(*ledger);
  LearnSurroundings(env, core);
  return RepublishSpending(env, core);
}

}  // namespace retort::orchestrator
