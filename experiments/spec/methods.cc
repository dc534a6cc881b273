#include "experiments/spec/methods.h"

#include <array>

namespace retort {
namespace {

constexpr ReadingMask kWorking = MaskOf(Reading::working), kPrinted = MaskOf(Reading::printed),
                      kRowAveraged = MaskOf(Reading::row_averaged), kSound = MaskOf(Reading::sound);
constexpr KindMask kSingle = MaskOf(TrialKind::plain_teacher) | MaskOf(TrialKind::dpsgd_teacher) |
                             MaskOf(TrialKind::loaded_teacher);
constexpr KindMask kEnsemble = MaskOf(TrialKind::ensemble_teacher);
constexpr SourceMask kGenerated = MaskOf(QuerySource::generator), kPublic = MaskOf(QuerySource::public_split),
                     kPrivate = MaskOf(QuerySource::private_split),
                     kMade = kGenerated | MaskOf(QuerySource::procedural);

using enum QuerySource;

constexpr std::array kMethods = {
    MethodRule{"dpdfd", TrialKind::gradient_student, kWorking | kPrinted | kRowAveraged | kSound, kSingle, kMade,
               generator},
    MethodRule{"dpdfd-ensemble", TrialKind::gradient_student, kWorking | kPrinted | kSound, kEnsemble, kMade,
               generator},
    MethodRule{"dpdfd-direct", TrialKind::gradient_student, kWorking | kPrinted | kRowAveraged, kSingle, kPrivate,
               private_split},
    MethodRule{"dp-dfd", TrialKind::response_student, kWorking | kPrinted | kSound, kSingle, kMade, generator},
    MethodRule{"dpsd-data", TrialKind::gradient_student, kWorking | kPrinted | kRowAveraged | kSound, kSingle,
               kMade, generator},
    MethodRule{"dpsd-label", TrialKind::response_student, kWorking | kPrinted | kSound, kSingle, kMade,
               generator},
    MethodRule{"dpsd-t", TrialKind::gradient_student, kWorking | kPrinted | kRowAveraged, kSingle, kGenerated,
               generator},
    MethodRule{"dpsd-kd", TrialKind::gradient_student, kWorking | kPrinted | kRowAveraged | kSound, kSingle,
               kMade, generator},
    MethodRule{"feddpsd", TrialKind::gradient_student, kWorking | kPrinted | kSound, kEnsemble, kMade,
               generator},
    MethodRule{"rona", TrialKind::query_student, kWorking | kPrinted | kSound, kSingle, kPublic, public_split},
    MethodRule{"dpsgd", TrialKind::dpsgd_student, 0, 0, kPrivate, private_split},
    MethodRule{"dp-gd", TrialKind::dpsgd_student, 0, 0, kPrivate, private_split},
    MethodRule{"dp-merf", TrialKind::merf_student, 0, 0, kPrivate, private_split},
    MethodRule{"dp-spectral", TrialKind::spectral_student, 0, 0, kPublic, public_split},
    MethodRule{"pate", TrialKind::vote_student, 0, kEnsemble, kPublic, public_split},
    MethodRule{"lp-2st", TrialKind::label_student, 0, 0, kPrivate, private_split},
    MethodRule{"alibi", TrialKind::label_student, 0, 0, kPrivate, private_split},
    MethodRule{"fedavg", TrialKind::federated_student, 0, 0, kPrivate, private_split},
    MethodRule{"dense", TrialKind::raw_student, 0, kEnsemble | kSingle, kGenerated, generator},
    MethodRule{"sleep", TrialKind::sleeper, 0, 0, kGenerated, generator},
};

}  // namespace

std::span<const MethodRule> Methods() { return kMethods; }

const MethodRule* FindMethod(std::string_view name) {
  for (const MethodRule& method : kMethods)
    if (method.name == name) return &method;
  return nullptr;
}

std::vector<std::string> ReadingsOf(const MethodRule& method) {
  constexpr std::array<std::string_view, 4> kNames = {"working", "printed", "row-averaged", "sound"};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if ((method.readings >> i & 1U) != 0) names.emplace_back(kNames[i]);
  return names;
}

}  // namespace retort
