// Steps that a device records and replays, on the device that pretends to.
#include "worker/tensors/step_graphs.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/testing/pretend_device.h"
#include "worker/noise/noise_key.h"
#include "worker/tensors/autograd.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

using retort::testing::CheckPretendReplays;
using retort::testing::OpenPretend;
using retort::testing::PretendDevice;
using retort::testing::PretendGraphDevice;

constexpr int kRuns = 6;  // the first two run as they are, the third records

at::Tensor OnDevice(const at::Tensor& tensor) { return tensor.to(PretendDevice()); }

// What a run says or throws.
Status RunCaught(GraphRegion& region, const at::Tensor& input, const GraphRegion::Body& body) {
  try {
    return region.Run({input}, body).status();
  } catch (const c10::Error& error) {
    return Refused(error.what_without_backtrace());
  }
}

at::Tensor Numbers(int run) { return at::arange(6, at::kFloat).view({2, 3}) + run; }

class StepGraphsTest : public ::testing::Test {
 protected:
  ~StepGraphsTest() override { CheckPretendReplays(false); }

  // Why a region whose body is this one is not recorded; empty: it is. Its outputs are right in any case.
  std::string FindObjection(const std::function<at::Tensor(const at::Tensor&)>& compute) {
    GraphRegion region(&graphs_, "tested");
    for (int run = 0; run < kRuns; ++run) {
      const Result<Tensors> out = region.Run(
          {OnDevice(Numbers(run))}, [&](const Tensors& in) -> Result<Tensors> { return Tensors{compute(in[0])}; });
      EXPECT_TRUE(out.ok()) << out.status().message();
      if (!out.ok()) continue;
      EXPECT_TRUE(at::equal((*out)[0].cpu(), compute(OnDevice(Numbers(run))).cpu())) << run;
    }
    return graphs_.Uses().at(0).declined;
  }

  StepGraphs graphs_{PretendGraphDevice(), PretendDevice()};
};

TEST_F(StepGraphsTest, ReplaysGiveTheBitsOfTheStep) {
  for (const bool check : {false, true}) {
    CheckPretendReplays(check);
    at::Tensor here = at::ones({3}), there = OnDevice(here);
    GraphRegion region(&graphs_, "tested");
    int calls = 0;
    const auto body = [&](at::Tensor& state) {
      return [&](const Tensors& in) -> Result<Tensors> {
        ++calls;
        const at::Tensor picked = in[0].index_select(0, in[2]) * in[1];
        state.add_(picked.sum(0));
        return Tensors{at::softmax(picked, 1), state.norm(), at::Tensor()};
      };
    };
    for (int run = 0; run < kRuns; ++run) {
      const at::Tensor rate = at::full({}, 0.1 * run, at::kDouble), rows = at::tensor({run % 2, 1}, at::kLong);
      const Tensors want = body(here)({Numbers(run), rate, rows}).value();
      const Result<Tensors> got = region.Run({OnDevice(Numbers(run)), rate, rows, at::Tensor()}, body(there));
      ASSERT_TRUE(got.ok()) << got.status().message();
      for (const std::size_t i : {0, 1}) EXPECT_TRUE(at::equal((*got)[i].cpu(), want[i])) << run;
      EXPECT_FALSE((*got)[2].defined());
      EXPECT_TRUE(at::equal(there.cpu(), here)) << run;
    }
    EXPECT_EQ(calls, kRuns + (check ? 3 + 4 : 3)) << "besides those on the CPU: two, the recording, and the checks";
  }
  const RegionUse use = graphs_.Uses().at(0);
  EXPECT_EQ(use.eager, 4);
  EXPECT_EQ(use.recorded, 2);
  EXPECT_EQ(use.replayed, 8);
  EXPECT_EQ(use.declined, "");
}

// Others that do the same steps, and say what they are told to say.
class FakePeers final : public GraphPeers {
 public:
  std::int64_t operations() const override { return done_; }
  Result<bool> AllHave(bool own) override {
    asked_.push_back(own);
    return own && others_;
  }
  Status AwaitReplay() override {
    ++awaited_;
    return late_ ? EnvironmentError("a peer is late") : Status();
  }
  std::int64_t done_ = 0, awaited_ = 0;
  std::vector<bool> asked_;
  bool others_ = true, late_ = false;
};

