// What is spent of a data set is one number, wherever it is shown: the lines of a run, `retort status` as text, as JSON
// and as a block, the metrics, the report, `retort explain`, and the check of a budget.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "orchestrator/cli/render/explanation.h"
#include "orchestrator/cli/render/report_page.h"
#include "orchestrator/cli/render/report_tables.h"
#include "orchestrator/cli/render/status_text.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/reactor/result_row.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/surroundings.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/screen/live_facts.h"
#include "orchestrator/screen/progress_view.h"
#include "orchestrator/service/publication.h"
#include "orchestrator/service/run_metrics.h"
#include "storage/datasets/mark_store.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator::cli {
namespace {

using retort::testing::FaultInjectionEnv;
using retort::testing::SmallData;
using retort::testing::TrialBuilder;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr char kOwn[] = "/results/own";
const Now kNow{1000, 1.7e9};
const Screen kWide{400, 60, true};

// One number with its delta; a place that prints no delta beside infinity has none there.
struct Shown {
  double epsilon = 0;
  double delta = 0;
};
using ByData = std::map<std::string, Shown>;

double Number(std::string text) {
  std::erase(text, ',');
  return text == "∞" || text == "inf" || text == "+Inf" ? kInfinity : std::stod(text);
}

// "digits: example ε ≤ 2.311 of 3, δ 1e-5" and "digits: example ε unbounded (seeded-noise)".
ByData InLines(const std::vector<BlockLine>& lines) {
  static const std::regex kBound("^(.*): example ε ≤ ([0-9.]+)( of [0-9.e+-]+)?, δ ([0-9.e-]+).*$");
  static const std::regex kNone("^(.*): example ε unbounded \\((.+)\\)$");
  ByData shown;
  std::smatch match;
  for (const BlockLine& line : lines) {
    if (line.text.starts_with("budget ")) continue;  // a problem, which says it once more
    if (std::regex_match(line.text, match, kBound)) shown[match[1]] = {Number(match[2]), Number(match[4])};
    if (std::regex_match(line.text, match, kNone)) shown[match[1]] = {kInfinity, 0};
  }
  return shown;
}

// Lines of FormatSpendingLine; with other sweeps where it tells of them.
ByData InText(const std::string& text) {
  static const std::regex kOwnTotal(
      "(?:^\\s*|>\\s*|\\s\\s)([^\\s:<>;][^:<>;]*): ε (?:≤ |= )([0-9.,]+|∞) \\(example, its place filled or empty, δ = "
      "([0-9.e-]+)\\)");
  static const std::regex kRootTotal("other sweeps? in [^:]+: ε (?:≤ |= )([0-9.,]+|∞)");
  ByData shown;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch own, root;
    if (!std::regex_search(line, own, kOwnTotal)) continue;
    double epsilon = Number(own[2]);
    if (std::regex_search(line, root, kRootTotal)) epsilon = Number(root[1]);
    if (line.find(": unknown, ") != std::string::npos) epsilon = kInfinity;
    shown[own[1]] = {epsilon, Number(own[3])};
  }
  return shown;
}

ByData InJson(const std::string& text) {
  ByData shown;
  const nlohmann::json document = nlohmann::json::parse(text);
  for (const auto& [data, spent] : document.at("epsilon").items()) {
    const nlohmann::json& epsilon = spent.at("root").is_null() ? spent.at("epsilon") : spent.at("root").at("epsilon");
    shown[data] = {epsilon == "inf" ? kInfinity : epsilon.get<double>(), spent.at("delta")};
    if (epsilon == "inf") {
      EXPECT_TRUE(spent.at("reason").is_string() || spent.at("root").at("reason").is_string()) << data;
    }
  }
  return shown;
}

ByData InMetrics(const std::string& page) {
  static const std::regex kSample(
      "^retort_epsilon_(spent|delta)\\{sweep=\"[^\"]*\",dataset=\"([^\"]*)\"[^}]*\\} (.*)$");
  ByData shown;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, kSample)) continue;
    (match[1] == "spent" ? shown[match[2]].epsilon : shown[match[2]].delta) = Number(match[3]);
  }
  return shown;
}

