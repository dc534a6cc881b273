#include "worker/release/vote_threshold.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace retort::worker::release {

VoteThreshold::VoteThreshold(const ThresholdSettings& settings, noise::LatticeGaussian lattice, noise::NoiseKey key)
    : settings_(settings), lattice_(std::move(lattice)), key_(std::move(key)) {}

Result<std::unique_ptr<VoteThreshold>> VoteThreshold::Create(const ThresholdSettings& settings, noise::NoiseKey key) {
  RETORT_ASSIGN_OR_RETURN(noise::LatticeGaussian lattice, noise::LatticeGaussian::Create(settings.scale));
  return std::unique_ptr<VoteThreshold>(new VoteThreshold(settings, std::move(lattice), std::move(key)));
}

privacy::PrivacyEvent VoteThreshold::Describe(std::int64_t rows) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::vote_threshold;
  event.unit = privacy::EventUnit::vote;
  event.count = rows;
  event.sensitivity = 1;
  event.noise_std = settings_.scale;
  event.noise_coordinates = 1;
  event.release_coordinates = 1;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  event.assumptions = {std::string(privacy::kAssumeDisjointShards)};
  return event;
}

std::int64_t VoteThreshold::DrawsFor(const Answers& answers) const { return memory_.Fresh(answers.query_.inputs); }

Result<Released> VoteThreshold::Release(const Answers& answers, Charge&& charge) {
  const Charge spent = std::move(charge);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe(DrawsFor(answers))));
  if (!answers.votes_.defined()) return Refused("A threshold on votes needs an ensemble's answers.");
  if (answers.query_.grain != 1) return Refused("A threshold is held against whole votes, and these are in parts.");
  if (answers.step() <= last_step_)
    return Refused("Step " + std::to_string(answers.step()) + " drew its noise before.");
  last_step_ = answers.step();

  const at::Tensor votes = answers.votes_.cpu().contiguous();
  const auto classes = static_cast<std::size_t>(votes.size(1));
  const auto* vote = votes.const_data_ptr<std::int32_t>();
  noise::ChaChaStream bits(key_, {static_cast<std::uint64_t>(answers.step()), noise::Purpose::thresholds});
  return Released{memory_.Recall(answers.query_.inputs, [&](std::size_t row, std::span<std::int32_t> out) {
    lattice_.Sample(bits, out);
    const std::int64_t largest = *std::max_element(vote + row * classes, vote + (row + 1) * classes);
    out[0] = largest + out[0] >= settings_.threshold ? 1 : 0;
  })};
}

}  // namespace retort::worker::release
