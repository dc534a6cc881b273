// What is wrong with a sweep: line, column, key, words and the nearest choice, pinned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "experiments/methods/spec_keys.h"
#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

using ::testing::HasSubstr;

struct BadSweep {
  const char* name;
  std::string text;  // behind kHead (5 lines) and kTeachers (4 lines); starts on line 10
  int line, column;
  const char* key;
  const char* words;   // in the message
  const char* choice;  // the first one, or "" for none
};

void PrintTo(const BadSweep& bad, std::ostream* out) { *out << bad.name; }

class BadSweepTest : public ::testing::TestWithParam<BadSweep> {};

TEST_P(BadSweepTest, IsOneLocatedError) {
  const BadSweep& bad = GetParam();
  const PlanOutcome outcome = PlanText(kHead + kTeachers + bad.text);
  EXPECT_FALSE(outcome.plan.has_value());
  ASSERT_EQ(outcome.errors.size(), 1U) << (outcome.errors.size() > 1 ? Render(outcome.errors[1]) : "no error");
  const Diagnostic& error = outcome.errors.front();
  EXPECT_EQ(error.file, "sweeps/test.toml");
  EXPECT_EQ(error.line, bad.line) << Render(error);
  EXPECT_EQ(error.column, bad.column) << Render(error);
  EXPECT_EQ(error.key, bad.key) << Render(error);
  EXPECT_THAT(error.message, HasSubstr(bad.words));
  EXPECT_EQ(error.choices.empty() ? "" : error.choices.front(), bad.choice) << Render(error);
  EXPECT_FALSE(error.source_line.empty());
}

const std::string kTrial = "[trial]\nteacher = \"single\"\n";  // lines 10 and 11

// A teacher of its own on line 10, behind a [teacher] that is closed by then.
std::string LoadedBy(const std::string& definition) {
  return "[teacher.own]\n" + definition + "\n[trial]\nteacher = \"own\"\n";
}

