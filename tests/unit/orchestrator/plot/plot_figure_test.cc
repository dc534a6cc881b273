// From a plan and its results to the points of a figure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
using ::testing::Not;
using ::testing::Optional;

// Noise scales 50, 100 and 200 of two readings over three seeds, all measured but reading "printed" at 100.
struct NoiseSweep {
  SweepPlan plan;
  ResultsView view;
  std::map<std::uint64_t, storage::AttemptFile> files;  // by trial

  NoiseSweep() {
    const auto data = testing::SampleData();
    plan.name = view.sweep = "noise";
    plan.file = "noise.toml";
    plan.data = {data};
    view.directory = "results/noise";
    plan.trials = {testing::SampleTeacher(data)};
    view.trials = {testing::Finished(plan.trials[0], 0.978, 10, {})};
    std::uint64_t number = 1;
    for (const Reading reading : {Reading::working, Reading::printed})
      for (const int sigma : {50, 100, 200})
        for (std::uint64_t seed = 0; seed < 3; ++seed) Add(data, reading, sigma, seed, number++);
  }

  void Add(const std::shared_ptr<const DataSpec>& data, Reading reading, int sigma, std::uint64_t seed,
           std::uint64_t number) {
    TrialSpec spec = testing::SampleStudent(data, seed);
    spec.reading = reading;
    spec.release.sigma = sigma;
    spec.id = TrialId(number);
    spec.axes = {{"reading", reading == Reading::working ? "working" : "printed"}, {"sigma", std::to_string(sigma)}};
    plan.trials.push_back(spec);
    const double accuracy = (reading == Reading::working ? 0.9 : 0.4) + 0.01 * static_cast<double>(seed);
    TrialView trial = testing::Finished(
        spec, accuracy, 10,
        {testing::FormulaClaim(100.0 / sigma), testing::NoClaim(privacy::Adjacency::example, "not-privately-trained"),
         testing::ProvenClaim(privacy::Adjacency::teacher, privacy::Neighbour::replace, 1000)});
    trial.row->attempt_file = "x";
    if (reading == Reading::printed && sigma == 100) {
      trial.state = TrialState::queued;
      trial.row.reset();
    }
    view.trials.push_back(std::move(trial));
  }

  [[nodiscard]] FigureData Figure(const FigureSpec& spec, const std::vector<PublishedValue>& published = {},
                                  bool smoke = false) const {
    const auto recorded = [this](const TrialView& trial) -> Result<storage::AttemptFile> {
      const auto found = files.find(trial.spec.id.bits());
      return found == files.end() ? storage::AttemptFile{} : found->second;
    };
    const Result<FigureData> data = BuildFigure(spec, {plan, view, published, recorded, smoke});
    EXPECT_TRUE(data.ok()) << data.status().message();
    return data.ok() ? *data : FigureData{};
  }
};

FigureSpec Against(const std::string& x, std::vector<std::string> series = {}) {
  FigureSpec spec;
  spec.name = "figure";
  spec.x = x;
  spec.series = std::move(series);
  return spec;
}

TEST(PlotFigure, SeedsOfOneValueAreOnePointWithItsInterval) {
  const FigureData data = NoiseSweep().Figure(Against("sigma", {"reading"}));
  ASSERT_EQ(data.panels.size(), 1U);
  ASSERT_EQ(data.panels[0].series.size(), 2U);
  const FigureSeries& working = data.panels[0].series[0];
  EXPECT_EQ(working.label, "working");
  ASSERT_EQ(working.points.size(), 3U);
  EXPECT_EQ(working.points[1].x, 100);
  EXPECT_NEAR(working.points[1].summary.mean, 0.91, 1e-12);
  EXPECT_EQ(working.points[1].singles.size(), 3U);
  ASSERT_TRUE(working.points[1].summary.ci95);
  // t(0.975, 2) = 4.302653 times 0.01 / sqrt(3)
  EXPECT_NEAR(working.points[1].summary.ci95->second, 0.91 + 0.0248414, 1e-6);
}