class PeerGraphsTest : public ::testing::Test {
 protected:
  // Runs a step that meets its peers, if it does, kRuns times; as many as went well.
  int Runs(bool meets, bool reads = false) {
    GraphRegion region(&graphs_, "tested");
    const auto body = [&](const Tensors& in) -> Result<Tensors> {
      if (meets) ++peers_.done_;
      return Tensors{reads ? in[0] * in[0].sum().item<float>() : in[0] * 2};
    };
    int well = 0;
    for (int run = 0; run < kRuns; ++run) well += region.Run({OnDevice(Numbers(run))}, body).ok() ? 1 : 0;
    return well;
  }

  FakePeers peers_;
  StepGraphs graphs_{PretendGraphDevice(), PretendDevice(), &peers_};
};

TEST_F(PeerGraphsTest, AReplayOfAStepWithPeersIsAwaited) {
  EXPECT_EQ(Runs(true), kRuns);
  EXPECT_EQ(peers_.asked_, std::vector<bool>{true});
  EXPECT_EQ(peers_.awaited_, kRuns - 2);
  EXPECT_EQ(graphs_.Uses().at(0).replayed, kRuns - 2);
}

TEST_F(PeerGraphsTest, AStepWithoutOperationsAsksNobody) {
  EXPECT_EQ(Runs(false), kRuns);
  EXPECT_TRUE(peers_.asked_.empty());
  EXPECT_EQ(peers_.awaited_, 0);
  EXPECT_EQ(graphs_.Uses().at(0).replayed, kRuns - 2);
}

TEST_F(PeerGraphsTest, WhatOnePeerCannotRecordNobodyReplays) {
  peers_.others_ = false;
  EXPECT_EQ(Runs(true), kRuns);
  EXPECT_EQ(graphs_.Uses().at(0).replayed, 0);
  EXPECT_EQ(graphs_.Uses().at(0).declined, "another member of the gang cannot record it");
}

TEST_F(PeerGraphsTest, PeersHearOfARecordingThatFailed) {
  EXPECT_EQ(Runs(true, /*reads=*/true), kRuns);
  EXPECT_EQ(peers_.asked_, std::vector<bool>{false});
  EXPECT_EQ(graphs_.Uses().at(0).replayed, 0);
  EXPECT_NE(graphs_.Uses().at(0).declined, "");
}

TEST_F(PeerGraphsTest, ALatePeerIsTheRunsError) {
  peers_.late_ = true;
  EXPECT_EQ(Runs(true), 2);
}

TEST_F(StepGraphsTest, GradientsAreRecorded) {
  CheckPretendReplays(true);
  const auto compute = [](const at::Tensor& x) {
    const at::AutoGradMode graph(true);
    const at::Tensor leaf = x.detach().requires_grad_(true), y = leaf.square().sum(1).add(1).sqrt();
    return ComputeVectorJacobian({y}, {at::ones_like(y)}, {leaf})[0];
  };
  EXPECT_EQ(FindObjection(compute), "");
}