const BadSweep kBadSweeps[] = {
    {"WeightsWithoutANetwork", LoadedBy("weights = \"w.pth\""), 11, 11, "teacher.own.weights",
     "weights need to know their network: set network", ""},
    {"EmptyWeights", LoadedBy("network = \"logistic\"\nweights = \"\""), 12, 11, "teacher.own.weights",
     "is empty: name a file", ""},
    {"WeightsThatAreNoPath", LoadedBy("network = \"logistic\"\nweights = 3"), 12, 11, "teacher.own.weights",
     "takes the path of a file, not", ""},
    {"WeightsThatAreTrained", LoadedBy("network = \"logistic\"\nweights = \"w.pth\"\nepochs = 3"), 13, 10,
     "teacher.own.epochs", "does not apply to a loaded teacher", ""},
    {"WeightsTrainedPrivately", LoadedBy("weights = \"w.pth\"\nprivate = { noise_multiplier = 1 }"), 11, 11,
     "teacher.own.weights", "is not trained here: remove private or weights", ""},
    {"WeightsOfAnEnsemble", LoadedBy("network = \"logistic\"\nmembers = 4\nweights = \"w.pth\""), 12, 11,
     "teacher.own.members", "a file holds one teacher", ""},
    {"WeightsAndModule", LoadedBy("weights = \"w.pth\"\ntorchscript = \"m.pt\""), 12, 15, "teacher.own.torchscript",
     "remove one of them", ""},
    {"ModuleWithANetwork", LoadedBy("network = \"logistic\"\ntorchscript = \"m.pt\""), 11, 11, "teacher.own.network",
     "a TorchScript module is a network of its own", ""},
    {"WeightsOfAnUnsetVariable", LoadedBy("network = \"logistic\"\nweights = \"${RETORT_NO_SUCH_VARIABLE}/w\""), 12, 11,
     "teacher.own.weights", "RETORT_NO_SUCH_VARIABLE is not set", ""},
    {"OutputsOfOtherClasses", LoadedBy("network = \"logistic\"\nweights = \"w.pth\"\noutputs = [0, 217, 482]"), 13, 11,
     "teacher.own.outputs", "has 10 classes: name one output for each class", ""},
    {"OutputsThatStandTwice",
     LoadedBy("network = \"logistic\"\nweights = \"w.pth\"\noutputs = [0, 1, 2, 3, 4, 5, 6, 7, 8, 3]"), 13, 39,
     "teacher.own.outputs", "names 3 twice", ""},
    {"OutputsBelowTheFirst",
     LoadedBy("network = \"logistic\"\nweights = \"w.pth\"\noutputs = [0, -1, 2, 3, 4, 5, 6, 7, 8, 9]"), 13, 15,
     "teacher.own.outputs", "must lie in [0, 1e6]", ""},
    {"NoOutputs", LoadedBy("network = \"logistic\"\nweights = \"w.pth\"\noutputs = []"), 13, 11, "teacher.own.outputs",
     "takes an array of integers", ""},
    {"OutputsThatAreNames", LoadedBy("network = \"logistic\"\nweights = \"w.pth\"\noutputs = [\"tench\"]"), 13, 11,
     "teacher.own.outputs", "takes an array of integers", ""},
    {"OutputsOfATeacherTrainedHere", LoadedBy("network = \"logistic\"\noutputs = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"), 12,
     11, "teacher.own.outputs", "does not apply to a plain teacher; it applies to: loaded teacher", ""},
    {"ExampleClaimOfALoadedTeacher",
     LoadedBy("network = \"logistic\"\nweights = \"w.pth\"") +
         "epsilon = 3\ncalibrate = \"noise\"\nclaim = \"example\"\n",
     17, 9, "trial.claim", "rests on how the teacher was trained", "teacher"},
    {"SoundWithALoadedTeacher", LoadedBy("network = \"logistic\"\nweights = \"w.pth\"") + "reading = \"sound\"\n", 15,
     11, "trial.reading", "\"own\" is a loaded teacher", "shards"},
    {"WeightsOfAStudent", kTrial + "weights = \"w.pth\"\n", 12, 1, "trial.weights",
     "it belongs to a [teacher] definition", ""},
    {"MomentumOfAdam", LoadedBy("network = \"logistic\"\nmomentum = 0.5"), 12, 12, "teacher.own.momentum",
     "momentum is of sgd", ""},
    {"DropsWithoutSteps", LoadedBy("network = \"logistic\"\nlr_drops = 3"), 12, 12, "teacher.own.lr_drops",
     "lr_drops is of schedule", ""},
    {"EnsembleThatIsNotTrained",
     LoadedBy("network = \"logistic\"\nmembers = 3\nepochs = 0") + "reading = \"sound\"\nvote_noise = 1\n", 13, 10,
     "teacher.own.epochs", "epochs must be at least 1", ""},

    {"MisspeltKey", kTrial + "stpes = 10\n", 12, 1, "trial.stpes", "unknown key \"stpes\" in [trial]; did you mean",
     "steps"},
    {"KeyOfTeachersInTrial", kTrial + "network = \"datalens\"\n", 12, 1, "trial.network",
     "here it is called \"student\"", "student"},
    {"SeedInTrial", kTrial + "seed = 3\n", 12, 1, "trial.seed", "write sweep.seeds", ""},
    {"StringForInteger", kTrial + "steps = \"10\"\n", 12, 9, "trial.steps", "takes an integer, not the string \"10\"",
     ""},
    {"RealForInteger", kTrial + "steps = 1e3\n", 12, 9, "trial.steps", "write 1000", ""},
    {"IntegerForFlag", kTrial + "detach = 0\n", 12, 10, "trial.detach", "true or false", ""},
    {"NegativeSigma", kTrial + "sigma = -1\n", 12, 9, "trial.sigma", "must lie in [1e-6, 1e6]", ""},
    {"DeadlineThatNoWorkerMeets", kTrial + "deadline = \"400ms\"\n", 12, 12, "trial.deadline",
     "a deadline below 1 s ends trials that are well", ""},
    {"ZeroLearningRate", kTrial + "lr = 0\n", 12, 6, "trial.lr", "must lie in (0, 1e6]", ""},
    {"NotANumber", kTrial + "lr = nan\n", 12, 6, "trial.lr", "out of range", ""},
    {"MisspeltReading", kTrial + "reading = \"wroking\"\n", 12, 11, "trial.reading", "did you mean \"working\"?",
     "working"},
    {"MisspeltMethod", kTrial + "method = \"dpsdg\"\n", 12, 10, "trial.method", "unknown method \"dpsdg\"", "dpsgd"},
    {"MisspeltNetwork", kTrial + "student = \"data-lens\"\n", 12, 11, "trial.student", "unknown student", "datalens"},
    {"DurationWithoutUnit", kTrial + "deadline = 30\n", 12, 12, "trial.deadline", "a duration such as \"30s\"", ""},
    {"UnknownData", kTrial + "data = \"digit\"\n", 12, 8, "data", "unknown data set \"digit\"", "digits"},
    {"UnknownTeacher", "[trial]\nteacher = \"signle\"\n", 11, 11, "teacher", "unknown teacher \"signle\"", "single"},
    {"UnknownTable", kTrial + "[sweeep]\n", 12, 2, "sweeep", "did you mean \"sweep\"?", "sweep"},
    {"UnknownKeyInSweep", kTrial + "[sweep]\nseed = [1]\n", 13, 1, "sweep.seed", "unknown key \"seed\" in [sweep]",
     "seeds"},
    {"EmptySeeds", kTrial + "[sweep]\nseeds = []\n", 13, 9, "sweep.seeds", "is empty", ""},
    {"RepeatedSeed", kTrial + "[sweep]\nseeds = [1, 2, 1]\n", 13, 16, "sweep.seeds", "seed 1 stands here twice", ""},
    {"NegativeSeed", kTrial + "[sweep]\nseeds = [-1]\n", 13, 10, "sweep.seeds", "out of range", ""},
    {"EmptyAxis", kTrial + "[sweep]\ngrid.sigma = []\n", 13, 14, "sweep.grid.sigma", "an empty array", ""},
    {"MisspeltAxis", kTrial + "[sweep]\ngrid.sgima = [1]\n", 13, 6, "sweep.grid.sgima", "unknown key", "sigma"},
    {"RepeatedAxisValue", kTrial + "[sweep]\ngrid.sigma = [1, 1.0]\n", 13, 18, "sweep.grid.sigma", "twice", ""},
    {"RepeatedRow", kTrial + "[sweep]\nzip.row = [{ sigma = 1 }, { sigma = 1 }]\n", 13, 27, "sweep.zip.row", "twice",
     ""},
    {"KeyOnTwoAxes", kTrial + "[sweep]\ngrid.sigma = [1]\nzip.a = [{ sigma = 2 }]\n", 14, 20, "sweep.zip.a",
     "sigma varies on two axes", ""},
    {"BadRowValue", kTrial + "[sweep]\nzip.a = [{ sigma = 2 }, { sigma = true }]\n", 13, 35, "sweep.zip.a.sigma",
     "takes a number", ""},
    {"WhenWithoutSet", kTrial + "[sweep]\nwhen = [{ if = { sigma = 1 } }]\n", 13, 9, "sweep.when", "takes rules", "if"},
    {"ExcludeEverything", kTrial + "[sweep]\nexclude = [{ method = \"dpdfd\" }]\n", 12, 1, "sweep.exclude",
     "every trial is excluded", ""},
    {"ExcludeUnknownKey", kTrial + "[sweep]\nexclude = [{ mehtod = \"dpdfd\" }]\n", 13, 14, "sweep.exclude.mehtod",
     "unknown key \"mehtod\"", "method"},
    {"SoundWithPlainTeacher", kTrial + "reading = \"sound\"\n", 12, 11, "trial.reading",
     "\"single\" is a plain teacher", "shards"},
    {"EnsembleAskedForGradients", "[trial]\nteacher = \"shards\"\n", 11, 11, "trial.teacher", "asks a single teacher",
     "sound"},
    {"ReadingThatTheMethodLacks", kTrial + "method = \"dpdfd-direct\"\nreading = \"sound\"\n", 13, 11, "trial.reading",
     "has no reading \"sound\"", "working"},
    {"OwnLabelsByALossOfPredictions", "[trial]\nmethod = \"dpdfd-direct\"\nlabel = \"true\"\n", 12, 9, "trial.label",
     "the other losses are of a teacher's predictions", "ce-hard"},
    {"OwnLabelsWithAGraphToATeacher",
     "[trial]\nmethod = \"dpdfd-direct\"\nlabel = \"true\"\nloss = \"ce-hard\"\ndetach = false\n", 14, 10,
     "trial.detach", "none is asked", ""},
    {"ReadingOfAMethodWithoutAny", "[sweep]\nzip.a = [{ method = \"alibi\", reading = \"printed\" }]\n", 11, 40,
     "sweep.zip.a.reading", "has no readings", ""},
    {"EnsembleMethodWithASingleTeacher", kTrial + "method = \"dpdfd-ensemble\"\n", 11, 11, "trial.teacher",
     "asks an ensemble", "shards"},
    {"MoreTopKThanClasses", kTrial + "method = \"dpsd-data\"\ntop_k = 11\n", 13, 9, "trial.top_k",
     "more than the 10 classes", ""},
    {"ResponseOverOneClass", kTrial + "method = \"dpsd-label\"\ntop_k = 1\n", 13, 9, "trial.top_k", "at least 2", ""},
    {"ResponseWithoutEpsilon", kTrial + "method = \"dpsd-label\"\nepsilon0 = 0\n", 13, 12, "trial.epsilon0",
     "needs epsilon0, or epsilon", "epsilon0"},
    {"PretrainingThroughTheStudent", kTrial + "pretrain_steps = 5\n", 12, 18, "trial.pretrain_steps",
     "against the teacher", "teacher"},
    {"StatisticsOfATeacherWithoutBatchNorms", kTrial + "discriminator = \"teacher\"\nbn_statistics = 1\n", 13, 17,
     "trial.bn_statistics", "\"logistic\" has none", ""},
    {"EnsembleAsDiscriminator",
     "[trial]\nteacher = \"shards\"\nmethod = \"dpdfd-ensemble\"\ndiscriminator = \"teacher\"\n", 13, 17,
     "trial.discriminator", "an ensemble is no discriminator", "student"},
    {"NormOverTheBatchOfAnEnsemble",
     "[trial]\nteacher = \"shards\"\nmethod = \"feddpsd\"\nnormalization = \"frobenius\"\n", 13, 17,
     "trial.normalization", "bounded row by row", "row"},
    {"MaskOverTheBatchOfRows", kTrial + "top_k = 3\nmask_over = \"batch\"\n", 13, 13, "trial.mask_over",
     "needs normalization = \"frobenius\"", "row"},
    {"GraphOfAnEnsemble", "[trial]\nteacher = \"shards\"\nmethod = \"feddpsd\"\ndetach = false\n", 13, 10,
     "trial.detach", "\"shards\" is an ensemble", ""},
    {"BranchOfAnotherMethod", kTrial + "branch = \"label\"\n", 12, 10, "trial.branch", "of method \"feddpsd\"", ""},
    {"LabelMethodAskedForExamples",
     "[trial]\nmethod = \"alibi\"\nepsilon = 1\nclaim = \"example\"\ncalibrate = \"noise\"\n", 13, 9, "trial.claim",
     "protects labels only", "label"},
    {"BaselineOnSeveralDevices", "[trial]\nmethod = \"dense\"\nteacher = \"shards\"\ndevices = 2\n", 13, 11,
     "trial.devices", "runs on one device", ""},
    {"DpdfdWithoutTeacher", "[trial]\nsteps = 5\n", 10, 1, "trial.method", "needs a teacher", "single"},
    {"QueriesWithoutEnsemble", kTrial + "[sweep]\nzip.a = [{ queries = 10 }]\n", 13, 22, "sweep.zip.a.queries",
     "a teacher that is an ensemble", "shards"},
    {"QueriesBeyondPublicSplit",
     "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nsource = \"public\"\nvote_noise = 1\nqueries = "
     "1001\n",
     15, 11, "trial.queries", "more than the 1000 public examples", ""},
    {"QueriesBeyondWhatIsGenerated",
     "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nvote_noise = 1\nbatch = 4\nsteps = 4\nqueries = "
     "17\n",
     16, 11, "trial.queries", "more than batch times steps, 16", ""},
    {"GeneratorOfOneChannel", kTrial + "generator_width = 1\n", 12, 19, "trial.generator_width",
     "must lie in [2, 4096]", ""},
    {"QueriesOfZero", "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nvote_noise = 1\nqueries = 0\n", 14, 11,
     "trial.queries", "queries must be at least 1", ""},
    {"LabelStepsOfZero",
     "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nsource = \"public\"\nvote_noise = 1\nlabel_steps = "
     "0\n",
     15, 15, "trial.label_steps", "label_steps must be at least 1", ""},
    {"VotesFinerThanTheNoise", "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nvote_noise = 2000\ngrain = 1000\n",
     14, 9, "trial.grain", "at most 1048576", ""},
    {"VotesWithLessNoiseThanCanBeDrawn",
     "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nvote_noise = 0.001\ngrain = 15\n", 13, 14, "trial.vote_noise",
     "at least 0.015625", ""},
    {"ThresholdWithoutNoise", "[trial]\nteacher = \"shards\"\nmethod = \"pate\"\nvote_noise = 40\nvote_threshold = 2\n",
     14, 18, "trial.vote_threshold", "need threshold_noise", "threshold_noise"},
    {"ThresholdOfHistograms",
     "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nsource = \"public\"\nvote_noise = 1\n"
     "vote_threshold = 2\nthreshold_noise = 3\n",
     16, 19, "trial.threshold_noise", "the first class alone is released", "argmax"},
    {"MoreAnswersThanQueries",
     "[trial]\nteacher = \"shards\"\nmethod = \"pate\"\nvote_noise = 40\nvote_threshold = 2\nthreshold_noise = 3\n"
     "queries = 10\nanswers = 11\n",
     17, 11, "trial.answers", "answers is at most queries", "queries"},
    {"HintsOfMembersWithoutAMiddle",
     "[trial]\nmethod = \"rona\"\nreading = \"sound\"\nteacher = \"shards\"\nqueries = 20\nvote_noise = "
     "40\nhint_epochs = "
     "2\n",
     16, 15, "trial.hint_epochs", "\"shards\" shows none: set hint_epochs = 0", ""},
    {"VotesWithoutNoise", "[trial]\nteacher = \"shards\"\nreading = \"sound\"\n", 12, 11, "trial.reading",
     "noisy votes need noise", "vote_noise"},
    {"DpsgdWithoutNoise", "[trial]\nmethod = \"dpsgd\"\n", 11, 10, "trial.method", "needs noise", "noise_multiplier"},
    {"DpsgdBatchBeyondTrain", "[trial]\nmethod = \"dpsgd\"\nnoise_multiplier = 1\nbatch = 8001\n", 13, 9, "trial.batch",
     "more than the 8000 private examples", ""},
    {"CopiesThatAreAllAlike", "[trial]\nmethod = \"dpsgd\"\nnoise_multiplier = 1\naugment_multiplicity = 4\n", 13, 24,
     "trial.augment_multiplicity", "augment_multiplicity = 4 needs augment or shift", "augment"},
    {"CopiesWithoutAugmentation",
     "[trial]\nmethod = \"dpsgd\"\nnoise_multiplier = 1\nshift = 2\naugment = \"none\"\naugment_multiplicity = 4\n", 15,
     24, "trial.augment_multiplicity", "augment_multiplicity = 4 needs augment or shift", "augment"},
    {"FullBatchOfSampledSteps", "[trial]\nmethod = \"dpsgd\"\nnoise_multiplier = 1\nbatch = \"full\"\n", 13, 9,
     "trial.batch", "noisy gradients of all private examples", "dp-gd"},
    {"SampledBatchOfStepsOverAll", "[trial]\nmethod = \"dp-gd\"\nnoise_multiplier = 1\nbatch = 256\n", 13, 9,
     "trial.batch", "takes every private example in every step", "full"},
    {"BatchThatIsAnotherWord", "[trial]\nmethod = \"dp-gd\"\nnoise_multiplier = 1\nbatch = \"all\"\n", 13, 9,
     "trial.batch", "takes an integer, or \"full\"", ""},
    {"EpsilonWithoutClaim", "[trial]\nmethod = \"dpsgd\"\nnoise_multiplier = 1\nepsilon = 3\n", 13, 11, "trial.epsilon",
     "set claim, and calibrate", "claim"},
    {"BalanceOfLabelsThatNobodyShares",
     "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nsource = \"public\"\nvote_noise = 1\nbalance = true\n", 15,
     11, "trial.balance", "set neighbours, or remove balance", ""},
    {"PlaceAmongNobody", "[trial]\nmethod = \"dp-spectral\"\nnoise_multiplier = 1\nneighbours = 0\n", 13, 14,
     "trial.neighbours", "must be at least 1", ""},
    {"MoreEigenvectorsThanPictures", "[trial]\nmethod = \"dp-spectral\"\nnoise_multiplier = 1\neigenvectors = 4000\n",
     13, 16, "trial.eigenvectors", "is more than the 1000 public pictures", ""},
    {"GeneratorForWhatLabelsPublicPictures",
     "[sweep]\nzip.a = [{ method = \"dp-spectral\", noise_multiplier = 1, source = \"generator\" }]\n", 11, 67,
     "sweep.zip.a.source", "trains on the public split: remove source", "public"},
    {"OddRandomFeatures", "[trial]\nmethod = \"dp-merf\"\nnoise_multiplier = 1\nrandom_features = 2001\n", 13, 19,
     "trial.random_features", "it must be even", ""},
    {"EmbeddingWithoutEpochs", "[trial]\nmethod = \"dp-merf\"\nnoise_multiplier = 1\nepochs = 0\n", 13, 10,
     "trial.epochs", "epochs must be at least 1", ""},
    {"VotesOnMoreCandidatesThanClasses",
     "[trial]\nmethod = \"dpsd-label\"\nreading = \"sound\"\nteacher = \"shards\"\nvote_noise = 1\ntop_k = 11\n", 15, 9,
     "trial.top_k", "more than the 10 classes", ""},
    {"DrawnPicturesThatNoMemoryHolds",
     "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nvote_noise = 1\nsource = \"procedural\"\nbatch = "
     "256\nsteps = 12000\n",
     16, 9, "trial.steps", "would be 9 GB, and 8 GB is the most", ""},
    {"BatchOfWhatReleasesOnce", "[trial]\nmethod = \"dp-spectral\"\nnoise_multiplier = 1\nbatch = 64\n", 13, 9,
     "trial.batch", "reaches no trial", ""},
    {"PrivateSourceForDpdfd", kTrial + "source = \"private\"\n", 12, 10, "trial.source", "asked about generated inputs",
     "generator"},
    {"PublicSourceForASingleTeacher", kTrial + "source = \"public\"\n", 12, 10, "trial.source",
     "asked about generated inputs", "generator"},
    {"KeyThatReachesNothing", kTrial + "vote_noise = 3\n", 12, 14, "trial.vote_noise", "reaches no trial", ""},
    {"RowKeyThatReachesNothing", "[sweep]\nzip.a = [{ method = \"dpsgd\", noise_multiplier = 1, kappa = 1 }]\n", 11, 60,
     "sweep.zip.a.kappa", "reaches no trial", ""},
    {"SweepNameThatNamesNoFolder", kTrial + "[sweep]\nname = \"a/b\"\n", 13, 8, "sweep.name", "names a folder", ""},
    {"TableWithoutRows", kTrial + "[table.t]\ncolumns = [\"data\"]\n", 12, 1, "table.t.rows", "missing table.t.rows",
     ""},
    {"TableOfUnknownMetric", kTrial + "[table.t]\nrows = [\"data\"]\nmetric = \"test.acuracy\"\n", 14, 10,
     "table.t.metric", "unknown metric", "test.accuracy"},
    {"FigureOfUnknownMetric",
     kTrial + "[sweep]\ngrid.batch = [16, 32]\n[figure.f]\nx = \"batch\"\ny = \"step_secconds\"\n", 16, 5, "figure.f.y",
     "unknown metric", "step_seconds"},
    {"TableOfUnknownKey", kTrial + "[table.t]\nrows = [\"raeding\"]\n", 13, 9, "table.t.rows", "unknown key",
     "reading"},
    {"TooManyTrials",
     kTrial + "[sweep]\ngrid.steps = [1,2,3,4,5,6,7,8,9,10]\ngrid.batch = [1,2,3,4,5,6,7,8,9,10]\n"
              "grid.sigma = [1,2,3,4,5,6,7,8,9,10]\ngrid.lr = [1,2,3,4,5,6,7,8,9,10]\ngrid.kappa = "
              "[1,2,3,4,5,6,7,8,9,10]\n"
              "grid.replay = [1,2,3,4,5,6,7,8,9,10]\nseeds = [1, 2]\n",
     12, 1, "sweep", "more than 1000000 trials", ""},
};

