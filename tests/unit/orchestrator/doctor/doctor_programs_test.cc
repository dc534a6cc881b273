// What doctor says of programs: the worker, LibTorch, mpirun; and how it runs what may hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cluster/messages.h"
#include "orchestrator/doctor/program_check.h"
#include "orchestrator/doctor/report.h"
#include "tests/testing/temporary_directory.h"

namespace retort::orchestrator::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ProgramRun Ran(int code, std::string text) { return {true, false, code, std::move(text)}; }
ProgramRun Hung() { return {true, true, -1, ""}; }

WorkerFacts GoodWorker() {
  WorkerFacts facts;
  facts.program = "/bin/retort-worker";
  facts.build = "0.1.0";
  facts.version = Ran(0, "retort-worker 0.1.0\n");
  facts.report = cluster::WorkerReport{"0.1.0", cluster::kEnvelopeVersion, "2.11.0", "AVX2", 2, 120};
  return facts;
}

TEST(DoctorWorker, WorkerOfThisBuildIsWell) {
  EXPECT_EQ(CheckWorker(GoodWorker()).level, Level::ok);
  EXPECT_EQ(CheckLibTorch(GoodWorker()).level, Level::ok);
  EXPECT_THAT(CheckLibTorch(GoodWorker()).what, HasSubstr("120 GFLOP/s"));
}

TEST(DoctorWorker, MissingProgramIsAProblemThatNamesTheTarget) {
  WorkerFacts facts = GoodWorker();
  facts.cannot_run = "The worker program /bin/retort-worker cannot be run: No such file.";
  EXPECT_EQ(CheckWorker(facts).level, Level::problem);
  EXPECT_THAT(CheckWorker(facts).remedy, HasSubstr("--target retort-worker"));
  facts.named = true;
  EXPECT_THAT(CheckWorker(facts).remedy, HasSubstr("unset RETORT_WORKER"));
}

TEST(DoctorWorker, MissingLibraryIsAProblemThatNamesSetup) {
  WorkerFacts facts = GoodWorker();
  facts.version = Ran(127, "retort-worker: error while loading shared libraries: libtorch_cpu.so: no such file\n");
  EXPECT_EQ(CheckWorker(facts).level, Level::problem);
  EXPECT_THAT(CheckWorker(facts).what, HasSubstr("libtorch_cpu.so"));
  EXPECT_THAT(CheckWorker(facts).remedy, HasSubstr("setup.sh"));
}

TEST(DoctorWorker, OtherBuildIsAProblem) {
  WorkerFacts facts = GoodWorker();
  facts.version = Ran(0, "retort-worker 0.2.0\n");
  EXPECT_EQ(CheckWorker(facts).level, Level::problem);
  facts = GoodWorker();
  facts.report->envelope = cluster::kEnvelopeVersion + 1;
  EXPECT_EQ(CheckWorker(facts).level, Level::problem);
  EXPECT_THAT(CheckWorker(facts).what, HasSubstr("messages of version"));
}

TEST(DoctorWorker, ProgramThatDoesNotAnswerIsAWarning) {
  WorkerFacts facts = GoodWorker();
  facts.version = Hung();
  EXPECT_EQ(CheckWorker(facts).level, Level::warning);
  facts = GoodWorker();
  facts.report.reset();
  facts.silent = true;
  EXPECT_EQ(CheckLibTorch(facts).level, Level::warning);
  facts.silent = false;
  facts.no_report = "the worker program ended";
  EXPECT_EQ(CheckLibTorch(facts).level, Level::problem);
}

TEST(DoctorWorker, MissingSleeperIsAWarning) {
  WorkerFacts facts = GoodWorker();
  facts.sleeper = false;
  EXPECT_EQ(CheckWorker(facts).level, Level::warning);
  facts.named = true;  // a worker for tests has none
  EXPECT_EQ(CheckWorker(facts).level, Level::ok);
}

TEST(DoctorWorker, SlowOrPlainBlasIsAWarning) {
  WorkerFacts facts = GoodWorker();
  facts.report->gflops = 15.9;  // of two threads
  EXPECT_EQ(CheckLibTorch(facts).level, Level::warning);
  facts.report->gflops = 16.1;
  EXPECT_EQ(CheckLibTorch(facts).level, Level::ok);
  facts.report->capability = "DEFAULT";
  EXPECT_EQ(CheckLibTorch(facts).level, Level::warning);
}

MpiFacts GoodMpi() {
  MpiFacts facts;
  facts.library_version = "Open MPI v4.1.4, package: Debian";
  facts.mpirun = "/usr/bin/mpirun";
  facts.version = Ran(0, "mpirun (Open MPI) 4.1.4\n\nReport bugs\n");
  facts.plain = Ran(0, "");
  facts.asked = true;
  return facts;
}

