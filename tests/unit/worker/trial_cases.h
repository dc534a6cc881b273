// One tiny trial for every method and reading.
#pragma once

#include <memory>
#include <string>

#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {

struct TrialCase {
  std::string name;
  TrialSpec (*spec)(const TinyTrials&);
  std::string teacher;  // method; empty: none
};

// Lets the layers, as FormatNetworkLayers has them, make the images of `spec`.
inline void DescribeGenerator(const char* layers, TrialSpec& spec) {
  spec.generator.network = "mine";
  spec.generator.layers = std::make_shared<const std::string>(layers);
}

inline const TrialCase kTrialCases[] = {
    {"PlainTeacher", [](const TinyTrials& t) { return t.Teacher("plain"); }, ""},
    {"EnsembleTeacher", [](const TinyTrials& t) { return t.Teacher("ensemble"); }, ""},
    {"DpSgdTeacher", [](const TinyTrials& t) { return t.Teacher("dpsgd"); }, ""},
    {"DpSgdStudent", [](const TinyTrials& t) { return t.DpSgdStudent(); }, ""},
    {"DpGdStudent", [](const TinyTrials& t) { return t.DpGdStudent(); }, ""},
    {"DpSgdPerLayerWithTanh",
     [](const TinyTrials& t) {
       TrialSpec spec = t.DpSgdStudent();
       spec.network = "datalens-x0.125";
       spec.activation = Activation::tanh;
       spec.release.clipping = Clipping::per_layer;
       return spec;
     },
     ""},
    {"DpSgdAveragedOverCopies",
     [](const TinyTrials& t) {
       TrialSpec spec = t.DpSgdStudent();
       spec.inputs.augment = Augment::elastic;
       spec.inputs.shift = 1;
       spec.release.augment_multiplicity = 3;
       spec.optimization.averaging = 0.9;
       return spec;
     },
     ""},
    {"MeanEmbedding", [](const TinyTrials& t) { return t.Baseline("dp-merf"); }, ""},
    {"SpectralLabels", [](const TinyTrials& t) { return t.SpectralStudent(); }, ""},
    {"LabelStages", [](const TinyTrials& t) { return t.Baseline("lp-2st"); }, ""},
    {"Alibi", [](const TinyTrials& t) { return t.Baseline("alibi"); }, ""},
    {"FederatedAveraging", [](const TinyTrials& t) { return t.Baseline("fedavg"); }, ""},
    {"Working", [](const TinyTrials& t) { return t.Student(Reading::working); }, "plain"},
    {"Printed", [](const TinyTrials& t) { return t.Student(Reading::printed); }, "plain"},
    {"RowAveraged", [](const TinyTrials& t) { return t.Student(Reading::row_averaged); }, "plain"},
    {"Stated",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::stated);
       spec.distill.student_steps = 1;
       spec.distill.student_batch = spec.batch;
       spec.distill.replay = 0;
       spec.distill.gamma = 0.1;
       spec.generator.latent_lr = 0.01;
       return spec;
     },
     "plain"},
    {"SoundByDpSgdTeacher", [](const TinyTrials& t) { return t.Student(Reading::sound); }, "dpsgd"},
    {"ProceduralQueries",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::working);
       spec.source = QuerySource::procedural;
       spec.distill.balance = true;
       return spec;
     },
     "plain"},
    {"SoundOnProceduralQueries",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::sound);
       spec.source = QuerySource::procedural;
       spec.inputs.pictures = Pictures::natural;
       return spec;
     },
     "dpsgd"},
    {"SoundOnPublicMixes",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::sound);
       spec.source = QuerySource::public_mixes;
       spec.inputs.augment = Augment::crop_flip;
       return spec;
     },
     "dpsgd"},
    {"VotesOnProceduralQueries",
     [](const TinyTrials& t) {
       TrialSpec spec = t.VoteStudent(QuerySource::procedural);
       spec.inputs.augment = Augment::elastic;
       return spec;
     },
     "ensemble"},
    {"PrivateTeacherOnPublic", [](const TinyTrials& t) { return t.LabelledStudent(); }, "dpsgd"},
    {"PrivateTeacherOnPublicNeighbours",
     [](const TinyTrials& t) {
       TrialSpec spec = t.LabelledStudent();
       spec.labels.neighbours = 3;
       return spec;
     },
     "dpsgd"},
    {"VotesSpreadOverPublic",
     [](const TinyTrials& t) {
       TrialSpec spec = t.VoteStudent(QuerySource::public_split);
       spec.labels.neighbours = 3;
       return spec;
     },
     "ensemble"},
    {"VotesOnPublic", [](const TinyTrials& t) { return t.VoteStudent(QuerySource::public_split); }, "ensemble"},
    {"ProbabilitiesOnPublic",
     [](const TinyTrials& t) {
       TrialSpec spec = t.VoteStudent(QuerySource::public_split);
       spec.release.grain = 8;
       return spec;
     },
     "ensemble"},
    {"Pate",
     [](const TinyTrials& t) {
       TrialSpec spec = t.VoteStudent(QuerySource::public_split);
       spec.method = "pate";
       spec.reading = Reading::working;
       spec.labels.vote_label = VoteLabel::argmax;
       spec.labels.refit = false;
       return spec;
     },
     "ensemble"},
    {"VotesByClassOnPublic",
     [](const TinyTrials& t) {
       TrialSpec spec = t.VoteStudent(QuerySource::public_split);
       spec.labels.vote_label = VoteLabel::argmax;
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
    {"VotesOfRidgeMembers", [](const TinyTrials& t) { return t.VoteStudent(QuerySource::public_split); }, "ridge"},
    {"NetworkEnsemble", [](const TinyTrials& t) { return t.Teacher("networks"); }, ""},
    {"DirichletEnsemble", [](const TinyTrials& t) { return t.Teacher("dirichlet"); }, ""},
    {"VotesOfNetworks", [](const TinyTrials& t) { return t.VoteStudent(QuerySource::public_split); }, "networks"},
    {"EnsembleGradients",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::working);
       spec.method = "dpdfd-ensemble";
       return spec;
     },
     "networks"},
    {"FederatedGradients",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::printed);
       spec.method = "feddpsd";
       return spec;
     },
     "ensemble"},
    {"MaskedGradientsOfTrainedLatents",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::working);
       spec.method = "dpsd-data";
       spec.release.top_k = 2;
       spec.generator.latent_lr = 0.05;
       return spec;
     },
     "plain"},
    {"TeacherAsDiscriminator",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::working);
       spec.method = "dpsd-t";
       spec.generator.discriminator = Discriminator::teacher;
       spec.generator.pretrain_steps = 3;
       return spec;
     },
     "plain"},
    {"DirectTraining",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::working);
       spec.method = "dpdfd-direct";
       spec.source = QuerySource::private_split;
       return spec;
     },
     "plain"},
    {"DirectTrainingByOwnLabels",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::working);
       spec.method = "dpdfd-direct";
       spec.source = QuerySource::private_split;
       spec.distill.loss = DistillationLoss::ce_hard;
       spec.distill.label = ImageLabel::truth;
       return spec;
     },
     ""},
    {"FastGenerator",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::working);
       spec.generator.network = "fast";
       return spec;
     },
     "plain"},
    {"DescribedGenerator",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Student(Reading::working);
       DescribeGenerator(
           "linear name=fc out=64; reshape channels=4 height=4 width=4; batch_norm name=n affine=false; relu; "
           "conv_transpose name=up out=4 kernel=4 stride=2 padding=1; batch_norm name=m; leaky slope=0.2; "
           "upsample; conv name=last out=1 kernel=3 padding=1; tanh",
           spec);
       return spec;
     },
     "plain"},
    {"MeanEmbeddingByADescribedGenerator",
     [](const TinyTrials& t) {
       TrialSpec spec = t.Baseline("dp-merf");
       DescribeGenerator(
           "linear name=fc out=64; batch_norm name=n; relu; reshape channels=4 height=4 width=4; "
           "upsample factor=4; conv name=last out=1 kernel=3 padding=1; sigmoid",
           spec);
       return spec;
     },
     ""},
    {"VotesOverCandidates",
     [](const TinyTrials& t) {
       TrialSpec spec = t.VoteStudent(QuerySource::generator);
       spec.method = "dpsd-label";
       spec.labels.vote_label = VoteLabel::argmax;
       spec.release.top_k = 2;
       return spec;
     },
     "ensemble"},
    {"DpDfd",
     [](const TinyTrials& t) {
       TrialSpec spec = t.ResponseStudent("dp-dfd", Reading::working);
       spec.generator.bn_statistics = 10;
       return spec;
     },
     "bn-cnn"},
    {"DpDfdPrinted", [](const TinyTrials& t) { return t.ResponseStudent("dp-dfd", Reading::printed); }, "plain"},
    {"DpsdLabel", [](const TinyTrials& t) { return t.ResponseStudent("dpsd-label", Reading::working); }, "plain"},
    {"DpsdLabelPrinted", [](const TinyTrials& t) { return t.ResponseStudent("dpsd-label", Reading::printed); },
     "plain"},
    {"FedDpsdLabel", [](const TinyTrials& t) { return t.ResponseStudent("feddpsd", Reading::working); }, "ensemble"},
    {"FedDpsdLabelPrinted", [](const TinyTrials& t) { return t.ResponseStudent("feddpsd", Reading::printed); },
     "ensemble"},
};

