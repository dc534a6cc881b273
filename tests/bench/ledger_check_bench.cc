// What the check of a budget costs a step: one look at everything charged to a data set for each block of
// releases.
//   ledger_check_bench [TRIALS] [BLOCKS]     charged before, of 64 steps each; two kinds of DP-SGD steps and
//   votes
// Exit 3: more than a microsecond a step.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "experiments/privacy/claim.h"
#include "orchestrator/budget.h"

namespace {

using retort::TrialId;
using retort::privacy::PrivacyEvent;

constexpr std::int64_t kBlock = 64;

PrivacyEvent Event(std::uint64_t trial) {
  retort::TrialSpec spec;
  auto data = std::make_shared<retort::DataSpec>();
  data->classes = 10;
  data->split.train = {0, 60'000};
  spec.data = data;
  spec.method = "dpsgd";
  spec.source = retort::QuerySource::private_split;
  spec.steps = kBlock;
  spec.batch = 256;
  spec.norm_bound = 1;
  spec.noise_multiplier = trial % 2 == 0 ? 1.1 : 1.5;
  return retort::privacy::PlannedEvents(spec).value().front();
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t trials = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
  const int blocks = argc > 2 ? std::atoi(argv[2]) : 100;
  retort::DataSpec data;
  data.name = "digits";
  data.digest = std::string(64, 'd');
  data.budget = retort::Budget{1e6, 1e-5};
  retort::orchestrator::ChargeBook book;
  for (std::uint64_t trial = 1; trial <= trials; ++trial)
    for (int block = 0; block < blocks; ++block) {
      const auto handle = book.Add(data.digest, TrialId(trial), Event(trial));
      book.Settle(handle, kBlock);
    }
  const PrivacyEvent more = Event(1);
  std::vector<double> seconds;
  for (int round = 0; round < 7; ++round) {
    const auto start = std::chrono::steady_clock::now();
    constexpr int kChecks = 10;
    for (int i = 0; i < kChecks; ++i) {
      if (retort::orchestrator::RefuseOverBudget(book, data, more)) return 1;
      book.Settle(book.Add(data.digest, TrialId(1), more), kBlock);
    }
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                      kChecks);
  }
  std::sort(seconds.begin(), seconds.end());
  const double step = 1e6 * seconds[seconds.size() / 2] / kBlock;
  std::printf("{\"trials\":%llu,\"blocks\":%d,\"check_us\":%.1f,\"us_a_step\":%.3f}\n",
              static_cast<unsigned long long>(trials), blocks, step * kBlock, step);
  return step <= 1 ? 0 : 3;
}
