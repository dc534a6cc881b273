// Milliseconds of one epsilon or one calibration, for accountant_ratio.py.
//   accountant_bench rdp|pld|calibrate-rdp|calibrate-pld Q Z STEPS DELTA EPSILON
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "experiments/privacy/accountants/pld_accountant.h"
#include "experiments/privacy/accountants/rdp_accountant.h"

int main(int argc, char** argv) {
  using namespace retort::privacy;  // NOLINT(google-build-using-namespace)
  if (argc != 7) {
    std::fputs("accountant_bench rdp|pld|calibrate-rdp|calibrate-pld Q Z STEPS DELTA EPSILON\n", stderr);
    return 2;
  }
  const double q = std::atof(argv[2]);
  const double z = std::atof(argv[3]);
  const long long steps = std::atoll(argv[4]);
  const double delta = std::atof(argv[5]);
  const double epsilon = std::atof(argv[6]);
  const auto count = static_cast<double>(steps);
  const std::map<std::string, std::function<double()>> works = {
      {"rdp", [=] { return ComputeSubsampledGaussianEpsilon(q, z, count, delta).epsilon; }},
      {"pld", [=] { return ComputeSubsampledGaussianPld(q, z, steps, delta).upper; }},
      {"calibrate-rdp", [=] { return ComputeSubsampledGaussianNoise(q, count, delta, epsilon); }},
      {"calibrate-pld", [=] { return ComputeSubsampledGaussianPldNoise(q, steps, delta, epsilon); }}};
  const auto work = works.find(argv[1]);
  if (work == works.end()) return 2;
  // The fastest of five, each of as many rounds as fill a tenth of a second.
  double best = 1e300;
  double value = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    double elapsed = 0;
    int rounds = 0;
    while (elapsed < 100) {
      value = work->second();
      ++rounds;
      elapsed = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    }
    best = elapsed / rounds < best ? elapsed / rounds : best;
  }
  std::printf("%.17g %.6g\n", value, best);
  return 0;
}
