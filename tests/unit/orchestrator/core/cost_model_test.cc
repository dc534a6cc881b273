#include "orchestrator/core/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orchestrator/journal/cost_cache.h"
#include "tests/testing/kind_samples.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

using testing::SmallData;
using testing::TrialBuilder;

CostSample SampleFrom(const std::string& trial, double unit_seconds, double start_seconds = 0, double at = 0) {
  CostSample sample;
  sample.trial = trial;
  sample.at = at;
  sample.unit_seconds = unit_seconds;
  sample.start_seconds = start_seconds;
  return sample;
}

// Of `units` seconds for each step of the spec.
CostModel Measured(const TrialSpec& spec, const std::vector<double>& units) {
  CostModel costs;
  for (std::size_t i = 0; i < units.size(); ++i)
    costs.Add(ComputeCostShape(spec, nullptr), SampleFrom(std::to_string(i), units[i], 0, static_cast<double>(i)));
  return costs;
}

TEST(Shape, SeedStepsAndDataOfTheSameShapeShareIt) {
  const TrialSpec one = TrialBuilder(1).Build();
  auto other_digits = SmallData();
  other_digits->digest = std::string(64, 'e');
  other_digits->name = "other";
  EXPECT_EQ(ComputeCostShape(one, nullptr),
            ComputeCostShape(TrialBuilder(2).Steps(99).With(other_digits).Build(), nullptr));
}

TEST(Shape, WhateverChangesTheCostOfAStepSplitsIt) {
  const TrialSpec base = TrialBuilder(1).Build();
  auto colour = SmallData();
  colour->channels = 3;
  const auto differs = [&base](TrialSpec other) {
    return ComputeCostShape(other, nullptr) != ComputeCostShape(base, nullptr);
  };
  TrialSpec batch = base, threads = base, devices = base, network = base, data = base, reading = base;
  batch.batch *= 2;
  threads.threads += 1;
  devices.devices = 2;
  network.network = "logistic";
  data.data = colour;
  reading.reading = Reading::printed;
  for (const TrialSpec& other : {batch, threads, devices, network, data, reading}) EXPECT_TRUE(differs(other));
  TrialSpec teacher = TrialBuilder(3).Teacher("t").Build();
  const TrialSpec student = TrialBuilder(1).Of(teacher).Build();
  TrialSpec larger = teacher;
  larger.network = "tanh-cnn";
  EXPECT_NE(ComputeCostShape(student, &teacher), ComputeCostShape(student, &larger));
}

TEST(Shape, ClosedFormMembersCostPerExample) {
  TrialSpec trained = TrialBuilder(3).Teacher("t").Build();
  trained.method = "ensemble";
  trained.network = "hog-linear";
  trained.members = 4;
  TrialSpec ridge = trained;
  ridge.shards.ridge = 0.3;
  EXPECT_NE(ComputeCostShape(ridge, nullptr), ComputeCostShape(trained, nullptr));
  TrialSpec longer = ridge;
  longer.epochs = 2 * ridge.epochs + 1;
  EXPECT_EQ(CountWorkUnits(longer), CountWorkUnits(ridge));
  EXPECT_EQ(CountWorkUnits(ridge), static_cast<double>(ridge.data->PrivateExamples()));
  EXPECT_NE(CountWorkUnits(ridge), CountWorkUnits(trained));
}

// A trial that is measured as a whole has a shape of its own for whatever it consists of.
TEST(Shape, EveryKindHasItsUnitsOfWork) {
  for (const KindTraits& kind : kKindTraits) {
    TrialSpec spec = testing::MakeKindSample(kind.kind);
    spec.data = SmallData();
    EXPECT_GE(CountWorkUnits(spec), 1) << kind.name;
    TrialSpec longer = spec;
    longer.steps *= 2;
    longer.epochs *= 2;
    longer.labels.label_steps *= 2;
    const bool whole = kind.cost == CostShape::phases || kind.cost == CostShape::fit || kind.cost == CostShape::votes;
    EXPECT_EQ(ComputeCostShape(longer, nullptr) != ComputeCostShape(spec, nullptr), whole) << kind.name;
    const bool fixed = whole || kind.cost == CostShape::evaluation;
    EXPECT_EQ(CountWorkUnits(longer) == CountWorkUnits(spec), fixed) << kind.name;
  }
}

TEST(Sample, ResumedAttemptIsScaledToAllSteps) {
  const TrialSpec spec = TrialBuilder().Steps(100).Build();
  // The last 20 steps of 100 took 10 s.
  const auto sample = MakeSample(spec, {{"seconds", 13}, {"training_seconds", 10}, {"step_seconds", 0.5}}, 100);
  ASSERT_TRUE(sample);
  EXPECT_DOUBLE_EQ(sample->unit_seconds, 0.5);
  EXPECT_DOUBLE_EQ(sample->start_seconds, 3);
  EXPECT_FALSE(MakeSample(spec, {{"step_seconds", 0.5}}, 100));
  EXPECT_FALSE(MakeSample(spec, {{"seconds", std::nan("")}}, 100));
}

