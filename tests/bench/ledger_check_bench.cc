// What the check of a budget costs a step: one look at everything charged to a data set for each block of
// releases, from the first block to the one that the budget refuses.
//   ledger_check_bench [TRIALS] [BLOCKS]     of 64 steps each, which the budget is enough for; two kinds of
//   DP-SGD steps
// Exit 3: more than a microsecond a step, amortised.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "orchestrator/core/privacy_charges.h"

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
  spec.release.norm_bound = 1;
  spec.release.noise_multiplier = trial % 2 == 0 ? 1.1 : 1.5;
  return retort::privacy::PlanEvents(spec).value().front();
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t trials = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
  const int blocks = argc > 2 ? std::atoi(argv[2]) : 100;
  std::vector<PrivacyEvent> all;
  for (std::uint64_t trial = 1; trial <= trials; ++trial) {
    all.push_back(Event(trial));
    all.back().Count(kBlock * (blocks - 1));
  }
  retort::DataSpec data;
  data.name = "digits";
  data.digest = std::string(64, 'd');
  data.budget = retort::Budget{retort::privacy::ComputeTotalEpsilon({all}, 1e-5), 1e-5};
  std::vector<double> seconds;
  std::int64_t most = 0;
  for (int round = 0; round < 5; ++round) {
    retort::orchestrator::PrivacyCharges book;
    const auto start = std::chrono::steady_clock::now();
    std::int64_t admitted = 0;
    for (std::uint64_t trial = 1;; trial = trial % trials + 1, ++admitted) {
      const PrivacyEvent more = Event(trial);
      if (retort::orchestrator::RefuseOverBudget(book, data, more)) break;
      book.Settle(book.Add(data.digest, TrialId(trial), more), kBlock);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    seconds.push_back(took.count() / static_cast<double>(admitted * kBlock));
    most = admitted;
  }
  std::sort(seconds.begin(), seconds.end());
  const double step = 1e6 * seconds[seconds.size() / 2];
  std::printf("{\"trials\":%llu,\"checks\":%lld,\"check_us\":%.1f,\"us_a_step\":%.3f}\n",
              static_cast<unsigned long long>(trials), static_cast<long long>(most), step * kBlock, step);
  return step <= 1 ? 0 : 3;
}
