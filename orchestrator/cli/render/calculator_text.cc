#include "orchestrator/cli/render/calculator_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/base/number_text.h"
#include "experiments/privacy/statement.h"
#include "orchestrator/cli/render/claim_text.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/text_table.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;
using privacy::Answer;
using privacy::Claim;

std::string NotesText(const Notes& notes, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < notes.texts().size(); ++i)
    out += "  " + Wrap(fmt::format("[{}] {}", i + 1, notes.texts()[i]), width - 2, 6) + "\n";
  return out;
}

std::string Explained(const Answer& answer, std::size_t width) {
  const Claim& claim = answer.claim;
  std::string out = fmt::format("\n{}, {}{}: ε {}\n", privacy::GetAdjacencyName(claim.adjacency),
                                privacy::GetNeighbourName(claim.neighbour),
                                answer.variant.empty() ? "" : ", " + answer.variant, privacy::FormatEpsilon(claim));
  const auto line = [&](const char* what, const std::string& text) {
    if (!text.empty()) out += "  " + Wrap(fmt::format("{:<9}{}", what, text), width - 2, 11) + "\n";
  };
  line("theorem", answer.theorem);
  line("inputs", answer.inputs);
  line("detail", answer.detail);
  if (std::isfinite(answer.unrounded) && claim.status != privacy::ClaimStatus::unbounded)
    line("rounded", fmt::format("up from {:.9g} to thousandths", answer.unrounded));
  return out;
}

std::string FormatEpsilons(const std::vector<Claim>& claims, Notes& notes) {
  std::string text;
  for (const Claim& claim : claims) {
    const ClaimCells cells = MakeClaimCells(claim, notes);
    const std::size_t mark = cells.basis.find('[');
    const bool bounded = std::isfinite(claim.epsilon);
    text += (text.empty() ? "" : "; ") + (bounded ? FormatEpsilon(claim.epsilon) : "∞");
    if (claim.adjacency == privacy::Adjacency::slot) text += " slot";
    if (claim.adjacency == privacy::Adjacency::label) text += " label";
    if (claim.neighbour == privacy::Neighbour::zero_out) text += " zero-out";
    if (!bounded && mark != std::string::npos) text += " " + cells.basis.substr(mark);
  }
  return text.empty() ? "-" : text;
}

}  // namespace

std::string FormatAnswers(const std::vector<Answer>& answers, bool explain, std::size_t width) {
  const bool variants =
      std::any_of(answers.begin(), answers.end(), [](const Answer& one) { return !one.variant.empty(); });
  Notes notes;
  std::vector<std::string> header = {"protects", "neighbours", "δ", "ε", "basis"};
  std::vector<Align> align = {Align::left, Align::left, Align::left, Align::right, Align::left};
  if (variants) {
    header.emplace_back("form");
    align.push_back(Align::left);
  }
  TextTable table(header, align);
  for (const Answer& answer : answers) {
    const ClaimCells cells = MakeClaimCells(answer.claim, notes);
    std::vector<std::string> line = {cells.protects, cells.neighbours, cells.delta, cells.epsilon, cells.basis};
    if (variants) line.push_back(answer.variant);
    table.Add(std::move(line));
  }
  std::string out = table.Render() + NotesText(notes, width);
  if (explain)
    for (const Answer& answer : answers) out += Explained(answer, width);
  return out;
}

void AddAnswers(const std::vector<Answer>& answers, ordered_json& document) {
  std::vector<Claim> claims;
  auto details = ordered_json::array();
  for (const Answer& answer : answers) {
    claims.push_back(answer.claim);
    ordered_json detail = {
        {"variant", answer.variant}, {"theorem", answer.theorem}, {"inputs", answer.inputs}, {"detail", answer.detail}};
    const bool bounded = std::isfinite(answer.unrounded) && answer.claim.status != privacy::ClaimStatus::unbounded;
    detail["unrounded"] = bounded ? ordered_json(answer.unrounded) : ordered_json("inf");
    details.push_back(std::move(detail));
  }
  document["claims"] = MakeClaimsJson(claims);
  document["details"] = std::move(details);
}

std::string FormatSettings(const std::vector<privacy::PublishedSetting>& settings, std::size_t width) {
  Notes notes;
  TextTable table({"method", "paper says", "its formula †", "example", "one answer", "member"},
                  {Align::left, Align::left, Align::left, Align::left, Align::left, Align::left});
  for (const privacy::PublishedSetting& one : settings) {
    table.Add({one.method, one.claimed, FormatEpsilons(one.printed, notes), FormatEpsilons(one.example, notes),
               FormatEpsilons(one.answer, notes), FormatEpsilons(one.member, notes)});
  }
  std::string out = table.Render() + "\n";
  out += "  " +
         Wrap(
             "σ 100, B 256, T 200, 10 classes, δ 1e-5 unless the line says otherwise; of two values of the "
             "formula the first is at C 1e-3, the second at C 5e-3.",
             width - 2, 2) +
         "\n";
  out += "  " +
         Wrap(
             "† The paper's formula, not a guarantee; of an example, but \"label\": of a label alone at δ = 0, its "
             "picture being public. The columns on its right are upper bounds: example by way of replacing the whole "
             "teacher, or one member where shards are disjoint by index.",
             width - 2, 4) +
         "\n";
  return out + NotesText(notes, width);
}

ordered_json MakeSettingsJson(const std::vector<privacy::PublishedSetting>& settings) {
  auto rows = ordered_json::array();
  for (const privacy::PublishedSetting& one : settings) {
    rows.push_back({{"method", one.method},
                    {"formula", one.formula},
                    {"claimed", one.claimed},
                    {"printed", MakeClaimsJson(one.printed)},
                    {"example", MakeClaimsJson(one.example)},
                    {"answer", MakeClaimsJson(one.answer)},
                    {"member", MakeClaimsJson(one.member)}});
  }
  return rows;
}

}  // namespace retort::orchestrator::cli
