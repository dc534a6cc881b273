#include "orchestrator/cli/claim_json.h"

#include <nlohmann/json.hpp>

namespace retort::orchestrator::cli {

nlohmann::ordered_json ClaimsJson(const std::vector<privacy::Claim>& claims) {
  auto array = nlohmann::ordered_json::array();
  for (const privacy::Claim& claim : claims)
    array.push_back(nlohmann::ordered_json::parse(privacy::EncodeClaim(claim), nullptr, false));
  return array;
}

std::string DocumentText(const nlohmann::ordered_json& document) {
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace retort::orchestrator::cli
