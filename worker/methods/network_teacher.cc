#include "worker/methods/network_teacher.h"

#include <utility>

#include "worker/gang/row_share.h"
#include "worker/models/ensemble.h"
#include "worker/models/model_registry.h"

namespace retort::worker {
namespace {

class SingleTeacher final : public release::TeacherModel {
 public:
  explicit SingleTeacher(std::unique_ptr<Network> network) : network_(std::move(network)) {}
  std::int64_t classes() const override { return network_->classes(); }

 protected:
  at::Tensor Logits(const at::Tensor& inputs) override { return network_->Forward(inputs).logits; }

 private:
  std::unique_ptr<Network> network_;
};

class EnsembleModel final : public release::TeacherModel {
 public:
  EnsembleModel(std::unique_ptr<LogisticEnsemble> ensemble, RowShare share)
      : ensemble_(std::move(ensemble)), share_(share) {}
  std::int64_t classes() const override { return ensemble_->classes(); }
  std::int64_t members() const override { return ensemble_->members(); }

 protected:
  at::Tensor Logits(const at::Tensor&) override {
    CheckFailed("members() == 1", __FILE__, __LINE__, "an ensemble answers member by member");
  }
  at::Tensor MemberLogits(const at::Tensor& inputs) override {
    return ensemble_->ForwardShared(inputs, share_.first, share_.count);
  }

 private:
  std::unique_ptr<LogisticEnsemble> ensemble_;
  RowShare share_;  // of its networks
};

}  // namespace

Result<std::unique_ptr<release::TeacherModel>> LoadTeacher(const TeacherArtifact& artifact, const Dataset& data,
                                                           const Collective& gang) {
  const RngStream unused(0, Purpose::parameters);
  if (artifact.spec.method == "ensemble") {
    auto ensemble =
        std::make_unique<LogisticEnsemble>(artifact.spec.members, data.shape, data.classes, unused, data.device);
    RETORT_RETURN_IF_ERROR(ensemble->parameters().FromBlobs("teacher/", artifact.parameters));
    return std::unique_ptr<release::TeacherModel>(std::make_unique<EnsembleModel>(
        std::move(ensemble), ShareOf(artifact.spec.members, gang)));
  }
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(artifact.spec.network, data.shape, data.classes, unused, data.device));
  RETORT_RETURN_IF_ERROR(network->LoadState("teacher/", artifact.parameters));
  return std::unique_ptr<release::TeacherModel>(std::make_unique<SingleTeacher>(std::move(network)));
}

}  // namespace retort::worker
