// The draw of a private selection: stored once, read back bit for bit, and of trials that nobody can take for others.
#include "orchestrator/journal/selection_draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/methods/canonical_encoding.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

SweepPlan Candidates(NoiseMode noise = NoiseMode::secure) {
  SweepPlan plan;
  plan.name = "chosen";
  plan.select.emplace();
  plan.select->distribution = "geometric";
  plan.select->mean = 5;
  for (const double lr : {0.5, 1.0, 2.0}) {
    TrialSpec spec = testing::TrialBuilder().Build();
    spec.method = "dpsgd";
    spec.noise = noise;
    spec.optimization.lr = lr;
    spec.id = ComputeTrialId(spec);
    spec.name = "dpsgd-digits-s0";
    plan.trials.push_back(spec);
  }
  return plan;
}

privacy::DrawLaw Law(double mean) { return privacy::SolveNegativeBinomialDraws(1, mean).value(); }

SelectionDraw Draw(const SweepPlan& plan, double mean = 20) {
  const TrialSpec selection = MakeSelectionTrial(plan);
  return DrawSelection(selection.id, Law(mean), plan.trials.size(), MakeDrawBits(selection));
}

TEST(SelectionDraw, IsReadBackBitForBit) {
  testing::FaultInjectionEnv disk;
  const SelectionDraw draw = Draw(Candidates());
  EXPECT_FALSE(ReadDraw(disk, "results").value());
  ASSERT_TRUE(WriteDraw(disk, "results", draw).ok());
  EXPECT_EQ(ReadDraw(disk, "results").value(), draw);
}

TEST(SelectionDraw, DamageIsNoOtherDraw) {
  testing::FaultInjectionEnv disk;
  ASSERT_TRUE(WriteDraw(disk, "results", Draw(Candidates())).ok());
  const std::string path = GetHiddenFolder("results") + "/draw.json";
  std::string text = disk.ReadFile(path).value();
  ASSERT_TRUE(disk.WriteFileAtomically(path, text.substr(0, text.size() / 2)).ok());
  EXPECT_FALSE(ReadDraw(disk, "results").ok());
}

TEST(SelectionDraw, SeededDrawsFollowFromTheSelection) {
  const SweepPlan plan = Candidates(NoiseMode::seeded);
  EXPECT_EQ(Draw(plan), Draw(plan));
  SweepPlan other = plan;
  other.select->score = "other";
  EXPECT_NE(Draw(plan).picks, Draw(other).picks);
}

TEST(SelectionDraw, SecureDrawsDoNotRepeat) { EXPECT_NE(Draw(Candidates()).picks, Draw(Candidates()).picks); }

TEST(SelectionDraw, DrawsCandidatesWithReplacementAndSeedsOfTheirOwn) {
  const SweepPlan plan = Candidates();
  SelectionDraw draw = Draw(plan, 200);
  while (draw.picks.size() < 20) draw = Draw(plan, 200);
  std::set<std::size_t> candidates;
  std::set<TrialId> ids;
  const std::vector<TrialSpec> trials = MakeDrawnTrials(plan, draw);
  for (const Pick& pick : draw.picks) {
    candidates.insert(pick.candidate);
    EXPECT_LT(pick.seed, std::uint64_t{1} << 53);
  }
  for (const TrialSpec& spec : trials) {
    ids.insert(spec.id);
    EXPECT_EQ(spec.id, ComputeTrialId(spec));
    EXPECT_TRUE(IsDrawnBy(spec, draw.selection));
    EXPECT_EQ(spec.score, plan.select->score);
  }
  EXPECT_GT(candidates.size(), 1U);
  EXPECT_LT(candidates.size(), draw.picks.size());
  EXPECT_EQ(ids.size(), draw.picks.size());
}

TEST(SelectionDraw, EqualPicksAreTwoTrials) {
  const SweepPlan plan = Candidates();
  const SelectionDraw draw{MakeSelectionTrial(plan).id, {{1, 7, "0000000000000001"}, {1, 7, "0000000000000002"}}};
  const std::vector<TrialSpec> trials = MakeDrawnTrials(plan, draw);
  EXPECT_NE(trials[0].id, trials[1].id);
}

TEST(SelectionDraw, AnotherListOfCandidatesIsAnotherSelection) {
  const SweepPlan plan = Candidates();
  SweepPlan more = plan, law = plan, score = plan;
  more.trials.push_back(more.trials.front());
  law.select->mean = 6;
  score.select->score = "other";
  std::set<TrialId> ids;
  for (const SweepPlan& one : {plan, more, law, score}) ids.insert(MakeSelectionTrial(one).id);
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_EQ(MakeSelectionTrial(plan).id, MakeSelectionTrial(Candidates()).id);
}

