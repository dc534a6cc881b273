// The cost of planning 100,000 trials: less than 2 s of CPU and 200 MiB of memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>

#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::string Values(int count, int first) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(first + i);
  return text + "]";
}

void ExpectCheapPlan(const std::string& text, std::size_t trials) {
  const double before = CpuSeconds();
  const SweepPlan plan = GoodPlan(text);
  const double seconds = CpuSeconds() - before;
  std::printf("%zu trials: %.2f s of CPU, %.1f us a trial, peak %.0f MiB\n", plan.trials.size(), seconds,
              1e6 * seconds / static_cast<double>(plan.trials.size()), PeakMebibytes());
  EXPECT_EQ(plan.trials.size(), trials);
  EXPECT_LT(seconds, 2.0);
  EXPECT_LT(PeakMebibytes(), 200);
}

TEST(PlanCost, HundredThousandTrialsTakeTwoSecondsAtMost) {
  ExpectCheapPlan(kHead + kTeachers + "[trial]\nteacher = \"single\"\nsteps = 1000\n[sweep]\nseeds = " + Values(10, 0) +
                      "\ngrid.sigma = " + Values(50, 1) + "\ngrid.batch = " + Values(10, 16) +
                      "\ngrid.replay = " + Values(10, 1) +
                      "\nzip.row = [{ reading = \"working\" }, { reading = \"printed\", kappa = 0.5 }]\n"
                      "when = [{ if = { reading = \"printed\", sigma = [1, 2, 3] }, set = { lr = 0.01 } }]\n",
                  100'010);
}

TEST(PlanCost, AQuarterOfTheTrialsMayBeTeachers) {
  ExpectCheapPlan(kHead + kTeachers + "[trial]\nteacher = \"single\"\nsteps = 1000\n[sweep]\nseeds = " +
                      Values(25'000, 0) + "\ngrid.sigma = " + Values(3, 1) + "\n",
                  100'000);
}

}  // namespace
}  // namespace retort