TEST(DoctorMpi, TwoRanksThatStartAreWell) {
  EXPECT_EQ(CheckMpirun(GoodMpi()).level, Level::ok);
  EXPECT_EQ(CheckMpiLibrary(GoodMpi())->level, Level::ok);
  EXPECT_FALSE(CheckRanks(GoodMpi()));
  MpiFacts root = GoodMpi();
  root.root = true;
  EXPECT_THAT(CheckMpirun(root).what, HasSubstr("--allow-run-as-root"));
}

TEST(DoctorMpi, NoMpirunIsANoteUnlessTheAllocationHasSeveralNodes) {
  MpiFacts facts = GoodMpi();
  facts.mpirun = "";
  EXPECT_EQ(CheckMpirun(facts).level, Level::note);
  EXPECT_THAT(CheckMpirun(facts).remedy, HasSubstr("openmpi-bin"));
  facts.several_nodes = true;
  EXPECT_EQ(CheckMpirun(facts).level, Level::warning);
  facts.several_nodes = false;
  facts.named = "/opt/mpirun";
  EXPECT_EQ(CheckMpirun(facts).level, Level::warning);
  EXPECT_THAT(CheckMpirun(facts).remedy, HasSubstr("unset RETORT_MPIRUN"));
  facts.built = false;
  EXPECT_EQ(CheckMpirun(facts).level, Level::note);
  EXPECT_FALSE(CheckMpiLibrary(facts));
}

TEST(DoctorMpi, TooFewSlotsAreANoteThatNamesOversubscribe) {
  MpiFacts facts = GoodMpi();
  facts.plain = Ran(1, "------\nThere are not enough slots available in the system\n");
  facts.helped = Ran(0, "");
  EXPECT_EQ(CheckMpirun(facts).level, Level::note);
  EXPECT_THAT(CheckMpirun(facts).what, HasSubstr("--oversubscribe"));
}

TEST(DoctorMpi, RanksThatDoNotStartAreAWarning) {
  MpiFacts facts = GoodMpi();
  facts.plain = Hung();
  EXPECT_EQ(CheckMpirun(facts).level, Level::warning);
  EXPECT_THAT(CheckMpirun(facts).what, HasSubstr("no end within 3 s"));
  facts.plain = facts.helped.emplace(Ran(1, "-----\n  ORTE has lost communication\n"));
  EXPECT_EQ(CheckMpirun(facts).level, Level::warning);
  EXPECT_THAT(CheckMpirun(facts).what, HasSubstr("ORTE has lost communication"));
  facts.version = Hung();
  EXPECT_EQ(CheckMpirun(facts).level, Level::warning);
}

TEST(DoctorMpi, AnotherMpiThanTheBuiltOneIsAWarning) {
  MpiFacts facts = GoodMpi();
  facts.version = Ran(0, "mpirun (Open MPI) 5.0.2\n");
  EXPECT_EQ(CheckMpiLibrary(facts)->level, Level::warning);
  EXPECT_THAT(CheckMpiLibrary(facts)->remedy, HasSubstr("RETORT_MPIRUN"));
  facts.version = Ran(0, "HYDRA build details:\n    Version: 4.1\n");  // of MPICH, by accident as high
  EXPECT_EQ(CheckMpiLibrary(facts)->level, Level::warning);
  facts.library_version = "MPICH Version: 4.0.2";
  EXPECT_EQ(CheckMpiLibrary(facts)->level, Level::ok);
  facts.version = Ran(0, "mpirun (Open MPI) 4.1.4\n");
  EXPECT_EQ(CheckMpiLibrary(facts)->level, Level::warning);
  EXPECT_THAT(CheckMpiLibrary(facts)->remedy, HasSubstr("cluster/mpi/README.md"));
  EXPECT_EQ(FindSeries("mpirun (Open MPI) 4.1.4"), FindSeries("Open MPI v4.1.6, package: x"));
  EXPECT_EQ(FindSeries("none"), "");
}

TEST(DoctorMpi, LibraryThatCannotBeLoadedStopsRanksAlone) {
  MpiFacts facts = GoodMpi();
  facts.library_trouble = "libmpi.so.40: cannot open shared object file";
  EXPECT_EQ(CheckMpiLibrary(facts)->level, Level::warning);
  facts.launch.under_mpi = true;
  EXPECT_EQ(CheckMpiLibrary(facts)->level, Level::problem);
}

