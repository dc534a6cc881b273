#include "orchestrator/journal/request_inbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <variant>

#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/reactor/amendment.h"
#include "orchestrator/reactor/reactor.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/service/amend_results.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/temporary_directory.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

using ::testing::ElementsAre;
using testing::FamilyPlan;
using testing::FaultInjectionEnv;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

AmendRequest Sample() { return {Amendment::retry, "tested", {{TrialId(7), 3}, {TrialId(~0ULL), 0}}}; }

TEST(AmendRequest, EveryFieldSurvives) {
  const auto request = DecodeRequest(EncodeRequest(Sample()));
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(*request, Sample());
  const AmendAnswer answer{AnswerKind::saving, "a word", {TrialId(1), TrialId(2)}};
  const auto read = DecodeAnswer(EncodeAnswer(answer));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, answer);
}

TEST(AmendRequest, EveryCutAndEveryFlippedByteIsRefused) {
  const std::string bytes = EncodeRequest(Sample());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(DecodeRequest(std::string_view(bytes).substr(0, size)).ok()) << size;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    const auto refused = DecodeRequest(changed);
    ASSERT_FALSE(refused.ok()) << at;
    EXPECT_FALSE(refused.status().message().empty());
  }
}

TEST(AmendRequest, AnotherVersionIsNamed) {
  std::string bytes = EncodeRequest(Sample());
  bytes[8] = 2;
  EXPECT_EQ(DecodeRequest(bytes).status().code(), StatusCode::usage);
  EXPECT_THAT(DecodeRequest(bytes).status().message(), HasSubstr("version 2"));
}

TEST(AmendRequest, TheLargestRequestFitsItsBound) {
  AmendRequest request{Amendment::cancel, std::string(kMaxSweepNameBytes, 's'), {}};
  request.trials.resize(kMaxRequestedTrials);
  EXPECT_LE(EncodeRequest(request).size(), kMaxRequestBytes);
  EXPECT_TRUE(DecodeRequest(EncodeRequest(request)).ok());
  AmendAnswer answer{AnswerKind::done, std::string(2 * kMaxAnswerText, 'x'), {}};
  answer.changed.resize(2 * kMaxRequestedTrials);
  const auto cut = DecodeAnswer(EncodeAnswer(answer));
  ASSERT_TRUE(cut.ok());
  EXPECT_THAT(cut->changed, SizeIs(kMaxRequestedTrials));
}

