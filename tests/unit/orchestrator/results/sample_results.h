// A small results folder as a value: one teacher, a student in the working reading over three seeds (one
// unfinished), and a DP-SGD baseline.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/results/cost_history.h"
#include "orchestrator/results/results_view.h"

namespace retort::orchestrator::cli::testing {

// The head of a file of published values.
inline const std::string kPublishedHeader = "paper,table,dataset,approach,epsilon,delta,setting,metric,value,note\n";

inline std::shared_ptr<DataSpec> SampleData() {
  auto data = std::make_shared<DataSpec>();
  data->name = "digits";
  data->reader = "idx";
  data->path = "/data/digits";
  data->digest = std::string(64, 'a');
  data->split.train = {0, 8000};
  data->split.test = {9000, 10000};
  data->examples = 10000;
  return data;
}

inline TrialSpec SampleTeacher(const std::shared_ptr<const DataSpec>& data) {
  TrialSpec spec;
  spec.role = Role::teacher;
  spec.method = "plain";
  spec.teacher = "single";
  spec.data = data;
  spec.id = TrialId(0x1111111122222222);
  spec.name = "teacher-single-digits-s0";
  return spec;
}

inline TrialSpec SampleStudent(const std::shared_ptr<const DataSpec>& data, std::uint64_t seed) {
  TrialSpec spec;
  spec.method = "dpdfd";
  spec.reading = Reading::working;
  spec.teacher = "single";
  spec.parent = TrialId(0x1111111122222222);
  spec.data = data;
  spec.seed = seed;
  spec.id = TrialId(0xabc0000000000000 + seed);
  spec.name = "dpdfd-working-digits-s" + std::to_string(seed);
  return spec;
}

inline TrialSpec SampleBaseline(const std::shared_ptr<const DataSpec>& data) {
  TrialSpec spec;
  spec.method = "dpsgd";
  spec.network = "tanh-cnn";
  spec.data = data;
  spec.privacy.epsilon = 3;
  spec.privacy.claim = ClaimTarget::example;
  spec.id = TrialId(0xdd00000000000001);
  spec.name = "dpsgd-digits-s0";
  return spec;
}

inline privacy::Claim ProvenClaim(privacy::Adjacency adjacency, privacy::Neighbour neighbour, double epsilon) {
  privacy::Claim claim;
  claim.adjacency = adjacency;
  claim.neighbour = neighbour;
  claim.delta = 1e-5;
  claim.epsilon = epsilon;
  claim.status = privacy::ClaimStatus::proven;
  claim.accountant = "exact-gdp";
  claim.units = "one unit";
  return claim;
}

inline privacy::Claim FormulaClaim(double epsilon) {
  privacy::Claim claim = ProvenClaim(privacy::Adjacency::example, privacy::Neighbour::replace, epsilon);
  claim.status = privacy::ClaimStatus::paper_formula;
  claim.accountant = "paper:dpdfd-thm3";
  return claim;
}

inline privacy::Claim NoClaim(privacy::Adjacency adjacency, const std::string& reason) {
  privacy::Claim claim;
  claim.adjacency = adjacency;
  claim.delta = 1e-5;
  claim.reason = reason;
  return claim;
}

inline TrialView Finished(const TrialSpec& spec, double accuracy, double seconds, std::vector<privacy::Claim> claims) {
  TrialView view;
  view.spec = spec;
  view.state = TrialState::succeeded;
  view.attempts = 1;
  storage::ResultRow row;
  row.trial = spec.id.Hex();
  row.name = spec.name;
  row.state = "succeeded";
  row.metrics = {{"test.accuracy", accuracy}};
  row.timings = {{"seconds", seconds}};
  row.claims = std::move(claims);
  view.row = row;
  return view;
}

// As the rows of the sample say, by the real rule.
inline CostModel SampleCosts(const ResultsView& view) { return ComputeCosts(view, "here"); }

struct Sample {
  SweepPlan plan;
  ResultsView view;
};

inline Sample SampleSweep() {
  const auto data = SampleData();
  Sample sample;
  sample.plan.name = "sample";
  sample.plan.file = "sample.toml";
  sample.plan.data = {data};
  sample.plan.trials = {SampleTeacher(data), SampleStudent(data, 0), SampleStudent(data, 1), SampleStudent(data, 2),
                        SampleBaseline(data)};
  TableSpec table;
  table.name = "sample";
  table.rows = {"method", "reading", "teacher"};
  table.columns = {"data"};
  sample.plan.tables = {table};
  sample.view.directory = "results/sample";
  sample.view.sweep = "sample";
  using privacy::Adjacency;
  using privacy::Neighbour;
  const std::vector<privacy::Claim> working = {FormulaClaim(0.041),
                                               ProvenClaim(Adjacency::teacher, Neighbour::replace, 541289.259),
                                               NoClaim(Adjacency::member, "seeded-noise")};
  sample.view.trials = {
      Finished(sample.plan.trials[0], 0.978, 10, {NoClaim(Adjacency::example, "not-privately-trained")}),
      Finished(sample.plan.trials[1], 0.91, 100, working), Finished(sample.plan.trials[2], 0.93, 120, working),
      TrialView{},
      Finished(sample.plan.trials[4], 0.938, 30, {ProvenClaim(Adjacency::example, Neighbour::add_remove, 2.997)})};
  sample.view.trials[3].spec = sample.plan.trials[3];
  sample.view.trials[3].state = TrialState::queued;
  return sample;
}

}  // namespace retort::orchestrator::cli::testing
