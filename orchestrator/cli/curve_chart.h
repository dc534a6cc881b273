// One curve as a small drawing in the page itself, in the page's own colours.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/cli/html_writer.h"

namespace retort::orchestrator::cli {

using CurvePoints = std::vector<std::pair<std::int64_t, double>>;  // step and value, by ascending step

// What the chart shows, in words: "train.loss, 160 points from step 0 to 159: 2.303 at first, 0.41 at last,
// between 0.39 and 2.303". Values that are not finite are counted and left out.
[[nodiscard]] std::string CurveWords(const std::string& name, const CurvePoints& points);

// A figure of class "chart" with an SVG, which carries CurveWords as its alternative text. Of many points as
// many are drawn as can be told apart; the first, the last, the least and the largest value are among them.
void WriteCurve(Html& html, const std::string& name, const CurvePoints& points);

}  // namespace retort::orchestrator::cli
