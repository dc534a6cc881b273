// Seconds that all claims of a sweep of DP-SGD trials cost.
//   claims_bench TRIALS DISTINCT     DISTINCT noise multipliers among them
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"

int main(int argc, char** argv) {
  using namespace retort;  // NOLINT(google-build-using-namespace)
  const long long trials = argc > 1 ? std::atoll(argv[1]) : 100'000;
  const long long distinct = argc > 2 ? std::atoll(argv[2]) : 1000;
  auto data = std::make_shared<DataSpec>();
  data->classes = 10;
  data->split.train = {0, 60'000};
  TrialSpec spec;
  spec.data = data;
  spec.method = "dpsgd";
  spec.source = QuerySource::private_split;
  spec.steps = 2000;
  spec.batch = 256;
  spec.release.norm_bound = 1;
  privacy::ClaimCache accountant;
  double worst = 0;
  const auto start = std::chrono::steady_clock::now();
  for (long long i = 0; i < trials; ++i) {
    spec.release.noise_multiplier = 0.7 + 0.01 * static_cast<double>(i % distinct) / static_cast<double>(distinct);
    const Result<std::vector<privacy::PrivacyEvent>> events = privacy::PlanEvents(spec);
    if (!events.ok()) return 1;
    worst = std::max(worst, accountant.ComputeClaims({&spec, {}}, *events).front().epsilon);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%lld trials, %zu distinct: %.3f s, %.1f us a trial; largest epsilon %.3f\n", trials,
              accountant.computed(), seconds, 1e6 * seconds / static_cast<double>(trials), worst);
  return 0;
}
