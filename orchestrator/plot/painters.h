// The parts of a picture, drawn where the layout puts them.
#pragma once

#include <cstddef>

#include "orchestrator/plot/canvas.h"
#include "orchestrator/plot/layout.h"
#include "orchestrator/plot/picture.h"

namespace retort::orchestrator::plot {

// Axes and data of one panel; its texts are the layout's.
void PaintPanel(const Picture& picture, const Layout& layout, std::size_t panel, Canvas& canvas);
void PaintSheet(const Sheet& sheet, const PlacedSheet& placed, const std::string& badge, Canvas& canvas);
void PaintLegend(const Layout& layout, Marks marks, Canvas& canvas);
void PaintTexts(const Layout& layout, Canvas& canvas);

// Of the dashed lines that tell rules, or a second round of colours, apart; empty for 0.
[[nodiscard]] Dashes DashesOf(std::size_t number);
// In place of what is not there.
void PaintMissing(const Box& box, Canvas& canvas);
// Faint and large across a box.
void PaintBadge(const std::string& badge, const Box& box, Canvas& canvas);

}  // namespace retort::orchestrator::plot