INSTANTIATE_TEST_SUITE_P(Each, BadSweepTest, ::testing::ValuesIn(kBadSweeps),
                         [](const auto& bad) { return std::string(bad.param.name); });

// Errors of the tables above [trial]: whole texts, the one error.
struct BadTable {
  const char* name;
  std::string data, teacher;  // in place of line 3 and following, of line 7
  int line, column;
  const char* key;
  const char* words;
};
void PrintTo(const BadTable& bad, std::ostream* out) { *out << bad.name; }

class BadTableTest : public ::testing::TestWithParam<BadTable> {};

TEST_P(BadTableTest, IsOneLocatedError) {
  const BadTable& bad = GetParam();
  const std::string data =
      bad.data.empty() ? "reader = \"idx\"\npath = \"p\"\nsplit = { train = [0, 9], test = [9, 10] }\n" : bad.data;
  const std::string teacher = bad.teacher.empty() ? "single = { epochs = 1 }" : bad.teacher;
  const PlanOutcome outcome =
      PlanText("retort = 1\n[data.digits]\n" + data + "[teacher]\n" + teacher + "\n[trial]\nteacher = \"single\"\n");
  ASSERT_EQ(outcome.errors.size(), 1U) << (outcome.errors.size() > 1 ? Render(outcome.errors[1]) : "no error");
  const Diagnostic& error = outcome.errors.front();
  EXPECT_EQ(error.line, bad.line) << Render(error);
  EXPECT_EQ(error.column, bad.column) << Render(error);
  EXPECT_EQ(error.key, bad.key) << Render(error);
  EXPECT_THAT(error.message, HasSubstr(bad.words));
}

