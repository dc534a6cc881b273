#include "orchestrator/cli/worst_claims.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "experiments/privacy/withdrawn_claim.h"

namespace retort::orchestrator::cli {
namespace {

using privacy::Claim;
using privacy::ClaimStatus;
using Trials = std::vector<std::vector<Claim>>;

bool IsGuarantee(const Claim& claim) {
  return claim.status == ClaimStatus::proven || claim.status == ClaimStatus::unbounded;
}

bool IsProven(const Claim& claim) {
  return claim.status == ClaimStatus::proven && std::isfinite(claim.epsilon);
}

bool SameRelation(const Claim& a, const Claim& b) {
  return a.adjacency == b.adjacency && a.neighbour == b.neighbour && a.delta == b.delta;
}

// The trial's smallest proven claim of the relation, of any accountant or of the one named.
std::optional<Claim> BestOf(const std::vector<Claim>& claims, const Claim& relation,
                            const std::string* accountant) {
  std::optional<Claim> best;
  for (const Claim& claim : claims) {
    if (!IsProven(claim) || !SameRelation(claim, relation)) continue;
    if (accountant != nullptr && claim.accountant != *accountant) continue;
    if (!best || claim.epsilon < best->epsilon) best = claim;
  }
  return best;
}

// The largest of the trials' best; nothing when one of them has none.
std::optional<Claim> WorstOf(const Trials& trials, const Claim& relation, const std::string* accountant) {
  std::optional<Claim> worst;
  for (const std::vector<Claim>& claims : trials) {
    const std::optional<Claim> best = BestOf(claims, relation, accountant);
    if (!best) return std::nullopt;
    if (!worst || best->epsilon > worst->epsilon) worst = best;
  }
  return worst;
}

Claim Unbounded(const Trials& trials, const Claim& relation) {
  for (const std::vector<Claim>& claims : trials) {
    if (BestOf(claims, relation, nullptr)) continue;
    for (const Claim& claim : claims)
      if (IsGuarantee(claim) && SameRelation(claim, relation)) return claim;
  }
  return privacy::Withdrawn(relation, "not every trial here has such a claim");
}

void AddGuarantees(const Trials& trials, const Claim& relation, std::vector<Claim>& worst) {
  const std::size_t before = worst.size();
  for (const std::vector<Claim>& claims : trials) {
    for (const Claim& claim : claims) {
      if (!IsProven(claim) || !SameRelation(claim, relation)) continue;
      const bool known = std::any_of(worst.begin() + static_cast<std::ptrdiff_t>(before), worst.end(),
                                     [&](const Claim& w) { return w.accountant == claim.accountant; });
      if (known) continue;
      if (const auto found = WorstOf(trials, relation, &claim.accountant)) worst.push_back(*found);
    }
  }
  if (worst.size() > before) return;
  const std::optional<Claim> best = WorstOf(trials, relation, nullptr);
  worst.push_back(best ? *best : Unbounded(trials, relation));
}

double Size(const Claim& claim) {
  return claim.status == ClaimStatus::audited ? claim.lower.value_or(0) : claim.epsilon;
}

void AddOther(const Claim& claim, std::vector<Claim>& worst) {
  const auto found = std::find_if(worst.begin(), worst.end(), [&](const Claim& w) {
    return w.status == claim.status && SameRelation(w, claim) && w.accountant == claim.accountant;
  });
  if (found == worst.end())
    worst.push_back(claim);
  else if (Size(claim) > Size(*found))
    *found = claim;
}

}  // namespace

std::vector<Claim> WorstClaims(const Trials& trials) {
  std::vector<Claim> worst;
  for (const std::vector<Claim>& claims : trials) {
    for (const Claim& claim : claims) {
      const bool known = std::any_of(worst.begin(), worst.end(), [&](const Claim& w) {
        return IsGuarantee(w) && SameRelation(w, claim);
      });
      if (!IsGuarantee(claim))
        AddOther(claim, worst);
      else if (!known)
        AddGuarantees(trials, claim, worst);
    }
  }
  return worst;
}

}  // namespace retort::orchestrator::cli