TEST(DoctorMpi, SingletonsAreAProblemAndAnIdleAllocationIsANote) {
  MpiFacts facts = GoodMpi();
  facts.launch = cluster::ReadLaunchEnvironment({"SLURM_STEP_NUM_TASKS=4", "SLURM_NTASKS=4"});
  ASSERT_TRUE(CheckRanks(facts));
  EXPECT_EQ(CheckRanks(facts)->level, Level::problem);
  EXPECT_THAT(CheckRanks(facts)->remedy, HasSubstr("mpirun.sh -np 4"));
  facts.launch = cluster::ReadLaunchEnvironment({"PMI_SIZE=2"});
  EXPECT_EQ(CheckRanks(facts)->level, Level::problem);
  facts.joins = true;
  EXPECT_EQ(CheckRanks(facts)->level, Level::ok);
  facts.joins = false;
  facts.launch = cluster::ReadLaunchEnvironment({"OMPI_COMM_WORLD_SIZE=2"});
  EXPECT_EQ(CheckRanks(facts)->level, Level::ok);
  facts.launch = {};
  facts.allotted = 4;
  EXPECT_EQ(CheckRanks(facts)->level, Level::note);
}

TEST(DoctorProgramRun, TellsOutputCodeAndAbsence) {
  const ProgramRun run =
      RunProgram({"sh", "-c", "echo out; echo err >&2; exit 3"}, {"PATH=/usr/bin:/bin"}, std::chrono::seconds(10));
  EXPECT_TRUE(run.found);
  EXPECT_FALSE(run.succeeded());
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.text, HasSubstr("out\n"));
  EXPECT_THAT(run.text, HasSubstr("err\n"));
  EXPECT_FALSE(RunProgram({"sh"}, {"PATH=/nowhere"}, std::chrono::seconds(1)).found);
  EXPECT_FALSE(RunProgram({"/nowhere/sh"}, {}, std::chrono::seconds(1)).found);
  EXPECT_TRUE(RunProgram({"/bin/sh", "-c", "exit 0"}, {}, std::chrono::seconds(10)).succeeded());
}

TEST(DoctorProgramRun, EndsWhatHangsWithItsChildren) {
  const testing::TemporaryDirectory folder;
  const std::string mark = folder / "alive";
  const auto begin = std::chrono::steady_clock::now();
  const ProgramRun run = RunProgram({"/bin/sh", "-c", "(sleep 2; touch " + mark + ") & trap '' TERM; wait; sleep 60"},
                                    {"PATH=/usr/bin:/bin"}, std::chrono::milliseconds(200));
  EXPECT_TRUE(run.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(2300));
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST(DoctorProgramRun, KeepsOnlyTheBeginningOfALongOutput) {
  const ProgramRun run =
      RunProgram({"/bin/sh", "-c", "head -c 1000000 /dev/zero"}, {"PATH=/usr/bin:/bin"}, std::chrono::seconds(10));
  EXPECT_TRUE(run.succeeded());
  EXPECT_EQ(run.text.size(), std::size_t{16} << 10);
}

TEST(DoctorTimedChecks, CheckThatHangsIsNamedAndDoesNotHoldTheOthers) {
  const auto begin = std::chrono::steady_clock::now();
  const Findings found = RunChecks({{"stuck", Level::problem, "pull the plug",
                                     [] {
                                       std::this_thread::sleep_for(std::chrono::seconds(3));
                                       return Findings{{"stuck", Level::ok, "after all"}};
                                     }},
                                    {"quick", Level::problem, "",
                                     [] {
                                       return Findings{{"quick", Level::ok, "fine"}};
                                     }}},
                                   std::chrono::milliseconds(200));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].level, Level::problem);
  EXPECT_EQ(found[0].remedy, "pull the plug");
  EXPECT_EQ(found[1].what, "fine");
}

std::string Plain(const Findings& findings) {
  return ReportText(findings, [](Level, std::string_view text) { return std::string(text); });
}

TEST(DoctorReport, WorstComesFirstAndTheLastLineCounts) {
  const Findings findings = SortWorstFirst({{"a", Level::ok, "1"},
                                            {"b", Level::warning, "2", "mend it"},
                                            {"c", Level::note, "3"},
                                            {"d", Level::problem, "4"},
                                            {"e", Level::warning, "5"}});
  std::vector<std::string> names;
  for (const Finding& finding : findings) names.push_back(finding.name);
  EXPECT_THAT(names, ElementsAre("d", "b", "e", "c", "a"));
  EXPECT_THAT(Plain(findings), HasSubstr("warning  b: 2\n         -> mend it\n"));
  EXPECT_TRUE(Plain(findings).ends_with("1 problem, 2 warnings\n"));
  EXPECT_TRUE(Plain({{"a", Level::note, "1"}}).ends_with("all well\n"));
  EXPECT_TRUE(Plain({{"a", Level::warning, "1"}}).ends_with("\n1 warning\n"));
}

TEST(DoctorReport, WhatAProgramSaidStaysOnItsLine) {
  const std::string text = Plain({{"a", Level::note, "one\ntwo\x1b[31m", "three\r\nfour"}});
  EXPECT_THAT(text, HasSubstr("a: one two\n"));
  EXPECT_THAT(text, HasSubstr("-> three four\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace retort::orchestrator::doctor
