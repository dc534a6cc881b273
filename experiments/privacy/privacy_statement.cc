#include "experiments/privacy/privacy_statement.h"

#include <cmath>

#include "experiments/privacy/number_text.h"
#include "experiments/privacy/reasons.h"

namespace retort::privacy {
namespace {

// Above this, an observer who sees the release can name the right neighbour almost always.
constexpr double kNoProtection = 50;

bool Unbounded(const Claim& claim) {
  return claim.status == ClaimStatus::unbounded || !std::isfinite(claim.epsilon);
}

std::string Where(const Claim& claim) {
  return std::string(AdjacencyName(claim.adjacency)) + ", " + std::string(NeighbourName(claim.neighbour)) +
         ", δ=" + ExactNumber(claim.delta);
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string EpsilonText(const Claim& claim) {
  const std::string mark = claim.status == ClaimStatus::paper_formula ? "†" : "";
  if (claim.status == ClaimStatus::audited && claim.lower) {
    return "≥ " + ThreeDecimals(std::floor(*claim.lower * 1000) / 1000);
  }
  if (Unbounded(claim)) return "∞" + mark;
  return ThreeDecimals(claim.epsilon) + mark;
}

std::string StatementLine(const Claim& claim) {
  const std::string number = EpsilonText(claim);
  if (claim.status == ClaimStatus::audited) return "ε " + number + " (" + Where(claim) + ", 95 % audit)";
  if (Unbounded(claim)) {
    return "ε = " + number + " (" + claim.reason + "; " + std::string(AdjacencyName(claim.adjacency)) + ", " +
           std::string(NeighbourName(claim.neighbour)) + ")";
  }
  if (claim.status == ClaimStatus::paper_formula) {
    return "ε = " + number + " (" + Where(claim) + ", " + claim.accountant + ", not a guarantee)";
  }
  return "ε ≤ " + number + " (" + Where(claim) + ", " + claim.accountant + ")";
}

std::string StatementSentence(const Claim& claim) {
  if (claim.status == ClaimStatus::paper_formula) {
    return "The paper's own formula gives " + EpsilonText(claim) +
           " here. It is shown for comparison and guarantees nothing.";
  }
  if (claim.status == ClaimStatus::audited) {
    return "An attack shows that epsilon for " + claim.units + " is at least " +
           ThreeDecimals(claim.lower.value_or(claim.epsilon)) + " (95 % confidence).";
  }
  if (Unbounded(claim))
    return "No bound holds for " + claim.units + ". " + std::string(ReasonText(claim.reason));
  std::string text = "Proven for " + claim.units + ": epsilon at most " + ThreeDecimals(claim.epsilon) +
                     " at delta " + ExactNumber(claim.delta) + ".";
  if (!claim.assumptions.empty()) text += " It rests on " + Joined(claim.assumptions) + ".";
  if (claim.adjacency == Adjacency::answer || claim.adjacency == Adjacency::slot) {
    text += " It protects answers on synthetic points, which belong to nobody, and no training example.";
  } else if (claim.epsilon > kNoProtection) {
    text += " A number this large is true and protects nothing in practice.";
  }
  return text;
}

std::string DeltaWarning(const Claim& claim, std::int64_t examples) {
  if (examples < 1 || claim.delta <= 1.0 / static_cast<double>(examples)) return "";
  return "δ=" + ExactNumber(claim.delta) + " is larger than 1/N for the " + std::to_string(examples) +
         " private examples: it would allow publishing some of them whole.";
}

}  // namespace retort::privacy