// A results folder that is written as a run writes it.
class Spent : public ::testing::Test {
 protected:
  struct Drawn {
    privacy::PrivacyEvent event;
    std::int64_t used = -1;  // -1: never settled
    std::uint32_t attempt = 1;
  };
  using Draws = std::function<std::vector<Drawn>(const TrialSpec&)>;

  static std::shared_ptr<DataSpec> Data(const std::string& name = "digits", char digest = 'd') {
    auto data = SmallData();
    data->name = name;
    data->digest = std::string(64, digest);
    return data;
  }

  // Everything that the trial was planned to draw, in one reservation that is used up.
  static std::vector<Drawn> Planned(const TrialSpec& spec) {
    std::vector<Drawn> draws;
    const Result<std::vector<privacy::PrivacyEvent>> events = privacy::PlanEvents(spec);
    if (events.ok())
      for (const privacy::PrivacyEvent& event : *events) draws.push_back({event, event.count});
    return draws;
  }

  // Every trial of `specs` succeeds after what `draws` says of it, but for the last `unfinished`.
  void Write(const std::vector<TrialSpec>& specs, const Draws& draws = Planned, std::size_t unfinished = 0,
             const std::string& folder = kOwn) {
    ASSERT_TRUE(env_.CreateDirectories(folder).ok());
    Recovered opened = RecoverResults(env_, Settings{.results = folder, .provenance_json = "{}"}).value();
    const auto happens = [&](JournalEvent event) {
      ASSERT_TRUE(opened.core.Apply(event).ok()) << folder;
      ASSERT_TRUE(opened.journal.Commit({std::move(event)}).ok());
    };
    PlanAdopted adopted;
    happens({1.7e9, SweepOpened{kResultsFormatVersion, "tested", "retort = 1\n", "{}"}});
    for (const TrialSpec& spec : specs) {
      happens({1.7e9, MakeTrialPlanned(spec)});
      adopted.order.push_back(spec.id);
    }
    happens({1.7e9, adopted});
    for (std::size_t i = 0; i < specs.size() - unfinished; ++i) {
      const TrialSpec& spec = specs[i];
      if (opened.core.Get(spec.id).row) continue;
      const AttemptId attempt{spec.id, 1};
      happens({1.7e9, AttemptLeased{attempt, opened.core.NextGeneration(), {{0, 0}}}});
      happens({1.7e9, AttemptStarted{attempt}});
      for (const Drawn& drawn : draws(spec)) {
        const std::uint64_t entry =
            opened.ledger->Reserve(spec.data->digest, {spec.id, drawn.attempt}, 1, drawn.event).value();
        const PrivacyCharges::Handle handle = opened.core.charges.Add(spec.data->digest, spec.id, drawn.event);
        if (drawn.used < 0) continue;
        ASSERT_TRUE(opened.ledger->Settle(entry, drawn.used).ok());
        opened.core.charges.Settle(handle, drawn.used);
      }
      if (opened.ledger->entries().size() > opened.core.ledger_noted())
        happens({1.7e9, LedgerNoted{opened.ledger->entries().size()}});
      AttemptEnded ended;
      ended.attempt = attempt;
      ended.succeeded = true;
      ended.parameters_digest = "feed";
      happens({1.7e9, ended});
      happens({1.7e9, RowWritten{ComposeRow(opened.core, opened.core.Get(spec.id))}});
    }
    env_.Put(LockPath(folder), "");
  }

  // The results root knows that `data` holds the private examples numbered from `first` to `last`.
  void Mark(const DataSpec& data, std::uint8_t first, std::uint8_t last) {
    storage::DataMarks marks{data.digest, storage::SplitName(data), {}, {}};
    for (std::uint8_t i = first; i <= last; ++i) marks.hidden.push_back({i});
    const storage::MarkKey key = storage::OpenMarkKey(env_, "/results").value();
    ASSERT_TRUE(storage::StoreMarks(env_, "/results", key, marks).ok());
  }

