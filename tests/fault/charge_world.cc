#include "tests/fault/charge_world.h"

#include <ATen/ATen.h>

#include <algorithm>
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
#include "worker/run/guarded_host.h"
#include "worker/run/ledger_view.h"

namespace retort::testing {

namespace release = worker::release;

// The way to the orchestrator, which sees what leaves.
class ChargeWorld::LeavingHost final : public worker::TrialHost {
 public:
  LeavingHost(ChargeHost& host, const int& answered, int& left) : host_(host), answered_(answered), left_(left) {}

  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override {
    Leave();
    return host_.Reserve(event, count);
  }
  Status Settle(std::uint64_t id, std::int64_t used) override {
    Leave();
    return host_.Settle(id, used);
  }
  Status Report(const cluster::Progress& progress) override {
    Leave();
    return host_.Report(progress);
  }
  Status Report(const cluster::CheckpointCommitted& committed) override {
    Leave();
    return host_.Report(committed);
  }
  Status AnnounceGang(const std::string&) override { return {}; }
  Result<std::string> AwaitGang(std::chrono::milliseconds) override { return EnvironmentError("there is no gang"); }
  std::optional<cluster::Stop> StopRequested() override { return std::nullopt; }

 private:
  void Leave() { left_ = std::max(left_, answered_); }
  ChargeHost& host_;
  const int& answered_;
  int& left_;
};

// What a worker does from its start to its end, in the order of worker/run/trial_runner.cc.
class ChargeWorld::Life final : private release::LedgerClient {
 public:
  explicit Life(ChargeWorld& world)
      : world_(world),
        disk_(world.worker_disk_),
        leaving_(*world.host_, world.answered_, world.left_),
        host_(leaving_),
        gang_(worker::MakeSoloCollective()) {}

  Status Live() {
    world_.answered_ = 0;
    RETORT_RETURN_IF_ERROR(Restore());
    for (; next_ < kSteps; ++next_) {
      ledger_->BeginStep(next_);
      RETORT_RETURN_IF_ERROR(Step());
      if (world_.writing_ == Writing::soon) RETORT_RETURN_IF_ERROR(store_->AwaitReleased());
      world_.points_.Pass();
      if (next_ % 4 == 0) RETORT_RETURN_IF_ERROR(Report());
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
  // Syncs of the transcript that are asked for meanwhile are not done.
  void BeHasty(Hasty what) {
    if (what == world_.hasty_) disk_.ForgetSyncs("transcript-");
  }
  void BeCareful() { disk_.ForgetSyncs(""); }

  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override {
    return ledger_->Reserve(event, count);
  }
  Status Settle(std::uint64_t id, std::int64_t used) override {
    BeHasty(Hasty::settlement);
    const Status settled = ledger_->Settle(id, used);
    BeCareful();
    return settled;
  }
  Status Report() {
    BeHasty(Hasty::report);
    const Status reported = host_.Report(cluster::Progress{next_ + 1, kSteps, "distill", {{"loss", 1.0}}});
    BeCareful();
    return reported;
  }

  Status Restore() {
    const orchestrator::ActiveAttempt& attempt = *world_.host_->attempt();
    RETORT_ASSIGN_OR_RETURN(store_, storage::CheckpointStore::Open(disk_, "trials/t", attempt.id.number,
                                                                   storage::kKeptCheckpoints, kWhenAsked));
    host_.Guard(*store_);
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
    ledger_->CountLedgerCharges(world_.host_->charged());
    book_.emplace(static_cast<release::LedgerClient*>(this), kBlock, std::int64_t{kSteps} * kRows);
    tape_->UseChargeBook(*book_);
    return latest || !world_.saves_first_ ? Status() : Commit(0);
  }

  Status Step() {
    release::FixedTeacher teacher(at::ones({3, kRows, kClasses}));
    const auto draw = [&](release::ChargeBook* book) -> Result<at::Tensor> {
      world_.again_ = world_.again_ || next_ < world_.left_;
      const auto answers = release::Oracle::Ask(teacher, {release::DistinctInputs(kRows, next_), at::Tensor(), next_});
      RETORT_ASSIGN_OR_RETURN(const release::Released released, release::ChargeAndRelease(*mechanism_, answers, *book));
      return released.values;
    };
    RETORT_RETURN_IF_ERROR(tape_->Obtain(next_, draw).status());
    world_.answered_ = next_ + 1;
    return {};
  }

  // It has left when it lies under its name.
  Status Commit(int steps) {
    storage::Checkpoint checkpoint{steps, {}, {}};
    ledger_->Save(checkpoint.attributes);
    disk_.on_published = [this, steps](const std::string&) {
      world_.left_ = std::max(world_.left_, steps);
      BeCareful();
    };
    BeHasty(Hasty::checkpoint);
    const Status committed = store_->Commit(checkpoint).status();
    disk_.on_published = nullptr;
    BeCareful();
    return committed;
  }

  static constexpr storage::TranscriptLimits kWhenAsked{.gathering = std::chrono::hours(1)};
  ChargeWorld& world_;
  FaultInjectionEnv& disk_;
  LeavingHost leaving_;
  worker::GuardedHost host_;
  std::unique_ptr<worker::Collective> gang_;
  std::unique_ptr<storage::CheckpointStore> store_;
  std::optional<worker::LedgerView> ledger_;
  std::optional<worker::ReleaseReplay> tape_;
  std::optional<release::ChargeBook> book_;
  std::unique_ptr<release::NoisyVotes> mechanism_;
  int next_ = 0;
};

ChargeWorld::ChargeWorld(ChargeFault fault, Writing writing, Hasty hasty, bool saves_first)
    : fault_(fault), writing_(writing), hasty_(hasty), saves_first_(saves_first) {
  // What dies writes nothing more, whichever of its threads it was that came to the place.
  points_.on_kill = host_disk_.on_stop = [this] { worker_disk_.Stop(); };
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
    Life life(*this);
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
  worker_disk_.on_published = nullptr;
  worker_disk_.ForgetSyncs("");
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
    const std::string folder = storage::GetAttemptDirectory("trials/t", attempt);
    std::string newest;
    const std::vector<std::string> names = worker_disk_.List(folder).value();
    for (const std::string& name : names)
      if (name.starts_with("checkpoint-") && name.ends_with(".h5")) newest = name;
    if (newest.empty()) continue;
    worker_disk_.Bytes(folder + "/" + newest)[100] ^= 1;
    return true;
  }
  return false;
}

ChargeTruth ChargeWorld::Truth() {
  ChargeTruth truth{drawn_, 0, counted_, again_};
  const auto entries = storage::ReadLedger(host_disk_, orchestrator::GetLedgerPath(ChargeHost::kResults));
  RETORT_CHECK(entries.ok());
  for (const storage::LedgerEntry& entry : *entries)
    truth.charged += entry.Charged().count * entry.event.noise_coordinates;
  return truth;
}

}  // namespace retort::testing
