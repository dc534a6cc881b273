// Formats claims in words and in short. An epsilon always comes with adjacency, neighbour, delta and status.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/claim.h"

namespace retort::orchestrator::cli {

// Numbered footnotes; equal texts share a number.
class Notes {
 public:
  // "[3]"; empty for an empty text.
  [[nodiscard]] std::string Mark(const std::string& text);
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::size_t> places_;  // in texts_
};

// One claim as the cells of a table line.
struct ClaimCells {
  std::string protects;  // adjacency
  std::string neighbours;
  std::string delta;
  std::string epsilon;  // "≤ 3.000", "12.345 †", "∞", "≥ 0.930 (95 %)"
  std::string basis;    // accountant, or "no bound"; then the mark of its note
};

// `compact` moves the accountant into the note.
[[nodiscard]] ClaimCells MakeClaimCells(const privacy::Claim& claim, Notes& notes, bool compact = false);

// A paragraph that a reader who knows no accountant understands.
[[nodiscard]] std::string FormatPrivacyParagraph(const privacy::Claim& claim);

// What one adjacency protects, in a line: "example: neighbours differ in one training example; protects
// people".
[[nodiscard]] std::string FormatAdjacencyLegend(privacy::Adjacency adjacency);

// For the working reading: its honest epsilon of the teacher, in words; empty when the claims hold none.
[[nodiscard]] std::string FormatWorkingStatement(const std::string& reading, const std::vector<privacy::Claim>& claims);

}  // namespace retort::orchestrator::cli
