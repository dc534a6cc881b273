// The page of `retort serve`: the state of a sweep, which a script keeps up to date, above its report. Nothing is
// fetched but from the server that gave the page.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/cli/serve/live_state.h"

namespace retort::orchestrator::cli {

// `report`: a body of MakeReportBody, empty while it is being made; `reports`: its number.
[[nodiscard]] std::string MakeLivePage(const LiveState& state, const std::string& report, std::uint64_t reports);
// The header Content-Security-Policy of that page, and of every other answer: its styles, its scripts, images within
// the page, and requests to its own server; nothing else, and in no frame.
[[nodiscard]] std::string FormatLivePolicy();

}  // namespace retort::orchestrator::cli
