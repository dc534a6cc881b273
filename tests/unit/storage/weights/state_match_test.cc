// Names of saved weights against a network's.
#include "storage/weights/state_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "storage/weights/known_weights.h"

namespace retort::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorBlob Saved(const std::string& name, std::vector<std::int64_t> shape = {2}) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return {name, DType::f32, std::move(shape), std::vector<std::uint8_t>(4 * count)};
}

TEST(StateMatch, EqualNamesMatchInTheOrderOfTheNetwork) {
  const StateMatch match = MatchState({{"a", {2}}, {"b", {2}}}, {Saved("b"), Saved("a")});
  EXPECT_TRUE(match.report.complete());
  ASSERT_EQ(match.tensors.size(), 2U);
  EXPECT_EQ(match.tensors[0].name, "a");
  EXPECT_EQ(FormatKeyReport(match.report), "all 2 match");
}

TEST(StateMatch, DenseNetsOldNamesAreKnown) {
  const StateMatch match =
      MatchState({{"features.denseblock1.denselayer2.norm1.weight", {2}}, {"features.norm0.weight", {2}}},
                 {Saved("features.denseblock1.denselayer2.norm.1.weight"), Saved("features.norm0.weight")});
  EXPECT_TRUE(match.report.complete());
  ASSERT_EQ(match.report.renamed.size(), 1U);
  EXPECT_EQ(match.report.renamed[0].second, "features.denseblock1.denselayer2.norm1.weight");
}

TEST(StateMatch, VitsOldNamesAreKnown) {
  const std::string layer = "encoder.layers.encoder_layer_0.mlp.";
  const StateMatch match = MatchState({{layer + "0.weight", {2}}, {layer + "3.weight", {2}}},
                                      {Saved(layer + "linear_1.weight"), Saved(layer + "linear_2.weight")});
  EXPECT_TRUE(match.report.complete());
  EXPECT_EQ(match.report.renamed.size(), 2U);
}

TEST(StateMatch, APrefixOfEveryNameIsTakenOffAndOfSomeIsNot) {
  EXPECT_TRUE(MatchState({{"a", {2}}, {"b", {2}}}, {Saved("module.a"), Saved("module.b")}).report.complete());
  const StateMatch mixed = MatchState({{"a", {2}}, {"b", {2}}}, {Saved("module.a"), Saved("b")});
  EXPECT_THAT(mixed.report.missing, ElementsAre("a"));
  EXPECT_THAT(mixed.report.unexpected, ElementsAre("module.a"));
}

TensorBlob Floats(const std::string& name, std::vector<std::int64_t> shape, float value) {
  TensorBlob blob = Saved(name, std::move(shape));
  std::memcpy(blob.bytes.data(), &value, sizeof value);
  return blob;
}

TEST(StateMatch, CountsOfBatchesMayBeFloatsOrHaveAnExtent) {
  const std::string name = "bn.num_batches_tracked";
  const std::vector<WantedTensor> wanted = {{"a", {2}}, {name, {}, DType::i64}};
  for (const TensorBlob& count :
       {Floats(name, {}, 7.2F), Floats(name, {1}, 7), TensorBlob{name, DType::i64, {1}, {7, 0, 0, 0, 0, 0, 0, 0}}}) {
    const StateMatch match = MatchState(wanted, {Saved("a"), count});
    EXPECT_TRUE(match.report.complete()) << FormatKeyReport(match.report);
    ASSERT_EQ(match.tensors.size(), 2U);
    EXPECT_EQ(match.tensors[1].dtype, DType::i64);
    EXPECT_THAT(match.tensors[1].shape, ::testing::IsEmpty());
    EXPECT_THAT(match.tensors[1].bytes, ElementsAre(7, 0, 0, 0, 0, 0, 0, 0));
  }
  EXPECT_FALSE(MatchState(wanted, {Saved("a"), Saved(name, {2})}).report.complete());
}

TEST(StateMatch, ExtraTensorsAreNamedWithTheWayToLeaveThemOut) {
  const StateMatch match = MatchState({{"a", {2}}}, {Saved("a"), Saved("mean"), Saved("std")});
  EXPECT_THAT(match.report.unexpected, ElementsAre("mean", "std"));
  EXPECT_THAT(match.report.hint, HasSubstr("if k not in ['mean', 'std']}"));
  EXPECT_EQ(MatchState({{"a", {2}}}, {Saved("a", {3}), Saved("mean")}).report.hint, "");
}

TensorBlob Counter(const std::string& name) { return {name, DType::i64, {}, std::vector<std::uint8_t>(8)}; }

TEST(StateMatch, WrappersAreTakenOffWhereverTheyStand) {
  const std::vector<WantedTensor> wanted = {{"body.conv.weight", {2}}, {"fc.weight", {2}}};
  const struct {
    const char *first, *second, *prefix;
  } cases[] = {{"_orig_mod.body.conv.weight", "_orig_mod.fc.weight", "_orig_mod."},
               {"module._orig_mod.body.conv.weight", "module._orig_mod.fc.weight", "module._orig_mod."},
               {"_orig_mod.module.body.conv.weight", "_orig_mod.module.fc.weight", "_orig_mod.module."},
               {"module.module.body.conv.weight", "module.module.fc.weight", "module.module."},
               {"body._orig_mod.conv.weight", "fc.weight", ""},
               {"module.body.module.conv._orig_mod.weight", "module.fc.weight", "module."},
               {"model.body.conv.weight", "model.fc.weight", "model."},
               {"model._orig_mod.net.body.conv.weight", "model._orig_mod.net.fc.weight", "model.net."}};
  for (const auto& one : cases) {
    const StateMatch match = MatchState(wanted, {Saved(one.first), Saved(one.second)});
    EXPECT_TRUE(match.report.complete()) << one.first;
    EXPECT_EQ(match.report.prefix, one.prefix);
    ASSERT_EQ(match.tensors.size(), 2U);
    EXPECT_EQ(match.tensors[0].name, "body.conv.weight");
  }
}

