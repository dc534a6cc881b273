#include "worker/release/noiseless.h"

namespace retort::worker::release {

privacy::PrivacyEvent Noiseless::Describe(std::int64_t rows) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::none;
  event.unit = privacy::EventUnit::row;
  event.count = rows;
  event.rows_per_batch = batch_;
  event.release_coordinates = classes_;
  return event;
}

Result<Released> Noiseless::Release(const Answers& answers, Charge&& charge) {
  const Charge spent = std::move(charge);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe(answers.rows())));
  return Released{answers.logits_.defined() ? answers.logits_.detach() : answers.votes_};
}

}  // namespace retort::worker::release
