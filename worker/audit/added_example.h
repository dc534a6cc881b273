// Release-step audit of a mechanism to whose sum one example is added, or not.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "experiments/privacy/audit_report.h"
#include "experiments/spec/status.h"
#include "worker/audit/free_port.h"
#include "worker/audit/release_step.h"

namespace retort::worker::audit {

// `make()` is a Result of a new mechanism with a fresh key at each call, all of the same settings. `sum_of(mechanism, present)` is a
// sum of the mechanism's with one example in it, whose first coordinate is `length` after clipping and whose others are 0, or an empty one.
// `name` is what the finding calls the release. Error: those of the mechanism; refused, when nothing is proven of
// its event (a seeded source).
template <typename Maker, typename SumMaker>
[[nodiscard]] Result<privacy::AuditFinding> AuditAddedExample(const Maker& make, const SumMaker& sum_of, double length,
                                                              const std::string& name,
                                                              const StepAuditSettings& settings) {
  const auto scores_of = [&](bool present) -> Result<std::vector<double>> {
    RETORT_ASSIGN_OR_RETURN(auto mechanism, make());
    FreePort port;
    release::ChargeBook book(&port, settings.samples, settings.samples);
    std::vector<double> scores;
    scores.reserve(static_cast<std::size_t>(settings.samples));
    for (std::int64_t i = 0; i < settings.samples; ++i) {
      RETORT_ASSIGN_OR_RETURN(release::Charge charge, book.Take(mechanism.Describe(1), 1));
      RETORT_ASSIGN_OR_RETURN(const at::Tensor released, mechanism.Release(sum_of(mechanism, present), i, std::move(charge)));
      scores.push_back(static_cast<double>(released.const_data_ptr<float>()[0]) - length / 2);
    }
    return scores;
  };
  RETORT_ASSIGN_OR_RETURN(const auto mechanism, make());
  const privacy::PrivacyEvent event = mechanism.Describe(1);
  const std::string problem = privacy::EventProblem(event);
  if (!problem.empty()) return Refused("Nothing is proven of " + name + ": " + problem + ".");
  StepScores scores;
  RETORT_ASSIGN_OR_RETURN(scores.one, scores_of(true));
  RETORT_ASSIGN_OR_RETURN(scores.other, scores_of(false));
  return JudgeScores(scores, name, privacy::kExampleAdded, event.sensitivity / event.noise_std, settings);
}

}  // namespace retort::worker::audit