// Nobody's file makes the run wait, crash or fill its memory.
TEST(RequestInbox, WhateverLiesThereIsReadOrRefused) {
  const testing::TemporaryDirectory folder;
  storage::Env& env = storage::PosixEnv();
  const std::string requests = GetRequestsPath(folder.path());
  ASSERT_TRUE(env.CreateDirectories(requests).ok());
  ASSERT_EQ(::mkfifo((requests + "/1.request").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", requests + "/2.request");
  std::filesystem::create_directory(requests + "/3.request");
  ASSERT_TRUE(env.WriteFileAtomically(requests + "/4.request", std::string(kMaxRequestBytes + 1, 'x')).ok());
  ASSERT_TRUE(env.WriteFileAtomically(requests + "/5.request", "").ok());
  ASSERT_TRUE(env.WriteFileAtomically(requests + "/a b.request", EncodeRequest(Sample())).ok());
  ASSERT_TRUE(env.WriteFileAtomically(requests + "/6.request.tmp", EncodeRequest(Sample())).ok());
  ASSERT_TRUE(SubmitRequest(env, folder.path(), "7", Sample()).ok());
  RequestInbox inbox(env, folder.path());
  const std::vector<ReceivedRequest> received = inbox.Look({1, 0});
  ASSERT_THAT(received, SizeIs(6));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_FALSE(received[i].request.ok()) << received[i].name;
  ASSERT_TRUE(received[5].request.ok());
  EXPECT_EQ(*received[5].request, Sample());
  EXPECT_THAT(inbox.Look({1.5, 0}), IsEmpty()) << "once a second";
  EXPECT_THAT(inbox.Look({2, 0}), IsEmpty()) << "each once";
  for (const ReceivedRequest& request : received) {
    const bool folder_stays = request.name == "3";
    EXPECT_EQ(inbox.Answer({request.name, {AnswerKind::refused, "no", {}}}).ok(), !folder_stays) << request.name;
  }
  EXPECT_EQ(CountRequests(env, folder.path()), 1U);
  EXPECT_THAT(inbox.Look({9, 0}), IsEmpty()) << "what cannot be removed is left alone";
  EXPECT_EQ(FetchAnswer(env, folder.path(), "7")->text, "no");
  EXPECT_FALSE(FetchAnswer(env, folder.path(), "7").has_value()) << "fetched once";
}

TEST(RequestInbox, AnswersThatNobodyFetchesDoNotPileUp) {
  FaultInjectionEnv env;
  RequestInbox inbox(env, "results");
  for (int i = 0; i < 200; ++i) {
    const std::string name = RequestName(1000 + i, "host", 1);
    ASSERT_TRUE(SubmitRequest(env, "results", name, Sample()).ok());
    ASSERT_THAT(inbox.Look({10.0 * i + 1, 0}), SizeIs(1));
    ASSERT_TRUE(inbox.Answer({name, {}}).ok());
  }
  EXPECT_LE(env.List("results/requests")->size(), RequestInbox::kMaxAnswers + 1);
}

// A folder in memory with two trials, one of which has failed.
class RequestsOfAFolderTest : public ::testing::Test {
 protected:
  void SetUp() override { Begin(); }
  void Begin() {
    env_ = FaultInjectionEnv();
    ASSERT_TRUE(env_.CreateDirectories("results").ok());
    options_.results = "results";
    Result<Recovered> owner = Recover();
    ASSERT_TRUE(owner.ok());
    Outbox outbox;
    ASSERT_TRUE(OpenSweep(owner->core, plan_, kNow, outbox).ok());
    OnMessage(owner->core, WorldRank{0}, {{}, {}, 0, cluster::Register{"node", 1, {"cpu"}, "", ""}}, kNow, outbox);
    OnTick(owner->core, kNow, outbox);
    const ActiveAttempt* attempt = owner->core.fleet.Find(Id(0));
    cluster::Ended ended;
    ended.failure = FailureKind::not_finite;
    OnMessage(owner->core, WorldRank{0}, {attempt->id, attempt->generation, 0, ended}, kNow, outbox);
    WriteOwed(*owner, outbox);
    ASSERT_TRUE(CommitOutbox(*owner, outbox).ok());
    env_.Restart(testing::Crash::power_lost);
  }
  static void WriteOwed(Recovered& owner, Outbox& outbox) {
    owner.core.stop = StopRequest{"test", 0};
    OnTick(owner.core, kNow, outbox);
  }
  Result<Recovered> Recover() { return RecoverResults(env_, {.results = "results", .provenance_json = "{}"}); }
  [[nodiscard]] TrialId Id(std::size_t index) const { return plan_.trials[index].id; }
  Result<ResultsView> View() { return ReadResults(env_, "results"); }
  template <typename T>
  int CountInJournal() {
    const auto contents = storage::ReadRecordLog(env_, GetJournalPath("results"), storage::LogKind::journal);
    EXPECT_TRUE(contents.ok());
    JournalCodec codec;
    int count = 0;
    for (const storage::Record& record : contents->records) {
      const auto decoded = codec.Decode(record.type, record.payload);
      const auto* event = decoded.ok() ? std::get_if<JournalEvent>(&*decoded) : nullptr;
      count += event != nullptr && std::holds_alternative<T>(event->event) ? 1 : 0;
    }
    return count;
  }
  // Two requests, as commands leave them.
  void Leave() {
    ASSERT_TRUE(SubmitRequest(env_, "results", "1", {Amendment::retry, "tested", {{Id(0), 1}}}).ok());
    ASSERT_TRUE(SubmitRequest(env_, "results", "2", {Amendment::cancel, "tested", {{Id(1), 0}}}).ok());
  }

  static constexpr Now kNow{1000, 1.7e9};
  FaultInjectionEnv env_;
  SweepPlan plan_ = FamilyPlan(2, 0);
  RunOptions options_;
};

TEST_F(RequestsOfAFolderTest, WhatARunLeftIsDoneWhenTheNextOneBegins) {
  Leave();
  env_.Put("results/requests/3.request", "rubbish");
  Result<Recovered> next = Recover();
  ASSERT_TRUE(next.ok());
  const auto sentences = ApplyPendingRequests(env_, *next, kNow);
  ASSERT_TRUE(sentences.ok());
  EXPECT_THAT(*sentences, ElementsAre(HasSubstr("retry"), HasSubstr("cancel"), HasSubstr("refused")));
  EXPECT_EQ(next->core.Get(Id(0)).state, TrialState::queued);
  EXPECT_EQ(next->core.Get(Id(1)).state, TrialState::cancelled);
  EXPECT_EQ(CountRequests(env_, "results"), 0U);
}

// Whatever instruction is the last one: each request is done once, and what it did stays.
TEST_F(RequestsOfAFolderTest, DeathAtAnyOperationDoesEachRequestOnce) {
  for (const testing::Crash crash : {testing::Crash::process_killed, testing::Crash::power_lost}) {
    for (int operation = 0;; ++operation) {
      SCOPED_TRACE(operation);
      Begin();
      Leave();
      env_.Restart(testing::Crash::process_killed);
      env_.StopAt(operation);
      {
        Result<Recovered> first = Recover();
        if (first.ok()) (void)ApplyPendingRequests(env_, *first, kNow).ok();
      }
      const bool stopped = env_.stopped();
      env_.Restart(crash);
      {
        Result<Recovered> second = Recover();
        ASSERT_TRUE(second.ok());
        ASSERT_TRUE(ApplyPendingRequests(env_, *second, kNow).ok());
        EXPECT_EQ(second->core.Get(Id(0)).state, TrialState::queued);
        EXPECT_EQ(second->core.Get(Id(1)).state, TrialState::cancelled);
      }
      EXPECT_EQ(CountInJournal<TrialReopened>(), 1);
      EXPECT_EQ(CountInJournal<TrialCancelled>(), 1);
      EXPECT_EQ(CountRequests(env_, "results"), 0U);
      if (!stopped) break;
      ASSERT_LT(operation, 200);
    }
  }
}

class AskRunnerTest : public RequestsOfAFolderTest {
 protected:
  Result<AmendmentReport> Ask(const std::function<void(int)>& meanwhile) {
    AnswerWait patience;
    patience.looks = 12;
    patience.pause = [&, look = 0]() mutable { meanwhile(look++); };
    return RequestAmendment(env_, options_, {Amendment::retry, "tested", {{Id(0), 1}}}, "1", patience,
                            [] { return kNow; });
  }
  void Hold() {
    env_.Put(LockPath("results"), "");
    lock_ = std::move(*env_.Lock(LockPath("results")));
  }
  std::unique_ptr<storage::FileLock> lock_;
};

TEST_F(AskRunnerTest, TheAnswerOfTheRunIsReported) {
  Hold();
  RequestInbox inbox(env_, "results");
  const auto report = Ask([&](int look) {
    for (const ReceivedRequest& request : inbox.Look({2.0 * look + 1, 0})) {
      ASSERT_TRUE(request.request.ok());
      ASSERT_TRUE(inbox.Answer({request.name, {AnswerKind::done, "", {Id(0)}}}).ok());
    }
  });
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->outcome, AmendmentReport::Outcome::done);
  EXPECT_THAT(report->changed, ElementsAre(Id(0)));
}

TEST_F(AskRunnerTest, ARunThatSavesOrRefusesOrSaysNothingIsTold) {
  Hold();
  const auto reply = [&](AnswerKind kind) {
    return [&, kind, inbox = RequestInbox(env_, "results")](int look) mutable {
      for (const ReceivedRequest& request : inbox.Look({2.0 * look + 1, 0}))
        ASSERT_TRUE(inbox.Answer({request.name, {kind, "why", {}}}).ok());
    };
  };
  EXPECT_EQ(Ask([](int) {})->outcome, AmendmentReport::Outcome::queued);
  EXPECT_EQ(CountRequests(env_, "results"), 1U) << "it stays for the run";
  EXPECT_EQ(Ask(reply(AnswerKind::saving))->outcome, AmendmentReport::Outcome::saving);
  EXPECT_EQ(CountRequests(env_, "results"), 1U) << "until it is done, whoever comes next finds it";
  const auto refused = Ask(reply(AnswerKind::refused));
  EXPECT_EQ(refused.status().code(), StatusCode::refused);
  EXPECT_EQ(refused.status().message(), "why");
}

TEST_F(AskRunnerTest, WhenTheRunEndsFirstTheRequestIsDoneHere) {
  Hold();
  const auto report = Ask([&](int look) {
    if (look == 3) lock_.reset();
  });
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->outcome, AmendmentReport::Outcome::done);
  EXPECT_EQ(View()->trials[0].state, TrialState::queued);
  EXPECT_EQ(CountRequests(env_, "results"), 0U);
}

}  // namespace
}  // namespace retort::orchestrator
