#include "worker/audit/shadow_trials.h"

#include <ATen/ops/tensor.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/rng_stream.h"
#include "worker/audit/retraining.h"
#include "worker/models/network.h"

namespace retort::worker::audit {
namespace {

constexpr std::uint64_t kShadowSeed = 0x5ad0;

}  // namespace

ShadowData ChooseShadowData(const Dataset& data, const Examples& everyone, const AttackedExamples& attacked,
                            std::int64_t shadow) {
  const auto members = static_cast<std::int64_t>(attacked.places.size());
  const RngStream stream(kShadowSeed + static_cast<std::uint64_t>(shadow / 2), Purpose::split);
  std::vector<std::int64_t> order = DrawPermutation(2 * members, stream);
  if (shadow % 2 == 1) std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(members), order.end());
  const std::int64_t examples = data.train.size();
  const auto row_of = [&](std::int64_t i) {  // of everyone
    return i < members ? attacked.places[static_cast<std::size_t>(i)]
                       : examples + attacked.others_places[static_cast<std::size_t>(i - members)];
  };
  std::vector<std::int64_t> rows(static_cast<std::size_t>(examples)), left;
  std::iota(rows.begin(), rows.end(), 0);
  ShadowData chosen{data, std::vector<bool>(order.size())};
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool in = i < attacked.places.size();
    if (in)
      rows[static_cast<std::size_t>(attacked.places[i])] = row_of(order[i]);
    else
      left.push_back(row_of(order[i]));
    chosen.trained[static_cast<std::size_t>(order[i])] = in;
  }
  chosen.data.train = everyone.Rows(at::tensor(rows, at::kLong));
  chosen.data.test = everyone.Rows(at::tensor(left, at::kLong));
  return chosen;
}

Result<ShadowScores> TrainShadows(const AuditedTrial& trial, const AttackedExamples& attacked,
                                  const AuditProgress& progress) {
  const Dataset& data = trial.inputs.data;
  const Examples pool = Examples::Joined(attacked.members, attacked.others);
  const Examples everyone = Examples::Joined(data.train, data.test);
  ShadowScores scores;
  for (std::int64_t shadow = 0; shadow < trial.order.shadows; ++shadow) {
    const std::string name =
        "shadow " + std::to_string(shadow + 1) + " of " + std::to_string(trial.order.shadows) + ", ";
    const ShadowData chosen = ChooseShadowData(data, everyone, attacked, shadow);
    const auto step = [&](const char* part, std::int64_t done, std::int64_t of) {
      progress(name + part + ", step", done, of);
    };
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network,
                            RetrainTrial(trial, chosen.data, 1 + static_cast<std::uint64_t>(shadow), step));
    scores.pool.push_back(ComputeConfidenceScores(*network, pool));
    scores.population.push_back(ComputeConfidenceScores(*network, attacked.population));
    scores.trained.push_back(chosen.trained);
  }
  return scores;
}

}  // namespace retort::worker::audit
