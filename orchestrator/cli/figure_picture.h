// A figure's points as something to draw.
#pragma once

#include "orchestrator/cli/figure_data.h"
#include "orchestrator/plot/picture.h"

namespace retort::orchestrator::cli {

[[nodiscard]] plot::Picture PictureOf(const FigureData& data);

}  // namespace retort::orchestrator::cli
