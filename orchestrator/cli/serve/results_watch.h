// Looks at a results folder again and again, and reads it only where its files have changed. Writes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "orchestrator/cli/serve/live_state.h"
#include "orchestrator/journal/cost_cache.h"
#include "orchestrator/results/results_root.h"
#include "orchestrator/results/results_view.h"
#include "storage/files/env.h"

namespace retort::orchestrator::cli {

class ResultsWatch {
 public:
  // Where a run goes on, what is said of times is made anew at least so often.
  static constexpr double kMaxAgeSeconds = 10;

  // `costs`: what is known of costs on such machines. Nothing is read yet.
  ResultsWatch(storage::Env& env, std::string directory, CostCache costs)
      : env_(env), directory_(std::move(directory)), costs_(std::move(costs)) {}

  // What the page has to say now; nothing where that is what it said last. Error: as ReadPacked; what is written at
  // that moment may look damaged. `clock`: unix seconds.
  [[nodiscard]] Result<std::optional<LiveState>> Look(double clock);

  // Whether trials have changed since the last report as far as that shows them.
  [[nodiscard]] bool IsReportDue() const;
  // The body of the report (MakeReportBody) of what is there now. Error: as ReadResults.
  [[nodiscard]] Result<std::string> MakeReport(const std::string& profile, double clock);

  [[nodiscard]] std::uint64_t reads() const { return reads_; }  // how often the journal was read

 private:
  using Stamps = std::vector<std::uint64_t>;
  struct SeriesFile {
    Stamps stamps;
    storage::Curves curves;
  };

  // Of what tells one state of the folder from another; nothing where the file system does not.
  [[nodiscard]] std::optional<Stamps> ReadStamps() const;
  [[nodiscard]] Status Read();
  // Whether curves of running trials have new points.
  bool ReadCurves();
  [[nodiscard]] LiveState Make(double clock) const;
  [[nodiscard]] std::string FindSeries(const TrialView& trial) const;
  [[nodiscard]] std::string DescribeTrials() const;  // all of them that a report shows

  storage::Env& env_;
  std::string directory_;
  CostCache costs_;
  std::optional<ResultsView> view_;
  RootCharges root_;
  std::optional<Stamps> stamps_;
  std::map<TrialId, SeriesFile> series_;  // of trials that run
  double made_ = 0;                       // unix seconds of the last state
  std::uint64_t reads_ = 0;
  std::optional<std::string> reported_;  // DescribeTrials at the last report
};

}  // namespace retort::orchestrator::cli
