// Layers of described networks: their text, and the shapes that follow.
#include "experiments/methods/network_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

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
                      {.kind = Kind::add, .inputs = {0, kNetworkInput}}}),
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

// Of latents [20] to images [1, 14, 14].
std::vector<NetworkLayer> EveryKindOfGenerators() {
  return {{.kind = Kind::linear, .name = "fc", .out = 48},
          {.kind = Kind::batch_norm, .name = "n0"},
          {.kind = Kind::reshape, .out = 4, .height = 3, .width = 4},
          {.kind = Kind::conv_transpose,
           .name = "t",
           .out = 6,
           .kernel = 3,
           .stride = 2,
           .padding = 1,
           .groups = 2,
           .bias = false,
           .output_padding = 1},
          {.kind = Kind::upsample, .factor = 3},
          {.kind = Kind::conv, .name = "c", .out = 2, .kernel = 5},
          {.kind = Kind::adaptive_avg_pool, .out = 7},
          {.kind = Kind::upsample, .bilinear = true},
          {.kind = Kind::conv, .name = "last", .out = 1, .kernel = 1},
          {.kind = Kind::batch_norm, .name = "n1", .affine = false}};
}

TEST(GeneratorLayers, TextComesBackAsTheSameLayers) {
  const std::vector<NetworkLayer> layers = EveryKindOfGenerators();
  const std::string text = FormatNetworkLayers(layers);
  const auto parsed = ParseNetworkLayers(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(*parsed, layers);
  EXPECT_THAT(text, HasSubstr("reshape channels=4 height=3 width=4; conv_transpose name=t out=6 kernel=3 stride=2 "
                              "padding=1 output_padding=1 groups=2 bias=false; upsample factor=3; conv"));
  EXPECT_TRUE(MakesImages(layers));
  EXPECT_FALSE(MakesImages(EveryKind()));
}

TEST(GeneratorLayers, ShapesFollowFromTheLatents) {
  const std::vector<NetworkLayer> layers = EveryKindOfGenerators();
  const PlannedShapes planned = PlanGeneratorShapes(layers, {20, 0}, {1, 14, 14});
  ASSERT_FALSE(planned.misfit) << planned.misfit->message;
  EXPECT_EQ(planned.shapes[1], (LayerShape{48}));
  EXPECT_EQ(planned.shapes[3], (LayerShape{6, 6, 8}));
  EXPECT_EQ(planned.shapes[4], (LayerShape{6, 18, 24}));
  EXPECT_EQ(planned.shapes[7], (LayerShape{2, 14, 14}));
  const std::int64_t fc = 21 * 48, norm = 2 * 48, transposed = 4 * 3 * 9, conv = 6 * 2 * 25 + 2, last = 2 + 1;
  EXPECT_EQ(CountParameters(layers, planned.shapes, LatentShape{20, 0}), fc + norm + transposed + conv + last);
  const LatentShape of_class{20, 5};
  EXPECT_EQ(CountParameters(layers, PlanGeneratorShapes(layers, of_class, {1, 14, 14}).shapes, of_class),
            fc + 5 * 48 + norm + transposed + conv + last);
}

TEST(GeneratorLayers, MisfitNamesTheLayerAndBothShapes) {
  const auto misfit = [](std::vector<NetworkLayer> layers, LatentShape latents = {12, 0}) {
    layers.push_back({.kind = Kind::sigmoid});
    const PlannedShapes planned = PlanGeneratorShapes(layers, latents, {1, 4, 4});
    return planned.misfit ? std::to_string(planned.misfit->place) + " " + planned.misfit->message : "";
  };
  const NetworkLayer square{.kind = Kind::reshape, .out = 1, .height = 4, .width = 4};
  EXPECT_EQ(misfit({square}, {16, 0}), "");
  EXPECT_THAT(misfit({square}), HasSubstr("0 reshape (layer 1): the latent vector gives [12], which has 12 values, and "
                                          "its result, [1, 4, 4], has 16: set latent = 16"));
  EXPECT_THAT(misfit({square}, {9, 3}), HasSubstr("the latent vector with its class gives [12]"));
  EXPECT_THAT(misfit({square}, {9, 3}), HasSubstr("set latent = 13"));
  EXPECT_THAT(misfit({{.kind = Kind::linear, .name = "fc", .out = 8}, square}),
              HasSubstr("1 reshape (layer 2): linear \"fc\" gives [8], which has 8 values, and its result, [1, 4, 4], "
                        "has 16: set out = 16 of linear \"fc\""));
  EXPECT_THAT(misfit({{.kind = Kind::conv, .name = "c", .out = 4, .kernel = 1}}),
              HasSubstr("0 conv \"c\": it takes [channels, height, width], and the latent vector gives [12]: put a "
                        "reshape between them"));
  EXPECT_THAT(misfit({square, {.kind = Kind::upsample}}, {16, 0}),
              HasSubstr("2 sigmoid (layer 3): the network makes [1, 8, 8], and the pictures are [1, 4, 4]"));
  EXPECT_THAT(misfit({square, {.kind = Kind::upsample, .factor = 3, .bilinear = true}}, {16, 0}),
              HasSubstr("1 upsample (layer 2): bilinear doubles the sides"));
  EXPECT_THAT(misfit({square, {.kind = Kind::conv_transpose, .name = "t", .out = 1, .kernel = 2, .output_padding = 1}},
                     {16, 0}),
              HasSubstr("output_padding = 1 is to be less than stride = 1"));
  EXPECT_THAT(
      misfit({square, {.kind = Kind::conv_transpose, .name = "t", .out = 1, .kernel = 2, .padding = 9}}, {16, 0}),
      HasSubstr(
          "1 conv_transpose \"t\": its input is [1, 4, 4], which leaves it no pixel, [1, -13, -13]: make kernel or "
          "stride larger, or padding smaller"));
  EXPECT_THAT(misfit({square, {.kind = Kind::conv, .name = "c", .out = 1, .kernel = 9}}, {16, 0}),
              HasSubstr("make kernel or stride smaller, or padding larger"));
  std::vector<NetworkLayer> growing = {square};
  growing.insert(growing.end(), 12, {.kind = Kind::upsample, .factor = 64});
  EXPECT_THAT(misfit(growing, {16, 0}), HasSubstr("too large"));
}

TEST(GeneratorLayers, ListsOfEachUseAreToldApart) {
  const auto misfit = [](const std::string& text) {
    const auto parsed = ParseNetworkLayers(text);
    return parsed.ok() ? "" : parsed.status().message();
  };
  const std::string made = "linear name=fc1 out=16; reshape channels=1 height=4 width=4; ";
  EXPECT_EQ(misfit(made + "tanh"), "");
  EXPECT_EQ(misfit(made + "batch_norm name=n affine=false"), "");
  EXPECT_THAT(misfit(made + "relu"), HasSubstr("relu (layer 3): a generator ends in \"sigmoid\""));
  EXPECT_THAT(misfit(made + "batch_norm name=n"), HasSubstr("batch_norm \"n\": a generator ends in"));
  EXPECT_THAT(misfit(made + "dropout rate=0.5; tanh"), HasSubstr("leave dropout out"));
  EXPECT_THAT(misfit(made + "batch_norm name=n momentum=0.2; tanh"), HasSubstr("leave momentum out"));
  EXPECT_THAT(misfit(made + "flatten; linear name=fc out=classes"), HasSubstr("with its reshape this one makes them"));
  for (const std::string layer : {"upsample", "conv_transpose name=t out=1 kernel=2", "batch_norm name=n affine=false"})
    EXPECT_THAT(misfit(layer + "; flatten; linear name=fc out=classes"), HasSubstr("of generators")) << layer;
  EXPECT_EQ(misfit("sigmoid; flatten; linear name=fc out=classes"), "");
}

// A trial would be charged, and learn nothing.
TEST(GeneratorLayers, OnesWithoutParametersAreRefused) {
  const std::string made = "reshape channels=1 height=4 width=4; ";
  for (const std::string rest :
       {"sigmoid", "upsample; batch_norm name=n affine=false; tanh", "batch_norm name=n affine=false"}) {
    const auto parsed = ParseNetworkLayers(made + rest);
    ASSERT_FALSE(parsed.ok()) << rest;
    EXPECT_THAT(parsed.status().message(), HasSubstr("reshape (layer 1): no layer of this generator has parameters"));
  }
  for (const std::string rest :
       {"batch_norm name=n; tanh", "group_norm name=n; tanh", "conv_transpose name=t out=1 kernel=3 padding=1; tanh"})
    EXPECT_TRUE(ParseNetworkLayers(made + rest).ok()) << rest;
}

TEST(GeneratorLayers, TravelWithTheirTrial) {
  TrialSpec spec;
  spec.data = std::make_shared<DataSpec>();
  const std::string plain = EncodeTrialSpec(spec);
  EXPECT_EQ(plain.find("generator_layers"), std::string::npos);
  const TrialId before = ComputeTrialId(spec);
  spec.generator.network = "mine";
  spec.generator.layers =
      std::make_shared<const std::string>("linear name=fc out=16; reshape channels=1 height=4 width=4; tanh");
  const TrialId after = ComputeTrialId(spec);
  EXPECT_NE(after, before);
  const std::string json = EncodeTrialSpec(spec);
  TrialSpecReader reader;
  const TrialSpec one = reader.Read(json).value(), two = reader.Read(json).value();
  EXPECT_EQ(one.generator.layers, two.generator.layers);
  EXPECT_EQ(ComputeTrialId(two), after);
  spec.generator.layers =
      std::make_shared<const std::string>("linear name=fc out=16; reshape channels=1 height=4 width=4; sigmoid");
  EXPECT_NE(ComputeTrialId(spec), after);
  // Without its layers, with a text of the other use, and with layers of the zoo's it is damage.
  const auto layers = std::exchange(spec.generator.layers, nullptr);
  EXPECT_EQ(reader.Read(EncodeTrialSpec(spec)).status().code(), StatusCode::damage);
  spec.generator.network = "dafl";
  EXPECT_TRUE(reader.Read(EncodeTrialSpec(spec)).ok());
  spec.layers = layers;
  EXPECT_EQ(reader.Read(EncodeTrialSpec(spec)).status().code(), StatusCode::damage);
  spec.layers = nullptr;
  spec.generator.layers = layers;
  EXPECT_EQ(reader.Read(EncodeTrialSpec(spec)).status().code(), StatusCode::damage);
}

}  // namespace
}  // namespace retort
