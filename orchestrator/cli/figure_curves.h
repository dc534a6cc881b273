// Curves that trials recorded, averaged over their seeds.
#pragma once

#include <set>
#include <string>

#include "orchestrator/cli/figure_data.h"
#include "orchestrator/cli/figure_words.h"

namespace retort::orchestrator::cli {

class CurveReader {
 public:
  // All outlive the object.
  CurveReader(const FigureSpec& spec, const FigureSources& sources, const ViewIndex& views)
      : spec_(spec), sources_(sources), views_(views) {}

  // Points of the curves of the series' trials: at each step, the mean over the seeds that recorded it. Steps without
  // the curve that runs along x are left out. No more points than can be told apart: then every second, third, ...
  // Error: as reading the attempts.
  [[nodiscard]] Status Fill(FigureSeries& series);
  // Usage, naming the nearest, where trials recorded curves and none of them is the one; else ok.
  [[nodiscard]] Status UnknownCurve() const;

 private:
  const FigureSpec& spec_;
  const FigureSources& sources_;
  const ViewIndex& views_;
  std::set<std::string> recorded_;
};

}  // namespace retort::orchestrator::cli
