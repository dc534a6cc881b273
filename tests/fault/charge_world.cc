#include "tests/fault/charge_world.h"

#include <ATen/ATen.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "storage/log/privacy_ledger.h"
#include "storage/results/checkpoint_store.h"
#include "tests/fault/noise_tap.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/release_replay.h"
#include "worker/release/noisy_votes.h"
#include "worker/run/ledger_view.h"

namespace retort::testing {

namespace release = worker::release;

// What a worker does from its start to its end, in the order of worker/run/trial_runner.cc.
class ChargeWorld::Life {
 public:
  Life(FaultInjectionEnv& disk, ChargeHost& host, Points& points)
      : disk_(disk), host_(host), points_(points), gang_(worker::MakeSoloCollective()) {}

  Status Live() {
    RETORT_RETURN_IF_ERROR(Restore());
    for (; next_ < kSteps; ++next_) {
      ledger_->BeginStep(next_);
      RETORT_RETURN_IF_ERROR(Step());
      points_.Pass();
      if (next_ + 1 == kSteps / 2) RETORT_RETURN_IF_ERROR(Commit(next_ + 1));
    }
    return book_->SettleAll();
  }
  [[nodiscard]] std::int64_t Counted() const {
    std::int64_t counted = 0;
    for (const storage::LedgerEntry& entry : ledger_->entries())
      counted += entry.Charged().count * entry.event.noise_coordinates;
    return counted;
  }

 private:
  Status Restore() {
    const orchestrator::ActiveAttempt& attempt = *host_.attempt();
    RETORT_ASSIGN_OR_RETURN(store_, storage::CheckpointStore::Open(disk_, "trials/t", attempt.id.number));
    ledger_.emplace(host_, *store_, attempt.id, attempt.generation.value, "digest");
    tape_.emplace(store_.get(), *gang_);
    RETORT_ASSIGN_OR_RETURN(mechanism_, release::NoisyVotes::Create({.scale = 1.5, .classes = kClasses},
                                                                    worker::noise::NoiseKey::FromOperatingSystem()));
    RETORT_ASSIGN_OR_RETURN(const std::optional<storage::Checkpoint> latest, store_->Latest());
    if (latest) {
      RETORT_RETURN_IF_ERROR(ledger_->Load(latest->attributes));
      next_ = static_cast<int>(latest->step);
    }
    RETORT_ASSIGN_OR_RETURN(const std::vector<storage::TranscriptRecord> transcript, store_->Transcript());
    for (const storage::TranscriptRecord& record : transcript) {
      RETORT_ASSIGN_OR_RETURN(const bool grant, ledger_->Absorb(record));
      if (!grant) RETORT_RETURN_IF_ERROR(tape_->Insert(record));
    }
    ledger_->CountLedgerCharges(host_.charged());
    book_.emplace(&*ledger_, kBlock, std::int64_t{kSteps} * kRows);
    tape_->UseChargeBook(*book_);
    return {};
  }

  Status Step() {
    release::FixedTeacher teacher(at::ones({3, kRows, kClasses}));
    const auto draw = [&](release::ChargeBook* book) -> Result<at::Tensor> {
      const auto answers = release::Oracle::Ask(teacher, {release::DistinctInputs(kRows, next_), at::Tensor(), next_});
      RETORT_ASSIGN_OR_RETURN(const release::Released released, release::ChargeAndRelease(*mechanism_, answers, *book));
      return released.values;
    };
    return tape_->Obtain(next_, draw).status();
  }

  Status Commit(int steps) {
    storage::Checkpoint checkpoint{steps, {}, {}};
    ledger_->Save(checkpoint.attributes);
    return store_->Commit(checkpoint).status();
  }

  FaultInjectionEnv& disk_;
  ChargeHost& host_;
  Points& points_;
  std::unique_ptr<worker::Collective> gang_;
  std::unique_ptr<storage::CheckpointStore> store_;
  std::optional<worker::LedgerView> ledger_;
  std::optional<worker::ReleaseReplay> tape_;
  std::optional<release::ChargeBook> book_;
  std::unique_ptr<release::NoisyVotes> mechanism_;
  int next_ = 0;
};

ChargeWorld::ChargeWorld(ChargeFault fault) : fault_(fault) {
  Tap().numbers = &drawn_;
  Tap().passed = [this] { points_.Pass(); };
}

ChargeWorld::~ChargeWorld() { Tap() = {}; }

Status ChargeWorld::LiveOn() {
  if (host_ == nullptr) {
    host_ = std::make_unique<ChargeHost>(host_disk_, points_, fault_);
    if (const Status started = host_->Start(); !started.ok()) {
      host_.reset();
      return started;
    }
  }
  // Its end may have reached the journal before the last death.
  if (!host_->succeeded()) {
    if (host_->attempt() == nullptr) return EnvironmentError("the trial is not leased");
    Life life(worker_disk_, *host_, points_);
    RETORT_RETURN_IF_ERROR(life.Live());
    counted_ = life.Counted();
    RETORT_RETURN_IF_ERROR(host_->Succeed());
  }
  finished_ = true;
  return {};
}

bool ChargeWorld::Live(const Kill& kill) {
  points_.KillAt(kill.place == KillPlace::point ? kill.at : -1);
  worker_disk_.StopAt(kill.place == KillPlace::worker_disk ? worker_disk_.operations() + kill.at : -1);
  host_disk_.StopAt(kill.place == KillPlace::host_disk ? host_disk_.operations() + kill.at : -1);
  bool killed = false;
  try {
    const Status status = LiveOn();
    killed = worker_disk_.stopped() || host_disk_.stopped();
    if (!killed && !status.ok()) trouble_ = status.message();
  } catch (const Killed&) {
    killed = true;
  }
  if (killed) Bury(kill);
  return killed;
}

void ChargeWorld::Bury(const Kill& kill) {
  points_.KillAt(-1);
  finished_ = false;
  const bool whole = kill.whole || host_disk_.stopped();
  worker_disk_.Restart(kill.crash);
  if (whole) {
    host_.reset();
    host_disk_.Restart(kill.crash);
  } else {
    host_disk_.StopAt(-1);
    RETORT_CHECK(host_ == nullptr || host_->attempt() == nullptr || host_->LeaseAgain());
  }
}

bool ChargeWorld::DamageCheckpoint() {
  const Result<std::vector<std::uint32_t>> attempts = storage::ListEarlierAttempts(worker_disk_, "trials/t", 1000);
  if (!attempts.ok()) return false;
  for (const std::uint32_t attempt : *attempts) {
    const std::string folder = storage::AttemptDirectory("trials/t", attempt);
    const std::vector<std::string> names = worker_disk_.List(folder).value();
    for (const std::string& name : names) {
      if (!name.starts_with("checkpoint-") || !name.ends_with(".h5")) continue;
      worker_disk_.Bytes(folder + "/" + name)[100] ^= 1;
      return true;
    }
  }
  return false;
}

ChargeTruth ChargeWorld::Truth() {
  ChargeTruth truth{drawn_, 0, counted_};
  const auto entries = storage::ReadLedger(host_disk_, orchestrator::LedgerPath(ChargeHost::kResults));
  RETORT_CHECK(entries.ok());
  for (const storage::LedgerEntry& entry : *entries)
    truth.charged += entry.Charged().count * entry.event.noise_coordinates;
  return truth;
}

}  // namespace retort::testing
