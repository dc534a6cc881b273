// Claims in the contract's JSON form.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/privacy/claim.h"

namespace retort::orchestrator::cli {

[[nodiscard]] nlohmann::ordered_json ClaimsJson(const std::vector<privacy::Claim>& claims);
// The same as text on one line.
[[nodiscard]] std::string ClaimsText(const std::vector<privacy::Claim>& claims);

// What every document ends as: two-space indent and a line end; bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string DocumentText(const nlohmann::ordered_json& document);

// The same with one more member, `key`: an array of `count` entries, one line each, made and written one by
// one, since there may be many.
void WriteWithArray(const std::function<void(std::string_view)>& out, const nlohmann::ordered_json& document,
                    const std::string& key, std::size_t count,
                    const std::function<std::string(std::size_t)>& entry);

inline constexpr int kSchemaVersion = 1;

}  // namespace retort::orchestrator::cli
