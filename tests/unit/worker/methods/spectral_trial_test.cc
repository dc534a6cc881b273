// dp-spectral as a whole trial: labels by the private examples' places among the public images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {
namespace {

class SpectralTrial : public ::testing::Test {
 protected:
  cluster::Ended Run(const TrialSpec& spec, const std::string& name, FakeTrialHost& host) const {
    return RunTrial(trials_.Order(spec, name, 1), host, storage::PosixEnv());
  }
  // Of a student with a last layer alone, taught for long enough.
  double AccuracyAt(double noise_multiplier) const {
    TrialSpec spec = trials_.SpectralStudent();
    spec.network = "logistic";
    spec.labels.label_steps = 60;
    spec.optimization.lr = 1e-2;
    spec.release.noise_multiplier = noise_multiplier;
    FakeTrialHost host;
    const cluster::Ended ended = Run(spec, "noise-" + std::to_string(noise_multiplier), host);
    EXPECT_TRUE(ended.succeeded) << ended.detail;
    for (const auto& [name, value] : ended.metrics)
      if (name == "test.accuracy") return value;
    ADD_FAILURE() << "no accuracy";
    return 0;
  }

  TinyTrials trials_;
};

TEST_F(SpectralTrial, PrivateLabelsReachPublicPicturesUnderNoise) {
  EXPECT_GE(AccuracyAt(0.5), 0.9);
  EXPECT_LE(AccuracyAt(1e5), 0.6);
}

TEST_F(SpectralTrial, OneDrawIsChargedWhateverTheNumberOfPictures) {
  FakeTrialHost host;
  ASSERT_TRUE(Run(trials_.SpectralStudent(), "charged", host).succeeded);
  ASSERT_EQ(host.grants.size(), 1U);
  const FakeTrialHost::Grant& grant = host.grants.begin()->second;
  EXPECT_EQ(grant.used, 1);
  EXPECT_EQ(grant.event.sensitivity, 1);
  EXPECT_EQ(grant.event.sampling_rate, 1);
}

TEST_F(SpectralTrial, APublicPictureThatIsPrivateTooIsRefused) {
  std::fstream images(trials_ / "data/t10k-images-idx3-ubyte", std::ios::in | std::ios::out | std::ios::binary);
  images.seekp(16);
  const std::string equal(std::size_t{200} * 16 * 16, '\x40');
  images.write(equal.data(), static_cast<std::streamsize>(equal.size()));
  images.close();
  auto data = std::make_shared<DataSpec>(*trials_.data());
  ASSERT_TRUE(storage::InspectIdx(storage::PosixEnv(), *data).ok());
  TrialSpec spec = trials_.SpectralStudent();
  spec.data = data;
  FakeTrialHost host;
  const cluster::Ended ended = Run(spec, "shared", host);
  EXPECT_FALSE(ended.succeeded);
  EXPECT_THAT(ended.detail, ::testing::HasSubstr("of the public split is picture"));
}

}  // namespace
}  // namespace retort::worker
