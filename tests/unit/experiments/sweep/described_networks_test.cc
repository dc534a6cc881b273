// [network.NAME]: what it makes of a trial, and what is wrong with it, by line and column.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/methods/canonical_encoding.h"
#include "experiments/methods/network_layers.h"
#include "experiments/methods/networks.h"
#include "experiments/methods/spec_codec.h"
#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

using ::testing::HasSubstr;

const std::string kEnd = R"({ kind = "linear", out = "classes", name = "fc" })";
const std::string kUse = "[trial]\nmethod = \"dpsgd\"\nstudent = \"mine\"\nnoise_multiplier = 1\n";

const std::string kTaught = "[teacher]\nt = { network = \"mine\" }\n[trial]\nteacher = \"t\"\nstudent = \"mine\"\n";

// Lines 6 on: the network, a layer a line from line 8, and a trial that trains it.
std::string Mine(const std::string& layers, const std::string& use = kUse) {
  return kHead + "[network.mine]\nlayers = [\n" + layers + "]\n" + use;
}

std::string ListLayers(const std::string& text) {
  const SweepPlan plan = GoodPlan(text);
  if (plan.trials.empty() || !plan.trials.back().layers) return "none";
  return *plan.trials.back().layers;
}

TEST(DescribedNetwork, IsWrittenOutInTheTrial) {
  const SweepPlan plan = GoodPlan(
      Mine("{ kind = \"conv\", out = 4, kernel = 3 }, \"relu\", { kind = \"max_pool\", kernel = 2 },\n\"flatten\", " +
           kEnd));
  ASSERT_EQ(plan.trials.size(), 1U);
  EXPECT_EQ(plan.trials[0].network, "mine");
  EXPECT_EQ(*plan.trials[0].layers,
            "conv name=conv1 out=4 kernel=3; relu; max_pool kernel=2 stride=2; flatten; linear name=fc out=classes");
  EXPECT_TRUE(plan.warnings.empty());
}

TEST(DescribedNetwork, BlocksAreWrittenOut) {
  EXPECT_EQ(
      ListLayers(Mine(
          R"({ kind = "repeat", times = 2, first = 1, name = "s", layers = [{ kind = "conv", out = 4, kernel = 1 }, "relu"] },
{ kind = "residual", shortcut = "A", name = "r", layers = [{ kind = "conv", out = 8, kernel = 3, stride = 2, padding = 1, name = "c" }] },
"spatial_mean", )" +
          kEnd)),
      "conv name=s.1.conv1 out=4 kernel=1; relu; conv name=s.2.conv1 out=4 kernel=1; relu; "
      "conv name=r.c out=8 kernel=3 stride=2 padding=1; pad_shortcut out=8 stride=2 inputs=3; add inputs=4,5; "
      "spatial_mean; linear name=fc out=classes");
  EXPECT_EQ(
      ListLayers(Mine(
          R"({ kind = "basic_block", out = 4, stride = 2, times = 2, norm = "group", groups = 2, shortcut = "B", shortcut_name = "downsample", name = "layer1" },
"spatial_mean", )" +
          kEnd)),
      "conv name=layer1.0.conv1 out=4 kernel=3 stride=2 padding=1 bias=false; group_norm name=layer1.0.bn1 groups=2; "
      "relu; "
      "conv name=layer1.0.conv2 out=4 kernel=3 padding=1 bias=false; group_norm name=layer1.0.bn2 groups=2; "
      "conv name=layer1.0.downsample.0 out=4 kernel=1 stride=2 bias=false inputs=-1; "
      "group_norm name=layer1.0.downsample.1 groups=2; add inputs=4,6; relu; "
      "conv name=layer1.1.conv1 out=4 kernel=3 padding=1 bias=false; group_norm name=layer1.1.bn1 groups=2; relu; "
      "conv name=layer1.1.conv2 out=4 kernel=3 padding=1 bias=false; group_norm name=layer1.1.bn2 groups=2; "
      "add inputs=13,8; relu; spatial_mean; linear name=fc out=classes");
}

