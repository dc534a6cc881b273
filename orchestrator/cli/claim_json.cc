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

std::string ClaimsText(const std::vector<privacy::Claim>& claims) {
  std::string text = "[";
  for (std::size_t i = 0; i < claims.size(); ++i)
    text += (i == 0 ? "" : ",") + privacy::EncodeClaim(claims[i]);
  return text + "]";
}

void WriteWithArray(const std::function<void(std::string_view)>& out, const nlohmann::ordered_json& document,
                    const std::string& key, std::size_t count,
                    const std::function<std::string(std::size_t)>& entry) {
  std::string head = DocumentText(document);
  head.resize(head.rfind("\n}"));
  out(head + ",\n  \"" + key + "\": [");
  for (std::size_t i = 0; i < count; ++i) out((i == 0 ? "\n    " : ",\n    ") + entry(i));
  out(count == 0 ? "]\n}\n" : "\n  ]\n}\n");
}

}  // namespace retort::orchestrator::cli