std::string DataWith(const std::string& split) { return "reader = \"idx\"\npath = \"p\"\nsplit = " + split + "\n"; }

const BadTable kBadTables[] = {
    {"PublicOverlapsTrain", DataWith("{ train = [0, 10], public = [9, 12], test = [12, 14] }"), "", 5, 37,
     "data.digits.split.public", "overlaps train = [0, 10]"},
    {"TestOverlapsPublic", DataWith("{ train = [0, 10], public = [10, 12], test = [11, 14] }"), "", 5, 54,
     "data.digits.split.test", "overlaps public = [10, 12]"},
    {"TestOverlapsTrain", DataWith("{ train = [0, 10], test = [0, 14] }"), "", 5, 35, "data.digits.split.test",
     "overlaps train"},
    {"RangeBeyondTheExamples", DataWith("{ train = [0, 10], test = [10, 10001] }"), "", 5, 35, "data.digits.split.test",
     "holds 10000 examples"},
    {"EmptyTrain", DataWith("{ train = [3, 3], test = [10, 11] }"), "", 5, 19, "data.digits.split.train",
     "holds no example"},
    {"BackwardRange", DataWith("{ train = [0, 3], test = [11, 10] }"), "", 5, 34, "data.digits.split.test",
     "begin < end"},
    {"RangeOfThree", DataWith("{ train = [0, 3, 4], test = [11, 12] }"), "", 5, 19, "data.digits.split.train",
     "a range [begin, end) of two integers"},
    {"MissingTest", DataWith("{ train = [0, 3] }"), "", 5, 9, "data.digits.split.test",
     "missing data.digits.split.test"},
    {"MisspeltSplit", DataWith("{ train = [0, 3], test = [4, 5], pubilc = [5, 6] }"), "", 5, 42,
     "data.digits.split.pubilc", "did you mean \"public\"?"},
    {"MissingReader", "path = \"p\"\nsplit = { train = [0, 9], test = [9, 10] }\n", "", 2, 1, "data.digits.reader",
     "missing data.digits.reader"},
    {"UnknownReader", "reader = \"idxx\"\npath = \"p\"\nsplit = { train = [0, 9], test = [9, 10] }\n", "", 3, 10,
     "data.digits.reader", "unknown reader \"idxx\""},
    {"UnsetVariable",
     "reader = \"idx\"\npath = \"${RETORT_TEST_UNSET}/p\"\nsplit = { train = [0, 9], test = [9, 10] }\n", "", 4, 8,
     "data.digits.path", "RETORT_TEST_UNSET is not set"},
    {"ClassesOutOfRange", DataWith("{ train = [0, 9], test = [9, 10] }") + "classes = 1\n", "", 6, 11,
     "data.digits.classes", "must lie in [2, 65536]"},
    {"BudgetWithoutDelta", DataWith("{ train = [0, 9], test = [9, 10] }") + "budget = { epsilon = 1 }\n", "", 6, 10,
     "data.digits.budget.delta", "missing data.digits.budget.delta"},
    {"TeacherKeyOfAnotherKind", "", "single = { steps = 3 }", 7, 20, "teacher.single.steps",
     "steps does not apply to a plain teacher"},
    {"PrivateEnsemble", "", "single = { members = 4, private = { epsilon = 1 } }", 7, 22, "teacher.single.members",
     "either private or an ensemble"},
    {"PrivateWithoutTarget", "", "single = { batch = 4, private = { norm_bound = 1 } }", 7, 33,
     "teacher.single.private", "needs either epsilon or noise_multiplier"},
    {"PrivateMisspelt", "", "single = { batch = 4, private = { epsilno = 1, epsilon = 1 } }", 7, 35,
     "teacher.single.private.epsilno", "did you mean \"epsilon\"?"},
    {"StudentInTeacher", "", "single = { student = \"logistic\" }", 7, 12, "teacher.single.student",
     "here it is called \"network\""},
    {"DeltaInTeacher", "", "single = { delta = 1e-5 }", 7, 12, "teacher.single.delta", "teachers take it from [trial]"},
    {"PrivateBatchBeyondTrain", "", "single = { batch = 100, private = { epsilon = 1 } }", 7, 20,
     "teacher.single.batch", "more than the 9 private examples"},
    {"CopiesOfATeacherThatAreAllAlike", "",
     "single = { batch = 4, augment_multiplicity = 8, private = { noise_multiplier = 1 } }", 7, 46,
     "teacher.single.augment_multiplicity", "augment_multiplicity = 8 needs augment or shift"},
    {"PublicSourceWithoutPublicSplit", "",
     "single = { members = 2 }\n[sweep]\nwhen = [{ if = { seed = 0 }, set = { "
     "reading = \"sound\", vote_noise = 1, source = \"public\" } }]",
     9, 82, "sweep.when.set.source", "data.digits.split has no public range"},
    {"LogisticEnsembleWithAnOptimiser", "",
     "single = { members = 3, optimizer = \"sgd\" }\n[sweep]\nwhen = [{ if = { seed = 0 }, "
     "set = { reading = \"sound\", vote_noise = 1 } }]",
     7, 37, "teacher.single.optimizer", "trained together, by Adam"},
    {"RidgeOfANetworkThatIsTrained", "",
     "single = { members = 3, network = \"datalens\", ridge = 0.3 }\n[sweep]\nwhen = [{ if = { seed = 0 }, "
     "set = { reading = \"sound\", vote_noise = 1 } }]",
     7, 55, "teacher.single.ridge", "frozen but for it"},
    {"RidgeWithARate", "",
     "single = { members = 3, network = \"hog-linear\", ridge = 0.3, lr = 0.1 }\n[sweep]\nwhen = [{ if = { seed = 0 }, "
     "set = { reading = \"sound\", vote_noise = 1 } }]",
     7, 67, "teacher.single.lr", "lr is not used: ridge fits each member in closed form"},
    {"RidgeWithMomentum", "",
     "single = { members = 3, network = \"hog-linear\", ridge = 0.3, momentum = 0.5 }\n[sweep]\nwhen = [{ if = { seed "
     "= 0 }, "
     "set = { reading = \"sound\", vote_noise = 1 } }]",
     7, 73, "teacher.single.momentum", "momentum is not used: ridge fits each member in closed form"},
    {"RidgeWithoutEpochs", "",
     "single = { members = 3, network = \"hog-linear\", ridge = 0.3, epochs = 0 }\n[sweep]\nwhen = [{ if = { seed = 0 "
     "}, "
     "set = { reading = \"sound\", vote_noise = 1 } }]",
     7, 71, "teacher.single.epochs", "epochs is not used: ridge fits each member in closed form"},
    {"RidgeOfASingleNetwork", "", "single = { network = \"hog-linear\", ridge = 0.3 }", 7, 44, "teacher.single.ridge",
     "ridge does not apply to a plain teacher"},
    {"MomentumOfAnEnsembleByAdam", "",
     "single = { members = 3, network = \"datalens\", momentum = 0.5 }\n[sweep]\nwhen = [{ if = { seed = 0 }, "
     "set = { reading = \"sound\", vote_noise = 1 } }]",
     7, 58, "teacher.single.momentum", "momentum is of sgd"},
    {"MembersOfADirichletPartitionWithoutTenExamplesEach", DataWith("{ train = [0, 29], test = [30, 31] }"),
     "single = { members = 3, network = \"datalens\", partition = \"dirichlet\" }\n[sweep]\nwhen = [{ if = { seed = 0 "
     "}, set = { reading = \"sound\", vote_noise = 1 } }]",
     7, 22, "teacher.single.members", "2 members at most"},
    {"ActivationOfAFrozenNetwork", "",
     "single = { network = \"hog-linear\", activation = \"tanh\", batch = \"full\", private = { epsilon = 1 } }", 7, 49,
     "teacher.single.activation", "has no activations to replace"},
    {"SkippedPicturesOfAnySize",
     "reader = \"pictures\"\npath = \"p\"\nsplit = { train = [0, 9], test = [9, 10] }\non_error = "
     "\"skip-and-count\"\n",
     "", 6, 12, "data.digits.on_error", "needs crop or size"},
    {"MembersBeyondTrain", "",
     "single = { members = 10 }\n[sweep]\nwhen = [{ if = { seed = 0 }, set = { reading = "
     "\"sound\", vote_noise = 1 } }]",
     7, 22, "teacher.single.members", "more than the 9 private examples"},
};

