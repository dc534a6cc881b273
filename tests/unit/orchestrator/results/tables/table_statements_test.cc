#include "orchestrator/results/tables/table_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/cli/render/table_export.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Sampled {
  testing::Sample sample = testing::SampleSweep();
  ResultTable table = BuildTable(sample.plan, sample.plan.tables.front(), sample.view, {});
};

storage::LedgerEntry VoteEntry(TrialId trial, std::int64_t count) {
  storage::LedgerEntry entry;
  entry.attempt = {trial, 1};
  entry.event.kind = privacy::MechanismKind::noisy_votes;
  entry.event.sensitivity = 2;
  entry.event.noise_std = 100;
  entry.event.source = privacy::NoiseSource::secure_lattice;
  entry.event.count = count;
  return entry;
}

TEST(TableStatements, EveryMeasuredRowHasOne) {
  const Sampled sampled;
  EXPECT_THAT(MakeStatements(sampled.table, sampled.sample.view),
              ElementsAre(StartsWith("teacher plain, single, digits: "), StartsWith("dpdfd, working, single, digits: "),
                          StartsWith("dpsgd, digits: ")));
}

TEST(TableStatements, TellOfTheSeedThatIsWorstForPeople) {
  Sampled sampled;
  std::vector<TrialView*> students;
  for (TrialView& trial : sampled.sample.view.trials)
    if (trial.spec.method == "dpdfd" && trial.row) students.push_back(&trial);
  ASSERT_GE(students.size(), 2U);
  for (std::size_t i = 0; i < students.size(); ++i) {
    students[i]->row->claims = {
        testing::ProvenClaim(privacy::Adjacency::example, privacy::Neighbour::replace, i == 1 ? 7.125 : 2.5)};
    sampled.sample.view.ledger.push_back(VoteEntry(students[i]->spec.id, i == 1 ? 4711 : 17));
  }
  const std::vector<std::string> statements = MakeStatements(sampled.table, sampled.sample.view);
  EXPECT_THAT(statements.at(1), HasSubstr("4711 vote histograms"));
  EXPECT_THAT(statements.at(1), HasSubstr("7.125"));
}

TEST(TableStatements, StandBelowTheTable) {
  Sampled sampled;
  sampled.table.statements = MakeStatements(sampled.table, sampled.sample.view);
  for (const std::string& text : {FormatTableMarkdown(sampled.table), FormatTableLatex(sampled.table)})
    for (const std::string& statement : sampled.table.statements)
      EXPECT_THAT(text, HasSubstr(statement.substr(0, statement.find(':'))));
}

}  // namespace
}  // namespace retort::orchestrator::cli
