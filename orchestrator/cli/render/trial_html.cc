#include "orchestrator/cli/render/trial_html.h"

#include <fmt/format.h>

#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/statement.h"
#include "orchestrator/cli/render/audit_text.h"
#include "orchestrator/cli/render/claim_text.h"
#include "orchestrator/cli/render/html.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/trial_drawings.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/tables/statistics.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;
using Ledger = std::vector<const storage::LedgerEntry*>;

constexpr std::size_t kAuditWidth = 90;

void WriteFacts(Html& html, const Facts& facts) {
  const HtmlScope list(html, "dl", {{"class", "facts"}});
  for (const auto& [name, value] : facts) {
    html.Element("dt", name);
    html.Element("dd", value);
    html.Line();
  }
}

std::string TimingText(const std::string& name, double value) {
  const bool seconds = name == "seconds" || name.ends_with("_seconds");
  if (seconds && value >= 1) return FormatDuration(value);
  return fmt::format("{:.4g}{}", value, seconds ? " s" : "");
}

Facts CollectFacts(const TrialView& trial) {
  Facts facts = {{"id", trial.spec.id.Hex()},
                 {"state", std::string(GetStateName(trial.state))},
                 {"attempts", std::to_string(trial.attempts)}};
  if (const std::string failure = FindFailureWord(trial); !failure.empty()) facts.emplace_back("failure", failure);
  if (!trial.detail.empty()) facts.emplace_back("detail", trial.detail);
  for (const auto& [key, value] : trial.spec.axes) facts.emplace_back(key, value);
  if (!trial.row) return facts;
  for (const auto& [name, value] : trial.row->metrics) facts.emplace_back(name, FormatMetric(value, name));
  for (const auto& [name, value] : trial.row->timings) facts.emplace_back(name, TimingText(name, value));
  if (!trial.row->row_digest.empty()) facts.emplace_back("row digest", trial.row->row_digest);
  if (!trial.row->attempt_file.empty()) facts.emplace_back("file", trial.row->attempt_file);
  return facts;
}

HtmlTable ClaimTable(const std::vector<privacy::Claim>& claims, Notes& notes) {
  HtmlTable table;
  table.caption = "What is claimed of the trial";
  table.columns = {{"protects"}, {"ε", HtmlSort::none, true}, {"neighbours"}, {"δ", HtmlSort::none, true}, {"basis"}};
  for (const privacy::Claim& claim : claims) {
    const ClaimCells cells = MakeClaimCells(claim, notes);
    table.groups.push_back({{{cells.protects}, {cells.epsilon}, {cells.neighbours}, {cells.delta}, {cells.basis}}});
  }
  return table;
}

// One trial on its way to HTML.
class TrialPart {
 public:
  TrialPart(Html& html, const ReportSources& sources, const TrialView& trial)
      : html_(html), sources_(sources), trial_(trial), name_(FormatTrialName(trial.spec)) {}

  void Privacy(const Ledger& ledger) {
    if (!trial_.row) return;
    html_.Element("h4", "Privacy");
    std::vector<privacy::PrivacyEvent> events;
    for (const storage::LedgerEntry* entry : ledger) events.push_back(entry->Charged());
    html_.Paragraph(privacy::WriteTrialStatement(trial_.spec, trial_.row->claims, events));
    for (const std::string& sentence : trial_.refuted)
      html_.Element("p", "A proven claim is refuted by " + sentence, {{"class", "alert"}});
    if (!trial_.audit_unknown.empty())
      html_.Element("p", "Nothing is claimed, since nobody can say what audits found: " + trial_.audit_unknown,
                    {{"class", "alert"}});
    if (!trial_.row->claims.empty()) {
      Notes notes;
      WriteTable(html_, ClaimTable(trial_.row->claims, notes));
      const HtmlScope list(html_, "ol", {{"class", "notes"}});
      for (const std::string& note : notes.texts()) html_.Element("li", note);
    }
    html_.Paragraph(LedgerWords(ledger));
  }