INSTANTIATE_TEST_SUITE_P(Each, BadTableTest, ::testing::ValuesIn(kBadTables),
                         [](const auto& bad) { return std::string(bad.param.name); });

// A claim for an example, of an ensemble on `data` whose definition ends in `partition`; what is wrong with it.
std::vector<Diagnostic> CheckExampleClaim(const std::string& data, const std::string& partition) {
  return PlanText("retort = 1\n[data.set]\n" + data + "[teacher]\nshards = { network = \"datalens\", members = 4" +
                  partition +
                  " }\n[trial]\nteacher = \"shards\"\nreading = \"sound\"\nclaim = \"example\"\nepsilon = 1\n"
                  "calibrate = \"noise\"\nsource = \"public\"\n")
      .errors;
}

TEST(SweepErrors, ShardsThatFollowExamplesHaveNoExampleClaim) {
  const std::string split = "split = { train = [0, 8000], public = [8000, 9000], test = [9000, 10000] }\n";
  const std::string digits = "reader = \"idx\"\npath = \"p\"\n" + split;
  const std::string images = "reader = \"pictures\"\npath = \"p\"\nresize = 32\ncrop = 32\n" + split;
  EXPECT_TRUE(CheckExampleClaim(digits, "").empty());
  EXPECT_TRUE(CheckExampleClaim(images + "on_error = \"fail\"\n", "").empty());
  const std::pair<std::string, std::vector<Diagnostic>> wrong[] = {
      {"Dirichlet", CheckExampleClaim(digits, ", partition = \"dirichlet\"")},
      {"data.set.sensitive_classes", CheckExampleClaim(digits + "sensitive_classes = [6]\n", "")},
      {"data.set.on_error", CheckExampleClaim(images + "on_error = \"skip-and-count\"\n", "")}};
  for (const auto& [why, errors] : wrong) {
    ASSERT_EQ(errors.size(), 1U) << why;
    EXPECT_EQ(errors[0].key, "trial.claim") << Render(errors[0]);
    EXPECT_THAT(errors[0].message, HasSubstr(why));
    EXPECT_EQ(errors[0].choices, std::vector<std::string>{"member"});
  }
}