TEST(DescribedNetwork, BlockIsWhatItsLayersAre) {
  const std::string body =
      R"({ kind = "conv", out = 8, kernel = 3, STEP padding = 1, bias = false, name = "conv1" }, { kind = "batch_norm", name = "bn1" }, "relu", { kind = "conv", out = 8, kernel = 3, padding = 1, bias = false, name = "conv2" }, { kind = "batch_norm", name = "bn2" })";
  const auto with = [&body](const std::string& step) { return std::string(body).replace(body.find("STEP"), 4, step); };
  for (const char* option : {"A", "B"}) {
    const std::string shortcut = std::string("shortcut = \"") + option + "\"";
    const std::string stem = "{ kind = \"conv\", out = 4, kernel = 1, name = \"stem\" },\n";
    EXPECT_EQ(ListLayers(Mine(stem + "{ kind = \"basic_block\", out = 8, stride = 2, times = 2, name = \"l\", " +
                                  shortcut + " },\n\"spatial_mean\", " + kEnd,
                              kTaught)),
              ListLayers(Mine(stem + "{ kind = \"residual\", name = \"l.0\", " + shortcut + ", layers = [" +
                                  with("stride = 2,") + "] }, \"relu\",\n" +
                                  "{ kind = \"residual\", name = \"l.1\", layers = [" + with("") +
                                  "] }, \"relu\", \"spatial_mean\", " + kEnd,
                              kTaught)));
  }
}

TEST(DescribedNetwork, IsPartOfTheTrialsIdentity) {
  const auto id = [](const std::string& layers, const std::string& name) {
    std::string text = Mine(layers + "\"flatten\", " + kEnd);
    for (std::size_t at = 0; (at = text.find("mine", at)) != std::string::npos; at += name.size())
      text.replace(at, 4, name);
    return GoodPlan(text).trials.at(0).id;
  };
  const TrialId plain = id("", "mine");
  EXPECT_EQ(plain, id("", "mine"));
  EXPECT_NE(plain, id("\"relu\", ", "mine")) << "other layers under one name";
  EXPECT_NE(plain, id("", "other"));
  EXPECT_EQ(id("{ kind = \"repeat\", times = 1, name = \"b\", layers = [{ kind = \"conv\", out = 3, kernel = 1 }] }, ",
               "mine"),
            id("{ kind = \"conv\", out = 3, kernel = 1, name = \"b.0.conv1\", stride = 1 }, ", "mine"))
      << "the same layers, written otherwise";
}

TEST(DescribedNetwork, LeavesOtherTrialsAlone) {
  const std::string rest = "[trial]\nmethod = \"dpsgd\"\nnoise_multiplier = 1\n";
  const SweepPlan without = GoodPlan(kHead + rest), with = GoodPlan(Mine("\"flatten\", " + kEnd, rest));
  EXPECT_EQ(with.trials.at(0).id, without.trials.at(0).id);
  EXPECT_EQ(with.trials[0].layers, nullptr);
  ASSERT_EQ(with.warnings.size(), 1U);
  EXPECT_THAT(with.warnings[0].message, HasSubstr("the network \"mine\" is named by no trial"));
  EXPECT_EQ(with.warnings[0].line, 6);
}

