#include "experiments/privacy/audit_order.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "experiments/privacy/json_fields.h"

namespace retort::privacy {

std::string EncodeAuditOrder(const AuditOrder& order) {
  nlohmann::json json;
  json["trial"] = order.trial;
  json["spec"] = order.spec;
  json["data_path"] = order.data_path;
  json["attempt_file"] = order.attempt_file;
  json["teacher_file"] = order.teacher_file;
  json["device"] = order.device;
  json["kinds"] = nlohmann::json::array();
  for (const AuditKind kind : order.kinds) json["kinds"].push_back(AuditKindName(kind));
  json["confidence"] = order.confidence;
  json["samples"] = order.samples;
  json["canaries"] = order.canaries;
  json["shadows"] = order.shadows;
  for (const auto& [key, claims] :
       {std::pair{"claims", &order.claims}, std::pair{"alarm_claims", &order.alarm_claims}}) {
    json[key] = nlohmann::json::array();
    for (const Claim& claim : *claims) json[key].push_back(EncodeClaim(claim));
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<AuditOrder> DecodeAuditOrder(const std::string& json) {
  JsonFields fields(json, "audit order");
  AuditOrder order;
  order.trial = fields.String("trial");
  order.spec = fields.String("spec");
  order.data_path = fields.String("data_path");
  order.attempt_file = fields.String("attempt_file");
  order.teacher_file = fields.String("teacher_file");
  order.device = fields.String("device");
  for (const std::string& name : fields.Strings("kinds")) {
    const std::optional<AuditKind> kind = AuditKindOf(name);
    if (!kind) fields.Fail("kinds", "names of audits");
    order.kinds.push_back(kind.value_or(AuditKind::release_step));
  }
  order.confidence = fields.Number("confidence");
  if (!(order.confidence > 0 && order.confidence < 1)) fields.Fail("confidence", "a number between 0 and 1");
  for (const auto& [key, count] :
       {std::pair{"samples", &order.samples}, std::pair{"canaries", &order.canaries},
        std::pair{"shadows", &order.shadows}}) {
    *count = fields.Integer(key);
    if (*count < 0) fields.Fail(key, "a count");
  }
  for (const auto& [key, claims] :
       {std::pair{"claims", &order.claims}, std::pair{"alarm_claims", &order.alarm_claims}}) {
    for (const std::string& text : fields.Strings(key)) {
      RETORT_ASSIGN_OR_RETURN(Claim claim, DecodeClaim(text));
      claims->push_back(std::move(claim));
    }
  }
  RETORT_RETURN_IF_ERROR(fields.status());
  return order;
}

}  // namespace retort::privacy