TEST(SweepErrors, FrozenLayersLimitThePictureSize) {
  const auto errors_at = [](std::int64_t side) {
    PlanHooks hooks = FakeHooks();
    hooks.inspect = [side](DataSpec& data) {
      data.digest = std::string(64, 'a');
      data.examples = 10000;
      data.height = data.width = side;
      return Status();
    };
    return PlanText(kHead + "[trial]\nmethod = \"dp-gd\"\nnoise_multiplier = 1\nstudent = \"patch-linear\"\n", {},
                    hooks)
        .errors;
  };
  EXPECT_TRUE(errors_at(96).empty());
  const std::vector<Diagnostic> errors = errors_at(97);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].key, "trial.student");
  EXPECT_THAT(errors[0].message, HasSubstr("needs images of at most 96 pixels a side"));
}

TEST(SweepErrors, AllAreReportedAtOnceInTheOrderOfTheFile) {
  const PlanOutcome outcome = PlanText(kHead + kTeachers +
                                       "[trial]\nteacher = \"single\"\nstpes = 1\nsigma = \"x\"\n"
                                       "[sweep]\nseeds = [1, 1]\ngrid.readng = [1]\n[table.t]\nrows = [\"x_y_z\"]\n");
  std::vector<int> lines;
  for (const Diagnostic& error : outcome.errors) lines.push_back(error.line);
  EXPECT_THAT(lines, ::testing::ElementsAre(12, 13, 15, 16, 18));
}

TEST(SweepErrors, TomlSyntaxIsLocated) {
  const PlanOutcome outcome = PlanText(kHead + "[trial]\nsteps = = 1\n");
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].line, 7);
  EXPECT_THAT(outcome.errors[0].message, HasSubstr("not valid TOML"));
}

TEST(SweepErrors, RepeatedKeyIsASyntaxError) {
  const PlanOutcome outcome = PlanText(kHead + "[trial]\nsteps = 1\nsteps = 2\n");
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].line, 8);
}

TEST(SweepErrors, OtherFormatVersionIsTheOnlyComplaint) {
  const PlanOutcome outcome = PlanText("retort = 2\n[nonsense]\n");
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].line, 1);
  EXPECT_EQ(outcome.errors[0].column, 10);
  EXPECT_EQ(outcome.errors[0].key, "retort");
  EXPECT_THAT(outcome.errors[0].message, HasSubstr("write retort = 1"));
}

TEST(SweepErrors, MissingVersionAndDataAreNamed) {
  const PlanOutcome outcome = PlanText("[trial]\nsteps = 1\n");
  ASSERT_EQ(outcome.errors.size(), 2U);
  EXPECT_THAT(outcome.errors[0].message, HasSubstr("missing retort"));
  EXPECT_THAT(outcome.errors[1].message, HasSubstr("missing data"));
}

TEST(SweepErrors, UnknownMethodWithoutDataIsTheOnlyComplaint) {
  const PlanOutcome outcome = PlanText("retort = 1\n[trial]\nmethod = \"slep\"\n");
  ASSERT_EQ(outcome.errors.size(), 1U) << Render(outcome.errors.back());
  EXPECT_THAT(outcome.errors[0].message, HasSubstr("did you mean \"sleep\"?"));
}

struct HostileText {
  const char* text;
  int line, column;
  const char* key;
  const char* control;
  const char* right;
};

