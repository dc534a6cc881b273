// Seconds that a table costs from trials and rows to its text in every format.
//   table_bench ROWS     ROWS rows of two seeds each, in two columns, beside a published table; aim: 1 s for each
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "orchestrator/cli/render/table_export.h"

namespace retort::orchestrator::cli {
namespace {

constexpr double kAim = 1.0;  // seconds, of building and of each format
constexpr int kSeeds = 2;

double Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

privacy::Claim MakeClaim(privacy::Adjacency adjacency, double epsilon, privacy::ClaimStatus status) {
  privacy::Claim claim;
  claim.adjacency = adjacency;
  claim.delta = 1e-5;
  claim.epsilon = epsilon;
  claim.status = status;
  claim.accountant = status == privacy::ClaimStatus::paper_formula ? "paper:dpdfd-thm3" : "exact-gdp";
  claim.units = "one unit";
  return claim;
}

TrialSpec MakeStudent(const std::shared_ptr<const DataSpec>& data, int row, int seed) {
  TrialSpec spec;
  spec.method = row % 2 == 0 ? "dpdfd" : "dpsgd";
  spec.data = data;
  spec.teacher = "single";
  spec.release.sigma = 1 + row / 2;
  spec.privacy.epsilon = row % 2 == 0 ? 1 : 2;
  spec.privacy.claim = ClaimTarget::example;
  spec.seed = static_cast<std::uint64_t>(seed);
  spec.id = TrialId(0x1000000ULL * static_cast<std::uint64_t>(seed + 1) +
                    0x100000000ULL * (data->name == "first" ? 1 : 2) + static_cast<std::uint64_t>(row));
  spec.axes = {{"sigma", std::to_string(1 + row / 2)}, {"method", spec.method}};
  return spec;
}

TrialView MakeRow(const TrialSpec& spec, int row) {
  TrialView view;
  view.spec = spec;
  view.state = TrialState::succeeded;
  storage::ResultRow stored;
  stored.metrics = {{"test.accuracy", 0.5 + 1e-5 * row + 1e-4 * static_cast<double>(spec.seed)}, {"test.top5", 0.9}};
  stored.claims = {MakeClaim(privacy::Adjacency::example, 1 + 1e-3 * row, privacy::ClaimStatus::paper_formula),
                   MakeClaim(privacy::Adjacency::teacher, 1e4 + row, privacy::ClaimStatus::proven),
                   MakeClaim(privacy::Adjacency::member, 0, privacy::ClaimStatus::unbounded)};
  stored.claims.back().reason = "seeded-noise";
  view.row = std::move(stored);
  return view;
}

std::shared_ptr<DataSpec> MakeData(const char* name, const char* published_as) {
  auto data = std::make_shared<DataSpec>();
  data->name = name;
  data->published_as = published_as;
  data->split.train = {0, 60'000};
  data->split.test = {60'000, 70'000};
  return data;
}

int Report(const char* what, double seconds, std::size_t bytes) {
  std::printf("%-9s %7.3f s  %6.1f MB  aim %.0f s%s\n", what, seconds, 1e-6 * static_cast<double>(bytes), kAim,
              seconds < kAim ? "" : "  MISSED");
  return seconds < kAim ? 0 : 3;
}

int Run(int rows) {
  SweepPlan plan;
  plan.name = "bench";
  plan.data = {MakeData("first", "MNIST"), MakeData("second", "CIFAR10")};
  ResultsView view;
  for (int row = 0; row < rows; ++row)
    for (const auto& data : plan.data)
      for (int seed = 0; seed < kSeeds; ++seed) {
        plan.trials.push_back(MakeStudent(data, row, seed));
        view.trials.push_back(MakeRow(plan.trials.back(), row));
      }
  TableSpec spec;
  spec.name = "bench";
  spec.rows = {"method", "sigma"};
  spec.columns = {"data"};
  spec.published = "dpdfd-ijcai23/table2";
  const std::vector<PublishedValue> published = FindPublishedTable(spec.published);
  auto start = std::chrono::steady_clock::now();
  const ResultTable table = BuildTable(plan, spec, view, published);
  int code = Report("build", Since(start), 0);
  const std::pair<const char*, std::string (*)(const ResultTable&)> formats[] = {
      {"text", [](const ResultTable& t) { return FormatTableText(t, 110); }},
      {"markdown", [](const ResultTable& t) { return FormatTableMarkdown(t); }},
      {"csv", [](const ResultTable& t) { return FormatTableCsv(t); }},
      {"latex", [](const ResultTable& t) { return FormatTableLatex(t); }},
      {"json", [](const ResultTable& t) { return FormatTablesJson({t}); }}};
  for (const auto& [name, render] : formats) {
    start = std::chrono::steady_clock::now();
    const std::string text = render(table);
    const double seconds = Since(start);
    if (Report(name, seconds, text.size()) != 0) code = 3;
  }
  std::printf("%d rows, %zu cells, %zu trials\n", rows, table.cells.size(), plan.trials.size());
  return code;
}

}  // namespace
}  // namespace retort::orchestrator::cli

int main(int argc, char** argv) { return retort::orchestrator::cli::Run(argc > 1 ? std::atoi(argv[1]) : 10'000); }
