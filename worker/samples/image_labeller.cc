#include "worker/samples/image_labeller.h"

#include <ATen/core/grad_mode.h>

#include <limits>
#include <optional>
#include <utility>

#include "experiments/methods/methods.h"
#include "experiments/privacy/privacy_event.h"
#include "worker/data/dataset.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/network_teacher.h"
#include "worker/models/model_registry.h"
#include "worker/release/answers.h"
#include "worker/release/charge.h"
#include "worker/release/mechanism.h"

namespace retort::worker::samples {
namespace {

class StudentLabeller final : public ImageLabeller {
 public:
  explicit StudentLabeller(std::unique_ptr<Network> network) : network_(std::move(network)) {}
  Result<at::Tensor> Label(const at::Tensor& images) override {
    const at::NoGradGuard no_grad;
    return release::FindFirstLargest(network_->Forward(images).logits);
  }

 private:
  std::unique_ptr<Network> network_;
};

// Grants every charge: the teacher's training was charged for all that is ever computed from it.
class PostProcessingPort final : public release::LedgerClient {
 public:
  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent&, std::int64_t) override { return ++last_; }
  Status Settle(std::uint64_t, std::int64_t) override { return {}; }

 private:
  std::uint64_t last_ = 0;
};

class TeacherLabeller final : public ImageLabeller {
 public:
  TeacherLabeller(std::unique_ptr<Collective> gang, std::unique_ptr<release::TeacherModel> teacher,
                  std::int64_t classes, std::int64_t batch)
      : gang_(std::move(gang)),
        teacher_(std::move(teacher)),
        mechanism_(classes, batch),
        book_(&port_, 1, privacy::kMaxDraws) {}
  Result<at::Tensor> Label(const at::Tensor& images) override {
    const at::NoGradGuard no_grad;
    const release::Answers answers =
        release::Oracle::Ask(*teacher_, {.inputs = images, .student_logits = {}, .step = step_++});
    RETORT_ASSIGN_OR_RETURN(release::Charge charge,
                            book_.Take(mechanism_.Describe(images.size(0)), mechanism_.DrawsFor(answers)));
    RETORT_ASSIGN_OR_RETURN(const release::Released released, mechanism_.Release(answers, std::move(charge)));
    return release::FindFirstLargest(released.values);
  }

 private:
  std::unique_ptr<Collective> gang_;
  std::unique_ptr<release::TeacherModel> teacher_;
  release::Noiseless mechanism_;
  PostProcessingPort port_;
  release::ChargeBook book_;
  std::int64_t step_ = 0;
};

}  // namespace

Result<std::unique_ptr<ImageLabeller>> MakeStudentLabeller(const TrialSpec& spec, const ImageFrame& frame,
                                                           const std::vector<storage::TensorBlob>& parameters) {
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(spec, frame.shape, frame.classes, std::nullopt));
  RETORT_RETURN_IF_ERROR(network->LoadState("student/", parameters));
  return std::unique_ptr<ImageLabeller>(std::make_unique<StudentLabeller>(std::move(network)));
}

Result<std::unique_ptr<ImageLabeller>> MakeTeacherLabeller(const TrialSpec& spec, const ImageFrame& frame,
                                                           const TeacherArtifact& artifact) {
  if (!IsPostProcessing(FindKind(spec)) || !IsPrivateTeacher(FindKind(artifact.spec)))
    return Refused("Only a teacher that was trained with DP-SGD is asked without a charge.");
  Dataset data;
  data.shape = frame.shape;
  data.classes = frame.classes;
  data.scale = frame.scale;
  std::unique_ptr<Collective> gang = MakeSoloCollective();
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<release::TeacherModel> teacher, LoadTeacher(artifact, data, *gang));
  constexpr std::int64_t kMaxBatch = std::numeric_limits<std::int32_t>::max();
  return std::unique_ptr<ImageLabeller>(
      std::make_unique<TeacherLabeller>(std::move(gang), std::move(teacher), frame.classes, kMaxBatch));
}

}  // namespace retort::worker::samples