TEST_F(StepGraphsTest, MasksFollowTheirKeys) {
  CheckPretendReplays(true);
  const at::Tensor like = at::zeros({4, 5, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast), there = OnDevice(like);
  GraphRegion region(&graphs_, "tested");
  for (int run = 0; run < kRuns; ++run) {
    const RngStream stream(static_cast<std::uint64_t>(run), Purpose::dropout);
    const auto draw = [&](const Tensors& in) -> Result<Tensors> {
      return Tensors{DropoutMasks(in[0], 7).Draw(there, 0.3, 1)};
    };
    const Result<Tensors> drawn = region.Run({DropoutMasks::Keys(stream, 2)}, draw);
    ASSERT_TRUE(drawn.ok()) << drawn.status().message();
    const at::Tensor want = DrawDropoutMask(like, 0.3, {stream.Lane(1), 7});
    EXPECT_TRUE(at::equal((*drawn)[0].cpu(), want));
    EXPECT_TRUE(at::equal(DropoutMasks(DropoutMasks::Keys(stream, 2), 7).Draw(like, 0.3, 1), want));
  }
  EXPECT_EQ(graphs_.Uses().at(0).replayed, 4);
}

TEST_F(StepGraphsTest, WhatCannotBeRecordedRunsAsItIs) {
  const auto sums = [](const at::Tensor& x) { return x * x.sum().item<double>(); };
  EXPECT_NE(FindObjection(sums).find("the host reads a number"), std::string::npos);
}

TEST_F(StepGraphsTest, CopiesToTheHostAreSeen) {
  EXPECT_NE(FindObjection([](const at::Tensor& x) { return OnDevice(x.cpu() + 1); }).find("the host reads a tensor"),
            std::string::npos);
}

TEST_F(StepGraphsTest, CopiesFromTheHostAreSeen) {
  EXPECT_NE(FindObjection([](const at::Tensor& x) { return x + OnDevice(at::ones({3})); }).find("the host writes"),
            std::string::npos);
}

TEST_F(StepGraphsTest, ShapesThatDependOnNumbersAreSeen) {
  EXPECT_NE(FindObjection([](const at::Tensor& x) { return x.gt(2).nonzero(); }).find("shape depends"),
            std::string::npos);
}

TEST_F(StepGraphsTest, MasksThatPickRowsAreSeen) {
  EXPECT_NE(FindObjection([](const at::Tensor& x) { return x.index({x.gt(2)}); }).find("shape depends"),
            std::string::npos);
}

TEST_F(StepGraphsTest, NoiseIsNeverRecorded) {
  const OpenDevice device = OpenPretend("pretend:0").value();
  std::uint64_t draws = 0;
  const auto noisy = [&](const at::Tensor& x) {
    at::Tensor noise = at::empty({8}, x.options().dtype(at::kDouble));
    const auto drawn = device.noise->FillLatticeNormal(noise::NoiseKey::FromSeed(1, TrialId(1)),
                                                       {draws / 2, noise::Purpose::gradient}, 4, noise);
    ++draws;
    EXPECT_TRUE(drawn.ok());
    return noise;
  };
  EXPECT_NE(FindObjection(noisy).find("noise is drawn"), std::string::npos);
}

TEST_F(StepGraphsTest, TensorsThatOutlastTheStepAreSeen) {
  at::Tensor kept;
  EXPECT_NE(FindObjection([&](const at::Tensor& x) {
              kept = x + 1;
              return kept * 2;
            }).find("outlasts it"),
            std::string::npos);
}

// What a step's recording has taken from the host is found where replays are checked, and is what a GPU would repeat.
TEST_F(StepGraphsTest, NumbersOfTheHostGoStale) {
  for (const bool check : {false, true}) {
    CheckPretendReplays(check);
    GraphRegion region(&graphs_, "tested");
    for (int run = 0; run < kRuns; ++run) {
      const auto body = [&](const Tensors& in) -> Result<Tensors> { return Tensors{in[0] * (1 + run)}; };
      if (check && run > 2) {
        const std::string said = RunCaught(region, OnDevice(Numbers(0)), body).message();
        EXPECT_NE(said.find("stale: it does aten::mul"), std::string::npos) << said;
        continue;
      }
      const Result<Tensors> out = region.Run({OnDevice(Numbers(0))}, body);
      ASSERT_TRUE(out.ok());
      EXPECT_TRUE(at::equal((*out)[0].cpu(), Numbers(0) * (1 + std::min(run, 2))));
    }
  }
}

TEST_F(StepGraphsTest, ConstantsThatChangeAreAnotherRecording) {
  CheckPretendReplays(true);
  GraphRegion region(&graphs_, "tested");
  for (int run = 0; run < 2 * kRuns; ++run) {
    const double factor = run % 2;
    const auto body = [&](const Tensors& in) -> Result<Tensors> { return Tensors{in[0] * factor}; };
    EXPECT_TRUE(
        at::equal(region.Run({OnDevice(Numbers(run))}, body, {factor}).value()[0].cpu(), Numbers(run) * factor));
  }
  EXPECT_EQ(graphs_.Uses().at(0).recorded, 2);
}

TEST_F(StepGraphsTest, HostStateInAStepGoesStale) {
  CheckPretendReplays(true);
  GraphRegion region(&graphs_, "tested");
  int done = 0;
  Status last;
  for (int run = 0; run < kRuns && last.ok(); ++run)
    last = RunCaught(region, OnDevice(Numbers(0)),
                     [&](const Tensors& in) -> Result<Tensors> { return Tensors{in[0] + ++done}; });
  EXPECT_NE(last.message().find("stale"), std::string::npos);
}

TEST_F(StepGraphsTest, MemoryThatWasGivenBackIsSeen) {
  GraphRegion region(&graphs_, "tested");
  at::Tensor state = OnDevice(at::ones({3}));
  Status last;
  for (int run = 0; run < kRuns && last.ok(); ++run) {
    last = RunCaught(region, OnDevice(Numbers(run)),
                     [&](const Tensors& in) -> Result<Tensors> { return Tensors{in[0] + state}; });
    if (run == 3) state = OnDevice(at::ones({3}));
  }
  EXPECT_NE(last.message().find("memory that was given back"), std::string::npos);
}

TEST_F(StepGraphsTest, EachShapeIsRecordedUpToAFew) {
  GraphRegion region(&graphs_, "tested");
  const auto twice = [](const Tensors& in) -> Result<Tensors> { return Tensors{in[0] * 2}; };
  for (int round = 0; round < kRuns; ++round)
    for (const std::int64_t rows : {1, 2, 3}) {
      const at::Tensor x = at::ones({rows, 2}) * round;
      EXPECT_TRUE(at::equal(region.Run({OnDevice(x)}, twice).value()[0].cpu(), x * 2));
    }
  EXPECT_EQ(graphs_.Uses().at(0).recorded, 3);
  for (const std::int64_t rows : {4, 5})
    EXPECT_TRUE(at::equal(region.Run({OnDevice(at::ones({rows}))}, twice).value()[0].cpu(), at::ones({rows}) * 2));
  EXPECT_EQ(graphs_.Uses().at(0).declined, "its shapes keep changing");
}

TEST_F(StepGraphsTest, ARegionInsideAnotherIsAPartOfIt) {
  GraphRegion outer(&graphs_, "outer"), inner(&graphs_, "inner");
  const auto twice = [](const Tensors& in) -> Result<Tensors> { return Tensors{in[0] * 2}; };
  for (int run = 0; run < kRuns; ++run) {
    const Result<Tensors> out =
        outer.Run({OnDevice(Numbers(run))}, [&](const Tensors& in) { return inner.Run(in, twice); });
    EXPECT_TRUE(at::equal(out.value()[0].cpu(), Numbers(run) * 2));
  }
  const std::vector<RegionUse> uses = graphs_.Uses();
  EXPECT_EQ(uses.at(0).name, "inner");
  EXPECT_EQ(uses.at(0).eager + uses.at(0).recorded, 0);
  EXPECT_EQ(uses.at(1).replayed, 4);
}

TEST_F(StepGraphsTest, ErrorsOfTheBodyAreReturned) {
  GraphRegion region(&graphs_, "tested");
  for (int run = 0; run < kRuns; ++run)
    EXPECT_EQ(region.Run({OnDevice(Numbers(run))}, [](const Tensors&) -> Result<Tensors> { return Refused("no"); })
                  .status()
                  .message(),
              "no");
}

TEST(GraphRegion, TheCpuCallsTheBodyWithWhatItIsGiven) {
  GraphRegion region(nullptr, "tested");
  EXPECT_FALSE(region.Records());
  EXPECT_FALSE(IsInsideRegion());
  const at::Tensor x = at::ones({2});
  for (int run = 0; run < kRuns; ++run) {
    const auto same = [&](const Tensors& in) -> Result<Tensors> {
      EXPECT_TRUE(IsInsideRegion());
      EXPECT_TRUE(in[0].is_same(x));
      return in;
    };
    EXPECT_TRUE(region.Run({x}, same).value()[0].is_same(x));
  }
}

}  // namespace
}  // namespace retort::worker
