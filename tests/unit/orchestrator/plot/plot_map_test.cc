// Figures of kind "map": synthetic samples among pictures of their data set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "orchestrator/cli/render/figure_caption.h"
#include "orchestrator/cli/render/figure_chart.h"
#include "orchestrator/results/tables/figure_data.h"
#include "orchestrator/results/tables/figure_words.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::uint8_t> Noise(std::size_t bytes, std::uint32_t seed) {
  std::vector<std::uint8_t> noise(bytes);
  for (std::uint8_t& byte : noise) {
    seed = seed * 1'664'525U + 1'013'904'223U;
    byte = static_cast<std::uint8_t>(seed >> 24U);
  }
  return noise;
}

// Three seeds, of which the first two have ended: `samples` pictures of 1 x 2 x 3 pixels that the first kept,
// among a data set of 9 private and 4 test pictures.
struct SmallSweep {
  testing::Sample sample = testing::SampleSweep();
  std::int64_t samples = 5;
  Result<DataImages> pictures = DataImages{1, 2, 3, {{"train", 9, Noise(54, 1)}, {"test", 4, Noise(24, 2)}}};
  mutable int reads = 0;

  SmallSweep() {
    // One axis, and no baseline.
    sample.plan.trials.pop_back();
    sample.view.trials.pop_back();
    for (TrialSpec& trial : sample.plan.trials) trial.axes = {{"data", "digits"}};
  }

  [[nodiscard]] Result<FigureData> Figure(std::int64_t count = 36) const {
    FigureSpec spec;
    spec.name = "near";
    spec.kind = FigureKind::map;
    spec.x = "data";
    spec.count = count;
    const auto recorded = [this](const TrialView& trial) -> Result<storage::AttemptFile> {
      storage::AttemptFile file;
      if (trial.spec.seed > 0 || samples == 0) return file;
      file.samples.emplace();
      const std::size_t bytes = static_cast<std::size_t>(samples) * 6;
      file.samples->images = {"images", storage::DType::u8, {samples, 1, 2, 3}, Noise(bytes, 3)};
      return file;
    };
    const auto read = [this](const DataSpec&) {
      ++reads;
      return pictures;
    };
    return BuildFigure(spec, {sample.plan, sample.view, {}, recorded, false, read});
  }
};

std::vector<std::size_t> Sizes(const FigureMap& map) {
  std::vector<std::size_t> sizes;
  for (const MapGroup& group : map.groups) sizes.push_back(group.places.size());
  return sizes;
}

TEST(PlotMap, SplitsAndSamplesAreSeries) {
  const Result<FigureData> data = SmallSweep().Figure();
  ASSERT_TRUE(data.ok()) << data.status().message();
  ASSERT_EQ(data->images.size(), 1U);
  ASSERT_TRUE(data->images[0].map);
  const FigureMap& map = *data->images[0].map;
  EXPECT_THAT(Sizes(map), ElementsAre(9, 4, 5));
  EXPECT_EQ(map.groups[0].label, "private (train)");
  EXPECT_EQ(map.groups[1].label, "test");
  EXPECT_EQ(map.groups[2].label, "synthetic");
  EXPECT_NEAR(map.perplexity, 17.0 / 3, 1e-12);
}

TEST(PlotMap, ASplitHasTheSameStyleWhicheverOthersThereAre) {
  SmallSweep sweep;
  const FigureData without = *sweep.Figure();
  sweep.pictures->splits.insert(sweep.pictures->splits.begin() + 1, {"public", 2, Noise(12, 4)});
  const FigureData with = *sweep.Figure();
  EXPECT_EQ(with.images[0].map->groups[1].label, "public");
  EXPECT_EQ(with.images[0].map->groups[2].style, without.images[0].map->groups[1].style);
}

TEST(PlotMap, PublicQueriesAreNotCalledSynthetic) {
  SmallSweep sweep;
  for (TrialSpec& trial : sweep.sample.plan.trials) trial.source = QuerySource::public_split;
  EXPECT_EQ(sweep.Figure()->images[0].map->groups.back().label, "public queries");
}

TEST(PlotMap, NoMoreSamplesThanCount) {
  EXPECT_THAT(Sizes(*SmallSweep().Figure(2)->images[0].map), ElementsAre(9, 4, 2));
}

TEST(PlotMap, NeighboursHaveLikePixels) {
  SmallSweep sweep;
  sweep.samples = 9;
  // Every private chart is one of the samples.
  sweep.pictures->splits[0].pixels = Noise(54, 3);
  const FigureMap map = *sweep.Figure()->images[0].map;
  const auto apart = [&map](std::size_t i, std::size_t j) {
    const auto &a = map.groups[0].places[i], &b = map.groups[2].places[j];
    return std::hypot(a.first - b.first, a.second - b.second);
  };
  for (std::size_t i = 0; i < 9; ++i)
    for (std::size_t j = 0; j < 9; ++j) EXPECT_LE(apart(i, i), apart(i, j)) << i << " " << j;
}

