// How a report looks and what its one script does. Both are part of the page; nothing is fetched.
#pragma once

#include <string>
#include <string_view>

namespace retort::orchestrator::cli {

// Every variable --ink… may stand as text on every variable --paper… at a contrast of 4.5 or more, in both schemes.
[[nodiscard]] std::string_view ReportStyle();
// Sorts tables by their headers, and opens what is folded while the page is printed. The page says the same without it.
[[nodiscard]] std::string_view ReportScript();
// Nothing but that style, that script and images of the page itself may be loaded or run.
[[nodiscard]] std::string ReportPolicy();

}  // namespace retort::orchestrator::cli
