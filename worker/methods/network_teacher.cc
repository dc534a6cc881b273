#include "worker/methods/network_teacher.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/methods/teacher_outputs.h"
#include "worker/gang/row_share.h"
#include "worker/models/ensemble.h"
#include "worker/models/layer_plan.h"
#include "worker/models/model_registry.h"
#include "worker/models/saved_models.h"
#include "worker/training/evaluation.h"

namespace retort::worker {
namespace {

// Runs `ask` on parts of a large batch: the answer to a row does not depend on the rows beside it. `rows_of`: which
// dimension of an answer has the rows.
template <typename Ask>
at::Tensor InPasses(const at::Tensor& inputs, const Ask& ask, std::int64_t rows_of = 0) {
  const std::int64_t rows = inputs.size(0);
  const std::int64_t most = ComputeMaxRowsPerPass({inputs.size(1), inputs.size(2), inputs.size(3)});
  if (rows <= most) return ask(inputs);
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < rows; first += most)
    parts.push_back(ask(inputs.narrow(0, first, std::min(most, rows - first))));
  return at::cat(parts, rows_of);
}

// What a teacher answers in one region, where nobody differentiates it.
class AnswerRegion {
 public:
  AnswerRegion(StepGraphs* graphs, const char* name) : region_(graphs, name) {}
  template <typename Ask>
  at::Tensor Run(const at::Tensor& inputs, const Ask& ask) {
    if (at::GradMode::is_enabled()) return ask(inputs);
    return region_.Run({inputs}, [&](const Tensors& in) -> Result<Tensors> { return Tensors{ask(in[0])}; }).value()[0];
  }

 private:
  GraphRegion region_;
};

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
    RETORT_RETURN_IF_ERROR(module->Select(data.shape, ParseOutputs(artifact.spec.outputs).value(), "outputs"));
    RETORT_RETURN_IF_ERROR(module->RequireFit(data.shape, data.classes));
    return std::unique_ptr<release::TeacherModel>(std::make_unique<ScriptTeacher>(std::move(module), data.classes));
  }
  return DamageError(std::string("The teacher's attempt.h5 lacks ") + kModuleBlob + ".");
}

class SingleTeacher final : public release::TeacherModel {
 public:
  SingleTeacher(std::unique_ptr<Network> network, StepGraphs* graphs)
      : network_(std::move(network)),
        hint_(FindHintLayer(network_->layers(), network_->plan(), network_->input())),
        answering_(graphs, "teacher"),
        hinting_(graphs, "teacher hints") {}
  std::int64_t classes() const override { return network_->classes(); }

 protected:
  at::Tensor Logits(const at::Tensor& inputs) override {
    return answering_.Run(inputs, [this](const at::Tensor& images) {
      return InPasses(images, [this](const at::Tensor& rows) { return network_->Forward(rows).logits; });
    });
  }
  at::Tensor Hint(const at::Tensor& inputs) override {
    RETORT_CHECK(hint_.ok());
    return hinting_.Run(inputs, [this](const at::Tensor& images) {
      return InPasses(images, [this](const at::Tensor& rows) { return network_->ForwardTo(hint_->place, rows); });
    });
  }
  release::TeacherInternals ForwardWithInternals(const at::Tensor& inputs) override {
    LayerTrace trace;
    const NetworkOutput out = network_->Forward(inputs, std::nullopt, &trace);
    return {out.logits, out.features, CollectBatchNormInputs(*network_, trace)};
  }

 private:
  std::unique_ptr<Network> network_;
  Result<MiddleLayer> hint_;
  AnswerRegion answering_, hinting_;
};

class EnsembleModel final : public release::TeacherModel {
 public:
  // `own`: the networks that this gang member asks, of `members` in all.
  EnsembleModel(std::unique_ptr<Ensemble> own, std::int64_t members, std::int64_t classes, StepGraphs* graphs)
      : own_(std::move(own)), members_(members), classes_(classes), answering_(graphs, "teacher") {}
  std::int64_t classes() const override { return classes_; }
  std::int64_t members() const override { return members_; }

 protected:
  at::Tensor Logits(const at::Tensor&) override {
    CheckFailed("members() == 1", __FILE__, __LINE__, "an ensemble answers member by member");
  }
  at::Tensor MemberLogits(const at::Tensor& inputs) override {
    return answering_.Run(inputs, [this](const at::Tensor& images) {
      return InPasses(
          images, [this](const at::Tensor& rows) { return own_->Forward(rows); }, 1);
    });
  }
  release::TeacherInternals ForwardWithInternals(const at::Tensor& inputs) override {
    release::TeacherInternals inside;
    const at::Tensor logits = own_->ForwardWithNorms(inputs, inside.norms);
    RETORT_CHECK(logits.size(0) == members_);
    inside.logits = logits.mean(0);
    return inside;
  }

 private:
  std::unique_ptr<Ensemble> own_;
  std::int64_t members_, classes_;
  AnswerRegion answering_;
};

}  // namespace

Result<std::unique_ptr<release::TeacherModel>> LoadTeacher(const TeacherArtifact& artifact, const Dataset& data,
                                                           const Collective& gang, StepGraphs* graphs) {
  if (artifact.spec.method == "ensemble") {
    const std::int64_t members = artifact.spec.members;
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Ensemble> own,
                            LoadEnsemble(ChooseNetwork(artifact.spec), members, data.shape, data.classes, "teacher/",
                                         artifact.parameters, ComputeRowShare(members, gang), data.device));
    return std::unique_ptr<release::TeacherModel>(
        std::make_unique<EnsembleModel>(std::move(own), members, data.classes, graphs));
  }
  if (artifact.spec.network == kTorchScript) return LoadModule(artifact, data);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(artifact.spec, data.shape, data.classes, std::nullopt, data.device));
  RETORT_RETURN_IF_ERROR(network->LoadState("teacher/", artifact.parameters));
  return std::unique_ptr<release::TeacherModel>(std::make_unique<SingleTeacher>(std::move(network), graphs));
}

}  // namespace retort::worker