  void Audit(std::vector<std::string>& troubles) {
    const Result<std::optional<privacy::AuditReport>> audit = sources_.audit(trial_);
    if (!audit.ok()) {
      troubles.push_back(name_ + ": " + audit.status().message());
      return html_.Element("p", "Its audit cannot be read: " + audit.status().message(), {{"class", "alert"}});
    }
    if (!*audit) return;
    html_.Element("h4", "Audits");
    html_.Element("pre", FormatFindings(**audit, kAuditWidth), {{"tabindex", "0"}});
  }

  void Recorded(std::size_t& drawn_bytes) {
    const storage::AttemptFile file = sources_.attempts.Read(trial_);
    if (const auto trouble = sources_.attempts.unreadable().find(trial_.spec.id);
        trouble != sources_.attempts.unreadable().end())
      html_.Element("p", "What its attempt recorded cannot be read: " + trouble->second, {{"class", "alert"}});
    if (!file.curves.empty()) {
      html_.Element("h4", "Curves");
      const HtmlScope charts(html_, "div", {{"class", "charts"}});
      for (const auto& [name, points] : file.curves) WriteCurve(html_, name, points);
    }
    if (file.evaluation) {
      html_.Element("h4", "Confusion");
      WriteConfusion(html_, name_, *file.evaluation, drawn_bytes, sources_.limits.drawn_bytes);
    }
    if (file.samples) Samples(*file.samples, drawn_bytes);
  }

  void Commands() {
    html_.Element("h4", "Commands");
    const std::string& directory = sources_.view.directory;
    html_.Element("pre",
                  AddResultsOption(FormatTrialCommand("show", trial_.spec), directory) + "\n" +
                      AddResultsOption(FormatTrialCommand("explain", trial_.spec), directory),
                  {{"tabindex", "0"}});
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  // A page may be passed on.
  void Samples(const storage::Samples& samples, std::size_t& drawn_bytes) {
    html_.Element("h4", "Samples");
    if (trial_.spec.source == QuerySource::private_split)
      return html_.Paragraph("The samples are not shown: this trial queries private examples.");
    const ReportLimits& limits = sources_.limits;
    WriteSamples(html_, name_, samples, {limits.samples, limits.sample_bytes, limits.drawn_bytes}, drawn_bytes);
  }

  static std::string LedgerWords(const Ledger& ledger) {
    if (ledger.empty()) return "Ledger: nothing was charged.";
    std::int64_t charged = 0, open = 0;
    for (const storage::LedgerEntry* entry : ledger) {
      charged += entry->Charged().count;
      open += entry->state == storage::LedgerState::reserved ? 1 : 0;
    }
    return fmt::format("Ledger: {} {} charged in {} {}, {} of them not settled and so counted in full.",
                       CountText(charged), charged == 1 ? "release" : "releases", ledger.size(),
                       ledger.size() == 1 ? "reservation" : "reservations", open);
  }

  Html& html_;
  const ReportSources& sources_;
  const TrialView& trial_;
  const std::string name_;
};

std::string FormatSummary(const TrialView& trial, const std::string& metric) {
  std::string text = FormatTrialName(trial.spec) + ": " + std::string(GetStateName(trial.state));
  if (!trial.row) return text;
  for (const auto& [name, value] : trial.row->metrics)
    if (name == metric) text += ", " + metric + " " + FormatMetric(value, name);
  return text;
}

}  // namespace

std::string FormatTrialAnchor(const TrialView& trial) { return "trial-" + trial.spec.id.Hex(); }

void WriteTrial(Html& html, const ReportSources& sources, const TrialView& trial,
                const std::vector<const storage::LedgerEntry*>& ledger, std::size_t& drawn_bytes,
                std::vector<std::string>& troubles) {
  const HtmlScope details(html, "details");
  const std::string metric = sources.tables.empty() ? "test.accuracy" : sources.tables.front().spec.metric;
  html.Element("summary", FormatSummary(trial, metric));
  const HtmlScope inside(html, "div", {{"id", FormatTrialAnchor(trial)}});
  TrialPart part(html, sources, trial);
  html.Element("h3", part.name());
  WriteFacts(html, CollectFacts(trial));
  part.Privacy(ledger);
  part.Audit(troubles);
  part.Recorded(drawn_bytes);
  part.Commands();
}

}  // namespace retort::orchestrator::cli
