#include "worker/methods/network_teacher.h"

#include <ATen/ops/cat.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "worker/evaluation.h"
#include "worker/gang/row_share.h"
#include "worker/models/ensemble.h"
#include "worker/models/hint_layers.h"
#include "worker/models/model_registry.h"
#include "worker/models/script_module.h"

namespace retort::worker {
namespace {

// Answers to each row do not depend on the rows beside it, so that large batches are asked about part by part.
template <typename Ask>
at::Tensor InPasses(const at::Tensor& inputs, const Ask& ask) {
  const std::int64_t rows = inputs.size(0);
  const std::int64_t most = RowsOfAPass({inputs.size(1), inputs.size(2), inputs.size(3)});
  if (rows <= most) return ask(inputs);
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < rows; first += most)
    parts.push_back(ask(inputs.narrow(0, first, std::min(most, rows - first))));
  return at::cat(parts);
}

class ScriptTeacher final : public release::TeacherModel {
 public:
  ScriptTeacher(std::unique_ptr<ScriptModule> module, std::int64_t classes)
      : module_(std::move(module)), classes_(classes) {}
  std::int64_t classes() const override { return classes_; }

 protected:
  at::Tensor Logits(const at::Tensor& inputs) override {
    return InPasses(inputs, [this](const at::Tensor& rows) { return module_->Forward(rows); });
  }

 private:
  std::unique_ptr<ScriptModule> module_;
  std::int64_t classes_;
};

Result<std::unique_ptr<release::TeacherModel>> LoadModule(const TeacherArtifact& artifact, const Dataset& data) {
  for (const storage::TensorBlob& blob : artifact.parameters) {
    if (blob.name != kModuleBlob) continue;
    const std::string bytes(blob.bytes.begin(), blob.bytes.end());
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<ScriptModule> module,
                            ScriptModule::Load(bytes, "The teacher", data.device));
    RETORT_RETURN_IF_ERROR(module->RequireFit(data.shape, data.classes));
    return std::unique_ptr<release::TeacherModel>(
        std::make_unique<ScriptTeacher>(std::move(module), data.classes));
  }
  return DamageError(std::string("The teacher's attempt.h5 lacks ") + kModuleBlob + ".");
}

class SingleTeacher final : public release::TeacherModel {
 public:
  explicit SingleTeacher(std::unique_ptr<Network> network)
      : network_(std::move(network)), hint_(HintLayer(network_->layers(), network_->plan(), network_->input())) {}
  std::int64_t classes() const override { return network_->classes(); }

 protected:
  at::Tensor Logits(const at::Tensor& inputs) override {
    return InPasses(inputs, [this](const at::Tensor& rows) { return network_->Forward(rows).logits; });
  }
  at::Tensor Hint(const at::Tensor& inputs) override {
    RETORT_CHECK(hint_.ok());
    return InPasses(inputs, [this](const at::Tensor& rows) { return network_->ForwardTo(hint_->place, rows); });
  }

 private:
  std::unique_ptr<Network> network_;
  Result<MiddleLayer> hint_;
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
  if (artifact.spec.method == "ensemble") {
    auto ensemble =
        std::make_unique<LogisticEnsemble>(artifact.spec.members, data.shape, data.classes,
                                                       RngStream(0, Purpose::parameters), data.device);
    RETORT_RETURN_IF_ERROR(ensemble->parameters().FromBlobs("teacher/", artifact.parameters));
    return std::unique_ptr<release::TeacherModel>(std::make_unique<EnsembleModel>(
        std::move(ensemble), ShareOf(artifact.spec.members, gang)));
  }
  if (artifact.spec.network == kTorchScript) return LoadModule(artifact, data);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(artifact.spec.network, data.shape, data.classes, std::nullopt, data.device));
  RETORT_RETURN_IF_ERROR(network->LoadState("teacher/", artifact.parameters));
  return std::unique_ptr<release::TeacherModel>(std::make_unique<SingleTeacher>(std::move(network)));
}

}  // namespace retort::worker