TEST(SweepErrors, ControlCharactersAreRefusedInEveryNameAndText) {
  const HostileText kTexts[] = {
      {"[data.\"a\\u001b[31mX\"]\n", 10, 7, "data.\"a\\u001B[31mX\"", "U+001B", "\"aX\""},
      {"[teacher.\"t\\u001b[2Jz\"]\n", 10, 10, "teacher.\"t\\u001B[2Jz\"", "U+001B", "\"tz\""},
      {"[table.\"tab\\nnew\"]\n", 10, 8, "table.\"tab\\u000Anew\"", "U+000A", "\"tab new\""},
      {"[figure.\"f\\u202e\"]\n", 10, 9, "figure.\"f\\u202E\"", "U+202E", "\"f \""},
      {"[profile.\"p\\u0007\"]\n", 10, 10, "profile.\"p\\u0007\"", "U+0007", "\"p \""},
      {"[sweep]\nname = \"s\\u009b\"\n", 11, 8, "sweep.name", "U+009B", "\"s \""},
      {"[table.t]\nrows = [\"method\", \"a\\u0000\"]\n", 11, 19, "table.t.rows", "U+0000", "\"a \""},
      {"[profile.p]\nfigure.f.title = \"\\u2066x\"\n", 11, 18, "profile.p.figure.f.title", "U+2066", "\" x\""},
      {"[sweep]\nzip.\"r\\u007f\" = []\n", 11, 5, "sweep.zip.\"r\\u007F\"", "U+007F", "\"r \""},
  };
  for (const HostileText& hostile : kTexts) {
    const PlanOutcome outcome = PlanText(kHead + kTeachers + hostile.text);
    ASSERT_EQ(outcome.errors.size(), 1U) << hostile.text;
    const Diagnostic& error = outcome.errors[0];
    EXPECT_EQ(error.file, "sweeps/test.toml");
    EXPECT_EQ(error.line, hostile.line) << Render(error);
    EXPECT_EQ(error.column, hostile.column) << Render(error);
    EXPECT_EQ(error.key, hostile.key);
    EXPECT_THAT(error.message, HasSubstr(hostile.control));
    EXPECT_THAT(error.choices, ::testing::ElementsAre(hostile.right));
  }
}

TEST(SweepErrors, LongFileNamesNeedAnExplicitName) {
  const std::string text = kHead + kTeachers + "[trial]\nteacher = \"single\"\n";
  const std::string longest(200, 'n');
  EXPECT_TRUE(ParseSweep(text, "sweeps/" + longest + ".toml", {}, FakeHooks()).plan.has_value());
  const PlanOutcome unnamed = ParseSweep(text, "sweeps/" + longest + "n.toml", {}, FakeHooks());
  ASSERT_EQ(unnamed.errors.size(), 1U);
  EXPECT_EQ(unnamed.errors[0].key, "sweep.name");
  EXPECT_THAT(unnamed.errors[0].message, HasSubstr("has 201 bytes, and files are called by it: 200 at most"));
  EXPECT_TRUE(
      ParseSweep(text + "[sweep]\nname = \"a\"\n", "sweeps/" + longest + "n.toml", {}, FakeHooks()).plan.has_value());
}

// The folder of a trial adds an id to its name.
TEST(SweepErrors, LongDataNamesAreCutAndStillDiffer) {
  std::string head = kHead;
  head.replace(head.find("digits"), 6, std::string(230, 'd'));
  const SweepPlan plan = GoodPlan(head + kTeachers + "[trial]\nteacher = \"single\"\ndata = \"" +
                                  std::string(230, 'd') + "\"\n[sweep]\nseeds = [0, 1]\n");
  ASSERT_EQ(plan.trials.size(), 4U);
  std::set<std::string> names;
  for (const TrialSpec& trial : plan.trials) {
    EXPECT_LE(trial.name.size() + 1 + trial.id.Hex().size(), 255U);
    names.insert(trial.name);
  }
  EXPECT_EQ(names.size(), 4U);
}

TEST(SweepErrors, AFileWhoseNameHoldsAControlNeedsANameOfItsOwn) {
  const std::string text = kHead + kTeachers + "[trial]\nteacher = \"single\"\n";
  const PlanOutcome unnamed = ParseSweep(text, "sweeps/a\x1b[2J.toml", {}, FakeHooks());
  ASSERT_EQ(unnamed.errors.size(), 1U);
  EXPECT_THAT(unnamed.errors[0].message, HasSubstr("holds the control character U+001B: set name in [sweep]"));
  EXPECT_TRUE(ParseSweep(text + "[sweep]\nname = \"a\"\n", "sweeps/a\x1b[2J.toml", {}, FakeHooks()).plan.has_value());
}

TEST(SweepErrors, EmptyFileIsNotAPlan) { EXPECT_FALSE(PlanText("").plan.has_value()); }

TEST(SweepErrors, MissingDataStandsAtThePath) {
  PlanHooks hooks = FakeHooks();
  hooks.inspect = [](DataSpec& data) { return EnvironmentError("no folder " + data.path); };
  const PlanOutcome outcome = PlanText(kHead + kTeachers + "[trial]\nteacher = \"single\"\n", {}, hooks);
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].line, 4);
  EXPECT_EQ(outcome.errors[0].column, 8);
  EXPECT_EQ(outcome.errors[0].key, "data.digits.path");
}

TEST(SweepErrors, WeightsThatCannotBeReadStandAtTheirKey) {
  PlanHooks hooks = FakeHooks();
  hooks.digest_file = [](const std::string& path) -> Result<std::string> {
    return EnvironmentError("there is no file " + path);
  };
  const PlanOutcome outcome = PlanText(
      kHead + "[teacher]\nown = { network = \"logistic\", weights = \"w/x.pth\" }\n[trial]\nteacher = \"own\"\n", {},
      hooks);
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].line, 7);
  EXPECT_EQ(outcome.errors[0].column, 41);
  EXPECT_EQ(outcome.errors[0].key, "teacher.own.weights");
  EXPECT_THAT(outcome.errors[0].message, HasSubstr("/sweeps/w/x.pth"));
}

TEST(SweepErrors, UnknownPublishedNameStandsAtItsKey) {
  PlanHooks hooks = FakeHooks();
  hooks.find_weights = [](const std::string& text) -> Result<std::string> {
    return UsageError(text + " is not known", {"A_Weights.V1"});
  };
  const PlanOutcome outcome = PlanText(
      kHead + "[teacher]\nown = { network = \"logistic\", weights = \"A_Weights.V9\" }\n[trial]\nteacher = \"own\"\n",
      {}, hooks);
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].line, 7);
  EXPECT_EQ(outcome.errors[0].key, "teacher.own.weights");
  EXPECT_EQ(outcome.errors[0].message, "A_Weights.V9 is not known");
  EXPECT_EQ(outcome.errors[0].choices, std::vector<std::string>{"A_Weights.V1"});
}