TEST(SelectionDraw, TrialsThatAreNotSelectedKeepTheirIds) {
  TrialSpec spec = testing::TrialBuilder().Build();
  const TrialId plain = ComputeTrialId(spec);
  spec.score = "public.accuracy";
  EXPECT_NE(ComputeTrialId(spec), plain);
  spec.score.clear();
  spec.draw = "x";
  EXPECT_NE(ComputeTrialId(spec), plain);
  spec.draw.clear();
  EXPECT_EQ(ComputeTrialId(spec), plain);
  EXPECT_EQ(EncodeTrialSpec(spec).find("score"), std::string::npos);
}

TEST(SelectionDraw, SpecsOfDrawnTrialsRoundTrip) {
  const SweepPlan plan = Candidates();
  const TrialSpec drawn = MakeDrawnTrials(plan, {MakeSelectionTrial(plan).id, {{1, 7, "0000000000000001"}}}).front();
  const std::string text = EncodeTrialSpec(drawn);
  const Result<TrialSpec> read = DecodeTrialSpec(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(EncodeTrialSpec(*read), text);
  EXPECT_EQ(ComputeTrialId(*read), drawn.id);
  TrialSpecReader reader;
  const Result<TrialSpec> scanned = reader.Read(text);
  ASSERT_TRUE(scanned.ok());
  EXPECT_EQ(EncodeTrialSpec(*scanned), text);
}

TEST(SelectionDraw, HiddenFoldersSayWhy) {
  testing::FaultInjectionEnv disk;
  EXPECT_EQ(DescribeHidden(disk, "results"), "");
  ASSERT_TRUE(MarkHidden(disk, GetHiddenResults("results")).ok());
  EXPECT_NE(DescribeHidden(disk, GetHiddenResults("results")).find("private selection"), std::string::npos);
  EXPECT_EQ(DescribeHidden(disk, "results"), "");
}

// Rows of drawn trials, as they ended.
class Ended {
 public:
  Ended() : plan_(Candidates()), core_(Settings{.results = "hidden", .provenance_json = "{}"}) {
    Apply(SweepOpened{kResultsFormatVersion, "chosen", "", "{}"});
  }
  void Add(std::optional<double> score) {
    const SelectionDraw draw{TrialId(1), {{0, drawn_.size(), FormatHex(drawn_.size())}}};
    drawn_.push_back(MakeDrawnTrials(plan_, draw).front());
    const TrialSpec& spec = drawn_.back();
    Apply(MakeTrialPlanned(spec));
    Apply(AttemptLeased{{spec.id, 1}, {++generation_}, {{0, 0}}});
    Apply(AttemptStarted{{spec.id, 1}});
    AttemptEnded ended;
    ended.attempt = {spec.id, 1};
    ended.succeeded = score.has_value();
    if (score) ended.metrics = {{"test.accuracy", 1 - *score}, {"public.accuracy", *score}};
    Apply(ended);
    storage::ResultRow row;
    row.trial = spec.id.Hex();
    row.state = score ? "succeeded" : "failed";
    row.metrics = ended.metrics;
    Apply(RowWritten{row});
  }
  std::size_t Best() { return ChooseBest(core_, drawn_).value(); }

 private:
  static std::string FormatHex(std::size_t number) { return TrialId(number).Hex(); }
  void Apply(Event event) { EXPECT_TRUE(core_.Apply({2, std::move(event)}).ok()); }
  SweepPlan plan_;
  Core core_;
  std::vector<TrialSpec> drawn_;
  std::uint64_t generation_ = 0;
};

TEST(SelectionDraw, TheBestScoreWinsAndNoOtherMetricDoes) {
  Ended trials;
  for (const double score : {0.2, 0.9, 0.5}) trials.Add(score);
  EXPECT_EQ(trials.Best(), 1U);
}

TEST(SelectionDraw, TheFirstOfEqualsWins) {
  Ended trials;
  for (const double score : {0.2, 0.9, 0.9}) trials.Add(score);
  EXPECT_EQ(trials.Best(), 1U);
}

TEST(SelectionDraw, AFailedTrialHasTheLowestScore) {
  Ended trials;
  trials.Add(std::nullopt);
  trials.Add(0.0);
  trials.Add(std::nan(""));
  EXPECT_EQ(trials.Best(), 1U);
  Ended failed;
  failed.Add(std::nullopt);
  failed.Add(std::nullopt);
  EXPECT_EQ(failed.Best(), 0U);
}

}  // namespace
}  // namespace retort::orchestrator
