// What a gang of two on one host pays for being a gang: a training step of two members over Gloo, each with half
// of the batch and one thread, against the same halves trained side by side without a word between them, and beside
// the same sums waited for one by one (`waited_ms`; `of_waited`: what the step exposes of the communication that is
// seen where every sum is waited for).
//   gang_step_bench [NETWORK] [BATCH] [STEPS] [ROUNDS] [LINK]
// LINK: sums end no sooner than over a link of so many megabytes a second, which takes none of the processors' time.
// Exit 3: more than a tenth of the step is communication that computing did not hide.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "worker/gang/local_collective.h"
#include "worker/models/model_registry.h"
#include "worker/run/gang_formation.h"
#include "worker/run/worker_service.h"
#include "worker/training/learner.h"

namespace retort::worker {
namespace {

constexpr double kMostExposed = 0.10;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string network = "datalens";
  std::int64_t batch = 256;
  int steps = 10, rounds = 5;
  double link = 0;  // megabytes a second; 0: that of the host alone
};

template <typename T>
T Require(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    std::_Exit(1);
  }
  return std::move(result).value();
}

Learner MakeLearner(const Options& options, Collective& gang) {
  return {Require(MakeNetwork(options.network, {1, 28, 28}, 10, RngStream(1, Purpose::parameters))), gang};
}

double SecondsOfSteps(Learner& learner, const Minibatch& batch, int steps) {
  const auto began = Clock::now();
  for (int i = 0; i < steps; ++i) static_cast<void>(Require(learner.Teach(batch, 1e-3, std::nullopt)));
  return std::chrono::duration<double>(Clock::now() - began).count() / steps;
}

// Gang rank 0 tells the other where to meet through the pipe.
class PipeHost final : public TrialHost {
 public:
  explicit PipeHost(std::array<int, 2> ends) : ends_(ends) {}
  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent&, std::int64_t) override { return Nothing(); }
  Status Settle(std::uint64_t, std::int64_t) override { return Nothing(); }
  Status Report(const cluster::Progress&) override { return Nothing(); }
  Status Report(const cluster::CheckpointCommitted&) override { return Nothing(); }
  Status AnnounceGang(const std::string& address) override {
    return write(ends_[1], address.data(), address.size()) > 0 ? Status() : EnvironmentError("The pipe is cut.");
  }
  Result<std::string> AwaitGang(std::chrono::milliseconds) override {
    std::array<char, 256> address{};
    if (read(ends_[0], address.data(), address.size() - 1) <= 0) return EnvironmentError("The pipe is cut.");
    return std::string(address.data());
  }
  std::optional<cluster::Stop> StopRequested() override { return std::nullopt; }

 private:
  static Status Nothing() { return EnvironmentError("A bench charges and reports nothing."); }
  std::array<int, 2> ends_;
};

// Another gang whose sums a bench changes.
class Through : public Collective {
 public:
  explicit Through(Collective& gang) : gang_(gang) {}
  GangRank rank() const override { return gang_.rank(); }
  int size() const override { return gang_.size(); }
  Status AllReduceSum(at::Tensor& values) override { return gang_.AllReduceSum(values); }
  void Expect(const at::Tensor& values) override { gang_.Expect(values); }
  Status Broadcast(at::Tensor& values, GangRank root) override { return gang_.Broadcast(values, root); }
  Result<std::vector<at::Tensor>> Gather(const at::Tensor& values, GangRank root) override {
    return gang_.Gather(values, root);
  }
  Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) override { return gang_.AllGather(values); }
  Status Barrier() override { return gang_.Barrier(); }

 protected:
  Collective& gang_;
};

// Computes nothing while a sum is under way.
class Waiting final : public Through {
 public:
  using Through::Through;
  void Expect(const at::Tensor&) override {}
};

// Lets a sum end when a link would have carried it behind those before.
class Link final : public Through {
 public:
  Link(Collective& gang, double megabytes) : Through(gang), bytes_(1e6 * megabytes) {}
  Status AllReduceSum(at::Tensor& values) override {
    RETORT_ASSIGN_OR_RETURN(const auto sum, BeginAllReduceSum(values));
    return sum->Wait();
  }
  Result<std::unique_ptr<PendingOperation>> BeginAllReduceSum(at::Tensor& values) override {
    RETORT_ASSIGN_OR_RETURN(auto sum, gang_.BeginAllReduceSum(values));
    if (bytes_ <= 0) return sum;
    const std::chrono::duration<double> seconds(static_cast<double>(values.nbytes()) / bytes_);
    free_ = std::max(free_, Clock::now()) + std::chrono::duration_cast<Clock::duration>(seconds);
    return std::unique_ptr<PendingOperation>(std::make_unique<Carried>(std::move(sum), free_));
  }

