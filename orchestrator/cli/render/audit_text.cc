#include "orchestrator/cli/render/audit_text.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/base/json.h"
#include "experiments/base/number_text.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/results/audit_store.h"

namespace retort::orchestrator::cli {
namespace {

using nlohmann::ordered_json;
using privacy::AuditFinding;

std::string BoundText(const AuditFinding& finding) {
  if (!finding.claim) return "";
  const privacy::Claim& claim = *finding.claim;
  std::string text = fmt::format("{} ({}, δ = {}): ε ≥ {:.3f} ({:g} %)", privacy::GetAdjacencyName(claim.adjacency),
                                 privacy::GetNeighbourName(claim.neighbour), FormatShortNumber(claim.delta),
                                 std::floor(claim.lower.value_or(0) * 1000) / 1000, finding.confidence * 100);
  text += finding.proven ? fmt::format("; proven: ε ≤ {}", FormatEpsilon(*finding.proven)) : "; nothing is proven";
  if (finding.formula) text += fmt::format("; the paper's formula: ε ≤ {}", FormatEpsilon(*finding.formula));
  if (finding.p_value)
    text += fmt::format("; if what is proven holds, as many right guesses have a probability of at most {}",
                        FormatShortNumber(*finding.p_value));
  if (finding.mu_lower && finding.mu_proven)
    text += fmt::format("; μ ≥ {:.4g} (99.9999 %) of μ = {:.4g}", *finding.mu_lower, *finding.mu_proven);
  return text;
}

std::string PowerText(const AuditFinding& finding) {
  std::string text;
  if (finding.mu_lower && finding.mu_proven && *finding.mu_proven > 0)
    text = fmt::format("power: {:.3f} of μ", *finding.mu_lower / *finding.mu_proven);
  if (finding.detectable)
    text = fmt::format("power: ε = {:.3f} or more would have been told from 0", *finding.detectable);
  if (finding.ceiling)
    text += fmt::format("{} no attack on so few samples shows more than ε = {:.3f}", text.empty() ? "power:" : ";",
                        *finding.ceiling);
  if (finding.needed_accuracy)
    text += fmt::format(
        "{} an attack that is right in {:.1f} % of its guesses would have been found in {:g} % of such audits",
        text.empty() ? "power:" : ";", std::ceil(*finding.needed_accuracy * 1000) / 10, privacy::kAuditPower * 100);
  return text;
}

// "NAME VALUE", and limits of a rate, which follow it as NAME.low and NAME.high, in brackets.
std::string FiguresText(const AuditFinding& finding) {
  std::string text;
  for (const auto& [name, value] : finding.figures) {
    if (name.ends_with(".low"))
      text += fmt::format(" [{:.3g}", value);
    else if (name.ends_with(".high"))
      text += fmt::format(" to {:.3g}]", value);
    else
      text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

void AddLine(const std::string& line, std::size_t width, std::string& out) {
  if (!line.empty()) out += "    " + Wrap(line, width - 4, 6) + "\n";
}

}  // namespace

std::string FormatFindings(const privacy::AuditReport& report, std::size_t width) {
  std::string out;
  for (const AuditFinding& finding : report.findings) {
    const std::string head = fmt::format("{}: {}", privacy::FormatAuditName(finding),
                                         finding.ran ? finding.subject : privacy::FormatVerdict(finding));
    out += "  " + Wrap(head, width - 2, 4) + "\n";
    if (!finding.ran) continue;
    for (const std::string& line : {BoundText(finding), PowerText(finding), FiguresText(finding), finding.note})
      AddLine(line, width, out);
    AddLine(privacy::FormatVerdict(finding), width, out);
  }
  return out;
}

std::string AuditCostText(const AuditCost& cost) {
  if (cost.trials == 0) return "no trial has shadows: there is a network from a file in each, or an ensemble alone";
  std::string text = fmt::format("{} shadows of each of {} trials", cost.shadows, cost.trials);
  if (cost.trials == 1) text = fmt::format("{} shadows", cost.shadows);
  if (cost.unknown < cost.trials)
    text += fmt::format(", about {} one after the other", FormatRoughDuration(cost.seconds));
  if (cost.unknown > 0)
    text += fmt::format(
        "; how long {} of the trials takes with its teacher is not known until one like it has run on such a "
        "machine",
        cost.unknown);
  return text;
}

ordered_json AuditCostJson(const AuditCost& cost) {
  ordered_json json;
  json["shadows"] = cost.shadows;
  json["trials"] = cost.trials;
  json["seconds"] = cost.unknown < cost.trials ? ordered_json(cost.seconds) : ordered_json();
  json["unknown"] = cost.unknown;
  return json;
}

ordered_json MakeFindingsJson(const privacy::AuditReport& report) {
  ordered_json json;
  json["findings"] = TryParseOrderedJson(privacy::EncodeAuditReport(report)).at("findings");
  for (std::size_t i = 0; i < report.findings.size(); ++i)
    json["findings"][i]["verdict"] = privacy::FormatVerdict(report.findings[i]);
  json["contradictions"] = ListContradictions(report);
  return json;
}

}  // namespace retort::orchestrator::cli
