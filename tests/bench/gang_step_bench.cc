// What a gang of two on one host pays for being a gang: a training step of two members over Gloo, each with half
// of the batch and one thread, against the same halves trained side by side without a word between them.
//   gang_step_bench [NETWORK] [BATCH] [STEPS] [ROUNDS]
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
#include <string>
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

// Of the slower member.
double Slowest(Collective& gang, double seconds) {
  const at::Tensor own = at::full({1}, seconds, at::kDouble);
  double slowest = 0;
  for (const at::Tensor& one : Require(gang.AllGather(own))) slowest = std::max(slowest, one.item<double>());
  return slowest;
}

// Seconds a step: apart, together.
std::vector<std::pair<double, double>> Measure(const Options& options, int rank, std::array<int, 2> ends) {
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
  Learner apart = MakeLearner(options, *alone), together = MakeLearner(options, *gang);
  std::vector<std::pair<double, double>> seconds;
  for (int round = -1; round < options.rounds; ++round) {
    Require(Result<int>(gang->Barrier().ok() ? 0 : 1));
    const double slowest = Slowest(*gang, SecondsOfSteps(apart, own, options.steps));
    Require(Result<int>(gang->Barrier().ok() ? 0 : 1));
    const double b = SecondsOfSteps(together, own, options.steps);
    if (round >= 0) seconds.emplace_back(slowest, b);  // the first one warms up
  }
  return seconds;
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
  const auto seconds = Measure(options, 0, ends);
  waitpid(child, nullptr, 0);
  std::vector<double> exposed;
  for (const auto& [apart, together] : seconds) exposed.push_back(std::max(0.0, together - apart) / together);
  std::sort(exposed.begin(), exposed.end());
  const double median = exposed[exposed.size() / 2];
  std::printf(
      "{\"network\":\"%s\",\"batch\":%lld,\"apart_ms\":%.2f,\"together_ms\":%.2f,\"exposed\":%.3f,"
      "\"exposed_least\":%.3f,\"exposed_most\":%.3f}\n",
      options.network.c_str(), static_cast<long long>(options.batch), 1e3 * seconds.back().first,
      1e3 * seconds.back().second, median, exposed.front(), exposed.back());
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
  return retort::worker::Run(options);
}
