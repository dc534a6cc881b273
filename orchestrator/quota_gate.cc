#include "orchestrator/quota_gate.h"

namespace retort::orchestrator {

std::string QuotaRefusal(const Core& core, TrialId trial, Now now, std::int64_t starting,
                         std::int64_t starting_new) {
  if (core.quota == Quota{}) return "";
  return RefuseByQuota(core.quota, core.usage(), trial, now.unix_seconds, starting, starting_new);
}

std::string QuotaStop(const Core& core, Now now) {
  if (core.quota == Quota{} || core.AllFinal()) return "";
  if (std::string spent = SpentQuota(core.quota, core.usage(), now.unix_seconds); !spent.empty())
    return spent;
  if (!core.fleet.active().empty()) return "";
  std::string refusal;
  for (const Core::ReadyKey& key : core.ready()) {
    refusal = QuotaRefusal(core, core.At(key.index).spec.id, now);
    if (refusal.empty()) return "";
  }
  return refusal;
}

}  // namespace retort::orchestrator
