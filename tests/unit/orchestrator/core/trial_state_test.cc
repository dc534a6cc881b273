#include "orchestrator/core/trial.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace retort::orchestrator {
namespace {

using enum TrialState;

constexpr std::array kStates = {waiting, queued, leased, running, succeeded, failed, parent_failed, cancelled};
constexpr std::array kEvents = {TrialEvent::parent_succeeded,
                                TrialEvent::parent_ended_badly,
                                TrialEvent::lease,
                                TrialEvent::started,
                                TrialEvent::progress,
                                TrialEvent::attempt_succeeded,
                                TrialEvent::attempt_failed_retry,
                                TrialEvent::attempt_failed_for_good,
                                TrialEvent::cancel,
                                TrialEvent::reopen};

// The whole table, written out once more: a row for each state, a column for each event in the order of
// kEvents; 0 = illegal.
constexpr int x = 0;
constexpr int W = static_cast<int>(waiting), Q = static_cast<int>(queued), L = static_cast<int>(leased),
              R = static_cast<int>(running), S = static_cast<int>(succeeded), F = static_cast<int>(failed),
              P = static_cast<int>(parent_failed), C = static_cast<int>(cancelled);
// clang-format off
constexpr std::array<std::array<int, 10>, 8> kTable = {{
    //  parent ok, parent bad, lease, started, progress, succeeded, retry, for good, cancel, reopen
    {Q, P, x, x, x, x, x, x, C, x},  // waiting
    {x, x, L, x, x, x, x, x, C, x},  // queued
    {x, x, x, R, x, x, Q, F, C, x},  // leased
    {x, x, x, x, R, S, Q, F, C, x},  // running
    {x, x, x, x, x, x, x, x, x, x},  // succeeded
    {x, x, x, x, x, x, x, x, x, Q},  // failed
    {x, x, x, x, x, x, x, x, C, W},  // parent-failed
    {x, x, x, x, x, x, x, x, x, W},  // cancelled
}};
// clang-format on

TEST(TrialState, EveryTransitionFollowsTheTable) {
  for (std::size_t s = 0; s < kStates.size(); ++s) {
    for (std::size_t e = 0; e < kEvents.size(); ++e) {
      SCOPED_TRACE(std::string(GetStateName(kStates[s])) + " x event " + std::to_string(e));
      const std::optional<TrialState> next = FindNextState(kStates[s], kEvents[e]);
      EXPECT_EQ(next ? static_cast<int>(*next) : 0, kTable[s][e]);
    }
  }
}

TEST(TrialState, OnlyAReopeningLeavesAFinalState) {
  for (const TrialState state : kStates) {
    if (!IsFinal(state)) continue;
    for (const TrialEvent event : kEvents) {
      const std::optional<TrialState> next = FindNextState(state, event);
      if (event == TrialEvent::reopen || !next) continue;
      EXPECT_TRUE(IsFinal(*next)) << GetStateName(state);
    }
  }
}

TEST(TrialState, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const TrialState state : kStates) EXPECT_TRUE(names.insert(GetStateName(state)).second) << GetStateName(state);
  EXPECT_EQ(GetStateName(parent_failed), "parent-failed");
}

TEST(TrialState, NumbersInJournalsStay) {
  EXPECT_EQ(W, 1);
  EXPECT_EQ(Q, 2);
  EXPECT_EQ(L, 3);
  EXPECT_EQ(R, 4);
  EXPECT_EQ(S, 5);
  EXPECT_EQ(F, 6);
  EXPECT_EQ(P, 7);
  EXPECT_EQ(C, 8);
}

}  // namespace
}  // namespace retort::orchestrator
