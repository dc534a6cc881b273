// The shipped sweeps of the papers, planned without their data.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "experiments/base/digests.h"
#include "experiments/sweep/sweep_plan.h"

namespace retort {

inline std::string ConfigsFolder() { return std::string(RETORT_SOURCE_DIR) + "/experiments/configs"; }

// "dpsd/table1.toml", ... of the papers' folders and of the digits', sorted.
inline std::vector<std::string> ListPaperSweeps() {
  std::vector<std::string> names;
  for (const char* folder : {"dpdfd-ijcai23", "dp-dfd", "dpsd", "rona-aaai19", "digits"}) {
    for (const auto& file : std::filesystem::directory_iterator(ConfigsFolder() + "/" + folder))
      if (file.path().extension() == ".toml") names.push_back(folder + ("/" + file.path().filename().string()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Every data set is found, of the size that the published one has.
inline PlanHooks PublishedHooks() {
  struct Shape {
    std::int64_t examples, train, channels, side, classes;
  };
  static const std::map<std::string, Shape> kShapes = {
      {"MNIST", {70000, 60000, 1, 28, 10}},     {"FMNIST", {70000, 60000, 1, 28, 10}},
      {"CIFAR10", {60000, 50000, 3, 32, 10}},   {"CIFAR100", {60000, 50000, 3, 32, 100}},
      {"SVHN", {99289, 73257, 3, 32, 10}},      {"CelebA-G", {180000, 160000, 3, 64, 2}},
      {"CelebA-H", {180000, 160000, 3, 64, 3}}, {"MedMNIST", {107180, 89996, 3, 28, 9}},
      {"COVIDx", {30000, 29000, 3, 64, 3}},     {"ImageNet", {51000, 1000, 3, 224, 1000}}};
  PlanHooks hooks;
  hooks.inspect = [](DataSpec& data) {
    data.digest = std::string(64, 'a');
    const auto found = kShapes.find(data.published_as.value_or(""));
    const Shape shape = found != kShapes.end() ? found->second : Shape{10000, 8000, 1, 28, 10};
    data.examples = shape.examples;
    data.channels = shape.channels;
    if (data.height == 0) data.height = data.width = shape.side;
    data.classes = shape.classes;
    if (data.split.train.size() == 0 && !data.split.train_source.part.empty()) data.split.train = {0, shape.train};
    if (data.split.public_range.size() == 0 && !data.split.public_source.part.empty())
      data.split.public_range = {0, shape.train / 2};
    if (data.split.test.size() == 0 && !data.split.test_source.part.empty())
      data.split.test = {shape.train, shape.examples};
    return Status();
  };
  hooks.calibrate = [](TrialSpec&) { return Status(); };
  hooks.digest_file = [](const std::string& path) -> Result<std::string> { return ComputeSha256Hex(path); };
  hooks.lookup = [](const std::string&) -> std::optional<std::string> { return "/data"; };
  return hooks;
}

inline SweepPlan LoadPaperSweep(const std::string& name, const std::vector<std::string>& overrides = {}) {
  const PlanOutcome outcome = LoadSweep(ConfigsFolder() + "/" + name, {overrides, ""}, PublishedHooks());
  for (const Diagnostic& error : outcome.errors) ADD_FAILURE() << Render(error);
  return outcome.plan ? *outcome.plan : SweepPlan{};
}

inline std::vector<const TrialSpec*> AllTrials(const SweepPlan& plan) {
  std::vector<const TrialSpec*> trials;
  for (const TrialSpec& trial : plan.trials) trials.push_back(&trial);
  return trials;
}

}  // namespace retort
