#include "worker/methods/rona_schedule.h"

#include <algorithm>

#include "experiments/spec/status.h"

namespace retort::worker {

std::string_view PhaseName(RonaPhase phase) {
  switch (phase) {
    case RonaPhase::auxiliary: return "auxiliary";
    case RonaPhase::hint: return "hint";
    case RonaPhase::self: return "self";
    case RonaPhase::ask: return "release";
    case RonaPhase::distill: return "distill";
  }
  CheckFailed("a known phase", __FILE__, __LINE__, "");
}

RonaSchedule::RonaSchedule(const RonaVolume& volume) : volume_(volume) {
  Add(RonaPhase::auxiliary, 0, volume.auxiliary_epochs, volume.examples);
  Add(RonaPhase::hint, 0, volume.hint_epochs, volume.queries);
  Add(RonaPhase::self, 0, volume.warm_epochs, volume.examples);
  for (std::int64_t round = 0; round < volume.rounds; ++round) {
    const std::int64_t fewer = volume.printed ? 0 : 2 * round;
    const std::int64_t self = std::max(volume.self_epochs - fewer, std::min<std::int64_t>(volume.self_epochs, 1));
    if (volume.printed) Add(RonaPhase::self, round, self, volume.examples);
    if (volume.votes > 0) Add(RonaPhase::ask, round, 1, VotesUntil(round + 1) - VotesUntil(round));
    Add(RonaPhase::distill, round, volume.distill_epochs, volume.votes > 0 ? VotesUntil(round + 1) : volume.queries);
    if (!volume.printed) Add(RonaPhase::self, round, self, volume.examples);
  }
}

std::int64_t RonaSchedule::VotesUntil(std::int64_t round) const {
  return volume_.rounds == 0 ? 0 : volume_.votes / volume_.rounds * round +
                                       volume_.votes % volume_.rounds * round / volume_.rounds;
}

void RonaSchedule::Add(RonaPhase phase, std::int64_t round, std::int64_t epochs, std::int64_t rows) {
  if (epochs == 0 || rows == 0) return;
  const bool own = phase == RonaPhase::self || phase == RonaPhase::auxiliary;
  const std::int64_t batch = std::min(own ? volume_.student_batch : volume_.batch, rows);
  sections_.push_back({phase, round, epochs, rows, batch, steps_, epochs_});
  steps_ += epochs * ((rows + batch - 1) / batch);
  epochs_ += epochs;
}

RonaStep RonaSchedule::At(std::int64_t step) const {
  RETORT_CHECK(step >= 0 && step < steps_);
  const auto after = std::find_if(sections_.begin(), sections_.end(),
                                  [step](const Section& section) { return section.first_step > step; });
  const Section& section = *(after - 1);
  const std::int64_t per_epoch = (section.rows + section.batch - 1) / section.batch, within = step - section.first_step;
  RonaStep out{section.phase, section.round, section.first_epoch + within / per_epoch,
               within % per_epoch * section.batch, 0, section.rows, 1};
  out.rows = std::min(section.batch, section.rows - out.first);
  if (!volume_.printed && section.round > volume_.rounds * 7 / 10) out.rate = 0.1;
  return out;
}

}  // namespace retort::worker
