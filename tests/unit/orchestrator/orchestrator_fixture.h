// An orchestrator without a network: messages go in, the outbox comes out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "orchestrator/reactor/reactor.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {

class OrchestratorTest : public ::testing::Test {
 protected:
  static Settings TestSettings() {
    Settings settings;
    settings.results = "/results";
    settings.provenance_json = "{\"version\":\"tested\"}";
    settings.world_size = 2;
    return settings;
  }
  [[nodiscard]] Now now() const { return {time_, 1.7e9 + time_ + clock_error_}; }

  void Open(const SweepPlan& plan) {
    const Status status = OpenSweep(core_, plan, now(), outbox_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void Register(int rank, int slots, double at = 0) {
    time_ += at;
    cluster::Register message;
    message.host = "node" + std::to_string(rank);
    message.slots = slots;
    message.devices.assign(static_cast<std::size_t>(slots), "cpu");
    Hear(rank, {{}, {}, 0, message});
  }
  void Hear(int rank, const cluster::Envelope& envelope) {
    OnMessage(core_, WorldRank{rank}, envelope, now(), outbox_);
    const Status legal = core_.CheckInvariants();
    EXPECT_TRUE(legal.ok()) << legal.message();
  }
  // From the worker of the trial's current attempt.
  void Say(TrialId trial, cluster::Message message) {
    const ActiveAttempt* attempt = core_.fleet.Find(trial);
    ASSERT_NE(attempt, nullptr);
    Hear(attempt->leader().value, {attempt->id, attempt->generation, 0, std::move(message)});
  }
  void Tick(double seconds = 0) {
    time_ += seconds;
    OnTick(core_, now(), outbox_);
    const Status legal = core_.CheckInvariants();
    EXPECT_TRUE(legal.ok()) << legal.message();
  }
  // Time passes while every agent is heard.
  void Pass(double seconds) {
    for (const double end = time_ + seconds; time_ < end;) {
      for (const auto& [rank, agent] : core_.fleet.agents()) Hear(rank.value, {{}, {}, 0, cluster::Heartbeat{}});
      Tick(1);
    }
  }
  void Succeed(TrialId trial) {
    cluster::Ended ended;
    ended.succeeded = true;
    ended.metrics = {{"test.accuracy", 0.9}};
    ended.parameters_digest = "feed";
    ended.file = "trials/" + trial.Hex() + "/attempt.h5";
    Say(trial, ended);
  }
  void Fail(TrialId trial, FailureKind failure, const std::string& detail = "because") {
    cluster::Ended ended;
    ended.failure = failure;
    ended.detail = detail;
    Say(trial, ended);
  }
  [[nodiscard]] TrialState GetState(TrialId trial) const { return core_.Get(trial).state; }

  // What has been sent since the last call.
  std::vector<Outgoing> TakeMessages() { return std::exchange(outbox_.messages, {}); }
  template <typename T>
  std::vector<std::pair<int, T>> Take() {
    std::vector<std::pair<int, T>> found;
    for (const Outgoing& message : TakeMessages())
      if (const auto* wanted = std::get_if<T>(&message.envelope.message)) found.emplace_back(message.to.value, *wanted);
    return found;
  }
  template <typename T>
  [[nodiscard]] int CountJournaled() const {
    int count = 0;
    for (const JournalEvent& event : outbox_.journal) count += std::holds_alternative<T>(event.event) ? 1 : 0;
    return count;
  }
  // The ledger grants what was asked for.
  void GrantAll() {
    for (const auto& request : std::exchange(outbox_.ledger, {}))
      if (const auto* reserve = std::get_if<LedgerReserve>(&request))
        OnLedgerReserved(core_, *reserve, ++entries_, outbox_);
  }

  double time_ = 1000;
  double clock_error_ = 0;  // seconds by which somebody has set the wall clock wrong
  Core core_{TestSettings()};
  Outbox outbox_;
  std::uint64_t entries_ = 0;
};

}  // namespace retort::orchestrator