TEST(PlotFigure, AnAxisThatNoKeyNamesTellsLinesApart) {
  const FigureData data = NoiseSweep().Figure(Against("sigma"));
  EXPECT_THAT(data.keys, ElementsAre("reading"));
  EXPECT_EQ(data.panels[0].series.size(), 2U);
}

TEST(PlotFigure, XIsChosenFromTheAxes) {
  const NoiseSweep sweep;
  EXPECT_EQ(sweep.Figure(Against("")).spec.x, "sigma") << "the first axis of numbers";
  FigureSpec bars = Against("");
  bars.kind = FigureKind::bar;
  EXPECT_EQ(sweep.Figure(bars).spec.x, "reading") << "the first axis";
}

TEST(PlotFigure, WithoutAnAxisOfNumbersALineIsAUsageError) {
  NoiseSweep sweep;
  for (TrialSpec& trial : sweep.plan.trials)
    std::erase_if(trial.axes, [](const auto& axis) { return axis.first == "sigma"; });
  const auto none = [](const TrialView&) -> Result<storage::AttemptFile> { return storage::AttemptFile{}; };
  const Result<FigureData> data = BuildFigure(Against(""), {sweep.plan, sweep.view, {}, none, false});
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.status().code(), StatusCode::usage);
  EXPECT_THAT(data.status().message(), AllOf(HasSubstr("figure.figure"), HasSubstr("kind = \"bar\"")));
}

TEST(PlotFigure, PanelsAreSmallMultiplesWithOneStyleForEachLabel) {
  FigureSpec spec = Against("sigma", {"method"});
  spec.panels = "reading";
  const FigureData data = NoiseSweep().Figure(spec);
  ASSERT_EQ(data.panels.size(), 2U);
  EXPECT_EQ(data.panels[0].title, "working");
  EXPECT_EQ(data.panels[1].title, "printed");
  EXPECT_EQ(data.panels[0].series[0].style, data.panels[1].series[0].style);
  EXPECT_EQ(data.panels[0].series[0].label, "dpdfd");
}

TEST(PlotFigure, AMissingPointIsAGapAndIsSaid) {
  const FigureData data = NoiseSweep().Figure(Against("sigma", {"reading"}));
  EXPECT_EQ(data.missing, 1);
  EXPECT_EQ(data.all, 6);
  const plot::Chart chart = MakeChart(data);
  EXPECT_THAT(chart.panels[0].lines[1].gaps, ElementsAre(100));
  EXPECT_EQ(chart.panels[0].lines[1].points.size(), 2U);
  EXPECT_THAT(chart.caption, Contains(AllOf(HasSubstr("Missing: 1 of 6"), HasSubstr("printed: σ = 100"))));
}

TEST(PlotFigure, AccuracyIsInPercentWithinItsBounds) {
  const plot::Chart chart = MakeChart(NoiseSweep().Figure(Against("sigma")));
  EXPECT_EQ(chart.y.label, "test accuracy (%)");
  EXPECT_THAT(chart.y.least, Optional(0.0));
  EXPECT_THAT(chart.y.most, Optional(100.0));
  EXPECT_NEAR(chart.panels[0].lines[0].points[0].y, 91, 1e-9);
  EXPECT_EQ(chart.x.label, "noise scale σ");
}

TEST(PlotFigure, SmokeIsMarkedInThePictureAndTheCaption) {
  const plot::Chart chart = MakeChart(NoiseSweep().Figure(Against("sigma"), {}, true));
  EXPECT_EQ(chart.badge, "smoke");
  EXPECT_THAT(chart.caption.front(), HasSubstr("smoke"));
  EXPECT_EQ(MakeChart(NoiseSweep().Figure(Against("sigma"))).badge, "");
}

