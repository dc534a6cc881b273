// A ledger of any bytes is read whole or refused: it never counts less than what stands in it.
#include "storage/log/privacy_ledger.h"
#include "tests/fuzz/framed_log.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/storage_samples.h"

namespace retort::testing {

std::vector<std::string> FuzzSeeds() {
  FaultInjectionEnv env;
  auto ledger = storage::PrivacyLedger::Open(env, "ledger.log");
  RETORT_CHECK(ledger.ok());
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    const auto id = (*ledger)->Reserve(std::string(64, 'd'), {TrialId(attempt % 2), attempt}, attempt, VoteEvent(64));
    RETORT_CHECK(id.ok());
    if (attempt != 2) RETORT_CHECK((*ledger)->Settle(*id, 40).ok());
  }
  return LogSeeds(env, "ledger.log", storage::LogKind::ledger);
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  testing::FaultInjectionEnv env;
  env.Put("ledger.log", testing::MakeLogFile(testing::Bytes(data, size), storage::LogKind::ledger));
  const auto entries = storage::ReadLedger(env, "ledger.log");
  const auto ledger = storage::PrivacyLedger::Open(env, "ledger.log");
  RETORT_CHECK(entries.ok() == ledger.ok());
  if (!ledger.ok()) {
    testing::CheckRefusal(entries.status());
    return 0;
  }
  RETORT_CHECK((*ledger)->entries().size() == entries->size());
  for (const storage::LedgerEntry& entry : *entries) {
    const std::int64_t charged = entry.Charged().count;
    RETORT_CHECK(charged >= 0 && charged <= entry.event.count);
    (void)(*ledger)->CollectEvents(entry.attempt.trial);
  }
  return 0;
}