 private:
  class Carried final : public PendingOperation {
   public:
    Carried(std::unique_ptr<PendingOperation> sum, Clock::time_point end) : sum_(std::move(sum)), end_(end) {}
    Status Wait() override {
      std::this_thread::sleep_until(end_);
      return sum_->Wait();
    }

   private:
    std::unique_ptr<PendingOperation> sum_;
    Clock::time_point end_;
  };

  double bytes_;            // a second
  Clock::time_point free_;  // when the link has carried what it was given
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Seconds of a step, of the slower member where they train apart.
struct Round {
  double apart = 0, together = 0, waited = 0;
};

// Of the slower member.
double Slowest(Collective& gang, double seconds) {
  const at::Tensor own = at::full({1}, seconds, at::kDouble);
  double slowest = 0;
  for (const at::Tensor& one : Require(gang.AllGather(own))) slowest = std::max(slowest, one.item<double>());
  return slowest;
}

std::vector<Round> Measure(const Options& options, int rank, std::array<int, 2> ends) {
  at::set_num_threads(1);
  PrepareTorch();
  cluster::Start start;
  start.gang_rank = rank;
  start.gang_size = 2;
  start.gang_host = "127.0.0.1";
  start.device = "cpu";
  PipeHost host(ends);
  const auto gang = Require(FormGang(start, {1}, host));
  const auto alone = MakeSoloCollective();
  const at::Tensor images = at::randn({options.batch, 1, 28, 28});
  const at::Tensor targets = MakeOneHotTargets(at::randint(10, {options.batch}, at::kLong), 10);
  const Minibatch own = OwnMinibatch(images, targets, *gang);
  Link link(*gang, options.link);
  Waiting waiting(link);
  Learner apart = MakeLearner(options, *alone), together = MakeLearner(options, link),
          waited = MakeLearner(options, waiting);
  std::vector<Round> rounds;
  for (int round = -1; round < options.rounds; ++round) {
    Require(Result<int>(gang->Barrier().ok() ? 0 : 1));
    Round seconds;
    seconds.apart = Slowest(*gang, SecondsOfSteps(apart, own, options.steps));
    Require(Result<int>(gang->Barrier().ok() ? 0 : 1));
    seconds.together = SecondsOfSteps(together, own, options.steps);
    Require(Result<int>(gang->Barrier().ok() ? 0 : 1));
    seconds.waited = SecondsOfSteps(waited, own, options.steps);
    if (round >= 0) rounds.push_back(seconds);  // the first one warms up
  }
  return rounds;
}

int Run(const Options& options) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Measure(options, 1, ends);
    std::_Exit(0);
  }
  const std::vector<Round> rounds = Measure(options, 0, ends);
  waitpid(child, nullptr, 0);
  std::vector<double> exposed, waited, apart, together;
  for (const Round& round : rounds) {
    exposed.push_back(std::max(0.0, round.together - round.apart) / round.together);
    apart.push_back(round.apart);
    together.push_back(round.together);
    waited.push_back(round.waited);
  }
  std::sort(exposed.begin(), exposed.end());
  const double median = Median(exposed);
  const double seen = Median(waited) - Median(apart), left = std::max(0.0, Median(together) - Median(apart));
  std::printf(
      "{\"network\":\"%s\",\"batch\":%lld,\"apart_ms\":%.2f,\"together_ms\":%.2f,\"waited_ms\":%.2f,"
      "\"exposed\":%.3f,\"exposed_least\":%.3f,\"exposed_most\":%.3f,\"of_waited\":%.3f}\n",
      options.network.c_str(), static_cast<long long>(options.batch), 1e3 * Median(apart), 1e3 * Median(together),
      1e3 * Median(waited), median, exposed.front(), exposed.back(), seen > 0 ? left / seen : 1.0);
  return median <= kMostExposed ? 0 : 3;
}

}  // namespace
}  // namespace retort::worker

int main(int argc, char** argv) {
  retort::worker::Options options;
  if (argc > 1) options.network = argv[1];
  if (argc > 2) options.batch = std::atol(argv[2]);
  if (argc > 3) options.steps = std::atoi(argv[3]);
  if (argc > 4) options.rounds = std::atoi(argv[4]);
  if (argc > 5) options.link = std::atof(argv[5]);
  return retort::worker::Run(options);
}
