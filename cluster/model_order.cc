#include "cluster/model_order.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/privacy/json_fields.h"

namespace retort::cluster {

std::string EncodeModelOrder(const ModelOrder& order) {
  const nlohmann::json json = {
      {"network", order.network},       {"weights", order.weights}, {"input", order.input},
      {"logits_out", order.logits_out}, {"classes", order.classes}, {"channels", order.channels},
      {"height", order.height},         {"width", order.width},     {"torchscript", order.torchscript},
      {"non_finite", order.non_finite}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<ModelOrder> DecodeModelOrder(const std::string& json) {
  privacy::JsonFields fields(json, "model order");
  ModelOrder order;
  order.network = fields.String("network");
  order.weights = fields.String("weights");
  order.input = fields.String("input");
  order.logits_out = fields.String("logits_out");
  for (const auto& [key, value] :
       {std::pair{"classes", &order.classes}, std::pair{"channels", &order.channels},
        std::pair{"height", &order.height}, std::pair{"width", &order.width}}) {
    *value = fields.Integer(key);
    if (*value < 0 || *value > (std::int64_t{1} << 20)) fields.Fail(key, "a number from 0 to 2^20");
  }
  order.torchscript = fields.Flag("torchscript");
  order.non_finite = fields.Flag("non_finite");
  RETORT_RETURN_IF_ERROR(fields.status());
  return order;
}

}  // namespace retort::cluster
