// What a page says and leaves out, from results as values; that it is well-formed is a test of the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "orchestrator/cli/render/report_page.h"
#include "orchestrator/cli/render/trial_html.h"
#include "orchestrator/results/stored_plan.h"
#include "orchestrator/results/trial_names.h"
#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ReportTest : public ::testing::Test {
 protected:
  void SetUp() override { sample_.view.directory = folder_.path(); }

  ReportPage Make(double generated = 1'700'000'000) {
    const SweepStatus status = ComputeStatus(sample_.view);
    std::vector<ResultTable> tables;
    for (const TableSpec& spec : sample_.plan.tables)
      tables.push_back(BuildTable(sample_.plan, spec, sample_.view, {}));
    AttemptReader attempts(storage::PosixEnv(), sample_.view, 1 << 20);
    return MakeReport(
        {.view = sample_.view,
         .plan = sample_.plan,
         .status = status,
         .tables = tables,
         .attempts = attempts,
         .audit = audit_,
         .pictures = [](const DataSpec&, std::int64_t) { return Result<DataImages>(EnvironmentError("no data")); },
         .sweep_toml = "name = \"</pre><script>\"",
         .command = "retort report --results x",
         .generated = generated,
         .limits = limits_});
  }

  void GiveAttempt(std::size_t trial) {
    storage::ResultRow row = *sample_.view.trials[trial].row;
    row.attempt_file = std::to_string(trial) + ".h5";
    sample_.view.trials[trial].row = row;
    const std::string path = folder_ / row.attempt_file;
    ASSERT_TRUE(storage::WriteAttemptFile(storage::PosixEnv(), path, retort::testing::SampleAttempt()).ok());
  }

  // As many students of the working reading as a table of 2,000 trials holds.
  void Grow(std::size_t trials) {
    const TrialView student = sample_.view.trials[1];
    while (sample_.view.trials.size() < trials) {
      TrialView next = student;
      next.row->attempt_file.clear();
      const std::uint64_t number = sample_.view.trials.size();
      next.spec.id = TrialId(0xabd0000000000000 + number);
      next.spec.seed = number % 5;
      next.spec.release.sigma = static_cast<double>(number / 5);
      next.spec.name = "dpdfd-working-sigma" + std::to_string(number / 5) + "-digits-s" + std::to_string(number % 5);
      next.spec.axes = {{"sigma", std::to_string(number / 5)}};
      sample_.plan.trials.push_back(next.spec);
      sample_.view.trials.push_back(std::move(next));
    }
  }

  retort::testing::TemporaryDirectory folder_;
  testing::Sample sample_ = testing::SampleSweep();
  ReportLimits limits_;
  AuditSource audit_ = [](const TrialView&) { return Result<std::optional<privacy::AuditReport>>(std::nullopt); };
};

TEST_F(ReportTest, EveryTrialIsInTheTableAndThoseThatEndedHaveAPart) {
  const ReportPage page = Make();
  for (const TrialView& trial : sample_.view.trials) EXPECT_THAT(page.html, HasSubstr(FormatTrialName(trial.spec)));
  EXPECT_EQ(page.detailed, 4U);
  EXPECT_EQ(page.left_out, 1U);
  EXPECT_THAT(page.html, HasSubstr("id=\"" + FormatTrialAnchor(sample_.view.trials[4]) + "\""));
  EXPECT_THAT(page.html, Not(HasSubstr("id=\"left-out\"")));
}

TEST_F(ReportTest, EveryEpsilonStandsWithWhatItProtectsAndItsStatus) {
  const std::string html = Make().html;
  EXPECT_THAT(html, HasSubstr("<td>example</td><td class=\"number\">0.041 †</td><td>replace</td>"
                              "<td class=\"number\">1e-5</td><td>paper:dpdfd-thm3"));
  EXPECT_THAT(html, HasSubstr("<td>teacher</td><td class=\"number\">≤ 541,289.259</td>"));
  EXPECT_THAT(html, HasSubstr("<td>example</td><td class=\"number\">≤ 2.997</td><td>add-remove</td>"));
  EXPECT_THAT(html, HasSubstr("<td>no bound <a href=\"#note-1-1\">[1]</a></td>"));
  EXPECT_THAT(html, HasSubstr("<li id=\"note-1-1\">"));
}