// What the sample trials claim: a formula at each noise scale, no example claim, and a teacher claim.
TEST(PlotFigure, TheCaptionSaysWhatEverySeriesClaims) {
  const std::vector<std::string> sentences = FormatClaimSentences(NoiseSweep().Figure(Against("sigma", {"reading"})));
  ASSERT_EQ(sentences.size(), 1U) << "both readings of this sample claim the same";
  EXPECT_THAT(sentences[0], AllOf(HasSubstr("formula † ε = 0.500 to 2.000 (example, replace, δ = 1e-5; no guarantee)"),
                                  HasSubstr("ε = ∞ (example, replace, δ = 1e-5)"),
                                  HasSubstr("proven ε ≤ 1,000.000 (teacher, replace, δ = 1e-5)")));
}

TEST(PlotFigure, NoEpsilonStandsWithoutItsAdjacencyAndDelta) {
  NoiseSweep sweep;
  for (std::size_t i = 1; i < sweep.plan.trials.size(); ++i) {
    TrialSpec& spec = sweep.plan.trials[i];
    spec.privacy.claim = ClaimTarget::example;
    spec.privacy.calibrate = Calibrate::noise;
    spec.privacy.epsilon = 100 / spec.release.sigma;
    spec.axes = {{"reading", spec.axes[0].second},
                 {"epsilon", spec.release.sigma == 50    ? "2"
                             : spec.release.sigma == 100 ? "1"
                                                         : "0.5"}};
    sweep.view.trials[i].spec = spec;
  }
  const FigureData data = sweep.Figure(Against("epsilon", {"reading"}));
  EXPECT_EQ(FormatXLabel(data), "privacy budget ε (example, asked for and not proven by these runs, δ = 1e-5)");
  FigureSpec labelled = Against("epsilon", {"reading"});
  labelled.x_label = "ε";
  EXPECT_THAT(FormatXLabel(sweep.Figure(labelled)), HasSubstr("ε (example")) << "a label of one's own does not hide it";
  const FigureData lines = sweep.Figure(Against("reading", {"epsilon"}));
  for (const FigureSeries& series : lines.panels[0].series)
    EXPECT_THAT(series.label, AllOf(HasSubstr("ε = "), HasSubstr("(example"), HasSubstr("δ = 1e-5")));

  for (TrialView& trial : sweep.view.trials)
    if (trial.row)
      trial.row->claims = {testing::ProvenClaim(privacy::Adjacency::example, privacy::Neighbour::add_remove, 0.5)};
  EXPECT_EQ(FormatXLabel(sweep.Figure(Against("epsilon", {"reading"}))),
            "privacy budget ε (example, proven, δ = 1e-5)");
}

TEST(PlotFigure, EpsilonsOfTwoKindsOnOneAxisAreToldApartInTheLegend) {
  NoiseSweep sweep;
  for (std::size_t i = 1; i < sweep.plan.trials.size(); ++i) {
    TrialSpec& spec = sweep.plan.trials[i];
    spec.privacy.claim = spec.reading == Reading::working ? ClaimTarget::paper : ClaimTarget::teacher;
    spec.privacy.epsilon = 100 / spec.release.sigma;
    spec.axes = {{"reading", spec.axes[0].second},
                 {"epsilon", spec.release.sigma == 50    ? "2"
                             : spec.release.sigma == 100 ? "1"
                                                         : "0.5"}};
    sweep.view.trials[i].spec = spec;
  }
  const FigureData data = sweep.Figure(Against("epsilon", {"reading"}));
  EXPECT_THAT(FormatXLabel(data), HasSubstr("see the legend"));
  EXPECT_THAT(data.panels[0].series[0].label, HasSubstr("[ε: the paper's formula †, no guarantee"));
  EXPECT_THAT(data.panels[0].series[1].label, HasSubstr("[ε: teacher"));
}

