// One tiny trial for every method and reading.
#pragma once

#include <string>

#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {

struct TrialCase {
  std::string name;
  TrialSpec (*spec)(const TinyTrials&);
  std::string teacher;   // method; empty: none
};

inline const TrialCase kTrialCases[] = {
    {"PlainTeacher", [](const TinyTrials& t) { return t.Teacher("plain"); }, ""},
    {"EnsembleTeacher", [](const TinyTrials& t) { return t.Teacher("ensemble"); }, ""},
    {"DpSgdTeacher", [](const TinyTrials& t) { return t.Teacher("dpsgd"); }, ""},
    {"DpSgdStudent", [](const TinyTrials& t) { return t.DpSgdStudent(); }, ""},
    {"DpSgdPerLayerWithTanh",
     [](const TinyTrials& t) {
       TrialSpec spec = t.DpSgdStudent();
       spec.network = "datalens-x0.125";
       spec.activation = Activation::tanh;
       spec.clipping = Clipping::per_layer;
       return spec;
     },
     ""},
    {"MeanEmbedding", [](const TinyTrials& t) { return t.Baseline("dp-merf"); }, ""},
    {"LabelStages", [](const TinyTrials& t) { return t.Baseline("lp-2st"); }, ""},
    {"Alibi", [](const TinyTrials& t) { return t.Baseline("alibi"); }, ""},
    {"FederatedAveraging", [](const TinyTrials& t) { return t.Baseline("fedavg"); }, ""},
    {"Working", [](const TinyTrials& t) { return t.Student(Reading::working); }, "plain"},
    {"Printed", [](const TinyTrials& t) { return t.Student(Reading::printed); }, "plain"},
    {"RowAveraged", [](const TinyTrials& t) { return t.Student(Reading::row_averaged); }, "plain"},
    {"SoundByDpSgdTeacher", [](const TinyTrials& t) { return t.Student(Reading::sound); }, "dpsgd"},
    {"VotesOnPublic", [](const TinyTrials& t) { return t.VoteStudent(QuerySource::public_split); }, "ensemble"},
    {"ProbabilitiesOnPublic",
     [](const TinyTrials& t) {
       TrialSpec spec = t.VoteStudent(QuerySource::public_split);
       spec.grain = 8;
       return spec;
     },
     "ensemble"},
    {"Pate",
     [](const TinyTrials& t) {
       TrialSpec spec = t.VoteStudent(QuerySource::public_split);
       spec.method = "pate";
       spec.reading = Reading::working;
       spec.vote_label = VoteLabel::argmax;
       spec.refit = false;
       return spec;
     },
     "ensemble"},
    {"VotesByClassOnPublic",
     [](const TinyTrials& t) {
       TrialSpec spec = t.VoteStudent(QuerySource::public_split);
       spec.vote_label = VoteLabel::argmax;
       return spec;
     },
     "ensemble"},
    {"VotesOnGenerator", [](const TinyTrials& t) { return t.VoteStudent(QuerySource::generator); }, "ensemble"},
    {"VotesOnGeneratorWithARest",
     [](const TinyTrials& t) {
       TrialSpec spec = t.VoteStudent(QuerySource::generator);
       spec.queries = 32;  // five steps of six and one of two
       return spec;
     },
     "ensemble"},
};

}  // namespace retort::worker
