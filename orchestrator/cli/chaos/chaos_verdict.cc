#include "orchestrator/cli/chaos/chaos_verdict.h"

#include <fmt/format.h>

#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/results/trial_names.h"
#include "storage/results/attempt_account.h"

namespace retort::orchestrator::cli {
namespace {

using privacy::PrivacyEvent;

std::int64_t Sum(const std::vector<PrivacyEvent>& events) {
  std::int64_t sum = 0;
  for (const PrivacyEvent& event : events) sum += event.count;
  return sum;
}

void Append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::string Difference(const storage::ResultRow& expected, const storage::ResultRow& found) {
  if (expected.state != found.state) return fmt::format("is {}, not {}", found.state, expected.state);
  for (std::size_t i = 0; i < expected.metrics.size() && i < found.metrics.size(); ++i)
    if (expected.metrics[i] != found.metrics[i])
      return fmt::format("{} is {}, not {}", found.metrics[i].first, found.metrics[i].second,
                         expected.metrics[i].second);
  if (expected.parameters_digest != found.parameters_digest) return "has other parameters";
  return "has another row digest";
}

// A worker numbers its reservations from 1, and the ledger grants them in that order. What a worker asked for
// and then lost its memory of may be in the ledger besides; what it remembers must be.
void CheckWitnesses(const ResultsView& view, const TrialView& trial, const std::vector<storage::LedgerEntry>& witnessed,
                    ChaosVerdict& verdict) {
  std::map<std::uint32_t, std::vector<const storage::LedgerEntry*>> granted;  // by attempt
  for (const storage::LedgerEntry& entry : view.ledger)
    if (entry.attempt.trial == trial.spec.id) granted[entry.attempt.number].push_back(&entry);
  for (const storage::LedgerEntry& entry : witnessed) {
    if (entry.id == storage::kUncountedId) continue;  // the ledger's own word
    const std::vector<const storage::LedgerEntry*>& list = granted[entry.attempt.number];
    const bool known = entry.id >= 1 && entry.id <= list.size();
    const std::int64_t reserved = known ? list[entry.id - 1]->event.count : 0;
    const std::int64_t charged = known ? list[entry.id - 1]->Charged().count : 0;
    const bool settled = entry.state == storage::LedgerState::settled;
    if (reserved >= entry.event.count && (!settled || charged >= entry.used)) continue;
    verdict.undercounted.push_back(
        fmt::format("{}: reservation {} of attempt {} was for {} draws{}; the ledger reserved {} and charges {}",
                    FormatTrialName(trial.spec), entry.id, entry.attempt.number, entry.event.count,
                    settled ? fmt::format(", {} made", entry.used) : "", reserved, charged));
  }
}

}  // namespace

void ChaosVerdict::Add(const ChaosVerdict& other) {
  rows += other.rows;
  equal += other.equal;
  charged += other.charged;
  drawn += other.drawn;
  Append(lost, other.lost);
  Append(different, other.different);
  Append(undercounted, other.undercounted);
  Append(damage, other.damage);
  Append(unexplained, other.unexplained);
}

bool ExplainsFailure(FailureKind failure, bool full_disk, int kills) {
  switch (failure) {
    case FailureKind::disk:
      return full_disk;
    case FailureKind::worker_killed:
    case FailureKind::agent_lost:
    case FailureKind::gang_broken:
      return kills >= FindRetryRule(failure).max_attempts;
    default:
      return false;
  }
}

ChaosVerdict Judge(const ResultsView& undisturbed, const ResultsView& disturbed, const WitnessedDraws& draws) {
  ChaosVerdict verdict;
  std::map<TrialId, const TrialView*> found;
  for (const TrialView& trial : disturbed.trials) found[trial.spec.id] = &trial;
  PrivacyCharges expected_charges, charges;
  expected_charges.Load(undisturbed.ledger);
  charges.Load(disturbed.ledger);
  for (const TrialView& expected : undisturbed.trials) {
    if (!expected.row) continue;
    ++verdict.rows;
    const auto other = found.find(expected.spec.id);
    if (other == found.end() || !other->second->row) {
      verdict.lost.push_back(FormatTrialName(expected.spec));
      continue;
    }
    const TrialView& trial = *other->second;
    if (trial.row->row_digest == expected.row->row_digest && trial.row->state == expected.row->state)
      ++verdict.equal;
    else
      verdict.different.push_back(FormatTrialName(trial.spec) + " " + Difference(*expected.row, *trial.row));
    if (trial.state != TrialState::succeeded) continue;
    // Undisturbed every reservation is settled: its ledger says what the result takes.
    const std::int64_t needed = Sum(expected_charges.CollectEvents(expected.spec.id));
    const std::int64_t charged = Sum(charges.CollectEvents(trial.spec.id));
    verdict.charged += charged;
    verdict.drawn += needed;
    if (charged < needed)
      verdict.undercounted.push_back(
          fmt::format("{}: drew {}, the ledger has {}", FormatTrialName(trial.spec), needed, charged));
    if (const auto witnessed = draws.find(trial.spec.id); witnessed != draws.end())
      CheckWitnesses(disturbed, trial, witnessed->second, verdict);
  }
  return verdict;
}

}  // namespace retort::orchestrator::cli
