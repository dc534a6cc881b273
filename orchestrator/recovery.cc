#include "orchestrator/recovery.h"

#include <fmt/format.h>

#include <utility>

namespace retort::orchestrator {
namespace {

Status CheckLedger(storage::Env& env, const Core& core) {
  if (core.ledger_noted() == 0) return {};
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t held,
                          storage::CountReservations(env, LedgerPath(core.settings().results)));
  const std::string lost = LostLedgerText(core, held);
  return lost.empty() ? Status() : EnvironmentError(lost);
}

}  // namespace

std::string LostLedgerText(const Core& core, std::uint64_t reservations) {
  if (reservations >= core.ledger_noted()) return "";
  return fmt::format(
      "{} holds {} of the {} reservations that journal.log knows of: what the others charged cannot be told "
      "any "
      "more. Restore the file from a copy; without one this sweep's data cost an unknown amount, and it can "
      "only "
      "be run anew in another folder (--results)",
      LedgerPath(core.settings().results), reservations, core.ledger_noted());
}

Result<Recovered> RecoverResults(storage::Env& env, const Settings& settings) {
  Core core(settings);
  RETORT_ASSIGN_OR_RETURN(Journal journal, Journal::Open(env, settings.results, core));
  RETORT_RETURN_IF_ERROR(CheckLedger(env, core));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<storage::PrivacyLedger> ledger,
                          storage::PrivacyLedger::Open(env, LedgerPath(settings.results)));
  core.charges.Load(ledger->entries());
  return Recovered{std::move(core), std::move(journal), std::move(ledger)};
}

}  // namespace retort::orchestrator
