// What a kind of trial starts from before [trial] says anything: the defaults of TrialSpec, and the
// rows below. Sized for small images (28 to 64 pixels).
#include <array>

#include "experiments/spec/spec_keys.h"
#include "experiments/spec/status.h"

namespace retort {
namespace {

constexpr KindMask kPlain = MaskOf(TrialKind::plain_teacher);
constexpr KindMask kEnsemble = MaskOf(TrialKind::ensemble_teacher);
constexpr KindMask kDpsgd = MaskOf(TrialKind::dpsgd_teacher) | MaskOf(TrialKind::dpsgd_student);
constexpr KindMask kVotes = MaskOf(TrialKind::vote_student);
constexpr KindMask kSleep = MaskOf(TrialKind::sleeper);
constexpr KindMask kGradient = MaskOf(TrialKind::gradient_student);

std::int64_t Index(QuerySource source) { return static_cast<std::int64_t>(source); }

}  // namespace

std::span<const PresetRow> PresetRows() {
  static const std::array kPresets = {
      // one rate throughout, where the other kinds decay as TrialSpec's defaults say
      PresetRow{kEnsemble | kDpsgd, "lr_hold", 1.0},
      PresetRow{kEnsemble | kDpsgd, "lr_end", 1.0},
      PresetRow{kPlain | kEnsemble, "batch", std::int64_t{64}},
      PresetRow{kPlain, "shift", std::int64_t{0}},
      PresetRow{kEnsemble, "network", std::string("logistic")},
      // a shard has tens of examples: many passes at a larger rate
      PresetRow{kEnsemble, "epochs", std::int64_t{40}},
      PresetRow{kEnsemble, "lr", 3e-3},
      PresetRow{kDpsgd, "network", std::string("tanh-cnn")},
      PresetRow{kDpsgd, "steps", std::int64_t{80}},
      PresetRow{kDpsgd, "batch", std::int64_t{1024}},
      PresetRow{kDpsgd, "lr", 4.0},
      PresetRow{kDpsgd, "momentum", 0.9},
      PresetRow{kDpsgd, "norm_bound", 0.1},
      PresetRow{kDpsgd, "shift", std::int64_t{0}},
      PresetRow{MaskOf(TrialKind::dpsgd_student), "source", Index(QuerySource::private_split)},
      PresetRow{kGradient, "sigma", 100.0},
      PresetRow{kGradient, "norm_bound", 1e-3},
      PresetRow{kVotes, "queries", std::int64_t{300}},
      PresetRow{kVotes, "label_steps", std::int64_t{250}},
      PresetRow{kVotes, "shift", std::int64_t{2}},
      PresetRow{kVotes, "smoothing", 0.05},
      PresetRow{kSleep, "steps", std::int64_t{1}},
  };
  return kPresets;
}

void ApplyPreset(TrialSpec& spec, TrialKind kind) {
  TrialSpec fresh;
  fresh.role = spec.role;
  fresh.method = spec.method;
  fresh.reading = spec.reading;
  fresh.source = spec.source;
  fresh.teacher = spec.teacher;
  fresh.data = spec.data;
  fresh.seed = spec.seed;
  for (const PresetRow& row : PresetRows()) {
    if ((row.kinds & MaskOf(kind)) == 0) continue;
    const SpecKey* key = nullptr;
    for (const SpecKey& candidate : SpecKeys()) {
      if (candidate.name == row.key) key = &candidate;
    }
    RETORT_CHECK(key != nullptr);
    if (key->AppliesTo(kind, fresh.source)) key->set(fresh, row.value);
  }
  spec = std::move(fresh);
}

}  // namespace retort
