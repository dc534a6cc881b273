// A journal of a thousand events, cut at every byte or changed at some: it recovers to a whole prefix, or
// recovery says where it is damaged.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/journal/recovery.h"
#include "orchestrator/reactor/reactor.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/finished_sweep.h"

namespace retort::orchestrator {
namespace {

using testing::FaultInjectionEnv;

constexpr std::size_t kRecords = 1000;
constexpr std::size_t kHeaderBytes = 16;
constexpr std::size_t kFlipStride = 13;
constexpr char kResults[] = "results";

// Everything recovery is about, of every trial.
std::string DescribeState(const Core& core) {
  std::string text = core.sweep() + " " + std::to_string(core.NextGeneration().value) + "\n";
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    text += trial.spec.id.Hex() + " " + std::string(GetStateName(trial.state)) + " " + std::to_string(trial.attempts) +
            " " + std::to_string(trial.step) + " " + trial.phase + " " + std::string(GetFailureName(trial.failure)) +
            " " + trial.detail + (trial.row ? " row" : "") + "\n";
  }
  return text;
}

// A few trials, one of which is a teacher, that fail, are tried again and succeed.
class ThousandEvents {
 public:
  ThousandEvents() {
    plan_ = testing::FamilyPlan(1, 2);
    Add(SweepOpened{kResultsFormatVersion, "tested", "retort = 1\n", "{}"});
    PlanAdopted adopted;
    for (const TrialSpec& spec : plan_.trials) {
      Add(MakeTrialPlanned(spec));
      adopted.order.push_back(spec.id);
    }
    Add(std::move(adopted));
    AttemptUntil(plan_.trials[0], kRecords / 3, true);
    AttemptUntil(plan_.trials[1], 2 * kRecords / 3, true);
    AttemptUntil(plan_.trials[2], kRecords - 1, false);
    while (events_.size() < kRecords) Add(RunStarted{"{}"});
  }
  [[nodiscard]] const std::vector<JournalEvent>& events() const { return events_; }
  [[nodiscard]] const SweepPlan& plan() const { return plan_; }

 private:
  void Add(Event event) { events_.push_back({1.7e9 + 0.25 * static_cast<double>(events_.size()), std::move(event)}); }

  void AttemptUntil(const TrialSpec& spec, std::size_t size, bool to_the_end) {
    for (std::uint32_t number = 1; events_.size() + 12 < size; ++number) {
      const AttemptId attempt{spec.id, number};
      Add(AttemptLeased{attempt, Generation{++generation_}, {{0, 1}}});
      Add(AttemptStarted{attempt});
      for (int step = 10; step < 50; step += 10) Add(ProgressNoted{attempt, step, 50, "train"});
      Add(CheckpointNoted{attempt, 40, "beef"});
      AttemptEnded ended;
      ended.attempt = attempt;
      ended.for_good = false;
      ended.failure = FailureKind::worker_crash;
      ended.detail = "signal 11";
      Add(ended);
    }
    if (!to_the_end) return;
    const auto last = static_cast<std::int64_t>(events_.size());
    for (JournalEvent& event : testing::FinishedTrial(spec, last)) {
      std::visit([&](auto& e) { Renumber(e, spec); }, event.event);
      Add(std::move(event.event));
    }
  }
  template <typename E>
  void Renumber(E& event, const TrialSpec&) {
    if constexpr (requires { event.attempt.number; }) event.attempt.number = 1000;
    if constexpr (requires { event.generation; }) event.generation.value = ++generation_;
  }

