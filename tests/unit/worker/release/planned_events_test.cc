// What the accountant plans with is what the mechanisms will say they drew.
#include <gtest/gtest.h>

#include <memory>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/planned_events.h"
#include "worker/methods/label_stages.h"
#include "worker/release/class_embedding.h"
#include "worker/release/dpsgd_step.h"
#include "worker/release/label_response.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {
namespace {

TrialSpec Spec() {
  auto data = std::make_shared<DataSpec>();
  data->classes = 10;
  data->split.train = {0, 8000};
  data->split.public_range = {8000, 9000};
  TrialSpec spec;
  spec.data = data;
  spec.steps = 7;
  spec.batch = 48;
  spec.release.sigma = 90;
  spec.release.norm_bound = 3e-3;
  return spec;
}

privacy::PrivacyEvent OnlyPlanned(const TrialSpec& spec) {
  const auto planned = privacy::PlanEvents(spec);
  EXPECT_TRUE(planned.ok()) << planned.status().message();
  EXPECT_EQ(planned->size(), 1u);
  return planned->front();
}

// `releases` of `rows` rows each make up the whole trial.
void ExpectAsPlanned(const TrialSpec& spec, std::int64_t members, std::int64_t releases, std::int64_t rows) {
  privacy::PrivacyEvent planned = OnlyPlanned(spec);
  planned.facts.clear();  // the runner's to add
  const auto mechanism = MakeMechanism(spec, 10, members, MakeNoiseKey(spec));
  ASSERT_TRUE(mechanism.ok()) << mechanism.status().message();
  const privacy::PrivacyEvent described = (*mechanism)->Describe(rows);
  EXPECT_TRUE(described.SameMechanism(planned)) << privacy::EncodeEvent(described) << "\n"
                                                << privacy::EncodeEvent(planned);
  EXPECT_EQ(described.count * releases, planned.count);
}

TEST(PlanEvents, EqualWhatGradientMechanismsDescribe) {
  for (const Reading reading : {Reading::working, Reading::stated, Reading::printed, Reading::row_averaged}) {
    for (const Normalization normalization : {Normalization::row, Normalization::frobenius, Normalization::clip}) {
      for (const bool detach : {true, false}) {
        for (const NoiseMode noise : {NoiseMode::secure, NoiseMode::seeded}) {
          TrialSpec spec = Spec();
          spec.reading = reading;
          spec.release.normalization = normalization;
          spec.release.detach = detach;
          spec.noise = noise;
          ExpectAsPlanned(spec, 1, 7, 48);
        }
      }
    }
  }
}

TEST(PlanEvents, EqualWhatAnEnsemblesGradientsDescribe) {
  for (const char* method : {"dpdfd-ensemble", "feddpsd"}) {
    for (const Trust trust : {Trust::untrusted, Trust::trusted}) {
      for (const Reading reading : {Reading::working, Reading::printed}) {
        TrialSpec spec = Spec();
        spec.method = method;
        spec.reading = reading;
        if (spec.method == "feddpsd") spec.release.trust = trust;
        ExpectAsPlanned(spec, 10, 7, 48);
      }
    }
  }
}

TEST(PlanEvents, EqualTheEventsOfMaskedGradients) {
  for (const char* method : {"dpsd-data", "dpsd-t", "dpsd-kd"}) {
    for (const Reading reading : {Reading::working, Reading::stated, Reading::printed, Reading::row_averaged}) {
      for (const Discriminator discriminator : {Discriminator::student, Discriminator::teacher}) {
        TrialSpec spec = Spec();
        spec.method = method;
        spec.reading = reading;
        spec.release.top_k = 3;
        spec.generator.discriminator = discriminator;
        ExpectAsPlanned(spec, 1, 7, 48);
      }
    }
  }
}

TEST(PlanEvents, EqualWhatRandomisedResponsesDescribe) {
  for (const char* method : {"dp-dfd", "dpsd-label", "feddpsd"}) {
    for (const Reading reading : {Reading::working, Reading::printed}) {
      for (const std::int64_t top_k : {0, 3, 10}) {
        for (const Discriminator discriminator : {Discriminator::student, Discriminator::teacher}) {
          TrialSpec spec = Spec();
          spec.method = method;
          spec.reading = reading;
          spec.release.branch = spec.method == "feddpsd" ? Branch::label : Branch::data;
          spec.release.epsilon0 = 2;
          spec.release.top_k = top_k;
          spec.generator.discriminator = discriminator;
          ExpectAsPlanned(spec, spec.method == "feddpsd" ? 5 : 1, 7, 48);
          if (spec.method == "feddpsd") continue;
          spec.release.response_over = ResponseOver::classes;
          ExpectAsPlanned(spec, 1, 7, 48);
        }
      }
    }
  }
}

// Probabilities, a mask by value and over the batch: what is bounded is bounded as before.
TEST(PlanEvents, EqualWhatPrintedGradientsDescribe) {
  for (const char* method : {"dpdfd", "dpsd-data", "dpdfd-ensemble", "feddpsd"}) {
    TrialSpec spec = Spec();
    spec.method = method;
    spec.reading = Reading::printed;
    spec.release.normalization = Normalization::frobenius;
    spec.release.gradient_of = GradientOf::probabilities;
    spec.distill.loss = DistillationLoss::dkd_printed;
    spec.release.top_k = 3;
    spec.release.mask_by = MaskBy::value;
    spec.release.mask_over = MaskOver::batch;
    const bool several = spec.method == "dpdfd-ensemble" || spec.method == "feddpsd";
    ExpectAsPlanned(spec, several ? 5 : 1, 7, 48);
  }
}

TEST(PlanEvents, EqualWhatNoisyVotesDescribe) {
  TrialSpec spec = Spec();
  spec.reading = Reading::sound;
  spec.source = QuerySource::public_split;
  spec.queries = 300;
  spec.release.vote_noise = 21.375;
  ExpectAsPlanned(spec, 100, 300, 1);
  spec.noise = NoiseMode::seeded;
  ExpectAsPlanned(spec, 100, 1, 300);
  spec.release.grain = 12;
  ExpectAsPlanned(spec, 100, 300, 1);
}

TEST(PlanEvents, EqualWhatAPrivateTeachersRawAnswersDescribe) {
  TrialSpec spec = Spec();
  spec.reading = Reading::sound;
  ExpectAsPlanned(spec, 1, 7, 48);
}

TEST(PlanEvents, APrivateTeacherLabelsEveryPublicPictureOnce) {
  TrialSpec spec = Spec();
  spec.reading = Reading::sound;
  spec.source = QuerySource::public_split;
  EXPECT_EQ(OnlyPlanned(spec).count, spec.data->PublicExamples());
}

TEST(PlanEvents, EqualWhatDpSgdDescribesButForTheNetworksSize) {
  TrialSpec spec = Spec();
  spec.method = "dpsgd";
  spec.release.noise_multiplier = 1.7;
  const DpSgdStep mechanism = DpSgdStep::FromSpec(spec, 26'010).value();
  privacy::PrivacyEvent described = mechanism.Describe(7);
  EXPECT_EQ(described.noise_coordinates, 26'010);
  privacy::PrivacyEvent planned = OnlyPlanned(spec);
  planned.facts.clear();
  described.noise_coordinates = described.release_coordinates = planned.noise_coordinates;
  EXPECT_TRUE(described.SameMechanism(planned));
  EXPECT_EQ(described.count, planned.count);
}

TEST(PlanEvents, EqualWhatAStepOverAllExamplesDescribes) {
  TrialSpec spec = Spec();
  spec.method = "dp-gd";
  spec.release.noise_multiplier = 1.7;
  spec.batch = 8000;
  const DpSgdStep mechanism = DpSgdStep::FromSpec(spec, 2010).value();
  privacy::PrivacyEvent described = mechanism.Describe(7);
  EXPECT_EQ(described.sampling_rate, 1);
  privacy::PrivacyEvent planned = OnlyPlanned(spec);
  planned.facts.clear();
  described.noise_coordinates = described.release_coordinates = planned.noise_coordinates;
  EXPECT_TRUE(described.SameMechanism(planned));
}

TEST(PlanEvents, EqualWhatTheEmbeddingOfTheClassesDescribes) {
  TrialSpec spec = Spec();
  spec.method = "dp-merf";
  spec.release.noise_multiplier = 4.5;
  spec.merf.random_features = 600;
  for (const NoiseMode noise : {NoiseMode::secure, NoiseMode::seeded}) {
    spec.noise = noise;
    const auto mechanism = ClassEmbedding::Create({4.5, 10, 600}, MakeNoiseKey(spec)).value();
    privacy::PrivacyEvent planned = OnlyPlanned(spec);
    planned.facts.clear();
    EXPECT_TRUE(mechanism.Describe(1).SameMechanism(planned));
    EXPECT_EQ(planned.count, 1);
  }
}

TEST(PlanEvents, EqualWhatTheEmbeddingOfTheSpectralPlacesDescribes) {
  TrialSpec spec = Spec();
  spec.method = "dp-spectral";
  spec.source = QuerySource::public_split;
  spec.release.noise_multiplier = 4.5;
  spec.labels.eigenvectors = 30;
  const auto mechanism = ClassEmbedding::Create({4.5, 10, 30}, MakeNoiseKey(spec)).value();
  privacy::PrivacyEvent planned = OnlyPlanned(spec);
  planned.facts.clear();
  EXPECT_TRUE(mechanism.Describe(1).SameMechanism(planned));
  EXPECT_EQ(planned.count, 1);
}

TEST(PlanEvents, EqualWhatEveryPartOfTheLabelsDescribes) {
  for (const std::string method : {"lp-2st", "alibi"}) {
    TrialSpec spec = Spec();
    spec.method = method;
    spec.release.epsilon0 = 1.25;
    spec.staged.stages = 3;
    const auto ends = ComputeStageEnds(8000, method == "alibi" ? 1 : 3);
    std::vector<std::int64_t> parts;
    for (std::size_t i = 0; i < ends.size(); ++i) parts.push_back(ends[i] - (i == 0 ? 0 : ends[i - 1]));
    const auto mechanism =
        LabelResponse::Create({method == "alibi" ? LabelNoise::laplace : LabelNoise::response, 1.25, 10, parts},
                              MakeNoiseKey(spec))
            .value();
    auto planned = privacy::PlanEvents(spec).value();
    ASSERT_EQ(planned.size(), parts.size()) << method;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      planned[i].facts.clear();
      const privacy::PrivacyEvent described = mechanism->Describe(i);
      EXPECT_TRUE(described.SameMechanism(planned[i])) << privacy::EncodeEvent(described) << "\n"
                                                       << privacy::EncodeEvent(planned[i]);
      EXPECT_EQ(described.count, planned[i].count);
    }
  }
}

}  // namespace
}  // namespace retort::worker::release
