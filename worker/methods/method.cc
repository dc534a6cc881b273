#include "worker/methods/method.h"

#include <algorithm>
#include <array>

#include "experiments/methods/methods.h"
#include "worker/models/ensemble.h"
#include "worker/models/model_registry.h"
#include "worker/models/network.h"
#include "worker/training/evaluation.h"
#include "worker/training/shards.h"

namespace retort::worker {

Outcome EvaluateOutcome(const Network& network, const Examples& test, const std::string& prefix, GraphRegion* region) {
  Outcome out;
  out.evaluation = Evaluate(network, test, region);
  out.metrics = ListTestMetrics(*out.evaluation);
  out.parameters = network.StateBlobs(prefix);
  return out;
}

Status RecordLosses(const std::vector<LossPart>& parts, Collective& gang, Series& series) {
  std::vector<double> losses;
  for (const auto& [name, part] : parts) losses.push_back(part.item<double>());
  RETORT_RETURN_IF_ERROR(SumOverGang(losses, gang));
  for (std::size_t i = 0; i < parts.size(); ++i) series.emplace_back(parts[i].first, losses[i]);
  return {};
}

Status RecordLoss(const at::Tensor& part, const char* name, Collective& gang, Series& series) {
  return RecordLosses({{name, part}}, gang, series);
}

std::vector<std::string> SelectFacts(const std::vector<std::pair<std::string_view, bool>>& facts) {
  std::vector<std::string> names;
  for (const auto& [name, holds] : facts) {
    if (holds) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool AreShardsDisjoint(const TeacherArtifact& teacher, const Dataset& data) {
  const std::int64_t examples = data.train.size();
  return teacher.spec.method == "ensemble" && !ShardsDependOnExamples(teacher.spec) &&
         CheckDisjoint(MakeDisjointShards(examples, teacher.spec.members), examples).ok();
}

bool AreMembersIndependent(const TeacherArtifact& teacher) {
  return teacher.spec.method == "ensemble" && teacher.spec.stop.metric == StopMetric::none;
}

namespace {

using Maker = Result<std::unique_ptr<Method>> (*)(const MethodInputs& inputs);

// What makes the trials of each kind, in the order of the enumeration. Null: nothing here (worker/sleep).
struct KindMaker {
  TrialKind kind;
  Maker make;
};
constexpr std::array kMakers = {
    KindMaker{TrialKind::plain_teacher, MakePlainTeacher},
    KindMaker{TrialKind::ensemble_teacher, MakeEnsembleTeacher},
    KindMaker{TrialKind::dpsgd_teacher, MakeDpSgd},
    KindMaker{TrialKind::gradient_student, MakeDataFreeDistillation},
    KindMaker{TrialKind::distilled_student, MakeDataFreeDistillation},
    KindMaker{TrialKind::vote_student, MakeVoteDistillation},
    KindMaker{TrialKind::dpsgd_student, MakeDpSgd},
    KindMaker{TrialKind::sleeper, nullptr},
    KindMaker{TrialKind::loaded_teacher, MakeLoadedTeacher},
    KindMaker{TrialKind::response_student, MakeResponseDistillation},
    KindMaker{TrialKind::query_student, MakeRona},
    KindMaker{TrialKind::raw_student, MakeDenseDistillation},
    KindMaker{TrialKind::merf_student, MakeMeanEmbedding},
    KindMaker{TrialKind::label_student, MakeLabelTraining},
    KindMaker{TrialKind::federated_student, MakeFederatedAveraging},
    KindMaker{TrialKind::labelled_student, MakePublicDistillation},
    KindMaker{TrialKind::spectral_student, MakeSpectralLabels},
};
static_assert(std::equal(kMakers.begin(), kMakers.end(), kKindTraits.begin(), kKindTraits.end(),
                         [](const KindMaker& maker, const KindTraits& kind) {
                           return maker.kind == kind.kind && (maker.make == nullptr) == kind.sleeps;
                         }));

// Error: usage, where no teacher is called so.
Status CheckTeacherMethod(const std::string& method) {
  if (FindTeacherMethod(method) != nullptr) return {};
  std::string known;
  for (const TeacherMethod& teacher : kTeacherMethods) known += (known.empty() ? "" : ", ") + std::string(teacher.name);
  return UsageError("There is no teacher method '" + method + "'. Known: " + known + ".");
}

// Error: usage, where the method's rule does not allow the trial's teacher.
Status CheckTeacher(const MethodInputs& inputs) {
  const std::string& method = inputs.spec.method;
  const MethodTraits* rule = FindMethod(method);
  if (rule == nullptr) return UsageError("There is no method '" + method + "'.");
  if (rule->teachers != 0 && !TakesOwnLabels(inputs.spec) && inputs.teacher == nullptr)
    return UsageError("The method " + method + " needs a teacher.");
  const bool fits = inputs.teacher == nullptr || inputs.spec.reading == Reading::sound ||
                    (rule->teachers & MakeMask(FindKind(inputs.teacher->spec))) != 0;
  if (fits) return {};
  return UsageError("The method " + method + " does not ask a " +
                    std::string(GetKindName(FindKind(inputs.teacher->spec))) + ".");
}

}  // namespace

Result<std::unique_ptr<Network>> DrawNetwork(const MethodInputs& inputs) {
  const RngStream stream(inputs.spec.seed, Purpose::parameters);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(inputs.spec, inputs.data.shape, inputs.data.classes, stream, inputs.data.device));
  if (inputs.spec.optimization.initialisation == Initialisation::xavier) network->parameters().RedrawXavier(stream);
  return network;
}

Result<std::unique_ptr<Method>> MakeMethod(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  RETORT_RETURN_IF_ERROR(spec.role == Role::teacher ? CheckTeacherMethod(spec.method) : CheckTeacher(inputs));
  const Maker make = kMakers[static_cast<std::size_t>(FindKind(spec))].make;
  if (make == nullptr) return UsageError("The method " + spec.method + " is not built into this worker.");
  return make(inputs);
}

}  // namespace retort::worker
