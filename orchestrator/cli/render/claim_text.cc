#include "orchestrator/cli/render/claim_text.h"

#include <fmt/format.h>

#include <cmath>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/statement.h"

namespace retort::orchestrator::cli {
namespace {

using privacy::Adjacency;
using privacy::Claim;
using privacy::ClaimStatus;
using privacy::Neighbour;

// Above it an adversary's odds change by more than e^20: true, and no protection.
constexpr double kNoProtection = 20;

bool Unbounded(const Claim& claim) {
  if (claim.status == ClaimStatus::audited) return false;  // a lower bound stands for itself
  return claim.status == ClaimStatus::unbounded || !std::isfinite(claim.epsilon);
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// What a reader needs beside the cells: why there is no bound, what a proof rests on, at which parameters a
// formula was evaluated. The arithmetic behind a proven number is left to `retort show`.
std::string MakeNote(const Claim& claim) {
  std::string text = claim.status == ClaimStatus::proven && !Unbounded(claim)
                         ? ""
                         : std::string(privacy::DescribeReason(claim.reason));
  if (!claim.assumptions.empty()) text += (text.empty() ? "" : "; ") + ("assumes " + Joined(claim.assumptions));
  if (claim.status == ClaimStatus::proven && claim.lower)
    text += (text.empty() ? "" : "; ") + fmt::format("no better than ε = {}", FormatEpsilon(*claim.lower));
  return text;
}

std::string EpsilonCell(const Claim& claim) {
  switch (claim.status) {
    case ClaimStatus::paper_formula:
      return FormatEpsilon(claim.epsilon) + " †";
    case ClaimStatus::audited:
      return "≥ " + FormatEpsilon(claim.lower.value_or(0)) + " (95 %)";
    case ClaimStatus::proven:
      return (std::isfinite(claim.epsilon) ? "≤ " : "") + FormatEpsilon(claim.epsilon);
    case ClaimStatus::unbounded:
      return "∞";
  }
  return "∞";
}

std::string NeighbourWords(const Claim& claim) {
  switch (claim.adjacency) {
    case Adjacency::answer:
      return "the teacher's answer on one synthetic input is changed";
    case Adjacency::slot:
      return "the teacher's answers on one synthetic slot are changed in every iteration";
    case Adjacency::teacher:
      return "the teacher is replaced by any other network";
    case Adjacency::member:
      return claim.neighbour == Neighbour::zero_out ? "one teacher of the ensemble is silenced"
                                                    : "one teacher of the ensemble is replaced by any other network";
    case Adjacency::label:
      return "the label of one training example is replaced";
    case Adjacency::example:
      return claim.neighbour == Neighbour::add_remove ? "one training example is added or removed"
                                                      : "one training example is replaced";
  }
  return "";
}

}  // namespace

std::string Notes::Mark(const std::string& text) {
  if (text.empty()) return "";
  const auto [place, fresh] = places_.try_emplace(text, texts_.size());
  if (fresh) texts_.push_back(text);
  return fmt::format("[{}]", place->second + 1);
}

ClaimCells MakeClaimCells(const Claim& claim, Notes& notes, bool compact) {
  ClaimCells cells;
  cells.protects = GetAdjacencyName(claim.adjacency);
  cells.neighbours = GetNeighbourName(claim.neighbour);
  cells.delta = privacy::FormatDelta(claim);
  cells.epsilon = EpsilonCell(claim);
  const bool bound = !Unbounded(claim) || claim.status == ClaimStatus::paper_formula;
  std::string note = MakeNote(claim);
  if (compact && bound) note = "by " + claim.accountant + (note.empty() ? "" : ": " + note);
  if (!bound && note.empty()) note = "no reason was recorded";
  const std::string mark = notes.Mark(note);
  if (!compact) cells.basis = bound ? claim.accountant : "no bound";
  if (!mark.empty()) cells.basis += (cells.basis.empty() ? "" : " ") + mark;
  return cells;
}

std::string FormatPrivacyParagraph(const Claim& claim) {
  std::string text =
      fmt::format("{} ({}, δ {}{}): ε {}", GetAdjacencyName(claim.adjacency), GetNeighbourName(claim.neighbour),
                  claim.delta_stated ? "= " : "", privacy::FormatDelta(claim),
                  claim.status == ClaimStatus::proven && !Unbounded(claim) ? "" : "= ");
  if (claim.status == ClaimStatus::audited) text.resize(text.size() - 2);
  text += EpsilonCell(claim);
  if (!claim.accountant.empty()) text += " by " + claim.accountant;
  text += ". " + privacy::FormatStatementSentence(claim);
  if (claim.status != ClaimStatus::proven || Unbounded(claim)) return text;
  text += fmt::format(" When {}, no outcome becomes more than e^{} times as probable, apart from a probability of {}.",
                      NeighbourWords(claim), FormatEpsilon(claim.epsilon), FormatShortNumber(claim.delta));
  if (!claim.reason.empty()) text += " The bound: " + claim.reason + ".";
  return text;
}

std::string FormatAdjacencyLegend(Adjacency adjacency) {
  switch (adjacency) {
    case Adjacency::example:
      return "example: neighbours differ in one private training example; protects people";
    case Adjacency::answer:
      return "answer: neighbours differ in the teacher's answer on one synthetic input; protects nothing a "
             "person owns";
    case Adjacency::slot:
      return "slot: neighbours differ in the answers on one synthetic slot over all iterations; protects "
             "nothing a "
             "person owns";
    case Adjacency::teacher:
      return "teacher: neighbours differ in the whole teacher; a finite claim implies the same for one "
             "example";
    case Adjacency::member:
      return "member: neighbours differ in one teacher of the ensemble; protects one shard or client";
    case Adjacency::label:
      return "label: neighbours differ in the label of one private training example; its image is not protected";
  }
  return "";
}

std::string FormatWorkingStatement(const std::string& reading, const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    if (claim.adjacency != Adjacency::teacher || claim.status == ClaimStatus::paper_formula) continue;
    if (Unbounded(claim)) return reading + ": no finite ε holds for its teacher here.";
    return fmt::format("{}: its honest ε is {} (teacher, {}, δ = {}){}; the formula's ε marked † is not a guarantee.",
                       reading, FormatEpsilon(claim.epsilon), GetNeighbourName(claim.neighbour),
                       FormatShortNumber(claim.delta),
                       claim.epsilon > kNoProtection ? ", far beyond what protects anyone" : "");
  }
  return "";
}

}  // namespace retort::orchestrator::cli
