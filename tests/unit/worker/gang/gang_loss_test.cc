// A gang of processes that loses one. Each test forks before it touches torch.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include "worker/gang/gloo_collective.h"

namespace retort::worker {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kDeadline{1500};

GangMembership Membership(int rank, const std::string& address) {
  return {{rank}, 2, {1}, address, "127.0.0.1", kDeadline};
}

// The other member: joins at the address that comes through the pipe, does one barrier, then `end`s.
pid_t ForkMember(int read_end, const std::function<void(Collective&)>& end) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::array<char, 256> buffer{};
  if (read(read_end, buffer.data(), buffer.size() - 1) <= 0) _exit(2);
  auto gang = JoinGlooGang(Membership(1, buffer.data()));
  if (!gang.ok() || !(*gang)->Barrier().ok()) _exit(3);
  end(**gang);
  _exit(0);
}

enum class Loss { before_the_sum, during_it };

// Seconds until gang rank 0 sees the loss, and what it is told.
std::pair<double, Status> LoseTheOther(int signal, Loss loss) {
  std::signal(SIGPIPE, SIG_IGN);  // as retort-worker does
  std::array<int, 2> pipe_ends{};
  EXPECT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = ForkMember(pipe_ends[0], [](Collective&) { pause(); });
  const auto store = OpenGangStore("127.0.0.1").value();
  const std::string address = store->address();
  EXPECT_EQ(write(pipe_ends[1], address.c_str(), address.size() + 1), static_cast<ssize_t>(address.size() + 1));
  auto gang = JoinGlooGang(Membership(0, address));
  EXPECT_TRUE(gang.ok()) << gang.status().message();
  EXPECT_TRUE((*gang)->Barrier().ok());
  at::Tensor values = at::ones({1 << 20});
  std::unique_ptr<PendingOperation> sum;
  if (loss == Loss::during_it) {
    (*gang)->Expect(values);
    sum = (*gang)->BeginAllReduceSum(values).value();
  }
  EXPECT_EQ(kill(child, signal), 0);
  const auto start = Clock::now();
  const Status status = sum != nullptr ? sum->Wait() : (*gang)->AllReduceSum(values);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  return {seconds, status};
}

class GangLoss : public ::testing::TestWithParam<Loss> {};

TEST_P(GangLoss, KilledPeerIsAnErrorAtOnce) {
  const auto [seconds, status] = LoseTheOther(SIGKILL, GetParam());
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_LT(seconds, 1.0);
}

TEST_P(GangLoss, StoppedPeerIsAnErrorAtTheDeadline) {
  const auto [seconds, status] = LoseTheOther(SIGSTOP, GetParam());
  EXPECT_EQ(status.code(), StatusCode::environment);
  EXPECT_GT(seconds, 1.0);
  EXPECT_LT(seconds, 4.0);
}

INSTANTIATE_TEST_SUITE_P(Moments, GangLoss, ::testing::Values(Loss::before_the_sum, Loss::during_it),
                         [](const auto& loss) { return loss.param == Loss::during_it ? "DuringTheSum" : "BeforeIt"; });

}  // namespace
}  // namespace retort::worker
