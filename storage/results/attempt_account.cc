#include "storage/results/attempt_account.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "experiments/privacy/relation.h"

namespace retort::storage {
namespace {

using privacy::Claim;
using privacy::PrivacyEvent;

std::vector<PrivacyEvent> SumCharged(const std::vector<LedgerEntry>& recorded) {
  std::vector<PrivacyEvent> events;
  for (const LedgerEntry& entry : recorded) events.push_back(entry.Charged());
  return privacy::Aggregate(events);
}

const PrivacyEvent* FindSameMechanism(const std::vector<PrivacyEvent>& events, const PrivacyEvent& event) {
  const auto found =
      std::find_if(events.begin(), events.end(), [&](const PrivacyEvent& other) { return other.SameMechanism(event); });
  return found == events.end() ? nullptr : &*found;
}

// What `more` counts beyond `less`; all of it where a sum is not known.
std::vector<PrivacyEvent> FindExcess(const std::vector<PrivacyEvent>& more, const std::vector<PrivacyEvent>& less) {
  std::vector<PrivacyEvent> beyond;
  for (const PrivacyEvent& event : more) {
    const PrivacyEvent* known = FindSameMechanism(less, event);
    const std::int64_t counted = known == nullptr || known->count < 0 ? 0 : known->count;
    if (event.count >= 0 && event.count <= counted) continue;
    beyond.push_back(event);
    beyond.back().count = event.count < 0 ? privacy::kMaxDraws : event.count - counted;
  }
  return beyond;
}

std::int64_t CountDraws(const std::vector<PrivacyEvent>& events) {
  std::int64_t draws = 0;
  for (const PrivacyEvent& event : events)
    draws += std::min(event.count, std::numeric_limits<std::int64_t>::max() - draws);
  return draws;
}

bool FindAlikeFolders(const Claim& a, const Claim& b) {
  const auto paper = [](const Claim& claim) { return claim.status == privacy::ClaimStatus::paper_formula; };
  return a.adjacency == b.adjacency && a.neighbour == b.neighbour && paper(a) == paper(b);
}

// Order does not matter; everything else does.
bool SameClaims(const std::vector<Claim>& a, const std::vector<Claim>& b) {
  std::multiset<std::string> left, right;
  for (const Claim& claim : a) left.insert(privacy::EncodeClaim(claim));
  for (const Claim& claim : b) right.insert(privacy::EncodeClaim(claim));
  return left == right;
}

// The first of `claims` that `others` promise more than; an epsilon at another delta cannot be compared.
const Claim* FindFirstExceeded(const std::vector<Claim>& others, const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    const auto other = std::find_if(others.begin(), others.end(),
                                    [&](const Claim& candidate) { return FindAlikeFolders(candidate, claim); });
    if (other == others.end() || other->delta != claim.delta || !(other->epsilon >= claim.epsilon)) return &claim;
  }
  return nullptr;
}

// Claims that follow from a ledger that has lost draws promise too much.
bool MayTakeClaims(const AttemptFile& file, const TrialAccount& account) {
  return FindExcess(SumCharged(file.ledger), account.charged).empty();
}

std::string FormatClaimName(const Claim& claim) {
  return std::string(privacy::GetAdjacencyName(claim.adjacency)) + " (" +
         std::string(privacy::GetNeighbourName(claim.neighbour)) + ")";
}

}  // namespace

std::vector<PrivacyEvent> FindUncountedDraws(const std::vector<LedgerEntry>& recorded,
                                             const std::vector<PrivacyEvent>& charged) {
  return FindExcess(charged, SumCharged(recorded));
}

std::vector<PrivacyEvent> FindForgottenDraws(const std::vector<LedgerEntry>& recorded,
                                             const std::vector<PrivacyEvent>& charged) {
  return FindExcess(SumCharged(recorded), charged);
}

std::vector<LedgerEntry> MakeUncountedEntries(const std::vector<LedgerEntry>& recorded,
                                              const std::vector<PrivacyEvent>& charged, AttemptId attempt,
                                              std::uint64_t generation, const std::string& data_digest) {
  std::vector<LedgerEntry> entries;
  for (PrivacyEvent& event : FindUncountedDraws(recorded, charged))
    entries.push_back({kUncountedId, data_digest, attempt, generation, LedgerState::reserved, std::move(event), 0});
  return entries;
}

std::vector<std::string> DescribeAccountDamage(const AttemptFile& file, const TrialAccount& account) {
  std::vector<std::string> damage;
  const std::vector<PrivacyEvent> recorded = SumCharged(file.ledger);
  if (const std::vector<PrivacyEvent> lacking = FindExcess(account.charged, recorded); !lacking.empty())
    damage.push_back("counts " + std::to_string(CountDraws(lacking)) +
                     " draws of noise less than the ledger charges to its trial; retort repair --apply adds them");
  if (!MayTakeClaims(file, account)) {
    damage.emplace_back(
        "records more draws of noise than the ledger charges to its trial: the ledger has lost some, and what "
        "its row claims is too little; restore ledger.log and journal.log from a newer copy");
    return damage;
  }
  if (SameClaims(file.claims, account.claims)) return damage;
  if (const Claim* less = FindFirstExceeded(file.claims, account.claims); less != nullptr)
    damage.push_back("claims less than its row: " + FormatClaimName(*less) +
                     "; retort repair --apply puts the row's in its place");
  else
    damage.emplace_back("holds other claims than its row; retort repair --apply puts the row's in their place");
  return damage;
}

bool NeedsRecount(const AttemptFile& file, const TrialAccount& account) {
  const bool claims = MayTakeClaims(file, account) && !SameClaims(file.claims, account.claims);
  return claims || !FindUncountedDraws(file.ledger, account.charged).empty();
}

Status RecountAttemptFile(Env& env, const std::string& path, const TrialAccount& account) {
  RETORT_ASSIGN_OR_RETURN(AttemptFile file, ReadAttemptFile(path));
  const std::optional<TrialId> trial = TrialId::FromHex(file.trial);
  if (!trial) return DamageError("'" + path + "' names no trial.");
  for (LedgerEntry& entry :
       MakeUncountedEntries(file.ledger, account.charged, {*trial, file.attempt}, 0, account.data_digest))
    file.ledger.push_back(std::move(entry));
  if (MayTakeClaims(file, account)) file.claims = account.claims;
  return WriteAttemptFile(env, path, file);
}

}  // namespace retort::storage