  SweepPlan plan_;
  std::vector<JournalEvent> events_;
  std::uint64_t generation_ = 0;
};

class JournalCut : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(env_.CreateDirectories(kResults).ok());
    Core core(SettingsHere());
    states_.push_back(DescribeState(core));
    ends_.push_back(kHeaderBytes);
    Result<Journal> journal = Journal::Open(env_, kResults, core);
    ASSERT_TRUE(journal.ok());
    for (const JournalEvent& event : thousand_.events()) {
      const Status applied = core.Apply(event);
      ASSERT_TRUE(applied.ok()) << applied.message();
      ASSERT_TRUE(journal->Commit({event}).ok());
      states_.push_back(DescribeState(core));
      ends_.push_back(static_cast<std::size_t>(journal->bytes()));
    }
    whole_ = env_.Bytes(GetJournalPath(kResults));
    ASSERT_EQ(ends_.size(), kRecords + 1);
    ASSERT_EQ(ends_.back(), whole_.size());
  }
  static Settings SettingsHere() { return {.results = kResults, .provenance_json = "{}"}; }
  Result<Recovered> RecoverFrom(const std::string& bytes) {
    env_.Put(GetJournalPath(kResults), bytes);
    return RecoverResults(env_, SettingsHere());
  }
  // Records that end at or before `size`.
  std::size_t WholeRecords(std::size_t size) const {
    const auto after = std::upper_bound(ends_.begin(), ends_.end(), size);
    return after == ends_.begin() ? 0 : static_cast<std::size_t>(after - ends_.begin()) - 1;
  }

  const ThousandEvents thousand_;
  FaultInjectionEnv env_;
  std::string whole_;
  std::vector<std::size_t> ends_;    // of the header and of each record
  std::vector<std::string> states_;  // after that many records
};

TEST_F(JournalCut, AtEveryByteRecoversToTheWholeRecordsBeforeTheCut) {
  for (std::size_t size = 0; size <= whole_.size(); ++size) {
    const Result<Recovered> recovered = RecoverFrom(whole_.substr(0, size));
    ASSERT_TRUE(recovered.ok()) << "cut at " << size << ": " << recovered.status().message();
    const std::size_t records = WholeRecords(size);
    ASSERT_EQ(DescribeState(recovered->core), states_[records]) << "cut at " << size;
    ASSERT_EQ(recovered->journal.bytes(), ends_[records]) << "cut at " << size;
    ASSERT_EQ(env_.Bytes(GetJournalPath(kResults)).size(), ends_[records]) << "the torn tail is cut";
    const Status legal = recovered->core.CheckInvariants();
    // What was active died with its orchestrator: the fleet is empty.
    ASSERT_TRUE(legal.ok()) << "cut at " << size << ": " << legal.message();
  }
}

TEST_F(JournalCut, BetweenRecordsTheSweepGoesOn) {
  for (std::size_t records = 0; records <= kRecords; records += 9) {
    Result<Recovered> recovered = RecoverFrom(whole_.substr(0, ends_[records]));
    ASSERT_TRUE(recovered.ok());
    Outbox outbox;
    ASSERT_TRUE(OpenSweep(recovered->core, thousand_.plan(), {1, 1.8e9}, outbox).ok()) << records;
    ASSERT_TRUE(CommitOutbox(*recovered, outbox).ok());
    const std::string state = DescribeState(recovered->core);
    EXPECT_EQ(recovered->core.CountIn(TrialState::leased) + recovered->core.CountIn(TrialState::running), 0U);
    const Result<Recovered> again = RecoverFrom(env_.Bytes(GetJournalPath(kResults)));
    ASSERT_TRUE(again.ok()) << records << ": " << again.status().message();
    EXPECT_EQ(DescribeState(again->core), state) << records;
  }
}

TEST_F(JournalCut, FlippedByteIsRefusedWithItsOffset) {
  for (std::size_t position = 0; position < whole_.size(); position += kFlipStride) {
    std::string bytes = whole_;
    const unsigned flip = 1U << (position % 8);
    bytes[position] = static_cast<char>(static_cast<unsigned char>(bytes[position]) ^ flip);
    const Result<Recovered> recovered = RecoverFrom(bytes);
    ASSERT_FALSE(recovered.ok()) << "byte " << position;
    EXPECT_EQ(recovered.status().code(), StatusCode::damage) << recovered.status().message();
    if (position >= kHeaderBytes) {
      const std::string offset = "at byte " + std::to_string(ends_[WholeRecords(position)]) + ":";
      EXPECT_NE(recovered.status().message().find(offset), std::string::npos) << recovered.status().message();
    }
    EXPECT_EQ(env_.Bytes(GetJournalPath(kResults)), bytes);
  }
}

}  // namespace
}  // namespace retort::orchestrator