TEST_F(ReportTest, TheSameResultsAreTheSameBytesButForTheTime) {
  GiveAttempt(1);
  EXPECT_EQ(Make(1'700'000'000).html, Make(1'700'000'000).html);
  std::string later = Make(1'700'000'060).html;
  const std::string earlier = "<time datetime=\"2023-11-14T22:13:20Z\">2023-11-14 22:13 UTC</time>";
  const std::string when = "<time datetime=\"2023-11-14T22:14:20Z\">2023-11-14 22:14 UTC</time>";
  ASSERT_NE(later.find(when), std::string::npos);
  later.replace(later.find(when), when.size(), earlier);
  EXPECT_EQ(later, Make(1'700'000'000).html);
}

TEST_F(ReportTest, WhatAnAttemptRecordedIsShown) {
  GiveAttempt(1);
  const std::string html = Make().html;
  EXPECT_THAT(html, AllOf(HasSubstr("aria-label=\"loss.student, 3 points from step 0 to 2"),
                          HasSubstr("accuracy 85.00 % of 20; most often 1 was taken for 0 (2 times)"),
                          HasSubstr("alt=\"2 of 2 samples of dpdfd-working-digits-s0-abc00000, 3 by 2 pixels")));
}

TEST_F(ReportTest, ADamagedAttemptIsSaidAtTheTopAndTheRestIsThere) {
  GiveAttempt(1);
  GiveAttempt(4);
  const std::string path = folder_ / "1.h5";
  ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(path, storage::PosixEnv().ReadFile(path)->substr(0, 3000)).ok());
  const ReportPage page = Make();
  ASSERT_THAT(page.troubles, ElementsAre(HasSubstr("dpdfd-working-digits-s0-abc00000")));
  const std::size_t alert = page.html.find("role=\"alert\"");
  ASSERT_NE(alert, std::string::npos);
  EXPECT_LT(alert, page.html.find("<main>"));
  EXPECT_THAT(page.html, HasSubstr("aria-label=\"loss.student"));
}

TEST_F(ReportTest, ImagesThatMayBePrivateAreNotPassedOn) {
  GiveAttempt(1);
  sample_.view.trials[1].spec.source = QuerySource::private_split;
  const std::string html = Make().html;
  EXPECT_THAT(html, HasSubstr("this trial queries private examples"));
  EXPECT_THAT(html, Not(HasSubstr("samples of dpdfd-working-digits-s0")));
}

TEST_F(ReportTest, AnAuditThatCannotBeReadIsSaid) {
  audit_ = [](const TrialView& trial) -> Result<std::optional<privacy::AuditReport>> {
    if (trial.spec.role == Role::student) return std::optional<privacy::AuditReport>();
    return DamageError("audit.json is torn");
  };
  EXPECT_THAT(Make().troubles, ElementsAre("teacher-single-digits-s0-11111111: audit.json is torn"));
}

TEST_F(ReportTest, ARefutedClaimAndALostLedgerAreAlerts) {
  sample_.view.trials[4].refuted = {"the audit <membership>."};
  sample_.view.ledger_lost = "3 reservations are missing.";
  const std::string html = Make().html;
  EXPECT_THAT(html, HasSubstr("<p class=\"alert\">A proven claim is refuted by the audit &lt;membership&gt;.</p>"));
  EXPECT_THAT(html, HasSubstr("<p class=\"alert\">The ledger is not whole: 3 reservations are missing.</p>"));
}

TEST_F(ReportTest, FailuresHaveTheirReasonAndTheirCommand) {
  TrialView& trial = sample_.view.trials[3];
  trial.state = TrialState::failed;
  trial.failure = FailureKind::worker_crash;
  trial.detail = "signal <11>";
  const std::string html = Make().html;
  EXPECT_THAT(
      html, HasSubstr("<code>retort explain dpdfd-working-digits-s2-abc00000 --results " + folder_.path() + "</code>"));
  EXPECT_THAT(html, HasSubstr("<td class=\"words\">signal &lt;11&gt;</td>"));
}

TEST_F(ReportTest, EachCauseOfManyFailuresStandsOnce) {
  Grow(2000);
  for (std::size_t i = 4; i < sample_.view.trials.size(); ++i) {
    TrialView& trial = sample_.view.trials[i];
    trial.row.reset();
    trial.state = TrialState::failed;
    trial.failure = FailureKind::worker_crash;
    trial.detail = "Worker process " + std::to_string(i) + " crashed. " + std::string(5000, 'x');
  }
  sample_.view.trials.back().detail = "Another cause.";
  const std::string page = Make().html;
  const std::string html = page.substr(page.find("<caption>Trials that failed"));
  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_THAT(html, HasSubstr("<td rowspan=\"40\" class=\"words\">Worker process 4 crashed. xxx"));
  EXPECT_THAT(html, HasSubstr("xxx…</td>"));
  EXPECT_THAT(html, Not(HasSubstr("Worker process 5 crashed")));
  EXPECT_THAT(html, HasSubstr("<td class=\"words\">Another cause.</td>"));
  EXPECT_THAT(html, HasSubstr("<p>1,955 more: <code>retort list --where state=failed --results " + folder_.path() +
                              "</code> lists all.</p>"));
}

TEST_F(ReportTest, OfManyCausesSomeAreInTheTable) {
  Grow(2000);
  for (std::size_t i = 4; i < sample_.view.trials.size(); ++i) {
    sample_.view.trials[i].state = TrialState::failed;
    sample_.view.trials[i].failure = FailureKind::configuration;
    sample_.view.trials[i].detail = std::string(i, 'a');
  }
  const std::string html = Make().html;
  EXPECT_THAT(html, HasSubstr("<p>1,796 more: <code>retort list --where state=failed"));
}

TEST_F(ReportTest, EnergyIsSummedWhereItWasMeasured) {
  EXPECT_THAT(Make().html, HasSubstr("Energy: not measured, as no trial had an NVIDIA GPU whose driver tells it."));
  for (const std::size_t trial : {1U, 2U}) {
    storage::ResultRow row = *sample_.view.trials[trial].row;
    row.timings.emplace_back("energy_joules", 7200);
    sample_.view.trials[trial].row = row;
  }
  EXPECT_THAT(Make().html,
              AllOf(HasSubstr("Energy: 4 Wh on the devices of 2 trials, as NVML counts it; of 2 others it was not "
                              "measured."),
                    HasSubstr("4 Wh of 2")));
  for (const std::size_t trial : {0U, 4U}) {
    storage::ResultRow row = *sample_.view.trials[trial].row;
    row.timings.emplace_back("energy_joules", 3600);
    sample_.view.trials[trial].row = row;
  }
  EXPECT_THAT(Make().html, HasSubstr("Energy: 6 Wh on the devices of 4 trials, as NVML counts it.</p>"));
}

TEST_F(ReportTest, NothingOfASweepFileIsMarkup) {
  EXPECT_THAT(Make().html, HasSubstr("name = &quot;&lt;/pre&gt;&lt;script&gt;&quot;"));
}

TEST_F(ReportTest, OfManyTrialsAllAreNamedAndSomeAreShown) {
  GiveAttempt(1);
  Grow(2000);
  const ReportPage page = Make();
  EXPECT_LT(page.html.size(), 20'000'000U);
  EXPECT_EQ(page.detailed, 60U);
  EXPECT_EQ(page.left_out, 1940U);
  for (const TrialView& trial : sample_.view.trials)
    EXPECT_NE(page.html.find(">" + FormatTrialName(trial.spec) + "<"), std::string::npos);
  EXPECT_THAT(page.html, HasSubstr("1939 of the 1999 trials that have ended, those without a link above"));
  EXPECT_THAT(page.html, HasSubstr("<code>retort show TRIAL --results"));
}

TEST_F(ReportTest, PicturesBeyondTheLimitAreLeftOutWithAWord) {
  GiveAttempt(1);
  limits_.drawn_bytes = 10;
  const std::string html = Make().html;
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("as many pictures as it may hold"));
}

TEST_F(ReportTest, NothingStoredIsAPageThatSaysSo) {
  sample_.view.trials.clear();
  sample_.plan.trials.clear();
  const ReportPage page = Make();
  EXPECT_THAT(page.html, HasSubstr("No trial is stored yet."));
  EXPECT_THAT(page.troubles, IsEmpty());
}

TEST(ReportStyle, FetchesNothing) {
  EXPECT_EQ(ReportStyle().find("url("), std::string_view::npos);
  EXPECT_EQ(ReportStyle().find("@import"), std::string_view::npos);
  EXPECT_EQ(ReportStyle().find("</"), std::string_view::npos);
  EXPECT_EQ(ReportScript().find("</"), std::string_view::npos);
  EXPECT_THAT(ReportPolicy(), HasSubstr("default-src 'none'; img-src data:; style-src 'sha256-"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