TEST(PlotFigure, PublishedPointsAreSeriesOfTheirOwn) {
  NoiseSweep sweep;
  auto digits = std::make_shared<DataSpec>(*sweep.plan.data[0]);
  digits->published_as = "MNIST";
  sweep.plan.data = {digits};
  std::erase_if(sweep.plan.trials, [](const TrialSpec& spec) { return spec.reading == Reading::printed; });
  for (std::size_t i = 1; i < sweep.plan.trials.size(); ++i) {
    TrialSpec& spec = sweep.plan.trials[i];
    spec.data = digits;
    spec.privacy.claim = ClaimTarget::paper;
    spec.privacy.epsilon = spec.release.sigma == 50 ? 10 : spec.release.sigma == 100 ? 1 : 0.5;
    spec.axes = {{"epsilon", spec.release.sigma == 50 ? "10" : spec.release.sigma == 100 ? "1" : "0.5"}};
  }
  FigureSpec spec = Against("epsilon", {"method"});
  spec.published = "dpdfd-ijcai23/table1";
  const FigureData data = sweep.Figure(spec, FindPublishedTable(spec.published));
  const FigureSeries& own = data.panels[0].series[0];
  EXPECT_EQ(own.label, "dpdfd");
  EXPECT_EQ(own.points[0].published, std::nullopt) << "0.5 is not in the table";
  EXPECT_THAT(own.points[1].published, Optional(0.9512));
  EXPECT_THAT(own.points[2].published, Optional(0.9751));
  const auto lens =
      std::find_if(data.panels[0].series.begin(), data.panels[0].series.end(), [](const FigureSeries& series) {
        return series.label == "DATALENS (published)" || series.label == "DataLens (published)";
      });
  ASSERT_NE(lens, data.panels[0].series.end());
  EXPECT_EQ(lens->points.size(), 2U);
  EXPECT_EQ(lens->points[0].state, CellState::quoted);
  const plot::Chart chart = MakeChart(data);
  EXPECT_EQ(chart.panels[0].lines[0].published.size(), 2U);
  EXPECT_THAT(chart.caption, Contains(HasSubstr("Hollow: published, dpdfd-ijcai23/table1")));
}

TEST(PlotFigure, TrialsToWhichXDoesNotApplyAreALineAcross) {
  NoiseSweep sweep;
  TrialSpec baseline = testing::SampleBaseline(sweep.plan.data[0]);
  baseline.axes = {{"method", "dpsgd"}};
  sweep.plan.trials.push_back(baseline);
  sweep.view.trials.push_back(testing::Finished(baseline, 0.938, 1, {}));
  const FigureData data = sweep.Figure(Against("sigma", {"method", "reading"}));
  const plot::Chart chart = MakeChart(data);
  ASSERT_EQ(chart.panels[0].rules.size(), 1U);
  EXPECT_NEAR(chart.panels[0].rules[0].y, 93.8, 1e-9);
  EXPECT_EQ(chart.panels[0].rules[0].label, "dpsgd");
  EXPECT_EQ(chart.panels[0].lines.size(), 2U);
}

TEST(PlotFigure, TeachersAreDashedLinesWhereTheFigureAsksForThem) {
  FigureSpec spec = Against("sigma");
  EXPECT_TRUE(MakeChart(NoiseSweep().Figure(spec)).panels[0].rules.empty());
  spec.teachers = true;
  const plot::Chart chart = MakeChart(NoiseSweep().Figure(spec));
  ASSERT_EQ(chart.panels[0].rules.size(), 1U);
  EXPECT_NEAR(chart.panels[0].rules[0].y, 97.8, 1e-9);
}

TEST(PlotFigure, BarsStandAtCategories) {
  FigureSpec spec = Against("reading", {"sigma"});
  spec.kind = FigureKind::bar;
  const FigureData data = NoiseSweep().Figure(spec);
  EXPECT_THAT(data.categories, ElementsAre("working", "printed"));
  ASSERT_EQ(data.panels[0].series.size(), 3U);
  EXPECT_EQ(data.panels[0].series[0].label, "σ = 50");
  EXPECT_EQ(data.panels[0].series[0].points[1].x, 1);
}

