// Small trials for tests that never train anything.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/methods/spec_codec.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/sweep/sweep_plan.h"

namespace retort::testing {

inline std::shared_ptr<DataSpec> SmallData() {
  auto data = std::make_shared<DataSpec>();
  data->name = "digits";
  data->reader = "idx";
  data->path = "/nowhere/digits";
  data->digest = std::string(64, 'd');
  data->split.shuffle = 1;
  data->split.train = {0, 800};
  data->split.public_range = {800, 900};
  data->split.test = {900, 1000};
  data->examples = 1000;
  return data;
}

class TrialBuilder {
 public:
  explicit TrialBuilder(std::uint64_t seed = 0) {
    spec_.data = SmallData();
    spec_.seed = seed;
    spec_.name = "dpdfd-s" + std::to_string(seed);
    spec_.steps = 10;
    spec_.noise = NoiseMode::seeded;
  }
  TrialBuilder& Teacher(const std::string& name) {
    spec_.role = Role::teacher;
    spec_.method = "plain";
    spec_.teacher = name;
    spec_.name = "teacher-" + name + "-s" + std::to_string(spec_.seed);
    return *this;
  }
  TrialBuilder& Of(const TrialSpec& teacher) {
    spec_.parent = teacher.id;
    spec_.teacher = teacher.teacher;
    return *this;
  }
  TrialBuilder& With(std::shared_ptr<const DataSpec> data) {
    spec_.data = std::move(data);
    return *this;
  }
  // A student by noisy votes, which has a finite claim for an example.
  TrialBuilder& Votes() {
    spec_.reading = Reading::sound;
    spec_.source = QuerySource::public_split;
    spec_.queries = 80;
    spec_.release.vote_noise = 40;
    return Secure();
  }
  TrialBuilder& Secure() {
    spec_.noise = NoiseMode::secure;
    return *this;
  }
  // One with noise on its training steps.
  TrialBuilder& Method(const std::string& method, QuerySource source) {
    spec_.method = method;
    spec_.source = source;
    spec_.name = method + "-s" + std::to_string(spec_.seed);
    spec_.network = "tanh-cnn";
    spec_.batch = 64;
    spec_.release.norm_bound = 0.1;
    spec_.release.noise_multiplier = 2.1;
    return *this;
  }
  TrialBuilder& Reads(Reading reading) {
    spec_.reading = reading;
    return *this;
  }
  TrialBuilder& Augmented() {
    spec_.inputs.augment = Augment::affine;
    return *this;
  }
  TrialBuilder& Delta(double delta) {
    spec_.privacy.delta = delta;
    return *this;
  }
  TrialBuilder& Steps(std::int64_t steps) {
    spec_.steps = steps;
    return *this;
  }
  TrialBuilder& Priority(int priority) {
    spec_.execution.priority = priority;
    return *this;
  }
  TrialBuilder& Deadline(double seconds) {
    spec_.execution.deadline_seconds = seconds;
    return *this;
  }
  TrialBuilder& Devices(int devices) {
    spec_.devices = devices;
    return *this;
  }
  [[nodiscard]] TrialSpec Build() const {
    TrialSpec spec = spec_;
    spec.id = ComputeTrialId(spec);
    return spec;
  }

 private:
  TrialSpec spec_;
};

inline SweepPlan MakePlan(std::vector<TrialSpec> trials, const std::string& name = "tested") {
  SweepPlan plan;
  plan.name = name;
  plan.file = name + ".toml";
  plan.trials = std::move(trials);
  plan.resolved_toml = "retort = 1\n# " + std::to_string(plan.trials.size()) + " trials\n";
  return plan;
}

// `teachers` teachers with `students` students each, in the order of a sweep plan.
inline SweepPlan FamilyPlan(int teachers, int students) {
  std::vector<TrialSpec> trials;
  for (int t = 0; t < teachers; ++t)
    trials.push_back(TrialBuilder(static_cast<std::uint64_t>(t)).Teacher("t" + std::to_string(t)).Build());
  for (int t = 0; t < teachers; ++t)
    for (int s = 0; s < students; ++s)
      trials.push_back(
          TrialBuilder(static_cast<std::uint64_t>(100 * t + s)).Of(trials[static_cast<std::size_t>(t)]).Build());
  return MakePlan(std::move(trials));
}

}  // namespace retort::testing
