// What all trials together cost each data set, what the ledger holds, and the privacy of each row in a
// paragraph.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "orchestrator/cli/html_table.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/report_sources.h"
#include "orchestrator/cli/shell_text.h"
#include "orchestrator/cli/table_statements.h"

namespace retort::orchestrator::cli {
namespace {

// Of one private data set, by its unpacked digest.
struct Charged {
  std::set<TrialId> trials;
  std::int64_t reservations = 0, open = 0, reserved = 0, charged = 0;
};

std::map<std::string, Charged> ByData(const ResultsView& view) {
  std::map<std::string, Charged> by_data;
  for (const storage::LedgerEntry& entry : view.ledger) {
    Charged& charged = by_data[UnpackedOf(view.unpacked, entry.data_digest)];
    charged.trials.insert(entry.attempt.trial);
    ++charged.reservations;
    charged.open += entry.state == storage::LedgerState::reserved ? 1 : 0;
    charged.reserved += entry.event.count;
    charged.charged += entry.Charged().count;
  }
  return by_data;
}

std::string NameOf(const SweepStatus& status, const std::string& digest) {
  for (const DataSpending& spent : status.spending)
    if (spent.digest == digest) return spent.data;
  return digest.substr(0, 12);
}

HtmlTable LedgerTable(const ReportSources& sources) {
  HtmlTable table;
  table.caption = "Ledger: what was charged before it was released";
  table.columns = {{"data set", HtmlSort::text},
                   {"trials", HtmlSort::number, true},
                   {"reservations", HtmlSort::number, true},
                   {"not settled", HtmlSort::number, true},
                   {"releases reserved", HtmlSort::number, true},
                   {"releases charged", HtmlSort::number, true}};
  for (const auto& [digest, charged] : ByData(sources.view)) {
    HtmlCell name{NameOf(sources.status, digest)};
    name.header = true;
    HtmlLine line = {name};
    for (const std::int64_t count : {static_cast<std::int64_t>(charged.trials.size()), charged.reservations,
                                     charged.open, charged.reserved, charged.charged})
      line.push_back({CountText(count), std::to_string(count)});
    table.groups.push_back({std::move(line)});
  }
  return table;
}

void WriteLedger(Html& html, const ReportSources& sources) {
  const ResultsView& view = sources.view;
  html.Element("h3", "Spent of each data set");
  if (sources.status.spending.empty()) html.Paragraph("Nothing was charged to a private data set.");
  {
    const HtmlScope list(html, "ul");
    for (const DataSpending& spent : sources.status.spending) html.Prose("li", SpendingLine(spent) + ".");
  }
  if (!view.ledger.empty()) WriteTable(html, LedgerTable(sources));
  if (!view.ledger_lost.empty())
    html.Element("p", "The ledger is not whole: " + view.ledger_lost, {{"class", "alert"}});
  else
    html.Paragraph(
        fmt::format("The ledger holds every reservation that the journal knows of. `retort verify --results "
                    "{}` compares it with the claims of each row.",
                    ShellText(view.directory)));
}

// "rows: paragraph".
void WriteStatement(Html& html, const std::string& statement) {
  const std::size_t colon = statement.find(": ");
  html.Element("h4", statement.substr(0, colon));
  if (colon != std::string::npos) html.Paragraph(statement.substr(colon + 2));
}

void WriteStatements(Html& html, const ReportSources& sources) {
  for (const ResultTable& table : sources.tables) {
    const std::vector<std::string> statements = StatementsOf(table, sources.view);
    if (statements.empty()) continue;
    html.Element("h3", "Privacy statements of table " + table.spec.name);
    html.Paragraph("Of the trial with the largest ε for one training example among the seeds of a row.");
    const std::size_t shown = std::min(statements.size(), sources.limits.statements);
    for (std::size_t i = 0; i < shown; ++i) WriteStatement(html, statements[i]);
    if (shown < statements.size())
      html.Paragraph(
          fmt::format("{} more are left out: `retort table {} {} --statements --results {}` prints all.",
                      statements.size() - shown, ShellText(sources.plan.file), ShellText(table.spec.name),
                      ShellText(sources.view.directory)));
  }
}

}  // namespace

void WritePrivacy(Html& html, const ReportSources& sources) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "privacy"}});
  html.Element("h2", "Privacy", {{"id", "privacy"}});
  {
    const HtmlScope list(html, "ul");
    html.Element("li", "≤: proven, an upper bound that follows from what was drawn, rounded up.");
    html.Element("li", "†: the paper's formula at this run's parameters; not a guarantee.");
    html.Element("li", "∞: no finite bound holds, for the reason in the footnote.");
    html.Element("li", "≥: what an audit found to leak at least.");
  }
  WriteLedger(html, sources);
  WriteStatements(html, sources);
}

}  // namespace retort::orchestrator::cli
