// Layers of described networks: their text, and the shapes that follow.
#include "experiments/methods/network_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/methods/spec_codec.h"

namespace retort {
namespace {

using ::testing::HasSubstr;
using Kind = NetworkLayerKind;

// One layer of each kind, with every parameter away from its default.
std::vector<NetworkLayer> EveryKind() {
  return {{.kind = Kind::conv,
           .name = "a.0",
           .out = 8,
           .kernel = 3,
           .stride = 2,
           .padding = 2,
           .groups = 2,
           .dilation = 2,
           .bias = false},
          {.kind = Kind::batch_norm, .name = "n1", .epsilon = 1e-3, .momentum = 0.3},
          {.kind = Kind::relu},
          {.kind = Kind::group_norm, .name = "n2", .groups = 4, .epsilon = 1e-4},
          {.kind = Kind::relu6},
          {.kind = Kind::leaky, .rate = 0.1},
          {.kind = Kind::gelu},
          {.kind = Kind::tanh},
          {.kind = Kind::pad_shortcut, .out = 12, .stride = 2, .inputs = {3}},
          {.kind = Kind::conv, .name = "b", .out = 12, .kernel = 1, .stride = 2, .inputs = {3}},
          {.kind = Kind::add, .inputs = {9, 8}},
          {.kind = Kind::max_pool, .kernel = 2, .stride = 2, .padding = 1, .ceil = true},
          {.kind = Kind::avg_pool, .kernel = 2},
          {.kind = Kind::dropout, .rate = 0.25},
          {.kind = Kind::adaptive_avg_pool, .out = 2},
          {.kind = Kind::flatten},
          {.kind = Kind::layer_norm, .name = "n3"},
          {.kind = Kind::linear, .name = "fc", .out = kAsManyAsClasses, .bias = false}};
}

TEST(NetworkLayers, TextComesBackAsTheSameLayers) {
  const std::vector<NetworkLayer> layers = EveryKind();
  const std::string text = FormatNetworkLayers(layers);
  const auto parsed = ParseNetworkLayers(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(*parsed, layers);
  EXPECT_EQ(text.find('"'), std::string::npos);
  EXPECT_EQ(text.substr(0, 60), "conv name=a.0 out=8 kernel=3 stride=2 padding=2 groups=2 dil");
}

TEST(NetworkLayers, AnyOtherTextIsDamage) {
  for (const char* text : {"",
                           "relu",
                           "linear out=classes",
                           "linear name=fc out=classes ",
                           "linear name=fc out=classes; ",
                           "linear out=classes name=fc",
                           "linear name=fc out=classes bias=true",
                           "linear name=fc out=classes; relu",
                           "linear name=f,c out=classes",
                           "linear name=fc out=classes out=classes",
                           "linear name=fc out=01",
                           "lineal name=fc out=classes",
                           "relu name=r; linear name=fc out=classes",
                           "conv name=c out=0 kernel=1; linear name=fc out=classes",
                           "conv name=c out=-1 kernel=1; linear name=fc out=classes",
                           "add; linear name=fc out=classes",
                           "add inputs=-1,0; linear name=fc out=classes",
                           "relu inputs=-2; linear name=fc out=classes",
                           "relu inputs=-1,-1; linear name=fc out=classes",
                           "leaky slope=nan; linear name=fc out=classes",
                           "linear name=fc out=4; linear name=fc out=classes"}) {
    const auto parsed = ParseNetworkLayers(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), StatusCode::damage) << text;
  }
}

TEST(NetworkLayers, ShapesFollowFromThePicture) {
  const PlannedShapes planned = PlanShapes(EveryKind(), {4, 29, 30}, 7);
  ASSERT_FALSE(planned.misfit) << planned.misfit->message;
  EXPECT_EQ(planned.shapes[0], (LayerShape{8, 15, 15}));
  EXPECT_EQ(planned.shapes[8], (LayerShape{12, 8, 8}));
  EXPECT_EQ(planned.shapes[11], (LayerShape{12, 5, 5}));
  EXPECT_EQ(planned.shapes[12], (LayerShape{12, 4, 4}));
  EXPECT_EQ(planned.shapes[15], (LayerShape{48}));
  EXPECT_EQ(planned.shapes.back(), (LayerShape{7}));
}

TEST(NetworkLayers, MisfitNamesTheLayerAndBothShapes) {
  const auto misfit = [](std::vector<NetworkLayer> layers) {
    layers.push_back({.kind = Kind::linear, .name = "fc", .out = kAsManyAsClasses});
    const PlannedShapes planned = PlanShapes(layers, {3, 8, 8}, 10);
    return planned.misfit ? std::to_string(planned.misfit->place) + " " + planned.misfit->message : "";
  };
  EXPECT_THAT(misfit({}),
              HasSubstr("0 linear \"fc\": it takes [values], and the picture gives [3, 8, 8]: put \"flatten\""));
  EXPECT_THAT(misfit({{.kind = Kind::conv, .name = "c", .out = 4, .kernel = 9}}),
              HasSubstr("0 conv \"c\": its input is [3, 8, 8], which leaves it no pixel, [4, 0, 0]"));
  EXPECT_THAT(misfit({{.kind = Kind::conv, .name = "c", .out = 4, .kernel = 1, .groups = 2}}),
              HasSubstr("groups = 2 does not divide the 3 channels of its input, [3, 8, 8]"));
  EXPECT_THAT(misfit({{.kind = Kind::flatten}, {.kind = Kind::conv, .name = "c", .out = 4, .kernel = 1}}),
              HasSubstr("1 conv \"c\": it takes [channels, height, width], and flatten (layer 1) gives [192]"));
  EXPECT_THAT(misfit({{.kind = Kind::conv, .name = "c", .out = 4, .kernel = 3},
                      {.kind = Kind::add, .inputs = {0, kPictureInput}}}),
              HasSubstr("1 add (layer 2): its layers give [4, 6, 6], and its shortcut [3, 8, 8]"));
  EXPECT_THAT(misfit({{.kind = Kind::pad_shortcut, .out = 6}}), HasSubstr("does not make the 6 channels"));
  EXPECT_THAT(misfit({{.kind = Kind::adaptive_avg_pool, .out = 4096},
                      {.kind = Kind::flatten},
                      {.kind = Kind::linear, .name = "f", .out = 1'000'000}}),
              HasSubstr("2^31"));
}

TEST(NetworkLayers, AreRefusedInASpecThatWasEdited) {
  TrialSpec spec;
  spec.network = "mine";
  spec.layers = std::make_shared<const std::string>("linear name=fc out=classes");
  std::string json = EncodeTrialSpec(spec);
  EXPECT_EQ(*DecodeTrialSpec(json)->layers, *spec.layers);
  json.replace(json.find("out=classes"), 11, "out=clashes");
  TrialSpecReader reader;
  EXPECT_EQ(DecodeTrialSpec(json).status().code(), StatusCode::damage);
  EXPECT_EQ(reader.Read(json).status().code(), StatusCode::damage);
}

TEST(NetworkLayers, TrialsThatAreReadShareThem) {
  TrialSpec spec;
  spec.data = std::make_shared<DataSpec>();
  spec.network = "mine";
  spec.layers = std::make_shared<const std::string>("flatten; linear name=fc out=classes");
  const std::string json = EncodeTrialSpec(spec);
  TrialSpecReader reader;
  const TrialSpec one = reader.Read(json).value(), two = reader.Read(json).value();
  EXPECT_EQ(one.layers, two.layers);
  EXPECT_EQ(*one.layers, *spec.layers);
  spec.layers = nullptr;
  EXPECT_EQ(reader.Read(EncodeTrialSpec(spec))->layers, nullptr);
}

}  // namespace
}  // namespace retort
