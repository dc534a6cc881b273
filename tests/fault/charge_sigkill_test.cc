// The same by SIGKILL: real trials in processes of their own, on a real disk, killed at every kind of place.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <new>
#include <random>

#include "experiments/privacy/relation.h"
#include "storage/log/privacy_ledger.h"
#include "storage/results/attempt_file.h"
#include "tests/fault/killing_env.h"
#include "tests/fault/noise_tap.h"
#include "tests/unit/worker/tiny_trials.h"

namespace retort::testing {
namespace {

constexpr int kKills = 120;

// What outlives a killed process.
struct Shared {
  std::int64_t numbers = 0;              // drawn
  std::atomic<std::int64_t> points = 0;  // passed by the last process, on any of its threads
};

enum class SigkillFault { none, keeps_reservations_in_memory };

// A worker's host whose ledger is a file, in the worker's own process.
class LedgerHost final : public worker::TrialHost {
 public:
  LedgerHost(storage::Env& env, const std::string& path, const worker::TrialOrder& order, std::function<void()> passed,
             SigkillFault fault)
      : order_(order),
        ledger_(storage::PrivacyLedger::Open(env, path).value()),
        passed_(std::move(passed)),
        fault_(fault) {}

  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override {
    passed_();
    privacy::PrivacyEvent block = event;
    block.count = count;
    unwritten_.push_back(block);
    if (fault_ == SigkillFault::none) RETORT_RETURN_IF_ERROR(Write());
    passed_();
    return unwritten_.size() + entries_.size();
  }
  Status Settle(std::uint64_t id, std::int64_t used) override {
    passed_();
    RETORT_RETURN_IF_ERROR(Write());
    RETORT_RETURN_IF_ERROR(ledger_->Settle(entries_.at(id - 1), used));
    passed_();
    return {};
  }
  Status Report(const cluster::Progress&) override { return {}; }
  Status Report(const cluster::CheckpointCommitted&) override { return {}; }
  Status AnnounceGang(const std::string&) override { return {}; }
  Result<std::string> AwaitGang(std::chrono::milliseconds) override { return EnvironmentError("no gang"); }
  std::optional<cluster::Stop> StopRequested() override { return std::nullopt; }

 private:
  Status Write() {
    for (const privacy::PrivacyEvent& event : std::exchange(unwritten_, {})) {
      RETORT_ASSIGN_OR_RETURN(const std::uint64_t entry,
                              ledger_->Reserve("digest", order_.attempt, order_.generation, event));
      entries_.push_back(entry);
    }
    return {};
  }
  const worker::TrialOrder& order_;
  std::unique_ptr<storage::PrivacyLedger> ledger_;
  std::function<void()> passed_;
  SigkillFault fault_;
  std::vector<privacy::PrivacyEvent> unwritten_;
  std::vector<std::uint64_t> entries_;
};

enum class End { finished, killed, failed };

class ChargeSigkill : public ::testing::Test {
 protected:
  static constexpr char kLedger[] = "ledger.log";

  ChargeSigkill() {
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    shared_ = ::new (memory) Shared;
  }
  ~ChargeSigkill() override { ::munmap(shared_, sizeof(Shared)); }

  void SetUp() override {
    for (const char* method : {"ensemble", "plain"})
      ASSERT_EQ(InChild([&] { return !tiny_.TeacherFile(method).empty(); }), End::finished);
  }

  // LibTorch works in children alone, so that none inherits its threads.
  template <typename Work>
  End InChild(const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work() ? 0 : 1);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGKILL ? End::killed : End::failed;
    return WEXITSTATUS(status) == 0 ? End::finished : End::failed;
  }

  TrialSpec Votes() const {
    TrialSpec spec = tiny_.VoteStudent(QuerySource::public_split);
    spec.batch = 4;
    spec.labels.label_steps = 1;
    return Timed(spec);
  }
  TrialSpec Gradients() const {
    TrialSpec spec = tiny_.Student(Reading::working);
    spec.distill.student_steps = spec.generator.steps = 1;
    return Timed(spec);
  }

  // Attempt `number` of `spec`, killed at its `kill_at`-th place (0: never).
  End Attempt(const TrialSpec& spec, const std::string& name, std::uint32_t number, std::int64_t kill_at,
              SigkillFault fault) {
    const std::string teacher = tiny_.TeacherFile(spec.queries > 0 ? "ensemble" : "plain");
    return InChild([&] {
      shared_->points = 0;
      const std::function<void()> passed = [this, kill_at] {
        if (++shared_->points == kill_at) ::raise(SIGKILL);
      };
      Tap() = {&shared_->numbers, passed};
      KillingEnv env(passed);
      worker::TrialOrder order = tiny_.Order(spec, name, number, teacher);
      for (const storage::LedgerEntry& entry : Ledger(name)) order.start.charged.push_back(entry.Charged());
      order.start.charged = privacy::Aggregate(order.start.charged);
      LedgerHost host(env, tiny_ / (name + kLedger), order, passed, fault);
      return RunTrial(order, host, env).succeeded;
    });
  }