TEST(SweepErrors, UnreachableEpsilonStandsAtTheEpsilon) {
  PlanHooks hooks = FakeHooks();
  hooks.calibrate = [](TrialSpec& spec) {
    return spec.privacy.epsilon == 3 ? UsageError("epsilon 3 cannot be met") : Status();
  };
  const PlanOutcome outcome =
      PlanText(kHead + kTeachers +
                   "[sweep]\nzip.a = [{ method = \"dpsgd\", claim = \"example\", calibrate = \"noise\", "
                   "epsilon = 3 },\n"
                   "{ method = \"dpsgd\", claim = \"example\", calibrate = \"noise\", epsilon = 4 }]\n",
               {}, hooks);
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].line, 11);
  EXPECT_EQ(outcome.errors[0].column, 80);
  EXPECT_EQ(outcome.errors[0].key, "sweep.zip.a.epsilon");
  EXPECT_EQ(outcome.errors[0].message, "epsilon 3 cannot be met");
}

TEST(SweepErrors, UnreachableEpsilonOfATeacherStandsInItsDefinition) {
  PlanHooks hooks = FakeHooks();
  hooks.calibrate = [](TrialSpec& spec) { return spec.role == Role::teacher ? UsageError("cannot be met") : Status(); };
  const PlanOutcome outcome = PlanText(kHead +
                                           "[teacher]\ndp = { private = { epsilon = 0.001 } "
                                           "}\n[trial]\nteacher = \"dp\"\nreading = \"sound\"\n",
                                       {}, hooks);
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].line, 7);
  EXPECT_EQ(outcome.errors[0].key, "teacher.dp.private.epsilon");
}

TEST(SweepErrors, CountThatCalibrationSolvesForIsJudgedToo) {
  PlanHooks hooks = FakeHooks();
  hooks.calibrate = [](TrialSpec& spec) {
    if (spec.privacy.calibrate == Calibrate::steps) spec.queries = 2000;
    return Status();
  };
  const std::string text = kHead + kTeachers +
                           "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nvote_noise = 1\n"
                           "epsilon = 3\nclaim = \"example\"\ncalibrate = \"steps\"\n";
  for (const char* source : {"source = \"public\"\n", "batch = 10\nsteps = 100\n"}) {
    const PlanOutcome outcome = PlanText(text + source, {}, hooks);
    ASSERT_EQ(outcome.errors.size(), 1U);
    EXPECT_EQ(outcome.errors[0].line, 16);
    EXPECT_THAT(outcome.errors[0].message, HasSubstr("asks for queries = 2000, which is more than"));
  }
}

TEST(SweepErrors, ImagesTooSmallForTheNetworkAreNamedWithIt) {
  PlanHooks hooks = FakeHooks();
  hooks.inspect = [](DataSpec& data) {
    data.digest = std::string(64, 'a');
    data.examples = 10000;
    data.height = data.width = 8;
    return Status();
  };
  EXPECT_TRUE(PlanText(kHead + kTeachers + "[trial]\nteacher = \"single\"\n", {}, hooks).plan.has_value());
  const PlanOutcome student =
      PlanText(kHead + kTeachers + "[trial]\nteacher = \"single\"\nstudent = \"tanh-cnn\"\n", {}, hooks);
  ASSERT_EQ(student.errors.size(), 1U);
  EXPECT_EQ(student.errors[0].line, 12);
  EXPECT_THAT(student.errors[0].message, HasSubstr("at least 14 pixels a side; those of data.digits are 8x8"));
  const PlanOutcome teacher =
      PlanText(kHead + "[teacher]\nt = { network = \"tanh-cnn\" }\n[trial]\nteacher = \"t\"\n", {}, hooks);
  ASSERT_EQ(teacher.errors.size(), 1U);
  EXPECT_EQ(teacher.errors[0].key, "teacher.t.network");
}

TEST(SweepErrors, OneMistakeThatReachesManyTrialsIsSaidOnce) {
  const PlanOutcome outcome = PlanText(kHead + kTeachers +
                                       "[trial]\nteacher = \"single\"\nreading = \"sound\"\n"
                                       "[sweep]\nseeds = [0, 1, 2, 3]\ngrid.steps = [1, 2, 3]\n");
  EXPECT_EQ(outcome.errors.size(), 1U);
}

TEST(SweepErrors, MissingSweepFileIsNamed) {
  const PlanOutcome outcome = LoadSweep("/nonexistent/sweep.toml", {}, FakeHooks());
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].file, "/nonexistent/sweep.toml");
}

TEST(SweepErrors, UnknownWordsInProfilesNotChosenAreErrorsToo) {
  const PlanOutcome outcome = PlanText(kHead + kTeachers +
                                       "[trial]\nteacher = \"single\"\n[profile.fast.trial]\nstpes = 1\n"
                                       "[profile.slow]\ntrail = {}\n");
  ASSERT_EQ(outcome.errors.size(), 2U);
  EXPECT_EQ(outcome.errors[0].key, "profile.fast.trial.stpes");
  EXPECT_EQ(outcome.errors[0].line, 13);
  EXPECT_EQ(outcome.errors[1].key, "profile.slow.trail");
}

// Everywhere a number may stand: what is none, is infinite or far out of range is an error that names its
// key.
TEST(SweepErrors, NoKeyTakesANumberThatIsNone) {
  const std::vector<std::string> beyond = {"nan", "inf", "-inf", "1e300", "-1e300"};
  int tried = 0;
  const auto expect_refused = [&](const std::string& text, const std::string& key, const std::string& value) {
    const PlanOutcome outcome = PlanText(text);
    EXPECT_FALSE(outcome.plan.has_value()) << key << " = " << value;
    const bool named = std::any_of(outcome.errors.begin(), outcome.errors.end(), [&](const Diagnostic& error) {
      return error.key.find(key) != std::string::npos && error.line > 0;
    });
    EXPECT_TRUE(named) << key << " = " << value;
    ++tried;
  };
  for (const SpecKey& key : ListSpecKeys()) {
    if (key.type != KeyType::number && key.type != KeyType::count) continue;
    if ((key.places & kInTrial) == 0) continue;
    const std::string name(key.TrialName());
    for (const std::string& value : beyond)
      expect_refused(kHead + kTeachers + "[trial]\n" + name + " = " + value + "\n", name, value);
  }
  for (const char* name : {"epsilon", "delta"}) {
    for (const char* value : {"nan", "inf", "0", "-1"}) {
      const std::string other = name == std::string("epsilon") ? "delta = 1e-5" : "epsilon = 1";
      std::string head = kHead;
      head += "budget = { " + std::string(name) + " = " + value + ", " + other + " }\n";
      expect_refused(head + kTeachers + "[trial]\nteacher = \"single\"\n", std::string("budget.") + name, value);
    }
  }
  for (const char* value : {"nan", "0", "1", "-1", "2"})
    expect_refused(kHead + kTeachers + "[trial]\ndelta = " + value + "\n", "delta", value);
  EXPECT_GT(tried, 200);
}

}  // namespace
}  // namespace retort
