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
#include <vector>

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

// Gang rank 0 of two, whose other member does nothing.
class LostPeer {
 public:
  LostPeer() {
    std::signal(SIGPIPE, SIG_IGN);  // as retort-worker does
    EXPECT_EQ(pipe(pipe_ends_.data()), 0);
    child_ = ForkMember(pipe_ends_[0], [](Collective&) { pause(); });
    store_ = OpenGangStore("127.0.0.1").value();
    const std::string address = store_->address();
    EXPECT_EQ(write(pipe_ends_[1], address.c_str(), address.size() + 1), static_cast<ssize_t>(address.size() + 1));
    gang_ = JoinGlooGang(Membership(0, address)).value();
    EXPECT_TRUE(gang_->Barrier().ok());
  }
  ~LostPeer() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    for (const int end : pipe_ends_) close(end);
  }
  LostPeer(const LostPeer&) = delete;
  LostPeer& operator=(const LostPeer&) = delete;

  [[nodiscard]] Collective& gang() { return *gang_; }
  void Leave() { gang_.reset(); }
  void Lose(int signal) {
    EXPECT_EQ(kill(child_, signal), 0);
    lost_ = Clock::now();
  }
  [[nodiscard]] double SecondsSinceLost() const { return std::chrono::duration<double>(Clock::now() - lost_).count(); }

 private:
  std::array<int, 2> pipe_ends_{};
  pid_t child_ = 0;
  std::unique_ptr<GangStore> store_;
  std::unique_ptr<Collective> gang_;
  Clock::time_point lost_;
};

TEST(GangLoss, KilledPeerIsAnErrorAtOnce) {
  LostPeer peer;
  peer.Lose(SIGKILL);
  at::Tensor values = at::ones({1 << 20});
  EXPECT_EQ(peer.gang().AllReduceSum(values).code(), StatusCode::environment);
  EXPECT_LT(peer.SecondsSinceLost(), 1.0);
}

TEST(GangLoss, StoppedPeerIsAnErrorAtTheDeadline) {
  LostPeer peer;
  peer.Lose(SIGSTOP);
  at::Tensor values = at::ones({1 << 20});
  EXPECT_EQ(peer.gang().AllReduceSum(values).code(), StatusCode::environment);
  EXPECT_GT(peer.SecondsSinceLost(), 1.0);
  EXPECT_LT(peer.SecondsSinceLost(), 4.0);
}

// Sums that are under way when the peer is lost, as those of buckets while the rest is differentiated.
struct UnderWay {
  explicit UnderWay(Collective& gang) {
    for (int i = 0; i < 4; ++i) {
      values.push_back(at::ones({1 << 20}));
      gang.Expect(values.back());
    }
    for (at::Tensor& part : values) pending.push_back(gang.BeginAllReduceSum(part).value());
  }
  std::vector<at::Tensor> values;
  std::vector<std::unique_ptr<PendingOperation>> pending;
};

TEST(GangLoss, KilledPeerEndsAllSumsUnderWayAtOnce) {
  LostPeer peer;
  UnderWay sums(peer.gang());
  peer.Lose(SIGKILL);
  for (const auto& operation : sums.pending) EXPECT_EQ(operation->Wait().code(), StatusCode::environment);
  EXPECT_LT(peer.SecondsSinceLost(), 1.0);
}

TEST(GangLoss, StoppedPeerEndsAllSumsUnderWayAtOneDeadline) {
  LostPeer peer;
  UnderWay sums(peer.gang());
  peer.Lose(SIGSTOP);
  for (const auto& operation : sums.pending) EXPECT_EQ(operation->Wait().code(), StatusCode::environment);
  EXPECT_LT(peer.SecondsSinceLost(), 2.5);
}

// As where an exception ends a step: nobody waits for the sums, and what they are of goes before them.
TEST(GangLoss, SumsNobodyWaitsForKeepTheirTensorsAndEnd) {
  for (const int signal : {SIGKILL, SIGSTOP}) {
    LostPeer peer;
    UnderWay sums(peer.gang());
    peer.Lose(signal);
    sums.values.clear();
    sums.pending.clear();
    peer.Leave();
    EXPECT_LT(peer.SecondsSinceLost(), 2.5);
  }
}

}  // namespace
}  // namespace retort::worker