TEST(PlotFigure, CurvesAreMeansOverSeedsAtEachStep) {
  NoiseSweep sweep;
  for (std::uint64_t trial = 1; trial <= 3; ++trial)
    for (std::int64_t step = 0; step < 4; ++step) {
      storage::AttemptFile& file = sweep.files[trial];
      file.curves["train.student_loss"].emplace_back(step, static_cast<double>(trial) + static_cast<double>(step));
      file.curves["seconds"].emplace_back(step, 10.0 * static_cast<double>(step) + static_cast<double>(trial));
    }
  FigureSpec spec = Against("", {"reading", "sigma"});
  spec.kind = FigureKind::curve;
  spec.y = "train.student_loss";
  const FigureData data = sweep.Figure(spec);
  const FigureSeries& series = data.panels[0].series[0];
  EXPECT_EQ(series.label, "working, σ = 50");
  ASSERT_EQ(series.points.size(), 4U);
  EXPECT_EQ(series.points[1].x, 1);
  EXPECT_NEAR(series.points[1].summary.mean, 3, 1e-12);
  EXPECT_EQ(series.points[1].summary.n, 3);
  EXPECT_EQ(data.missing, 5);
  spec.x = "seconds";
  EXPECT_NEAR(sweep.Figure(spec).panels[0].series[0].points[1].x, 12, 1e-12);
}

TEST(PlotFigure, ACurveThatNobodyRecordedNamesTheNearest) {
  NoiseSweep sweep;
  sweep.files[1].curves["train.student_loss"].emplace_back(0, 1.0);
  FigureSpec spec = Against("");
  spec.kind = FigureKind::curve;
  spec.y = "train.studnet_loss";
  const auto recorded = [&sweep](const TrialView& trial) -> Result<storage::AttemptFile> {
    return sweep.files[trial.spec.id.bits()];
  };
  const Result<FigureData> data = BuildFigure(spec, {sweep.plan, sweep.view, {}, recorded, false});
  ASSERT_FALSE(data.ok());
  EXPECT_THAT(data.status().message(), HasSubstr("did you mean \"train.student_loss\"?"));
}

TEST(PlotFigure, SamplesAreOnePanelEachWithWhatTheyWereChargedUnder) {
  NoiseSweep sweep;
  storage::Samples samples;
  samples.images = {"images", storage::DType::u8, {40, 1, 2, 2}, std::vector<std::uint8_t>(160, 7)};
  samples.claim = "teacher, replace: unbounded";
  sweep.files[2].samples = samples;  // the second seed of the first noise scale
  FigureSpec spec = Against("sigma", {"reading"});
  spec.kind = FigureKind::samples;
  const FigureData data = sweep.Figure(spec);
  ASSERT_EQ(data.images.size(), 6U);
  EXPECT_TRUE(data.images[0].samples.has_value());
  EXPECT_EQ(data.missing, 5);
  const plot::Chart chart = MakeChart(data);
  EXPECT_EQ(chart.columns, 3U);
  EXPECT_EQ(chart.sheets[0].count, 36);
  EXPECT_EQ(chart.sheets[0].pixels.size(), 36U * 4);
  EXPECT_EQ(chart.sheets[0].title, "working, σ = 50");
  EXPECT_THAT(chart.sheets[0].notes, Contains(HasSubstr("teacher, replace: unbounded")));
  EXPECT_EQ(chart.sheets[1].count, 0);
}

TEST(PlotFigure, SamplesOfAFigureWithPanelsAreNamedByEveryKey) {
  FigureSpec spec = Against("sigma");
  spec.panels = "reading";
  spec.kind = FigureKind::samples;
  const FigureData data = NoiseSweep().Figure(spec);
  EXPECT_THAT(data.keys, ElementsAre("reading"));
  ASSERT_EQ(data.images.size(), 6U);
  EXPECT_EQ(data.images[0].title, "working, σ = 50");
  EXPECT_EQ(data.images[5].title, "printed, σ = 200");
}