  void Refute(const TrialSpec& spec) {
    privacy::AuditFinding finding;
    finding.kind = privacy::AuditKind::canary;
    finding.mu_lower = 2.5;
    finding.mu_proven = 2;
    ResultsView view = ReadResults(env_, kOwn, Plans::every).value();
    for (const TrialView& trial : view.trials)
      if (trial.spec.id == spec.id) {
        ASSERT_TRUE(StoreAudit(env_, kOwn, trial, {finding}).ok());
      }
  }

  // By place, but for what a run shows: nothing runs where the ledger is lost.
  std::map<std::string, ByData> Read() {
    std::map<std::string, ByData> places;
    ResultsView view = ReadPacked(env_, kOwn).value();
    WithdrawRefuted(env_, view);
    const RootCharges root = ReadRoot(env_, view);
    const SweepStatus status = ComputeStatus(view, {}, kNow.unix_seconds, &root);
    places["status"] = InText(FormatStatusText(status, kNow.unix_seconds, 100'000));
    places["status --json"] = InJson(FormatStatusJson(status));
    places["status --watch"] = InLines(LayOutBlock(MakeBlock(status, kNow.unix_seconds), kWide));
    places["report"] = InText(Report(status, view));
    for (const TrialView& trial : view.trials) Explained(trial, view, root, places["explain"]);
    if (places["explain"].empty()) places.erase("explain");
    return places;
  }

  // As a run sees it that has just been opened, and the file that it leaves.
  void Run(std::map<std::string, ByData>& places) {
    Recovered opened = RecoverResults(env_, Settings{.results = kOwn, .provenance_json = "{}"}).value();
    ReadSurroundings(env_, opened.core);
    LiveWatch watch;
    places["run"] = InLines(RenderLiveBlock(opened.core, watch.Look(opened.core, kNow), kNow, kWide));
    ASSERT_TRUE(Publication(env_, nullptr).Finish(opened.core, opened.ledger->entries(), {}, kNow).ok());
    places["metrics"] = InMetrics(env_.Bytes(std::string(kOwn) + "/metrics.prom"));
    for (const DataSpending& spent : ComputeSpending(MakeSpendingFacts(opened.core))) CheckBudget(opened.core, spent);
  }

  // All places agree. Returns what they say.
  ByData Agreed() {
    std::map<std::string, ByData> places = Read();
    Run(places);
    return Compare(places);
  }

  static ByData Compare(const std::map<std::string, ByData>& places) {
    const ByData& said = places.at("status --json");
    EXPECT_FALSE(said.empty());
    for (const auto& [place, shown] : places) {
      if (place != "metrics" && place != "explain") {
        EXPECT_EQ(shown.size(), said.size()) << place;
      }
      for (const auto& [data, one] : said) {
        const auto found = shown.find(data);
        if (place == "explain" && found == shown.end()) continue;
        if (found == shown.end()) {
          ADD_FAILURE() << place << " says nothing of " << data;
          continue;
        }
        EXPECT_EQ(found->second.epsilon, one.epsilon) << place << " of " << data;
        if (std::isfinite(one.epsilon) || found->second.delta != 0) {
          EXPECT_DOUBLE_EQ(found->second.delta, one.delta) << place << " of " << data;
        }
      }
    }
    return said;
  }

  // The only total, for one data set.
  double Total() {
    const ByData said = Agreed();
    EXPECT_EQ(said.size(), 1U);
    return said.empty() ? -1 : said.begin()->second.epsilon;
  }

  FaultInjectionEnv env_;

 private:
  static std::string Report(const SweepStatus& status, const ResultsView& view) {
    const SweepPlan plan = {};
    const std::vector<ResultTable> tables;
    AttemptReader attempts(storage::PosixEnv(), view, 1 << 20);
    Html html;
    WritePrivacy(html, {.view = view,
                        .plan = plan,
                        .status = status,
                        .tables = tables,
                        .attempts = attempts,
                        .audit = {},
                        .pictures = {},
                        .sweep_toml = "",
                        .command = ""});
    std::string page = html.Take();
    for (std::size_t at = 0; (at = page.find("</li>", at)) != std::string::npos;) page.replace(at, 5, "\n");
    return page;
  }

  static void Explained(const TrialView& trial, const ResultsView& view, const RootCharges& root, ByData& shown) {
    static const std::regex kSpent("at δ = ([0-9.e-]+) over all trials, of which ([0-9.,]+|∞) is spent");
    std::smatch match;
    for (const std::string& sentence : Explain(view, trial, kNow.unix_seconds, {}, &root).sentences)
      if (std::regex_search(sentence, match, kSpent))
        shown[trial.spec.data->name] = {Number(match[2]), Number(match[1])};
  }

  // A budget of what is spent lets nothing more be drawn, and one of a little more lets it; none covers what is
  // unbounded.
  static void CheckBudget(const Core& core, const DataSpending& spent) {
    if (!spent.root_trouble.empty()) return;  // no run under a budget begins then (ReadRootTerms)
    DataSpec data;
    data.name = spent.data;
    data.digest = spent.digest;
    privacy::PrivacyEvent nothing;  // a draw that can hardly be told from none
    nothing.kind = privacy::MechanismKind::noisy_votes;
    nothing.unit = privacy::EventUnit::vote;
    nothing.count = 1;
    nothing.sensitivity = std::sqrt(2.0);
    nothing.noise_std = 1e6;
    nothing.noise_coordinates = nothing.release_coordinates = 10;
    nothing.source = privacy::NoiseSource::secure_lattice;
    nothing.facts = privacy::ListNeededFacts(nothing.kind);
    std::vector<privacy::PrivacyEvent> elsewhere;
    if (const auto found = core.other_charges.find(spent.digest); found != core.other_charges.end())
      for (const auto& events : found->second) elsewhere.insert(elsewhere.end(), events.begin(), events.end());
    const auto refused = [&](double epsilon) {
      data.budget = Budget{epsilon, spent.delta};
      return RefuseOverBudget(core.charges, data, nothing, MakeCountRule(core), elsewhere).has_value();
    };
    if (!std::isfinite(spent.root_epsilon)) {
      EXPECT_TRUE(refused(1e300)) << spent.data << " " << spent.root_reason;
    } else if (spent.root_epsilon > 0) {
      EXPECT_TRUE(refused(spent.root_epsilon - 0.002)) << spent.data;
      EXPECT_FALSE(refused(1 + 2 * spent.root_epsilon)) << spent.data;
    }
  }
};

TEST_F(Spent, HealthySweepOfTwoKinds) {
  Write({TrialBuilder(1).Votes().With(Data()).Build(),
         TrialBuilder(2).Method("dpsgd", QuerySource::private_split).Secure().With(Data()).Build()});
  EXPECT_TRUE(std::isfinite(Total()));
}

TEST_F(Spent, ClaimThatAnAuditRefutes) {
  const TrialSpec spec = TrialBuilder(1).Votes().With(Data()).Build();
  Write({spec, TrialBuilder(2).Votes().With(Data()).Build()});
  EXPECT_TRUE(std::isfinite(Total()));
  Refute(spec);
  EXPECT_EQ(Total(), kInfinity);
}

TEST_F(Spent, RefutedTrialThatIsInThePlanNoMore) {
  const TrialSpec old = TrialBuilder(1).Votes().With(Data()).Build(),
                  kept = TrialBuilder(2).Votes().With(Data()).Build();
  Write({old});
  const double one = Total();
  Write({kept});
  const double both = Total();
  EXPECT_GT(both, one);
  Refute(old);
  EXPECT_EQ(Total(), kInfinity);
}

// The metrics of the last run must not outlive what they were made of.
TEST_F(Spent, LedgerThatLostReservations) {
  Write({TrialBuilder(1).Votes().With(Data()).Build(), TrialBuilder(2).Votes().With(Data()).Build()});
  EXPECT_TRUE(std::isfinite(Total()));
  ASSERT_TRUE(env_.Remove(GetLedgerPath(kOwn)).ok());
  const Result<Recovered> opened = RecoverResults(env_, Settings{.results = kOwn, .provenance_json = "{}"});
  ASSERT_FALSE(opened.ok()) << "nothing runs, so no run shows anything";
  ASSERT_TRUE(RepublishLostSpending(env_, kOwn).ok());
  std::map<std::string, ByData> places = Read();
  places["metrics"] = InMetrics(env_.Bytes(std::string(kOwn) + "/metrics.prom"));
  EXPECT_EQ(Compare(places).at("digits").epsilon, kInfinity);
  EXPECT_THAT(env_.Bytes(std::string(kOwn) + "/metrics.prom"), HasSubstr("retort_trials{")) << "the rest stays";
}

TEST_F(Spent, LedgerThatIsDamaged) {
  Write({TrialBuilder(1).Votes().With(Data()).Build(), TrialBuilder(2).Votes().With(Data()).Build()});
  EXPECT_TRUE(std::isfinite(Total()));
  env_.Bytes(GetLedgerPath(kOwn))[40] ^= 0x55;
  EXPECT_FALSE(ReadPacked(env_, kOwn).ok()) << "no command prints an epsilon";
  ASSERT_TRUE(RepublishLostSpending(env_, kOwn).ok());
  EXPECT_EQ(InMetrics(env_.Bytes(std::string(kOwn) + "/metrics.prom")).at("digits").epsilon, kInfinity);
}

TEST_F(Spent, CrashThatLeftReservationsOpen) {
  const TrialSpec spec = TrialBuilder(1).Votes().With(Data()).Build();
  Write({spec}, [](const TrialSpec& trial) {
    std::vector<Drawn> draws = Planned(trial);
    draws.push_back(Drawn{draws[0].event, -1, 1});
    return draws;
  });
  const double open = Total();
  EXPECT_GT(open, privacy::ComputeTotalEpsilon({privacy::PlanEvents(spec).value()}, spec.privacy.delta));
}

TEST_F(Spent, TrialThatWasTriedAgain) {
  const TrialSpec spec = TrialBuilder(1).Votes().With(Data()).Build();
  Write({spec}, [](const TrialSpec& trial) {
    std::vector<Drawn> draws = Planned(trial);
    draws.insert(draws.begin(), Drawn{draws[0].event, draws[0].event.count / 2, 1});
    draws.back().attempt = 2;
    return draws;
  });
  EXPECT_GT(Total(), privacy::ComputeTotalEpsilon({privacy::PlanEvents(spec).value()}, spec.privacy.delta));
}

TEST_F(Spent, SeededNoise) {
  Write({TrialBuilder(1).With(Data()).Build(), TrialBuilder(2).Votes().With(Data()).Build()});
  EXPECT_EQ(Total(), kInfinity);
}

// The events of a seeded trial say that their noise was drawn securely: its claims are denied all the same.
TEST_F(Spent, SeededTrialUnderASecureEvent) {
  Write({TrialBuilder(1).With(Data()).Build()},
        [](const TrialSpec&) { return Planned(TrialBuilder(1).Votes().With(Data()).Build()); });
  EXPECT_EQ(Total(), kInfinity);
}

TEST_F(Spent, RawAnswersOfATeacherWithoutNoise) {
  const TrialSpec teacher = TrialBuilder(0).Teacher("t").Secure().With(Data()).Build();
  const TrialSpec student = TrialBuilder(1).Reads(Reading::sound).Secure().Of(teacher).With(Data()).Build();
  Write({teacher, student});
  EXPECT_EQ(Total(), kInfinity);
}

TEST_F(Spent, PrivateImagesThatWereAskedAbout) {
  TrialSpec spec = TrialBuilder(1).Votes().With(Data()).Build();
  spec.source = QuerySource::private_split;
  Write({spec}, [](const TrialSpec&) { return Planned(TrialBuilder(1).Votes().With(Data()).Build()); });
  EXPECT_EQ(Total(), kInfinity);
}

TEST_F(Spent, StudentsOfAPrivateTeacherCostNothingBesideIt) {
  const TrialSpec teacher =
      TrialBuilder(0).Teacher("t").Method("dpsgd", QuerySource::generator).Secure().With(Data()).Build();
  Write({teacher});
  const double alone = Total();
  EXPECT_TRUE(std::isfinite(alone));
  Write({teacher, TrialBuilder(1).Reads(Reading::sound).Secure().Of(teacher).With(Data()).Build(),
         TrialBuilder(2).Reads(Reading::working).Secure().Of(teacher).With(Data()).Build()});
  EXPECT_EQ(Total(), alone);
  Refute(teacher);
  EXPECT_EQ(Total(), kInfinity);
}

// An old program asked for fewer facts, or recorded none.
TEST_F(Spent, LedgerOfAnOlderProgram) {
  Write({TrialBuilder(1).Votes().With(Data()).Build()}, [](const TrialSpec& spec) {
    std::vector<Drawn> draws = Planned(spec);
    for (Drawn& drawn : draws) drawn.event.facts.clear();
    return draws;
  });
  EXPECT_EQ(Total(), kInfinity);
}

TEST_F(Spent, AugmentedTrainingWithoutItsFact) {
  const TrialSpec spec =
      TrialBuilder(1).Method("dpsgd", QuerySource::private_split).Secure().Augmented().With(Data()).Build();
  const Draws without = [](const TrialSpec& trial) {
    std::vector<Drawn> draws = Planned(trial);
    for (Drawn& drawn : draws) std::erase(drawn.event.facts, privacy::kFactPerExampleAugmentation);
    return draws;
  };
  Write({spec}, without);
  EXPECT_EQ(Total(), kInfinity);
}

TEST_F(Spent, SeveralDataSets) {
  const auto second = Data("second", 'e');
  Write({TrialBuilder(1).Votes().With(Data()).Build(), TrialBuilder(2).Votes().With(second).Build(),
         TrialBuilder(3).With(Data("third", 'f')).Build()});
  const ByData said = Agreed();
  ASSERT_EQ(said.size(), 3U);
  EXPECT_TRUE(std::isfinite(said.at("digits").epsilon));
  EXPECT_TRUE(std::isfinite(said.at("second").epsilon));
  EXPECT_EQ(said.at("third").epsilon, kInfinity);
}

// Of one name, since its files were exchanged: what was spent of the first is not hidden by the second.
TEST_F(Spent, DataSetThatIsAnotherOneNow) {
  Write({TrialBuilder(1).Votes().With(Data("digits", 'd')).Build()});
  Write({TrialBuilder(1).Votes().With(Data("digits", 'e')).Build()});
  EXPECT_EQ(Agreed().size(), 2U);
}

// The smallest, at which epsilon is the largest: charged already or not.
TEST_F(Spent, TrialsOfSeveralDeltas) {
  const TrialSpec strict = TrialBuilder(2).Votes().Delta(1e-9).With(Data()).Build();
  const TrialSpec loose = TrialBuilder(1).Votes().Delta(1e-5).With(Data()).Build();
  Write({loose, strict}, Planned, 1);
  const ByData said = Agreed();
  EXPECT_DOUBLE_EQ(said.at("digits").delta, 1e-9);
  EXPECT_GT(said.at("digits").epsilon, privacy::ComputeTotalEpsilon({privacy::PlanEvents(loose).value()}, 1e-5));
}

// Of two budgets the one that is used up most is shown, at its delta, whichever epsilon is smaller.
TEST_F(Spent, SeveralBudgets) {
  const auto loose = Data(), strict = Data("again");
  loose->budget = Budget{5, 0.1};
  strict->budget = Budget{6, 1e-9};
  Write({TrialBuilder(1).Votes().With(loose).Build(), TrialBuilder(2).Votes().With(strict).Build(),
         TrialBuilder(3).Votes().With(strict).Build()},
        Planned, 1);
  const std::map<std::string, ByData> places = Read();
  EXPECT_DOUBLE_EQ(places.at("status --json").at("again, digits").delta, 1e-9);
  EXPECT_FALSE(places.at("explain").empty());
  std::map<std::string, ByData> runs;
  Run(runs);
  EXPECT_EQ(runs.at("run").at("again, digits").epsilon, places.at("status --json").at("again, digits").epsilon);
  for (const char* name : {"digits", "again"})
    EXPECT_EQ(runs.at("metrics").at(name).epsilon, places.at("status --json").at("again, digits").epsilon);
}

TEST_F(Spent, OtherSweepsOfTheRoot) {
  Write({TrialBuilder(1).Votes().With(Data()).Build(), TrialBuilder(2).Votes().With(Data()).Build()}, Planned, 1);
  const double alone = Total();
  Write({TrialBuilder(5).Votes().With(Data()).Build()}, Planned, 0, "/results/beside");
  const double both = Total();
  EXPECT_GT(both, alone);
  const auto capped = Data();
  capped->budget = Budget{100, 1e-7};
  TrialSpec other = TrialBuilder(6).Votes().With(capped).Build();
  Write({other}, Planned, 1, "/results/capped");  // has drawn nothing yet, and its budget binds all the same
  const ByData said = Agreed();
  EXPECT_DOUBLE_EQ(said.at("digits").delta, 1e-7);
  EXPECT_GT(said.at("digits").epsilon, both);
  env_.Bytes(GetLedgerPath("/results/beside"))[40] ^= 0x55;
  EXPECT_EQ(Total(), kInfinity) << "what it charged is unknown";
}

// Of other files and another name: what is drawn on one is drawn on examples of the other.
TEST_F(Spent, DataSetsThatShareAnExample) {
  const auto digits = Data(), again = Data("again", 'e'), apart = Data("apart", 'f');
  std::vector<TrialSpec> specs;
  for (const auto& data : {digits, again, apart})
    specs.push_back(TrialBuilder(specs.size() + 1).Votes().With(data).Build());
  Write(specs);
  const double one = Agreed().at("digits").epsilon;
  Mark(*digits, 1, 9);
  Mark(*again, 9, 20);
  Mark(*apart, 21, 30);
  const ByData said = Agreed();
  EXPECT_GT(said.at("digits").epsilon, one);
  EXPECT_EQ(said.at("again").epsilon, said.at("digits").epsilon);
  EXPECT_EQ(said.at("apart").epsilon, one);
  Refute(specs[1]);
  const ByData refuted = Agreed();
  EXPECT_EQ(refuted.at("digits").epsilon, kInfinity);
  EXPECT_EQ(refuted.at("apart").epsilon, one);
}

TEST_F(Spent, BudgetBindsDataThatSharesAnExample) {
  const auto capped = Data(), again = Data("again", 'e'), apart = Data("apart", 'f');
  capped->budget = Budget{100, 1e-7};
  Write({TrialBuilder(1).Votes().With(capped).Build(), TrialBuilder(2).Votes().With(again).Build(),
         TrialBuilder(3).Votes().With(apart).Build()},
        Planned, 1);
  Mark(*capped, 1, 9);
  Mark(*again, 9, 20);
  Mark(*apart, 21, 30);
  const ByData said = Agreed();
  EXPECT_DOUBLE_EQ(said.at("again").delta, 1e-7);
  EXPECT_EQ(said.at("again").epsilon, said.at("digits").epsilon);
  EXPECT_FALSE(said.contains("apart")) << "nothing is spent of it, and nothing caps it";
}

TEST_F(Spent, OtherSweepsOfTheRootThatShareAnExample) {
  const auto digits = Data(), again = Data("again", 'e'), apart = Data("apart", 'f');
  Mark(*digits, 1, 9);
  Mark(*again, 9, 20);
  Mark(*apart, 21, 30);
  Write({TrialBuilder(1).Votes().With(digits).Build(), TrialBuilder(2).Votes().With(digits).Build()}, Planned, 1);
  const double alone = Total();
  Write({TrialBuilder(5).Votes().With(apart).Build()}, Planned, 0, "/results/apart");
  EXPECT_EQ(Total(), alone);
  Write({TrialBuilder(6).Votes().With(again).Build()}, Planned, 0, "/results/beside");
  const double both = Total();
  EXPECT_GT(both, alone);
  again->budget = Budget{100, 1e-7};
  Write({TrialBuilder(7).Votes().With(again).Build()}, Planned, 1, "/results/capped");
  const ByData said = Agreed();
  EXPECT_DOUBLE_EQ(said.at("digits").delta, 1e-7);
  EXPECT_GT(said.at("digits").epsilon, both);
}

// What is spent of the examples beside the place where it began is not seen here.
TEST_F(Spent, FolderFromAnotherRoot) {
  Write({TrialBuilder(1).Votes().With(Data()).Build()});
  EXPECT_TRUE(std::isfinite(Total()));
  Recovered opened = RecoverResults(env_, Settings{.results = kOwn, .provenance_json = "{}"}).value();
  ASSERT_TRUE(opened.journal.Commit({{1.7e9, RootNoted{std::string(32, 'a')}}}).ok());
  EXPECT_EQ(Total(), kInfinity);
}

// A refuted sweep beside it, an audit after which nobody runs anything: the metrics follow.
TEST_F(Spent, AuditOfAFinishedSweepReachesItsMetrics) {
  const TrialSpec spec = TrialBuilder(1).Votes().With(Data()).Build();
  Write({spec});
  EXPECT_TRUE(std::isfinite(Total()));
  Refute(spec);
  Recovered opened = RecoverResults(env_, Settings{.results = kOwn, .provenance_json = "{}"}).value();
  ReadSurroundings(env_, opened.core);
  ASSERT_TRUE(RepublishSpending(env_, opened.core).ok());
  EXPECT_EQ(InMetrics(env_.Bytes(std::string(kOwn) + "/metrics.prom")).at("digits").epsilon, kInfinity);
}

// An audit while the sweep runs: what it shows counts from the next look on.
TEST_F(Spent, AuditDuringARunCounts) {
  const TrialSpec spec = TrialBuilder(1).Votes().With(Data()).Build();
  Write({spec, TrialBuilder(2).Votes().With(Data()).Build()}, Planned, 1);
  Recovered opened = RecoverResults(env_, Settings{.results = kOwn, .provenance_json = "{}"}).value();
  ReadSurroundings(env_, opened.core);
  AuditWatch audits(env_);
  LiveSpending spending;
  EXPECT_FALSE(audits.Look(opened.core, 1));
  EXPECT_TRUE(std::isfinite(spending.Of(opened.core, {1, 1.7e9}).at(0).root_epsilon));
  Refute(spec);
  EXPECT_FALSE(audits.Look(opened.core, 2)) << "not due yet";
  EXPECT_TRUE(audits.Look(opened.core, 1e6));
  EXPECT_EQ(spending.Of(opened.core, {1e6, 1.7e9}).at(0).root_reason, privacy::kVoidRefuted);
}

// The row was written when a fact less was asked for. It is shown without the bound, and so is what rests on it.
TEST_F(Spent, RowsOfAnOlderProgramAreShownWithoutTheBound) {
  const TrialSpec spec =
      TrialBuilder(1).Method("dpsgd", QuerySource::private_split).Secure().Augmented().With(Data()).Build();
  Write({spec}, [](const TrialSpec& trial) {
    std::vector<Drawn> draws = Planned(trial);
    for (Drawn& drawn : draws) std::erase(drawn.event.facts, privacy::kFactPerExampleAugmentation);
    return draws;
  });
  ResultsView view = ReadResults(env_, kOwn).value();
  TrialSpec plain = spec;
  plain.inputs.augment = Augment::none;
  view.trials[0].row->claims = privacy::ComputeClaims({&plain, {}}, privacy::PlanEvents(plain).value());
  ASSERT_EQ(view.trials[0].row->claims[0].status, privacy::ClaimStatus::proven);
  WithdrawRefuted(env_, view);
  for (const privacy::Claim& claim : view.trials[0].row->claims) {
    EXPECT_EQ(claim.status, privacy::ClaimStatus::unbounded);
    EXPECT_EQ(claim.reason, privacy::reason::kUnrecordedAugmentation);
  }
}

}  // namespace
}  // namespace retort::orchestrator::cli
