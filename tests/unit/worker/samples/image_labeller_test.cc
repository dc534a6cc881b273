// Which teachers may label images without a charge.
#include "worker/samples/image_labeller.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "experiments/base/rng_stream.h"
#include "worker/models/model_registry.h"
#include "worker/release/answers.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker::samples {
namespace {

const ImageFrame kFrame{{1, 16, 16}, 4, {{0.2}, {0.4}}};

TrialSpec MakeStudent(Reading reading) {
  TrialSpec spec;
  spec.role = Role::student;
  spec.method = "dpdfd";
  spec.network = "logistic";
  spec.reading = reading;
  return spec;
}

TeacherArtifact MakeTeacher(const char* method) {
  TrialSpec spec;
  spec.role = Role::teacher;
  spec.method = method;
  spec.network = "logistic";
  const auto network = MakeNetwork(spec, kFrame.shape, kFrame.classes, RngStream(3, Purpose::parameters));
  return {spec, (*network)->StateBlobs("teacher/")};
}

at::Tensor MakeImages() { return DrawNormalRows(6, 256, RngStream(1, Purpose::latents)).view({6, 1, 16, 16}); }

TEST(PictureLabels, PrivatelyTrainedTeacherLabels) {
  const auto labeller = MakeTeacherLabeller(MakeStudent(Reading::sound), kFrame, MakeTeacher("dpsgd"));
  ASSERT_TRUE(labeller.ok()) << labeller.status().message();
  const auto network =
      MakeNetwork(MakeStudent(Reading::sound), kFrame.shape, kFrame.classes, RngStream(3, Purpose::parameters));
  const at::Tensor wanted = release::FindFirstLargest((*network)->Forward(MakeImages()).logits);
  for (int again = 0; again < 2; ++again) {  // however often it is asked
    const Result<at::Tensor> labels = (*labeller)->Label(MakeImages());
    ASSERT_TRUE(labels.ok()) << labels.status().message();
    EXPECT_TRUE(at::equal(*labels, wanted));
  }
}

// Its answers would be an uncharged release of the private examples.
TEST(PictureLabels, OtherTeachersAreRefused) {
  EXPECT_EQ(MakeTeacherLabeller(MakeStudent(Reading::sound), kFrame, MakeTeacher("plain")).status().code(),
            StatusCode::refused);
  EXPECT_EQ(MakeTeacherLabeller(MakeStudent(Reading::working), kFrame, MakeTeacher("dpsgd")).status().code(),
            StatusCode::refused);
  EXPECT_EQ(MakeTeacherLabeller(MakeStudent(Reading::working), kFrame, MakeTeacher("plain")).status().code(),
            StatusCode::refused);
}

TEST(PictureLabels, StudentNeedsItsOwnParameters) {
  const TrialSpec spec = MakeStudent(Reading::working);
  EXPECT_EQ(MakeStudentLabeller(spec, kFrame, {}).status().code(), StatusCode::damage);
  const auto network = MakeNetwork(spec, kFrame.shape, kFrame.classes, RngStream(3, Purpose::parameters));
  const auto labeller = MakeStudentLabeller(spec, kFrame, (*network)->StateBlobs("student/"));
  ASSERT_TRUE(labeller.ok()) << labeller.status().message();
  EXPECT_TRUE(at::equal(*(*labeller)->Label(MakeImages()),
                        release::FindFirstLargest((*network)->Forward(MakeImages()).logits)));
}

}  // namespace
}  // namespace retort::worker::samples
