#include "experiments/privacy/image_claims.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/privacy/accountants/reasons.h"

namespace retort::privacy {
namespace {

constexpr std::string_view kLabelsAlone = "the method protects labels, and its pictures are not protected";

// Why nothing that holds for the student holds for the images; empty where something may.
std::string_view FindRawAccess(const TrialSpec& spec) {
  if (spec.generator.discriminator == Discriminator::teacher) return kVoidGeneratorTouchedTeacher;
  if (!spec.release.detach && FindReleaseKind(FindKind(spec)) == ReleaseKind::gradients) return kVoidTeacherJacobian;
  return {};
}

// An ε of these covers every private example that the images could show.
bool CoversExamples(const Claim& claim) {
  return claim.adjacency == Adjacency::example || claim.adjacency == Adjacency::member ||
         claim.adjacency == Adjacency::teacher;
}

bool IsProvenAndFinite(const Claim& claim) {
  return claim.status == ClaimStatus::proven && std::isfinite(claim.epsilon);
}

// Of the claims that cover examples the one with the least proven ε; null where there is none.
const Claim* FindBestClaim(const std::vector<Claim>& claims) {
  const Claim* best = nullptr;
  for (const Claim& claim : claims)
    if (CoversExamples(claim) && IsProvenAndFinite(claim) && (best == nullptr || claim.epsilon < best->epsilon))
      best = &claim;
  return best;
}

}  // namespace

std::vector<Claim> ComputeImageClaims(const TrialSpec& spec, const std::vector<Claim>& claims) {
  const ReleaseKind release = FindReleaseKind(FindKind(spec));
  const bool protects_labels = release == ReleaseKind::responses || release == ReleaseKind::labels;
  const std::string_view raw = FindRawAccess(spec);
  std::vector<Claim> held = claims;
  for (Claim& claim : held) {
    const bool formula = claim.status == ClaimStatus::paper_formula;
    if (!raw.empty())
      claim = WithdrawClaim(std::move(claim), std::string(raw));
    else if (claim.adjacency == Adjacency::label || (protects_labels && formula))
      claim = WithdrawClaim(std::move(claim), std::string(kLabelsAlone));
  }
  return held;
}

std::string WarnOfImages(const std::vector<Claim>& claims) {
  if (FindBestClaim(claims) != nullptr) return "";
  std::string text = "no ε is proven for these pictures";
  const auto unbounded = std::find_if(claims.begin(), claims.end(), [](const Claim& claim) {
    return CoversExamples(claim) && claim.status == ClaimStatus::unbounded && !claim.reason.empty();
  });
  if (unbounded != claims.end()) {
    text += ": " + std::string(DescribeReason(unbounded->reason));
    if (text.ends_with('.')) text.pop_back();
  }
  const auto formula = std::find_if(claims.begin(), claims.end(), [](const Claim& claim) {
    return claim.status == ClaimStatus::paper_formula && std::isfinite(claim.epsilon);
  });
  if (formula != claims.end())
    text += "; the paper's formula says ε = " + FormatEpsilon(formula->epsilon) + ", which is no guarantee";
  return text + ". Keep them as private as the examples that the teacher saw.";
}

std::string DescribeImages(const std::vector<Claim>& claims) {
  const Claim* best = FindBestClaim(claims);
  if (best == nullptr) return "";
  return "ε ≤ " + FormatEpsilon(best->epsilon) + " at δ = " + FormatShortNumber(best->delta) + " for " + best->units +
         " (" + std::string(GetNeighbourName(best->neighbour)) + ")";
}

}  // namespace retort::privacy
