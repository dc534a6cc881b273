#include "orchestrator/journal/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "orchestrator/reactor/reactor.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator {
namespace {

Status CheckLedger(storage::Env& env, const Core& core) {
  if (core.ledger_noted() == 0) return {};
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t held,
                          storage::CountReservations(env, GetLedgerPath(core.settings().results)));
  const std::string lost = DescribeLostLedger(core, held);
  return lost.empty() ? Status() : EnvironmentError(lost);
}

// Parses the id at the end of the name of a trial's folder.
std::optional<TrialId> ParseTrialId(const std::string& folder) {
  constexpr std::size_t kDigits = 16;
  if (folder.size() < kDigits) return std::nullopt;
  return TrialId::FromHex(folder.substr(folder.size() - kDigits));
}

Result<bool> HasAttempts(storage::Env& env, const std::string& folder) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(folder));
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const std::string attempt = folder + "/" + name;
    return name.starts_with("attempt-") &&
           (storage::MayExist(env, attempt + "/manifest.log") || storage::MayExist(env, attempt + "/attempt.h5"));
  });
}

}  // namespace

Result<std::vector<std::string>> ListTrialFolders(storage::Env& env, const std::string& results) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, results + "/trials"));
  return there ? env.List(results + "/trials") : std::vector<std::string>();
}

Result<std::string> DescribeLostTrials(storage::Env& env, const Core& core, const std::vector<std::string>& folders,
                                       const std::function<bool(TrialId)>& charged) {
  const std::string trials = core.settings().results + "/trials";
  std::size_t lost = 0;
  std::string first;
  for (const std::string& name : folders) {
    const std::optional<TrialId> id = ParseTrialId(name);
    if (!id || core.Find(*id) != nullptr || charged(*id)) continue;
    RETORT_ASSIGN_OR_RETURN(const bool attempts, HasAttempts(env, trials + "/" + name));
    if (attempts && ++lost == 1) first = trials + "/" + name;
  }
  if (lost == 0) return std::string();
  return fmt::format(
      "{}{} neither journal.log nor ledger.log knows: they were removed, or older copies put back, and what was drawn "
      "there is charged nowhere. Restore both from newer copies, or plan what they lost again; without, this sweep's "
      "data "
      "cost an unknown amount, and what else is drawn under a budget needs another folder (--results). A folder that "
      "is not "
      "of this sweep can be moved out of trials",
      first, lost == 1 ? " is of a trial that" : fmt::format(" and {} more are of trials that", lost - 1));
}

Status NoteLostTrials(storage::Env& env, Core& core) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> folders, ListTrialFolders(env, core.settings().results));
  RETORT_ASSIGN_OR_RETURN(
      core.ledger_lost, DescribeLostTrials(env, core, folders, [&core](TrialId id) { return core.charges.Knows(id); }));
  return {};
}

std::string DescribeLostLedger(const Core& core, std::uint64_t reservations) {
  if (reservations >= core.ledger_noted()) return "";
  return fmt::format(
      "{} holds {} of the {} reservations that journal.log knows of: what the others charged cannot be told "
      "any "
      "more. Restore the file from a copy; without one this sweep's data cost an unknown amount, and it can "
      "only "
      "be run anew in another folder (--results)",
      GetLedgerPath(core.settings().results), reservations, core.ledger_noted());
}

Result<Recovered> RecoverResults(storage::Env& env, const Settings& settings) {
  Core core(settings);
  RETORT_ASSIGN_OR_RETURN(Journal journal, Journal::Open(env, settings.results, core));
  RETORT_RETURN_IF_ERROR(CheckLedger(env, core));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<storage::PrivacyLedger> ledger,
                          storage::PrivacyLedger::Open(env, GetLedgerPath(settings.results)));
  core.charges.Load(ledger->entries());
  RETORT_RETURN_IF_ERROR(NoteLostTrials(env, core));
  return Recovered{std::move(core), std::move(journal), std::move(ledger)};
}

namespace {

// Notes in the journal how much the ledger holds, before a worker draws what was reserved last.
Status NoteLedger(Recovered& recovered, Outbox& outbox) {
  const std::uint64_t reservations = recovered.ledger->entries().size();
  if (reservations <= recovered.core.ledger_noted()) return {};
  const JournalEvent noted{recovered.core.newest_event(), LedgerNoted{reservations}};
  RETORT_RETURN_IF_ERROR(recovered.core.Apply(noted));
  outbox.journal.push_back(noted);
  return {};
}

}  // namespace

Status CommitJournal(Recovered& recovered, Outbox& outbox) {
  const auto first = outbox.journal.begin() + static_cast<std::ptrdiff_t>(outbox.journaled);
  RETORT_RETURN_IF_ERROR(recovered.journal.Commit({first, outbox.journal.end()}));
  outbox.journaled = outbox.journal.size();
  return {};
}

Status CommitOutbox(Recovered& recovered, Outbox& outbox) {
  for (const auto& request : outbox.ledger) {
    if (const auto* settle = std::get_if<LedgerSettle>(&request)) {
      RETORT_RETURN_IF_ERROR(recovered.ledger->Settle(settle->entry, settle->used));
      continue;
    }
    const auto& reserve = std::get<LedgerReserve>(request);
    RETORT_ASSIGN_OR_RETURN(
        const std::uint64_t entry,
        recovered.ledger->Reserve(reserve.data_digest, reserve.attempt, reserve.generation.value, reserve.event));
    OnLedgerReserved(recovered.core, reserve, entry, outbox);
  }
  RETORT_RETURN_IF_ERROR(NoteLedger(recovered, outbox));
  return CommitJournal(recovered, outbox);
}

}  // namespace retort::orchestrator