TEST(StateMatch, CountersOfAveragesAreDropped) {
  const StateMatch match =
      MatchState({{"a", {2}}, {"b", {2}}}, {Counter("n_averaged"), Saved("module.a"), Saved("module.b")});
  EXPECT_TRUE(match.report.complete()) << FormatKeyReport(match.report);
  EXPECT_THAT(match.report.dropped, ElementsAre("n_averaged"));
  EXPECT_TRUE(MatchState({{"a", {2}}}, {Counter("module._orig_mod.n_averaged"), Saved("module._orig_mod.module.a")})
                  .report.complete());
  EXPECT_TRUE(MatchState({{"step", {}, DType::i64}}, {Counter("step")}).report.complete()) << "a network's own";
}

TEST(StateMatch, AFileThatHoldsTheNetworkAmongOthersIsToldHow) {
  const std::vector<WantedTensor> wanted = {{"a.weight", {2}}, {"b.weight", {2}}};
  const StateMatch match =
      MatchState(wanted, {Saved("ema_model.a.weight"), Saved("ema_model.b.weight"), Saved("online_model.a.weight"),
                          Saved("online_model.b.weight"), Counter("initted")});
  EXPECT_FALSE(match.report.complete());
  EXPECT_THAT(RequireComplete(match.report, "w.pth", "n").message(),
              HasSubstr("The names below 'ema_model.', 'online_model.' fit: save those that are meant alone"));
  const StateMatch bare = MatchState({{"bn.weight", {2}}, {"bn.running_mean", {2}}}, {Saved("bn.weight")});
  EXPECT_THAT(RequireComplete(bare.report, "w.pth", "n").message(), HasSubstr("without the running statistics"));
}

TEST(StateMatch, AMissingBatchCounterIsZeroAndNothingElseIs) {
  const StateMatch match = MatchState(
      {{"bn.weight", {2}}, {"bn.num_batches_tracked", {}, DType::i64}, {"fc.bias", {2}}}, {Saved("bn.weight")});
  EXPECT_THAT(match.report.zeroed, ElementsAre("bn.num_batches_tracked"));
  EXPECT_THAT(match.report.missing, ElementsAre("fc.bias"));
  EXPECT_FALSE(match.report.complete());
}

TEST(StateMatch, AuxiliaryHeadsFollowTheNetwork) {
  EXPECT_THAT(MatchState({{"fc", {2}}}, {Saved("fc"), Saved("aux1.fc1.weight")}).report.dropped,
              ElementsAre("aux1.fc1.weight"));
  const StateMatch absent = MatchState({{"fc", {2}}, {"aux1.fc1.weight", {2}, DType::f32, false}}, {Saved("fc")});
  EXPECT_TRUE(absent.report.complete());
  EXPECT_THAT(absent.report.absent, ElementsAre("aux1.fc1.weight"));
  EXPECT_FALSE(MatchState({{"aux1.a", {2}}}, {Saved("aux1.a"), Saved("aux1.b")}).report.complete());
}

TEST(StateMatch, AnotherShapeIsAnErrorWithBothShapes) {
  const StateMatch match = MatchState({{"fc.weight", {10, 2}}}, {Saved("fc.weight", {1000, 2})});
  EXPECT_THAT(match.report.misshaped, ElementsAre("fc.weight is [1000, 2], not [10, 2]"));
  const Status status = RequireComplete(match.report, "w.pth", "resnet18");
  EXPECT_THAT(status.message(), HasSubstr("w.pth"));
  EXPECT_THAT(status.message(), HasSubstr("'resnet18'"));
}

TEST(StateMatch, TheFirstTenNamesAndTheirNumberAreSaid) {
  std::vector<WantedTensor> wanted;
  for (int i = 0; i < 12; ++i) wanted.push_back({"layer" + std::to_string(i), {2}});
  const std::string message = RequireComplete(MatchState(wanted, {}).report, "w.pth", "n").message();
  EXPECT_THAT(message, HasSubstr("12 missing: layer0"));
  EXPECT_THAT(message, HasSubstr("layer9, ..."));
}

TEST(KnownWeights, BothVersionsOfANetworkAreToldApart) {
  const KnownWeights* first = FindKnownWeights("0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a");
  const KnownWeights* second = FindKnownWeights("11ad3fa6" + std::string(56, '0'));
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(first->name, "ResNet50_Weights.IMAGENET1K_V1");
  EXPECT_EQ(second->resize, 232);
  EXPECT_EQ(FindKnownWeights(std::string(64, '0')), nullptr);
  EXPECT_EQ(FindKnownWeights(""), nullptr);
}

}  // namespace
}  // namespace retort::storage