// Methods whose only step nothing can interrupt halfway.
inline const TrialCase kOneStepTrialCases[] = {
    {"RidgeEnsemble", [](const TinyTrials& t) { return t.Teacher("ridge"); }, ""},
};

// Methods that run on one device alone.
inline const TrialCase kLoneTrialCases[] = {
    {"RonaWorking", [](const TinyTrials& t) { return t.RonaStudent(Reading::working); }, "plain"},
    {"RonaPrinted", [](const TinyTrials& t) { return t.RonaStudent(Reading::printed); }, "plain"},
    {"RonaByDpSgdTeacher", [](const TinyTrials& t) { return t.RonaStudent(Reading::sound); }, "dpsgd"},
    {"RonaByVotes", [](const TinyTrials& t) { return t.RonaVoteStudent(); }, "ensemble"},
    {"Dense", [](const TinyTrials& t) { return t.DenseStudent(); }, "ensemble"},
    {"DenseByADescribedGenerator",
     [](const TinyTrials& t) {
       TrialSpec spec = t.DenseStudent();
       DescribeGenerator(
           "linear name=fc out=64; reshape channels=1 height=8 width=8; upsample bilinear=true; "
           "batch_norm name=n affine=false",
           spec);
       return spec;
     },
     "ensemble"},
    {"DenseOfNetworks",
     [](const TinyTrials& t) {
       TrialSpec spec = t.DenseStudent();
       spec.distill.replay = 0;
       return spec;
     },
     "networks"},
};

}  // namespace retort::worker