TEST(PlotMap, ATrialWithoutSamplesHasAnEmptyPanel) {
  SmallSweep sweep;
  TrialSpec other = sweep.sample.plan.trials[1];
  other.id = TrialId(77);
  other.axes = {{"data", "letters"}};
  auto letters = std::make_shared<DataSpec>(*other.data);
  letters->name = "letters";
  other.data = letters;
  sweep.sample.plan.trials.push_back(other);
  const Result<FigureData> data = sweep.Figure();
  ASSERT_TRUE(data.ok()) << data.status().message();
  EXPECT_EQ(data->missing, 1);
  const plot::Chart chart = MakeChart(*data);
  ASSERT_EQ(chart.panels.size(), 2U);
  EXPECT_TRUE(chart.panels[1].lines.empty());
}

TEST(PlotMap, WithoutAnySamplesNothingIsReadOrDrawn) {
  SmallSweep sweep;
  sweep.samples = 0;
  const Result<FigureData> data = sweep.Figure();
  ASSERT_TRUE(data.ok());
  EXPECT_TRUE(data->empty);
  EXPECT_EQ(sweep.reads, 0);
}

TEST(PlotMap, ADataSetThatIsNotHereIsAnError) {
  SmallSweep sweep;
  auto absent = std::make_shared<DataSpec>(*sweep.sample.plan.data[0]);
  absent->digest.clear();
  sweep.sample.plan.data = {absent};
  sweep.samples = 0;
  sweep.pictures = EnvironmentError("data.digits: /data/digits does not exist");
  const Result<FigureData> data = sweep.Figure();
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.status().code(), StatusCode::environment);
  EXPECT_THAT(data.status().message(), HasSubstr("/data/digits does not exist"));
}

TEST(PlotMap, SamplesOfAnotherShapeThanThePicturesAreAUsageError) {
  SmallSweep sweep;
  sweep.pictures->height = 3;
  sweep.pictures->width = 2;
  const Result<FigureData> data = sweep.Figure();
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.status().code(), StatusCode::usage);
  EXPECT_THAT(data.status().message(), AllOf(HasSubstr("figure.near"), HasSubstr("1 x 2 x 3"), HasSubstr("1 x 3 x 2")));
}

TEST(PlotMap, OnePictureInAllIsAUsageError) {
  SmallSweep sweep;
  sweep.samples = 1;
  sweep.pictures->splits.clear();
  const Result<FigureData> data = sweep.Figure();
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.status().code(), StatusCode::usage);
}

TEST(PlotMap, ThePanelIsFilledAndHasNoAxes) {
  const plot::Chart chart = MakeChart(*SmallSweep().Figure());
  EXPECT_EQ(chart.marks, plot::Marks::map);
  EXPECT_TRUE(chart.x.label.empty() && chart.y.label.empty());
  ASSERT_EQ(chart.panels.size(), 1U);
  double reach = 0;
  for (const plot::Line& line : chart.panels[0].lines)
    for (const plot::Point& point : line.points) reach = std::max({reach, std::abs(point.x), std::abs(point.y)});
  EXPECT_NEAR(reach, 1, 1e-12);
}

TEST(PlotMap, CaptionSaysThatNoEpsilonCoversThePoints) {
  const std::vector<std::string> caption = MakeCaption(*SmallSweep().Figure());
  EXPECT_THAT(caption, Contains(HasSubstr("map of pixels")));
  EXPECT_THAT(caption, Contains(AllOf(HasSubstr("9 private (train), 4 test, 5 synthetic"),
                                      HasSubstr("perplexity 5.667"), HasSubstr("Kullback-Leibler divergence"))));
  EXPECT_THAT(caption, Contains(AllOf(HasSubstr("positions of private pictures"), HasSubstr("no ε covers"))));
}

TEST(PlotMap, JsonHoldsEveryPlace) {
  const nlohmann::ordered_json json = MakeFigureJson(*SmallSweep().Figure(), {});
  EXPECT_EQ(json.at("kind"), "map");
  EXPECT_TRUE(json.at("y").is_null());
  const auto& map = json.at("samples").at(0).at("map");
  EXPECT_NEAR(map.at("perplexity").get<double>(), 17.0 / 3, 1e-12);
  EXPECT_GE(map.at("divergence").get<double>(), 0);
  ASSERT_EQ(map.at("series").size(), 3U);
  EXPECT_EQ(map.at("series").at(2).at("label"), "synthetic");
  EXPECT_EQ(map.at("series").at(2).at("points").size(), 5U);
  EXPECT_EQ(map.at("series").at(2).at("points").at(0).size(), 2U);
}

}  // namespace
}  // namespace retort::orchestrator::cli
