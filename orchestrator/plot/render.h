// Renders a chart as the bytes of a file.
#pragma once

#include <string>

#include "experiments/base/status.h"
#include "orchestrator/plot/canvas.h"
#include "orchestrator/plot/chart.h"

namespace retort::orchestrator::plot {

// The same chart gives the same bytes wherever the same fonts and cairo are: no dates, no counters. An SVG carries
// `name` and `description` as its title and alternative text; a PDF, `name` as its title. Error: environment, see
// Canvas::Finish.
[[nodiscard]] Result<std::string> Render(const Chart& chart, Format format);

// The SVG with a title and a description behind its root's tag, and identifiers that do not count what the process drew
// before.
[[nodiscard]] std::string AddAlternativeText(std::string svg, const std::string& name, const std::string& description);

}  // namespace retort::orchestrator::plot
