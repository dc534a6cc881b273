// The sweeps in experiments/configs, whole, with data sets that are pretended to lie where they look for them: what
// they plan, and their tables before anything has run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/calibration.h"
#include "orchestrator/results/tables/published.h"
#include "orchestrator/results/tables/result_table.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

struct Part {
  std::string name;
  std::int64_t size;
};

// Sizes as published. CelebA's are those of gender: of hair fewer images have one colour.
struct Published {
  std::vector<Part> parts;
  std::int64_t channels, side, classes;  // side: 0 = by the sweep's own preprocessing
};
const std::map<std::string, Published>& Readers() {
  static const std::map<std::string, Published> readers = {
      {"idx", {{{"train", 60000}, {"test", 10000}}, 1, 28, 10}},
      {"cifar10", {{{"train", 50000}, {"test", 10000}}, 3, 32, 10}},
      {"cifar100", {{{"train", 50000}, {"test", 10000}}, 3, 32, 100}},
      {"svhn", {{{"train", 73257}, {"test", 26032}}, 3, 32, 10}},
      {"medmnist", {{{"train", 89996}, {"validation", 10004}, {"test", 7180}}, 3, 28, 9}},
      {"celeba", {{{"train", 162770}, {"validation", 19867}, {"test", 19962}}, 3, 0, 2}},
      {"covidx", {{{"train", 13958}, {"test", 1579}}, 3, 0, 3}},
      {"imagenet", {{{"train", 1281167}, {"validation", 50000}}, 3, 0, 1000}},
      {"tiny-imagenet", {{{"train", 100000}, {"validation", 10000}}, 3, 0, 200}},
      {"pictures", {{{"train", 20000}, {"test", 2000}}, 3, 32, 10}}};
  return readers;
}

void PlacePart(const Published& set, SplitSource& source, IndexRange& range) {
  for (const Part& part : set.parts)
    if (part.name == source.part && source.open_end) range.end = part.size;
}

Status Pretend(DataSpec& data) {
  const Published& set = Readers().at(data.reader);
  data.digest = ComputeSha256Hex(data.path);
  data.examples = 0;
  for (const Part& part : set.parts) data.examples += part.size;
  data.channels = set.channels;
  if (set.side > 0) data.height = data.width = set.side;
  data.classes = data.target == "hair" ? 3 : set.classes;
  PlacePart(set, data.split.train_source, data.split.train);
  PlacePart(set, data.split.public_source, data.split.public_range);
  PlacePart(set, data.split.test_source, data.split.test);
  return {};
}

std::vector<std::filesystem::path> Shipped() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::filesystem::path(RETORT_SOURCE_DIR) /
                                                                         "experiments" / "configs"))
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

PlanOutcome Load(const std::filesystem::path& file) {
  privacy::Calibrator calibrator;
  PlanHooks hooks;
  hooks.inspect = Pretend;
  hooks.calibrate = [&calibrator](TrialSpec& spec) { return calibrator.Calibrate(spec); };
  hooks.digest_file = [](const std::string& path) -> Result<std::string> { return ComputeSha256Hex(path); };
  hooks.lookup = [](const std::string&) -> std::optional<std::string> { return "/data"; };
  PlanOutcome outcome = LoadSweep(file.string(), {}, hooks);
  if (!outcome.plan) outcome.plan.emplace();
  return outcome;
}

// Each is planned once for all tests of this process.
const SweepPlan& PlanShipped(const std::filesystem::path& file) {
  static std::map<std::filesystem::path, const PlanOutcome> planned;
  auto found = planned.find(file);
  if (found == planned.end()) found = planned.emplace(file, Load(file)).first;
  for (const Diagnostic& error : found->second.errors) ADD_FAILURE() << Render(error);
  return *found->second.plan;
}

ResultTable MakeTable(const SweepPlan& plan, const TableSpec& spec) {
  return BuildTable(plan, spec, ResultsView{}, FindPublishedTable(spec.published));
}

TEST(ShippedTables, EverySweepCanBePlannedWhereItsDataLie) {
  for (const std::filesystem::path& file : Shipped()) {
    SCOPED_TRACE(file);
    const SweepPlan& plan = PlanShipped(file);
    EXPECT_FALSE(plan.trials.empty());
    for (const TableSpec& spec : plan.tables)
      for (const TableCell& cell : MakeTable(plan, spec).cells)
        EXPECT_TRUE(cell.state == CellState::missing || cell.state == CellState::quoted);
  }
}

TEST(ShippedTables, NoTrialIsInNoTable) {
  for (const std::filesystem::path& file : Shipped()) {
    SCOPED_TRACE(file);
    const SweepPlan& plan = PlanShipped(file);
    std::set<std::string> shown;
    for (const TableSpec& spec : plan.tables)
      for (const TableCell& cell : MakeTable(plan, spec).cells)
        for (const TrialId& id : cell.trials) shown.insert(id.Hex());
    for (const TrialSpec& trial : plan.trials) {
      if (trial.role == Role::teacher || plan.tables.empty()) continue;
      EXPECT_TRUE(shown.contains(trial.id.Hex())) << trial.name;
    }
  }
}

