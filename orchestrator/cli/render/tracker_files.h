// Trials as files of trackers of experiments: TensorBoard's event files, and MLflow's file store. The bytes follow from
// the results alone: no clock is read.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/results/trial_record.h"

namespace retort::orchestrator::cli {

struct TrackerFile {
  std::string path;  // relative to the folder that is written; one that ends in a slash is an empty folder
  std::string bytes;
};

// "<trial>/events.out.tfevents.<seconds>.retort": scalars `curve/…`, `metric/…` and `epsilon/…`, the texts `privacy`
// and `settings`, and the settings as hyperparameters. Metrics and ε stand at the last step of the curves.
[[nodiscard]] TrackerFile MakeTensorBoardRun(const TrialRecord& record);

// Where runs of MLflow are kept.
struct MlflowStore {
  std::string sweep;     // the experiment's name
  std::string location;  // absolute path of the folder that is written; stands in its files as file:///…
};

// 18 digits that follow from the sweep's name.
[[nodiscard]] std::string MakeMlflowExperimentId(const std::string& sweep);
// "<experiment>/meta.yaml". `began` and `ended`: unix seconds.
[[nodiscard]] TrackerFile MakeMlflowExperiment(const MlflowStore& store, double began, double ended);
// "<experiment>/<trial id>/…": metrics (bare names), `curve/…` and `epsilon/…`; settings as params; tags with every
// claim in words; the claims as JSON in artifacts/claims.json. Names keep MLflow's rules (letters, digits, "_.-/ ", 250
// characters), values its limits, with an ellipsis where something was cut.
[[nodiscard]] std::vector<TrackerFile> MakeMlflowRun(const TrialRecord& record, const MlflowStore& store);

}  // namespace retort::orchestrator::cli
