#include "worker/run/exported_script.h"

#include <memory>
#include <optional>
#include <vector>

#include "cluster/worker_questions.h"
#include "experiments/base/rng_stream.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "storage/results/attempt_file.h"
#include "worker/methods/generator_source.h"
#include "worker/models/generators.h"
#include "worker/models/model_registry.h"
#include "worker/models/network.h"
#include "worker/models/recorded_module.h"
#include "worker/run/failure.h"

namespace retort::worker {
namespace {

constexpr const char* kGeneratorPrefix = "generator/";

const RngStream& UnusedStream() {  // what is drawn from it is overwritten
  static const RngStream stream(0, Purpose::parameters);
  return stream;
}

Result<std::string> RecordTrained(const TrialSpec& spec, ImageShape image, const storage::AttemptFile& file,
                                  const std::string& description) {
  RETORT_ASSIGN_OR_RETURN(std::vector<Layer> layers, MakeLayers(spec, image, spec.data->classes));
  Network network(std::move(layers), image, std::nullopt);
  RETORT_RETURN_IF_ERROR(network.LoadState(spec.role == Role::teacher ? "teacher/" : "student/", file.parameters));
  return RecordNetwork(network, description);
}

Result<std::string> RecordMaker(const TrialSpec& spec, ImageShape image, const storage::AttemptFile& file,
                                const std::string& description) {
  if (ReleasesEmbedding(FindKind(spec))) {
    RETORT_ASSIGN_OR_RETURN(
        const std::unique_ptr<ConditionalGenerator> generator,
        ConditionalGenerator::Create(image, spec.data->classes, MakeConditionalSettings(spec), UnusedStream()));
    RETORT_RETURN_IF_ERROR(generator->parameters().FromBlobs(kGeneratorPrefix, file.parameters));
    return RecordGenerator(*generator, spec.data->classes, description);
  }
  RETORT_ASSIGN_OR_RETURN(
      const std::unique_ptr<Generator> generator,
      Generator::Create(image, MakeGeneratorSettings(spec, FindPixelScale(*spec.data)), UnusedStream()));
  RETORT_RETURN_IF_ERROR(generator->parameters().FromBlobs(kGeneratorPrefix, file.parameters));
  return RecordGenerator(*generator, spec.generator.latent, description);
}

Result<std::string> WriteScript(const std::string& text, storage::Env& env) {
  RETORT_ASSIGN_OR_RETURN(const cluster::ScriptOrder order, cluster::DecodeScriptOrder(text));
  RETORT_ASSIGN_OR_RETURN(const TrialSpec spec, DecodeTrialSpec(order.spec));
  if (!spec.data) return UsageError("a trial without a data set trains no network");
  RETORT_ASSIGN_OR_RETURN(const storage::AttemptFile file, storage::ReadAttemptFile(order.attempt_file));
  const ImageShape image{spec.data->channels, spec.data->height, spec.data->width};
  RETORT_ASSIGN_OR_RETURN(const std::string archive, order.generator
                                                         ? RecordMaker(spec, image, file, order.description)
                                                         : RecordTrained(spec, image, file, order.description));
  RETORT_RETURN_IF_ERROR(env.WriteFileAtomically(order.out, archive));
  return std::string("{}");
}

}  // namespace

Status ServeScript(cluster::SocketLink& link, const std::string& order, storage::Env& env) {
  Result<std::string> answer = EnvironmentError("");
  const std::optional<Failure> failure = CatchTorch([&]() -> std::optional<Failure> {
    answer = WriteScript(order, env);
    return std::nullopt;
  });
  if (failure) answer = EnvironmentError("TorchScript's recording failed: " + failure->detail);
  return cluster::SendAnswer(link, answer);
}

}  // namespace retort::worker
