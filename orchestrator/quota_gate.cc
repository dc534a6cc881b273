#include "orchestrator/quota_gate.h"

namespace retort::orchestrator {

std::string QuotaRefusal(const Core& core, TrialId trial, Now now, std::int64_t starting,
                         std::int64_t starting_new) {
  if (core.quota == Quota{}) return "";
  return RefuseByQuota(core.quota, core.usage(), trial, now.unix_seconds, starting, starting_new);
}

QuotaGate::QuotaGate(const Core& core, Now now)
    : core_(core),
      limited_(core.quota != Quota{}),
      spent_(limited_ && !SpentQuota(core.quota, core.usage(), now.unix_seconds).empty()),
      begun_left_(core.ready_begun()) {}

bool QuotaGate::NewOnesAreRefused() const {
  return core_.quota.trials > 0 && core_.usage().trials() + started_new_ >= core_.quota.trials;
}

bool QuotaGate::Full(std::int64_t starting) const {
  if (!limited_) return false;
  const bool crowded =
      core_.quota.concurrency > 0 && core_.usage().active() + starting >= core_.quota.concurrency;
  return spent_ || crowded || (begun_left_ == 0 && NewOnesAreRefused());
}

bool QuotaGate::Admits(const Trial& trial) {
  const bool begun = trial.attempts > 0;
  if (begun && begun_left_ > 0) --begun_left_;
  return begun || !NewOnesAreRefused();
}

void QuotaGate::Started(const Trial& trial) {
  if (trial.attempts == 0) ++started_new_;
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