// In all tables of all sweeps.
template <typename F>
void ForCells(F visit) {
  for (const std::filesystem::path& file : Shipped()) {
    SCOPED_TRACE(file);
    const SweepPlan& plan = PlanShipped(file);
    std::map<TrialId, const TrialSpec*> trials;
    for (const TrialSpec& trial : plan.trials) trials.emplace(trial.id, &trial);
    for (const TableSpec& spec : plan.tables) {
      for (const TableCell& cell : MakeTable(plan, spec).cells)
        visit(cell, cell.trials.empty() ? nullptr : trials.at(cell.trials.front()));
    }
  }
}

TEST(ShippedTables, NoSoundRowStandsBesideAFormulasEpsilon) {
  int formulas = 0;
  ForCells([&](const TableCell& cell, const TrialSpec* trial) {
    if (trial == nullptr || !cell.source || !cell.source->epsilon || !FindScope(*cell.source).formula) return;
    EXPECT_NE(trial->reading, Reading::sound) << trial->name;
    EXPECT_TRUE(trial->privacy.claim == ClaimTarget::paper || trial->privacy.claim == ClaimTarget::none) << trial->name;
    ++formulas;
  });
  EXPECT_GT(formulas, 50);
}

TEST(ShippedTables, QuotedEpsilonsAreOfWhatTheirSourceProtects) {
  int labels = 0, unstated = 0;
  ForCells([&](const TableCell& cell, const TrialSpec*) {
    if (cell.state != CellState::quoted || cell.claims.empty()) return;
    const privacy::Claim& claim = cell.claims.front();
    EXPECT_EQ(claim.adjacency, FindAdjacency(*cell.source)) << FormatPublishedName(*cell.source);
    EXPECT_EQ(claim.delta_stated, cell.source->delta.has_value()) << FormatPublishedName(*cell.source);
    labels += claim.adjacency == privacy::Adjacency::label ? 1 : 0;
    unstated += claim.delta_stated ? 0 : 1;
  });
  EXPECT_GE(labels, 8) << "ClusterRR and Protocol in two tables";
  EXPECT_GT(unstated, 0);
}

TEST(ShippedTables, TeachersOfRonaStandBesideThePapersTeachers) {
  const SweepPlan& plan =
      PlanShipped(std::filesystem::path(RETORT_SOURCE_DIR) / "experiments" / "configs" / "rona-aaai19" / "table2.toml");
  std::map<std::string, std::string> printed;
  for (const TableSpec& spec : plan.tables)
    for (const TeacherLine& teacher : MakeTable(plan, spec).teachers)
      printed[spec.name + " " + teacher.data] = teacher.source ? teacher.source->printed : "";
  EXPECT_THAT(printed,
              ::testing::ElementsAre(
                  ::testing::Pair("accuracy cifar10", "0.8635"), ::testing::Pair("accuracy mnist", "0.9948"),
                  ::testing::Pair("accuracy svhn", "0.9636"), ::testing::Pair("parameters cifar10", "3.12M"),
                  ::testing::Pair("parameters mnist", "155.21K"), ::testing::Pair("parameters svhn", "1.41M")));
}

// Their networks are not published.
TEST(ShippedTables, StudentsOfRonaWithoutANetworkAreQuoted) {
  const SweepPlan plan =
      PlanShipped(std::filesystem::path(RETORT_SOURCE_DIR) / "experiments" / "configs" / "rona-aaai19" / "table2.toml");
  std::vector<std::string> quoted;
  for (const TableSpec& spec : plan.tables)
    for (const TableCell& cell : MakeTable(plan, spec).cells)
      if (cell.state == CellState::quoted) quoted.push_back(cell.column.front() + " " + cell.source->printed);
  EXPECT_THAT(quoted, ::testing::UnorderedElementsAre("mnist 0.9928", "svhn 0.9539", "mnist 9.88K", "svhn 0.07M"));
}

// "The results are shown in Fig. 3" under epsilon = 10.
TEST(ShippedTables, StagesOfDpDfdRunAtThePapersEpsilon) {
  const SweepPlan& plan =
      PlanShipped(std::filesystem::path(RETORT_SOURCE_DIR) / "experiments" / "configs" / "dp-dfd" / "fig3.toml");
  for (const TrialSpec& trial : plan.trials) {
    if (trial.role != Role::student) continue;
    EXPECT_EQ(trial.privacy.epsilon, 10) << trial.name;
  }
}

TEST(ShippedTables, EveryPublishedTableIsRegeneratedBySomeSweep) {
  std::set<std::string> named;
  for (const std::filesystem::path& file : Shipped())
    for (const TableSpec& spec : PlanShipped(file).tables)
      if (!spec.published.empty()) named.insert(spec.published);
  EXPECT_THAT(named, IsSupersetOf(ListPublishedTables()));
}

}  // namespace
}  // namespace retort::orchestrator::cli