TEST(DescribedNetwork, GoesWhereverANetworkGoes) {
  const SweepPlan plan = GoodPlan(Mine("\"flatten\", " + kEnd, R"([teacher]
plain = { network = "mine" }
some = { network = "mine", members = 10 }
dp = { network = "mine", private = { noise_multiplier = 1.5 } }
[trial]
student = "mine"
[sweep]
grid.teacher = ["plain", "some", "dp"]
when = [{ if = { student = "mine", teacher = ["some", "dp"] }, set = { reading = "sound", source = "public" } },
        { if = { teacher = "some" }, set = { queries = 10, vote_noise = 3 } }]
[table.t]
rows = ["student", "teacher"]
[profile.small.trial]
student = "mine"
)"));
  ASSERT_EQ(plan.trials.size(), 6U);
  for (const TrialSpec& trial : plan.trials) {
    ASSERT_NE(trial.layers, nullptr) << trial.name;
    EXPECT_EQ(trial.layers, plan.trials[0].layers) << "shared";
  }
}

TEST(DescribedNetwork, OverridesAndProfilesChangeIt) {
  const std::string text =
      Mine("\"flatten\", " + kEnd, kUse + "[profile.small.network.mine]\nlayers = [\"spatial_mean\", " + kEnd + "]\n");
  EXPECT_EQ(*GoodPlan(text, {{}, "small"}).trials.at(0).layers, "spatial_mean; linear name=fc out=classes");
  EXPECT_EQ(*GoodPlan(text, {{"network.mine.layers=[\"relu\", \"flatten\", " + kEnd + "]"}, ""}).trials.at(0).layers,
            "relu; flatten; linear name=fc out=classes");
}

TEST(DescribedNetwork, ResolvedSweepDescribesItAgain) {
  const SweepPlan plan = GoodPlan(
      Mine("{ kind = \"basic_block\", out = 4, times = 2, norm = \"group\", shortcut = \"B\" },\n\"flatten\", " + kEnd,
           kUse));
  EXPECT_EQ(GoodPlan(plan.resolved_toml).trials.at(0).id, plan.trials.at(0).id);
}

struct BadNetwork {
  const char* name;
  std::string text;
  int line, column;
  const char* key;
  const char* words;
  const char* choice;
};
void PrintTo(const BadNetwork& bad, std::ostream* out) { *out << bad.name; }
class BadNetworkTest : public ::testing::TestWithParam<BadNetwork> {};

TEST_P(BadNetworkTest, IsOneLocatedError) {
  const BadNetwork& bad = GetParam();
  const PlanOutcome outcome = PlanText(bad.text);
  EXPECT_FALSE(outcome.plan.has_value());
  ASSERT_EQ(outcome.errors.size(), 1U) << (outcome.errors.size() > 1 ? Render(outcome.errors[1]) : "no error");
  const Diagnostic& error = outcome.errors.front();
  EXPECT_EQ(error.line, bad.line) << Render(error);
  EXPECT_EQ(error.column, bad.column) << Render(error);
  EXPECT_EQ(error.key, bad.key) << Render(error);
  EXPECT_THAT(error.message, HasSubstr(bad.words));
  EXPECT_EQ(error.choices.empty() ? "" : error.choices.front(), bad.choice) << Render(error);
}

std::string Layers(const std::string& layer) { return Mine(layer + ",\n\"flatten\",\n" + kEnd + ",\n"); }

const BadNetwork kBadNetworks[] = {
    {"NameOfTheZoo",
     kHead + "[network.resnet18]\nlayers = [" + kEnd + "]\n" + "[trial]\nmethod = \"dpsgd\"\nnoise_multiplier = 1\n", 6,
     10, "network.resnet18",
     "\"resnet18\" is a network of the zoo, and keeps its name: call this one otherwise, as [network.my-resnet18]",
     "my-resnet18"},
    {"NoLayers", kHead + "[network.mine]\n" + kUse, 6, 1, "network.mine.layers", "missing network.mine.layers", ""},
    {"EmptyLayers", Mine(""), 7, 10, "network.mine.layers", "at least one layer", ""},
    {"UnknownKey", Mine(kEnd + ",") + "[network.mine.more]\n", 13, 15, "network.mine.more", "unknown key \"more\"",
     "layers"},
    {"UnknownKind", Layers("\"rellu\""), 8, 1, "network.mine.layers",
     "unknown kind of layer \"rellu\"; did you mean \"relu\"?", "relu"},
    {"UnknownParameter", Layers("{ kind = \"conv\", out = 4, kernal = 3 }"), 8, 27, "network.mine.layers",
     "unknown parameter \"kernal\" of conv; did you mean \"kernel\"?", "kernel"},
    {"MissingParameter", Layers("{ kind = \"conv\", out = 4 }"), 8, 1, "network.mine.layers", "conv needs kernel", ""},
    {"ParameterOfAWord", Layers("\"leaky\""), 8, 1, "network.mine.layers",
     "leaky needs slope, as in { kind = \"leaky\", slope = ... }", ""},
    {"ParameterOutOfRange", Layers("{ kind = \"dropout\", rate = 1.5 }"), 8, 28, "network.mine.layers",
     "rate takes a number in [0, 0.999]", ""},
    {"ParameterOfAnotherType", Layers("{ kind = \"conv\", out = 4.5, kernel = 3 }"), 8, 24, "network.mine.layers",
     "out takes an integer in [1, 65536]", ""},
    {"NameOfARectifier", Layers("{ kind = \"relu\", name = \"r\" }"), 8, 18, "network.mine.layers",
     "relu has no parameters, and so no name", ""},
    {"NameThatIsNone", Layers("{ kind = \"conv\", out = 4, kernel = 1, name = \"a b\" }"), 8, 46, "network.mine.layers",
     "letters, digits", ""},
    {"NoKind", Layers("{ out = 4 }"), 8, 1, "network.mine.layers", "a table with a kind", ""},
    {"NumberForALayer", Layers("3"), 8, 1, "network.mine.layers", "a layer is a word", ""},
    {"SameNameTwice", Mine("{ kind = \"conv\", out = 4, kernel = 1, name = \"fc\" },\n\"flatten\",\n" + kEnd + ",\n"),
     10, 1, "network.mine.layers", "linear \"fc\": another layer has this name", ""},
    {"NoClasses", Mine("\"flatten\",\n{ kind = \"linear\", out = 10 },\n"), 9, 1, "network.mine.layers",
     "ends with { kind = \"linear\", out = \"classes\" }", ""},
    {"UnknownShortcut", Layers("{ kind = \"basic_block\", out = 4, shortcut = \"C\" }"), 8, 45, "network.mine.layers",
     "unknown shortcut \"C\"", "A"},
    {"TooManyLayers", Layers("{ kind = \"repeat\", times = 2000, layers = [\"relu\", \"tanh\"] }"), 8, 44,
     "network.mine.layers", "more than 2000 layers", ""},
    {"ShapesThatDoNotFit", Mine("{ kind = \"conv\", out = 4, kernel = 3 },\n" + kEnd + ",\n"), 9, 1,
     "network.mine.layers",
     "linear \"fc\": it takes [values], and conv \"conv1\" gives [4, 26, 26]: put \"flatten\" or \"spatial_mean\" "
     "between them (the pictures of data.digits are [1, 28, 28])",
     ""},
    {"WindowBeyondThePicture", Layers("{ kind = \"max_pool\", kernel = 40 }"), 8, 1, "network.mine.layers",
     "max_pool (layer 1): its input is [1, 28, 28], which leaves it no pixel", ""},
    {"BatchNormsUnderDpSgd", Mine("{ kind = \"batch_norm\" },\n\"flatten\",\n" + kEnd + ",\n"), 14, 11, "trial.student",
     "the batch norms of \"mine\" mix the examples: write group_norm in [network.mine]", ""},
    {"NameThatNobodyHas", Mine(kEnd, "[trial]\nmethod = \"dpsgd\"\nstudent = \"mime\"\n"), 11, 11, "trial.student",
     "unknown student \"mime\"; did you mean \"mine\"?", "mine"},
};
INSTANTIATE_TEST_SUITE_P(Networks, BadNetworkTest, ::testing::ValuesIn(kBadNetworks),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(DescribedNetwork, NameOfEveryNetworkOfTheZooIsRefused) {
  for (const NamedNetwork& network : kNamedNetworks) {
    const std::string name(network.name);
    const PlanOutcome outcome = PlanText(kHead + "[network.\"" + name + "\"]\nlayers = [\"flatten\", " + kEnd +
                                         "]\n[trial]\nmethod = \"dpsgd\"\nnoise_multiplier = 1\n");
    ASSERT_EQ(outcome.errors.size(), 1U) << name;
    EXPECT_THAT(outcome.errors[0].message, HasSubstr("keeps its name"));
  }
}

// Lines 6 on: a teacher, then the generator, a layer a line from line 10, and a student whose queries it makes.
std::string Making(const std::string& layers, const std::string& trial = "") {
  return kHead + "[teacher]\nt = { network = \"logistic\" }\n[network.maker]\nlayers = [\n" + layers +
         "]\n[trial]\nteacher = \"t\"\ngenerator = \"maker\"\n" + trial;
}
const std::string kMaker =
    "{ kind = \"linear\", out = 196 },\n{ kind = \"batch_norm\" },\n{ kind = \"reshape\", channels = 4, height = 7, "
    "width "
    "= 7 },\n{ kind = \"upsample\", factor = 4 },\n{ kind = \"conv\", out = 1, kernel = 3, padding = 1 },\n\"tanh\",\n";

std::string Edit(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(DescribedGenerator, IsWrittenOutInTheTrial) {
  const SweepPlan plan = GoodPlan(Making(kMaker));
  const TrialSpec& spec = plan.trials.back();
  EXPECT_EQ(spec.generator.network, "maker");
  EXPECT_EQ(spec.layers, nullptr);
  ASSERT_NE(spec.generator.layers, nullptr);
  EXPECT_EQ(*spec.generator.layers,
            "linear name=linear1 out=196; batch_norm name=batch_norm1; reshape channels=4 height=7 width=7; "
            "upsample factor=4; conv name=conv1 out=1 kernel=3 padding=1; tanh");
  EXPECT_TRUE(plan.warnings.empty());
  EXPECT_EQ(plan.trials.front().generator.layers, nullptr) << "a teacher has none";
}

TEST(DescribedGenerator, IsTakenByEveryMethodThatHasOne) {
  const std::string teachers = "t = { network = \"logistic\" }\nmany = { network = \"logistic\", members = 4 }";
  const std::string rows =
      "[sweep]\nzip.row = [{ method = \"dpdfd\" }, { method = \"dp-dfd\", bn_statistics = 0 }, { method = "
      "\"dpsd-label\" },\n"
      "{ method = \"dense\", teacher = \"many\", bn_statistics = 0 }, { method = \"feddpsd\", teacher = \"many\" },\n"
      "{ method = \"dpdfd\", reading = \"sound\", teacher = \"many\", vote_noise = 1, source = \"generator\" },\n"
      "{ method = \"dp-merf\", noise_multiplier = 1 }]\n";
  const SweepPlan plan = GoodPlan(Edit(Making(kMaker, rows), "t = { network = \"logistic\" }", teachers));
  const std::vector<TrialSpec> students = Students(plan);
  ASSERT_EQ(students.size(), 7U);
  for (const TrialSpec& spec : students) EXPECT_NE(spec.generator.layers, nullptr) << spec.method;
}

TEST(DescribedGenerator, ZoosInTrialIsNotForDpMerf) {
  const std::string use = "method = \"dp-merf\"\nnoise_multiplier = 1\n";
  const SweepPlan plain = GoodPlan(kHead + "[trial]\n" + use);
  EXPECT_EQ(plain.trials[0].generator.network, "dp-merf");
  const SweepPlan shared = GoodPlan(kHead +
                                    "[teacher]\nt = { network = \"logistic\" }\n[trial]\nteacher = \"t\"\ngenerator = "
                                    "\"fast\"\n[sweep]\nzip.row = [{ method = \"dpdfd\" }, { method = \"dp-merf\", "
                                    "noise_multiplier = 1 }]\n");
  EXPECT_EQ(Students(shared)[1].id, plain.trials[0].id) << "as before dp-merf had the key";
}

// The width of [trial] is for the other methods' generator; it is no part of what this one is.
TEST(DescribedGenerator, HasNoWidthOfTheZoo) {
  const std::string two = "[sweep]\ngrid.generator = [\"maker\", \"dafl\"]\n";
  const auto students = [&two](const std::string& width) {
    return Students(GoodPlan(Edit(Making(kMaker, width + two), "generator = \"maker\"\n", "")));
  };
  const std::vector<TrialSpec> narrow = students(""), wide = students("generator_width = 64\n");
  ASSERT_EQ(wide.size(), 2U);
  EXPECT_EQ(wide[0].id, narrow[0].id);
  EXPECT_EQ(EncodeTrialSpec(wide[0]), EncodeTrialSpec(narrow[0]));
  EXPECT_EQ(wide[1].generator.width, 64);
  EXPECT_NE(wide[1].id, narrow[1].id);
}

struct BadGenerator {
  const char* name;
  std::string text;
  int line;
  const char* words;
  const char* choice;
};
void PrintTo(const BadGenerator& bad, std::ostream* out) { *out << bad.name; }
class BadGeneratorTest : public ::testing::TestWithParam<BadGenerator> {};

TEST_P(BadGeneratorTest, IsOneLocatedError) {
  const BadGenerator& bad = GetParam();
  const PlanOutcome outcome = PlanText(bad.text);
  ASSERT_EQ(outcome.errors.size(), 1U) << (outcome.errors.size() > 1 ? Render(outcome.errors[1]) : "no error");
  const Diagnostic& error = outcome.errors.front();
  EXPECT_EQ(error.line, bad.line) << Render(error);
  EXPECT_GT(error.column, 0) << Render(error);
  EXPECT_THAT(error.message, HasSubstr(bad.words));
  EXPECT_EQ(error.choices.empty() ? "" : error.choices.front(), bad.choice) << Render(error);
}

const BadGenerator kBadGenerators[] = {
    {"StudentAsGenerator",
     Mine("\"flatten\", " + kEnd,
          "[teacher]\nt = { network = \"mine\" }\n[trial]\nteacher = \"t\"\ngenerator = \"mine\"\n"),
     13, "trial.generator makes pictures from latents, and [network.mine] classifies pictures", "dafl"},
    {"GeneratorAsStudent", Making(kMaker, "student = \"maker\"\n"), 20,
     "trial.student classifies pictures, and [network.maker] makes them from latents", "datalens"},
    {"GeneratorAsTeacher", Edit(Making(kMaker), "network = \"logistic\"", "network = \"maker\""), 7,
     "classifies pictures, and [network.maker] makes them from latents", "datalens"},
    {"PictureOfAnotherShape", Making(Edit(kMaker, "factor = 4", "factor = 2")), 15,
     "tanh (layer 6): the network makes [1, 14, 14], and the pictures are [1, 28, 28]: change channels, kernels, "
     "strides "
     "or factors until it makes those (latent = 100; the pictures of data.digits are [1, 28, 28])",
     ""},
    {"LatentsThatDoNotFit", Making(Edit(kMaker, "{ kind = \"linear\", out = 196 },", "")), 12,
     "batch_norm \"batch_norm1\" gives [100], which has 100 values, and its result, [4, 7, 7], has 196", ""},
    {"EndWithoutARange", Making(Edit(kMaker, "\"tanh\"", "\"relu\"")), 15, "a generator ends in \"sigmoid\"", ""},
    {"NothingToLearn", Making("{ kind = \"reshape\", channels = 1, height = 28, width = 28 },\n\"sigmoid\",\n"), 10,
     "reshape (layer 1): no layer of this generator has parameters", ""},
    {"ShortcutThatWouldHaveToEnlarge",
     Making(Edit(kMaker, "{ kind = \"upsample\", factor = 4 },",
                 "{ kind = \"residual\", shortcut = \"B\", layers = [{ kind = \"conv_transpose\", out = 4, kernel = 4, "
                 "stride = 4 }] },")),
     13,
     "its layers give [4, 28, 28], and its shortcut [4, 7, 7]: a shortcut cannot follow layers that enlarge: put these "
     "before or behind the block",
     ""},
    {"NameThatNobodyHas", Edit(Making(kMaker), "\"maker\"", "\"maler\""), 19,
     "unknown generator \"maler\"; did you mean \"maker\"?", "maker"},
    {"NameOfTheZoo",
     kHead + "[network.fast]\nlayers = [" + kMaker + "]\n[trial]\nmethod = \"dpsgd\"\nnoise_multiplier = 1\n", 6,
     "\"fast\" is a generator of the zoo, and keeps its name", "my-fast"},
    {"WidthOfItsOwn", Making(kMaker, "[sweep]\ngrid.generator_width = [8]\n"), 21,
     "the layers of [network.maker] have widths of their own", ""},
    {"ClassGeneratorWithoutClasses",
     kHead + "[teacher]\nt = { network = \"logistic\" }\n[trial]\nteacher = \"t\"\ngenerator = \"dp-merf\"\n", 10,
     "\"dp-merf\" is given the class of each picture, and method \"dpdfd\"", "dafl"},
    {"GeneratorWithoutClasses",
     kHead + "[trial]\nnoise_multiplier = 1\n[sweep]\nzip.row = [{ method = \"dp-merf\", generator = \"fast\" }]\n", 9,
     "gives its generator the class of each picture, and \"fast\" takes none", "dp-merf"},
    {"GeneratorOfOtherMethodsAlone",
     kHead + "[trial]\nmethod = \"dp-merf\"\nnoise_multiplier = 1\ngenerator = \"fast\"\n", 9,
     "dp-merf gives its generator the class of each picture, which those of the other methods do not take", ""},
    {"WidthOfTheZooAlone", Making(kMaker, "generator_width = 64\n"), 20,
     "trial.generator_width reaches no trial to which it applies", ""},
    {"BatchNormOfPixels",
     Edit(Edit(Making(kMaker), "\"tanh\"", "{ kind = \"batch_norm\", affine = false }"), "teacher = \"t\"",
          "method = \"dp-merf\"\nnoise_multiplier = 1") +
         "",
     20, "compares pixels between 0 and 1, and those of [network.maker] have no such range", ""},
};
INSTANTIATE_TEST_SUITE_P(Generators, BadGeneratorTest, ::testing::ValuesIn(kBadGenerators),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace retort
