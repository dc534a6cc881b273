#include "worker/methods/image_source.h"

#include "worker/methods/mixed_source.h"
#include "worker/methods/procedural_source.h"
#include "worker/methods/source_generator.h"

namespace retort::worker {

Result<std::unique_ptr<ImageSource>> MakeImageSource(const TrialSpec& spec, const Dataset& data, Collective& gang) {
  if (spec.source == QuerySource::procedural)
    return std::unique_ptr<ImageSource>(std::make_unique<ProceduralSource>(spec, data, gang));
  if (spec.source == QuerySource::public_mixes) {
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<MixedSource> mixes, MixedSource::Create(spec, data, gang));
    return std::unique_ptr<ImageSource>(std::move(mixes));
  }
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<SourceGenerator> generator,
                          SourceGenerator::Create(spec, data.shape, gang, data.device));
  return std::unique_ptr<ImageSource>(std::move(generator));
}

}  // namespace retort::worker
