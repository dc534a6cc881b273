#include "tests/fault/charge_host.h"

#include <algorithm>
#include <utility>

#include "orchestrator/journal/recovery.h"
#include "orchestrator/reactor/reactor.h"
#include "tests/testing/trial_builder.h"

namespace retort::testing {
namespace {

using orchestrator::LedgerReserve;
using orchestrator::LedgerSettle;
using orchestrator::Outbox;

constexpr std::uint64_t kUnwritten = std::uint64_t{1} << 40;  // entries that no ledger knows begin here

TrialSpec TheTrial() { return TrialBuilder(1).Build(); }

}  // namespace

ChargeHost::ChargeHost(FaultInjectionEnv& disk, Points& points, ChargeFault fault)
    : disk_(disk), points_(points), fault_(fault), trial_(TheTrial().id) {}

Status ChargeHost::Start() {
  orchestrator::Settings settings;
  settings.results = kResults;
  settings.provenance_json = "{}";
  settings.world_size = 1;
  RETORT_RETURN_IF_ERROR(disk_.CreateDirectories(kResults));
  RETORT_ASSIGN_OR_RETURN(orchestrator::Recovered recovered, orchestrator::RecoverResults(disk_, settings));
  recovered_.emplace(std::move(recovered));
  Outbox outbox;
  RETORT_RETURN_IF_ERROR(OpenSweep(recovered_->core, MakePlan({TheTrial()}), now(), outbox));
  RETORT_RETURN_IF_ERROR(Commit(outbox));
  cluster::Register agent;
  agent.host = "node";
  agent.slots = 1;
  agent.devices = {"cpu"};
  Outbox registered;
  OnMessage(recovered_->core, WorldRank{0}, {{}, {}, 0, agent}, now(), registered);
  RETORT_RETURN_IF_ERROR(Commit(registered));
  return Pass(1);
}

const orchestrator::ActiveAttempt* ChargeHost::attempt() const { return recovered_->core.fleet.Find(trial_); }

Status ChargeHost::Pass(double seconds) {
  for (const double end = time_ + seconds; time_ < end;) {
    time_ += 1;
    Outbox outbox;
    OnMessage(recovered_->core, WorldRank{0}, {{}, {}, 0, cluster::Heartbeat{}}, now(), outbox);
    OnTick(recovered_->core, now(), outbox);
    RETORT_RETURN_IF_ERROR(Commit(outbox));
    for (const orchestrator::Outgoing& message : outbox.messages)
      if (const auto* lease = std::get_if<cluster::Lease>(&message.envelope.message);
          lease != nullptr && fault_ != ChargeFault::leases_tell_nothing)
        charged_ = lease->start.charged;
  }
  return {};
}

bool ChargeHost::LeaseAgain() {
  if (!Say(cluster::WorkerLost{FailureKind::worker_killed, "SIGKILL"}).ok()) return false;
  for (int wait = 0; wait < 120 && attempt() == nullptr; ++wait)
    if (!Pass(1).ok()) return false;
  return attempt() != nullptr;
}

Status ChargeHost::Succeed() {
  cluster::Ended ended;
  ended.succeeded = true;
  ended.parameters_digest = "feed";
  ended.file = "trials/t/attempt.h5";
  return Say(ended);
}

bool ChargeHost::succeeded() const { return recovered_->core.Get(trial_).state == orchestrator::TrialState::succeeded; }

Status ChargeHost::Say(cluster::Message message, std::vector<orchestrator::Outgoing>* said) {
  const orchestrator::ActiveAttempt* active = attempt();
  RETORT_CHECK(active != nullptr);
  Outbox outbox;
  OnMessage(recovered_->core, active->leader(), {active->id, active->generation, 0, std::move(message)}, now(), outbox);
  RETORT_RETURN_IF_ERROR(Commit(outbox));
  if (said != nullptr) *said = std::move(outbox.messages);
  return {};
}

Status ChargeHost::Commit(Outbox& outbox) {
  Spoil(outbox);
  return CommitOutbox(*recovered_, outbox);
}

// Reservations and settlements that the fault keeps from the ledger.
void ChargeHost::Spoil(Outbox& outbox) {
  std::erase_if(outbox.ledger, [&](const auto& request) {
    if (const auto* settle = std::get_if<LedgerSettle>(&request)) return settle->entry >= kUnwritten;
    const auto& reserve = std::get<LedgerReserve>(request);
    const bool unwritten = fault_ == ChargeFault::grants_before_durable ||
                           (fault_ == ChargeFault::retries_are_free && reserve.attempt.number > 1);
    if (!unwritten) return false;
    const std::uint64_t entry = kUnwritten + granted_.size();
    granted_.emplace(entry, reserve);
    OnLedgerReserved(recovered_->core, reserve, entry, outbox);
    return true;
  });
}

// What the fault does when a block is spent: the ledger becomes right at last.
Status ChargeHost::Correct(std::uint64_t id, std::int64_t used) {
  const auto grant = attempt()->grants.find(id);
  RETORT_CHECK(grant != attempt()->grants.end() && grant->second.entry);
  privacy::PrivacyEvent event;
  if (fault_ == ChargeFault::grants_before_durable) {
    event = granted_.at(*grant->second.entry).event;
  } else {
    const auto& entries = recovered_->ledger->entries();
    const auto entry =
        std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.id == *grant->second.entry; });
    event = entry->event;
  }
  event.count = std::max<std::int64_t>(used, 1);
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t entry, recovered_->ledger->Reserve(std::string(64, 'd'), attempt()->id,
                                                                                 attempt()->generation.value, event));
  return recovered_->ledger->Settle(entry, used);
}

Result<std::uint64_t> ChargeHost::Reserve(const privacy::PrivacyEvent& event, std::int64_t count) {
  points_.Pass();
  const std::uint64_t id = ++last_request_;
  std::vector<orchestrator::Outgoing> said;
  RETORT_RETURN_IF_ERROR(Say(cluster::Reserve{id, event, count}, &said));
  for (const orchestrator::Outgoing& message : said) {
    const auto* answer = std::get_if<cluster::Reserved>(&message.envelope.message);
    if (answer == nullptr || answer->id != id) continue;
    if (!answer->granted) return Refused(answer->refusal);
    if (fault_ == ChargeFault::settles_before_draw) RETORT_RETURN_IF_ERROR(Say(cluster::Settle{id, 0}));
    points_.Pass();
    return id;
  }
  return EnvironmentError("the reservation was not answered");
}

Status ChargeHost::Settle(std::uint64_t id, std::int64_t used) {
  points_.Pass();
  const bool corrects = fault_ == ChargeFault::settles_before_draw || fault_ == ChargeFault::grants_before_durable;
  RETORT_RETURN_IF_ERROR(corrects ? Correct(id, used) : Say(cluster::Settle{id, used}));
  points_.Pass();
  return {};
}

}  // namespace retort::testing