  std::vector<storage::LedgerEntry> Ledger(const std::string& name) const {
    const auto entries = storage::ReadLedger(storage::PosixEnv(), tiny_ / (name + kLedger));
    EXPECT_TRUE(entries.ok());
    return *entries;
  }
  static std::int64_t CountNumbers(const std::vector<storage::LedgerEntry>& entries) {
    std::int64_t numbers = 0;
    for (const storage::LedgerEntry& entry : entries) numbers += entry.Charged().count * entry.event.noise_coordinates;
    return numbers;
  }
  // Numbers that the ledger counts.
  std::int64_t Charged(const std::string& name) const { return CountNumbers(Ledger(name)); }

  // What the newest attempt that finished left.
  storage::AttemptFile Row(const std::string& name) const {
    for (const char* attempt : {"/attempt-2", "/attempt-1"}) {
      const std::string path = tiny_ / ("trials/" + name + attempt + "/attempt.h5");
      if (!std::filesystem::exists(path)) continue;
      auto file = storage::ReadAttemptFile(path);
      EXPECT_TRUE(file.ok()) << file.status().message();
      if (file.ok()) return std::move(*file);
    }
    ADD_FAILURE() << name << " left no row";
    return {};
  }

  // Kills attempts of one trial after another until it comes through or `kills` died; how many did.
  int KillAndGoOn(const TrialSpec& spec, const std::string& name, int kills, SigkillFault fault, std::mt19937& random) {
    shared_->numbers = 0;
    for (int killed = 0;; ++killed) {
      const std::int64_t kill_at = killed < kills ? 1 + static_cast<std::int64_t>(random() % 60) : 0;
      const End end = Attempt(spec, name, static_cast<std::uint32_t>(killed) + 1, kill_at, fault);
      EXPECT_NE(end, End::failed) << name << ", attempt " << killed + 1;
      undercounted_ = undercounted_ || Charged(name) < shared_->numbers;
      if (end != End::killed) return killed;
    }
  }

  Shared* shared_ = nullptr;
  worker::TinyTrials tiny_;
  bool undercounted_ = false;

 private:
  static TrialSpec Timed(TrialSpec spec) {
    spec.noise = NoiseMode::secure;
    spec.execution.reserve_block = 2;
    spec.execution.checkpoint_steps = 3;
    return spec;
  }
};

TEST_F(ChargeSigkill, UndisturbedTrialsAreChargedForWhatTheyDraw) {
  std::mt19937 random(1);
  for (const TrialSpec& spec : {Votes(), Gradients()}) {
    EXPECT_EQ(KillAndGoOn(spec, spec.queries > 0 ? "votes" : "gradients", 0, SigkillFault::none, random), 0);
    EXPECT_GT(shared_->points, 60) << "kills would come too late";
    EXPECT_GT(shared_->numbers, 0);
    EXPECT_EQ(Charged(spec.queries > 0 ? "votes" : "gradients"), shared_->numbers);
  }
}

TEST_F(ChargeSigkill, LedgerNeverCountsLessThanWasDrawn) {
  std::mt19937 random(2);
  int killed = 0;
  for (int trial = 0; killed < kKills; ++trial) {
    const TrialSpec spec = trial % 4 == 0 ? Gradients() : Votes();
    killed +=
        KillAndGoOn(spec, "trial-" + std::to_string(trial), std::min(10, kKills - killed), SigkillFault::none, random);
    ASSERT_FALSE(undercounted_) << "trial " << trial;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_EQ(killed, kKills);
}

// The answers that went with the process are drawn anew, which with seeded noise gives the same.
TEST_F(ChargeSigkill, KillAtAnyPlaceGivesTheUndisturbedRow) {
  TrialSpec spec = Gradients();
  spec.noise = NoiseMode::seeded;
  ASSERT_EQ(Attempt(spec, "whole", 1, 0, SigkillFault::none), End::finished);
  const storage::AttemptFile whole = Row("whole");
  std::int64_t at = 1;
  for (;; ++at) {
    const std::string name = "killed-" + std::to_string(at);
    shared_->numbers = 0;
    const End first = Attempt(spec, name, 1, at, SigkillFault::none);
    ASSERT_NE(first, End::failed) << at;
    if (first == End::finished) break;
    ASSERT_EQ(Attempt(spec, name, 2, 0, SigkillFault::none), End::finished) << at;
    const storage::AttemptFile row = Row(name);
    EXPECT_EQ(row.parameters, whole.parameters) << at;
    EXPECT_EQ(row.metrics, whole.metrics) << at;
    EXPECT_GE(Charged(name), shared_->numbers) << at;
    EXPECT_EQ(CountNumbers(row.ledger), Charged(name)) << at << ": its own ledger is complete";
    ASSERT_FALSE(HasFailure());
    std::filesystem::remove_all(tiny_ / ("trials/" + name));
  }
  EXPECT_GT(at, 60);
}

TEST_F(ChargeSigkill, ReservationThatIsKeptInMemoryIsCaught) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 10 && !undercounted_; ++trial) {
    static_cast<void>(
        KillAndGoOn(Votes(), "mutant-" + std::to_string(trial), 5, SigkillFault::keeps_reservations_in_memory, random));
  }
  EXPECT_TRUE(undercounted_);
}

}  // namespace
}  // namespace retort::testing
