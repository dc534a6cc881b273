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
    {"VotesOnGenerator", [](const TinyTrials& t) { return t.VoteStudent(QuerySource::generator); }, "ensemble"},
    {"VotesOnGeneratorWithARest",
     [](const TinyTrials& t) {
       TrialSpec spec = t.VoteStudent(QuerySource::generator);
       spec.queries = 32;  // five steps of six and one of two
       return spec;
     },
     "ensemble"},
    {"RonaWorking", [](const TinyTrials& t) { return t.RonaStudent(Reading::working); }, "plain"},
    {"RonaPrinted", [](const TinyTrials& t) { return t.RonaStudent(Reading::printed); }, "plain"},
    {"RonaByDpSgdTeacher", [](const TinyTrials& t) { return t.RonaStudent(Reading::sound); }, "dpsgd"},
    {"RonaByVotes", [](const TinyTrials& t) { return t.RonaVoteStudent(); }, "ensemble"},
};

}  // namespace retort::worker