TEST(CostModel, NothingMeasuredIsNothingSaid) {
  const TrialSpec spec = TrialBuilder().Build();
  EXPECT_FALSE(CostModel().For(spec, nullptr));
  TrialSpec sleeper = spec;
  sleeper.method = "sleep";
  sleeper.seconds = 2.5;
  const auto estimate = CostModel().For(sleeper, nullptr);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->seconds, 2.5);
  EXPECT_EQ(estimate->high, 2.5);
}

TEST(CostModel, TimeIsStartPlusUnitsTimesWork) {
  TrialSpec spec = TrialBuilder().Steps(10).Build();
  CostModel costs;
  costs.Add(ComputeCostShape(spec, nullptr), SampleFrom("a", 2, 5));
  spec.steps = 30;
  EXPECT_DOUBLE_EQ(costs.For(spec, nullptr)->seconds, 65);
}

TEST(CostModel, IntervalHoldsTheMeanAndNarrowsWithMeasurements) {
  const TrialSpec spec = TrialBuilder().Steps(10).Build();
  const auto one = Measured(spec, {1}).For(spec, nullptr);
  const auto many = Measured(spec, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}).For(spec, nullptr);
  const auto wide = Measured(spec, {0.5, 2, 0.4, 1.1}).For(spec, nullptr);
  ASSERT_TRUE(one && many && wide);
  EXPECT_LT(one->low, one->seconds);
  EXPECT_GT(one->high, one->seconds);
  EXPECT_GT(many->low, one->low);
  EXPECT_LT(many->high, one->high);
  EXPECT_GT(wide->high / wide->low, one->high / one->low);
}

TEST(CostModel, NineOfTenFallIntoTheInterval) {
  // Log-normal times with a spread of 0.3: after 8 of them, how often does the ninth fall inside?
  const TrialSpec spec = TrialBuilder().Steps(1).Build();
  std::uint64_t state = 88172645463325252ULL;
  const auto uniform = [&state] {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    return (static_cast<double>(state >> 11U) + 0.5) / 9007199254740992.0;
  };
  const auto draw = [&uniform] {
    return std::exp(0.3 * std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()));
  };
  int inside = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> units;
    for (int i = 0; i < 8; ++i) units.push_back(draw());
    const auto estimate = Measured(spec, units).For(spec, nullptr);
    const double next = draw();
    inside += next >= estimate->low && next <= estimate->high ? 1 : 0;
  }
  EXPECT_GT(inside, 1640);
  EXPECT_LT(inside, 1960);
}

TEST(CostModel, NewestSamplesStayAndTheSameEndCountsOnce) {
  const TrialSpec spec = TrialBuilder().Steps(1).Build();
  const std::string shape = ComputeCostShape(spec, nullptr);
  CostModel costs;
  for (int i = 0; i < 40; ++i) costs.Add(shape, SampleFrom(std::to_string(i), 1 + i, 0, i));
  ASSERT_EQ(costs.samples().at(shape).size(), CostModel::kKept);
  EXPECT_EQ(costs.samples().at(shape).front().trial, "24");
  CostSample again = SampleFrom("39", 40, 0, 39);
  again.file_bytes = 700;
  costs.Add(shape, again);
  EXPECT_EQ(costs.samples().at(shape).size(), CostModel::kKept);
  EXPECT_EQ(costs.samples().at(shape).back().file_bytes, 700);
}

TEST(CostCodec, RoundTripsAndKeepsMachinesApart) {
  const TrialSpec spec = TrialBuilder().Steps(1).Build();
  MachineCosts costs;
  costs["slow x2"] = Measured(spec, {0.1, 1.0 / 3});
  costs["fast x64"] = Measured(spec, {0.001});
  const Result<MachineCosts> read = DecodeCosts(EncodeCosts(costs));
  ASSERT_TRUE(read.ok());
  EXPECT_DOUBLE_EQ(read->at("fast x64").For(spec, nullptr)->seconds, 0.001);
  EXPECT_EQ(read->at("slow x2").For(spec, nullptr)->seconds, costs["slow x2"].For(spec, nullptr)->seconds);
}

TEST(CostCodec, EveryCutAndEveryWrongFieldIsRefused) {
  const TrialSpec spec = TrialBuilder().Steps(1).Build();
  MachineCosts costs;
  costs["here"] = Measured(spec, {0.5});
  const std::string text = EncodeCosts(costs);
  for (std::size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_FALSE(DecodeCosts(std::string_view(text).substr(0, size)).ok()) << size;
  for (const char* broken : {R"({"retort_costs":2,"machines":{}})", R"({"retort_costs":1,"machines":[]})",
                             R"({"retort_costs":1,"machines":{"m":{"s":[["a",1,0,0,0,0]]}}})",
                             R"({"retort_costs":1,"machines":{"m":{"s":[["a",1,-1,0,0,0]]}}})",
                             R"({"retort_costs":1,"machines":{"m":{"s":[["a",1,1,0,0]]}}})",
                             R"({"retort_costs":1,"machines":{"m":{"s":7}}})"})
    EXPECT_FALSE(DecodeCosts(broken).ok()) << broken;
}

}  // namespace
}  // namespace retort::orchestrator
