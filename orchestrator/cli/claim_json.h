// Claims in the contract's JSON form.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "experiments/privacy/claim.h"

namespace retort::orchestrator::cli {

[[nodiscard]] nlohmann::ordered_json ClaimsJson(const std::vector<privacy::Claim>& claims);

// What every document ends as: two-space indent and a line end; bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string DocumentText(const nlohmann::ordered_json& document);

inline constexpr int kSchemaVersion = 1;

}  // namespace retort::orchestrator::cli
