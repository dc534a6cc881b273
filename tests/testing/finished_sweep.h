// The journal of a sweep whose trials have all succeeded, as a run would have left it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/claim.h"
#include "orchestrator/core/events.h"
#include "orchestrator/core/trial.h"
#include "orchestrator/journal/journal.h"
#include "storage/results/result_file.h"
#include "tests/testing/trial_builder.h"

namespace retort::testing {

inline constexpr char kSampleProvenance[] =
    R"({"version":"0.1.0+1f3a9c2e","command":["retort","run","experiments/configs/sweep.toml"],)"
    R"("host":"node-17","world_size":8,"started":"2026-01-01T00:00:00Z","build":{"compiler":"gcc 12.2.0",)"
    R"("preset":"release","commit":"1f3a9c2e5b7d","torch":"2.3.1","hdf5":"1.10.8","mpi":"4.1.4"},)"
    R"("environment":{"OMP_NUM_THREADS":"2","CUDA_VISIBLE_DEVICES":""}})";

// Trials of one sweep differ in their seed and in two axes.
inline TrialSpec SweptTrial(std::int64_t index, const std::shared_ptr<const DataSpec>& data) {
  TrialSpec spec = TrialBuilder(static_cast<std::uint64_t>(index / 20)).With(data).Build();
  spec.release.sigma = 10.0 + 7.3 * static_cast<double>(index % 5);
  spec.optimization.lr = 1e-3 / static_cast<double>(1 + index % 4);
  spec.axes = {
      {"method", "dpdfd"}, {"sigma", std::to_string(spec.release.sigma)}, {"lr", std::to_string(spec.optimization.lr)}};
  spec.name = "dpdfd-working-digits-sigma" + std::to_string(index % 5) + "-s" + std::to_string(spec.seed);
  spec.id = ComputeTrialId(spec);
  return spec;
}

inline std::vector<privacy::Claim> SweptClaims(std::int64_t index) {
  privacy::Claim proven;
  proven.adjacency = privacy::Adjacency::teacher;
  proven.delta = 1e-5;
  proven.epsilon = 3.0 + 1e-7 * static_cast<double>(index);
  proven.lower = 2.9;
  proven.status = privacy::ClaimStatus::proven;
  proven.units = "all answers of one teacher";
  proven.accountant = "exact-gdp";
  proven.assumptions = {"disjoint-shards-by-index", "noise-drawn-per-row"};
  proven.reason = "a Gaussian draw for each row of 160 batches";
  privacy::Claim unbounded;
  unbounded.adjacency = privacy::Adjacency::example;
  unbounded.delta = 1e-5;
  unbounded.reason = "the teacher was trained without privacy";
  return {proven, unbounded};
}

inline storage::ResultRow SweptRow(const TrialSpec& spec, const orchestrator::AttemptEnded& ended, std::int64_t index) {
  storage::ResultRow row;
  row.trial = spec.id.Hex();
  row.name = spec.name;
  row.role = "student";
  row.method = spec.method;
  row.reading = "working";
  row.data = spec.data->name;
  row.network = spec.network;
  row.seed = spec.seed;
  row.state = "succeeded";
  row.attempts = 1;
  row.metrics = ended.metrics;
  row.timings = ended.timings;
  row.parameters_digest = ended.parameters_digest;
  row.attempt_file = ended.file;
  row.spec_json = EncodeTrialSpec(spec);
  row.provenance_json = kSampleProvenance;
  row.axes = spec.axes;
  row.claims = SweptClaims(index);
  row.row_digest = storage::ComputeRowDigest(row);
  return row;
}

// Lease, start, progress, checkpoint, end and row of one trial.
inline std::vector<orchestrator::JournalEvent> FinishedTrial(const TrialSpec& spec, std::int64_t index) {
  using namespace orchestrator;
  const AttemptId attempt{spec.id, 1};
  const double x = static_cast<double>(index);
  AttemptEnded ended;
  ended.attempt = attempt;
  ended.succeeded = true;
  ended.metrics = {{"test.accuracy", 0.9 - 1e-7 * x}, {"test.loss", 0.3 + 1e-6 * x}, {"test.top5", 0.99}};
  ended.timings = {{"seconds", 12.5 + 1e-4 * x}, {"step_seconds", 0.07 + 1e-8 * x}, {"seconds.data", 0.25}};
  ended.parameters_digest = ComputeSha256Hex(std::to_string(index));
  ended.file = GetTrialDirectory(spec) + "/attempt-1/attempt.h5";
  const double at = 1.7e9 + 0.01 * x;
  const Generation generation{static_cast<std::uint64_t>(index) + 1};
  const storage::ResultRow row = SweptRow(spec, ended, index);
  return {{at, AttemptLeased{attempt, generation, {{0, static_cast<int>(index % 8)}}}},
          {at + 0.25, AttemptStarted{attempt}},
          {at + 0.5, ProgressNoted{attempt, 40, 160, "train"}},
          {at + 0.75, CheckpointNoted{attempt, 80, ended.parameters_digest}},
          {at + 1, ended},
          {at + 1.0625, RowWritten{row}}};
}

// `trials` of them into a new journal, synced once in a thousand.
[[nodiscard]] inline Status WriteFinishedSweep(orchestrator::Journal& journal, std::int64_t trials) {
  using namespace orchestrator;
  const std::shared_ptr<const DataSpec> data = SmallData();
  std::vector<TrialSpec> specs;
  for (std::int64_t i = 0; i < trials; ++i) specs.push_back(SweptTrial(i, data));
  std::vector<JournalEvent> events;
  events.push_back({1.7e9, SweepOpened{kResultsFormatVersion, "swept", "retort = 1\n", kSampleProvenance}});
  PlanAdopted adopted;
  for (const TrialSpec& spec : specs) {
    events.push_back({1.7e9, MakeTrialPlanned(spec)});
    adopted.order.push_back(spec.id);
  }
  events.push_back({1.7e9, std::move(adopted)});
  RETORT_RETURN_IF_ERROR(journal.Commit(events));
  events.clear();
  for (std::int64_t i = 0; i < trials; ++i) {
    for (JournalEvent& event : FinishedTrial(specs[static_cast<std::size_t>(i)], i)) events.push_back(std::move(event));
    if (i % 1000 != 999 && i + 1 != trials) continue;
    RETORT_RETURN_IF_ERROR(journal.Commit(events));
    events.clear();
  }
  return {};
}

}  // namespace retort::testing
