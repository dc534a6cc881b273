#include "experiments/privacy/paper_events.h"

#include "experiments/privacy/lattice_step.h"

namespace retort::privacy {

PrivacyEvent PaperGradientEvent(const PaperSetting& setting, EventUnit unit, bool frobenius) {
  PrivacyEvent event;
  event.kind = MechanismKind::gaussian_gradient;
  event.unit = unit;
  event.rows_per_batch = setting.batch;
  event.count = unit == EventUnit::batch ? setting.steps : setting.steps * setting.batch;
  event.sensitivity = 2 * setting.norm_bound;
  event.noise_std = setting.sigma * setting.norm_bound;
  event.noise_coordinates = event.release_coordinates = setting.classes;
  event.frobenius = frobenius;
  event.granularity = LatticeStep(setting.norm_bound, event.noise_std);
  event.source = NoiseSource::secure_lattice;
  return event;
}

PrivacyEvent PaperWorkingEvent(const PaperSetting& setting) {
  PrivacyEvent event = PaperGradientEvent(setting, EventUnit::row, false);
  event.noise_std /= static_cast<double>(setting.batch);
  return event;
}

PrivacyEvent PaperResponseEvent(const PaperSetting& setting) {
  PrivacyEvent event;
  event.kind = MechanismKind::randomized_response;
  event.rows_per_batch = setting.batch;
  event.count = setting.batch * setting.steps;
  event.epsilon0 = setting.epsilon0;
  event.choices = setting.choices;
  event.source = NoiseSource::secure_lattice;
  return event;
}

PrivacyEvent PaperLossEvent(const PaperSetting& setting) {
  PrivacyEvent event;
  event.kind = MechanismKind::gaussian_gradient;
  event.count = setting.steps;
  event.sensitivity = 1;
  event.noise_std = setting.sigma;
  event.granularity = LatticeStep(event.sensitivity, event.noise_std);
  event.noise_coordinates = event.release_coordinates = 1;
  event.source = NoiseSource::secure_lattice;
  return event;
}

}  // namespace retort::privacy