TEST(PlotFigure, NothingMeasuredAndNothingPublishedIsEmpty) {
  NoiseSweep sweep;
  sweep.view.trials.clear();
  EXPECT_TRUE(sweep.Figure(Against("sigma")).empty);
  EXPECT_FALSE(NoiseSweep().Figure(Against("sigma")).empty);
}

TEST(PlotFigure, DefaultPlotsTheFirstNumericAxis) {
  NoiseSweep sweep;
  TableSpec table;
  table.metric = "public.accuracy";
  table.published = "dpdfd-ijcai23/table1";
  sweep.plan.tables = {table};
  const FigureSpec figure = MakeDefaultFigure(sweep.plan);
  EXPECT_EQ(figure.kind, FigureKind::line);
  EXPECT_EQ(figure.x, "sigma");
  EXPECT_EQ(figure.y, "public.accuracy");
  EXPECT_EQ(figure.published, "dpdfd-ijcai23/table1");
  EXPECT_FALSE(figure.log_x) << "50 to 200 is no decade";
  const FigureSpec plain = MakeDefaultFigure(testing::SampleSweep().plan);
  EXPECT_EQ(plain.kind, FigureKind::bar);
  EXPECT_EQ(plain.x, "method");
}

TEST(PlotFigure, JsonHoldsEveryPointThatIsDrawn) {
  const nlohmann::ordered_json json = MakeFigureJson(NoiseSweep().Figure(Against("sigma", {"reading"})), {"a.svg"});
  EXPECT_EQ(json.at("figure"), "figure");
  EXPECT_EQ(json.at("kind"), "line");
  EXPECT_EQ(json.at("files"), nlohmann::ordered_json({"a.svg"}));
  const auto& series = json.at("panels").at(0).at("series");
  ASSERT_EQ(series.size(), 2U);
  EXPECT_EQ(series.at(1).at("keys").at("reading"), "printed");
  const auto& points = series.at(1).at("points");
  EXPECT_EQ(points.at(1).at("x"), 100);
  EXPECT_EQ(points.at(1).at("state"), "missing");
  EXPECT_TRUE(points.at(1).at("mean").is_null());
  EXPECT_EQ(points.at(0).at("n"), 3);
  EXPECT_EQ(points.at(0).at("claims").size(), 3U);
}

TEST(PlotFigure, TheDescriptionSaysEveryPoint) {
  const std::string text = DescribeFigure(NoiseSweep().Figure(Against("sigma", {"reading"})));
  EXPECT_THAT(text, AllOf(HasSubstr("test accuracy (%) against noise scale σ."), HasSubstr("working: 50: 91"),
                          HasSubstr("100: missing")));
  EXPECT_THAT(text, Not(HasSubstr("published")));
}

TEST(PlotFigure, CountsAreWholeNumbersInWordsAndJson) {
  NoiseSweep sweep;
  for (TrialView& trial : sweep.view.trials)
    if (trial.row) trial.row->metrics = {{"student.parameters", 1'410'474}};
  FigureSpec spec = Against("sigma", {"reading"});
  spec.y = "student.parameters";
  const FigureData data = sweep.Figure(spec);
  EXPECT_THAT(DescribeFigure(data), AllOf(HasSubstr("50: 1,410,474 (1,410,474 to 1,410,474)"), Not(HasSubstr("e+06"))));
  const auto json = MakeFigureJson(data, {});
  const auto& point = json.at("panels").at(0).at("series").at(0).at("points").at(0);
  EXPECT_EQ(point.at("mean").dump(), "1410474");
  EXPECT_EQ(point.at("values").at(0).dump(), "1410474");
}

}  // namespace
}  // namespace retort::orchestrator::cli
