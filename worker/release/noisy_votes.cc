#include "worker/release/noisy_votes.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

namespace retort::worker::release {
namespace {

constexpr std::int64_t kFinestGrain = 1024;

// Of equal counts the first.
void KeepFirstClass(std::span<std::int32_t> counts) {
  const auto first = std::max_element(counts.begin(), counts.end()) - counts.begin();
  std::fill(counts.begin(), counts.end(), 0);
  counts[static_cast<std::size_t>(first)] = 1;
}

}  // namespace

NoisyVotes::NoisyVotes(const VoteSettings& settings, noise::LatticeGaussian lattice, noise::NoiseKey key)
    : settings_(settings), lattice_(std::move(lattice)), key_(std::move(key)), memory_(settings.classes) {}

Result<std::unique_ptr<NoisyVotes>> NoisyVotes::Create(const VoteSettings& settings, noise::NoiseKey key) {
  if (settings.grain < 1 || settings.grain > kFinestGrain) return UsageError("grain must lie between 1 and 1024.");
  RETORT_ASSIGN_OR_RETURN(noise::LatticeGaussian lattice,
                          noise::LatticeGaussian::Create(settings.scale * static_cast<double>(settings.grain)));
  return std::unique_ptr<NoisyVotes>(new NoisyVotes(settings, std::move(lattice), std::move(key)));
}

privacy::PrivacyEvent NoisyVotes::Describe(std::int64_t rows) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::noisy_votes;
  event.unit = privacy::EventUnit::vote;
  event.count = rows;
  // The square root is rounded up, and accountants recover the whole number G from it.
  event.sensitivity = std::sqrt(2.0) * static_cast<double>(settings_.grain);
  event.noise_std = settings_.scale * static_cast<double>(settings_.grain);
  event.noise_coordinates = settings_.classes;
  event.release_coordinates = settings_.classes;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  event.assumptions = {std::string(privacy::kAssumeDisjointShards)};
  return event;
}

std::int64_t NoisyVotes::DrawsFor(const Answers& answers) const { return memory_.Fresh(answers.query_.inputs); }

Result<Released> NoisyVotes::Release(const Answers& answers, Charge&& charge) {
  const Charge spent = std::move(charge);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe(DrawsFor(answers))));
  if (!answers.votes_.defined()) return Refused("Noisy votes need an ensemble's answers.");
  if (answers.query_.grain != settings_.grain)
    return Refused("The members voted at another grain than the event says.");
  const at::Tensor votes = answers.votes_.cpu().contiguous();
  const auto classes = static_cast<std::size_t>(settings_.classes);
  if (votes.size(1) != settings_.classes) return Refused("The answers have another number of classes than the event.");
  if (answers.step() <= last_step_)
    return Refused("Step " + std::to_string(answers.step()) + " drew its noise before.");
  last_step_ = answers.step();

  noise::ChaChaStream bits(key_, {static_cast<std::uint64_t>(answers.step()), noise::Purpose::votes});
  const auto* vote = votes.const_data_ptr<std::int32_t>();
  return Released{memory_.Recall(answers.query_.inputs, [&](std::size_t row, std::span<std::int32_t> out) {
    lattice_.Sample(bits, out);
    for (std::size_t c = 0; c < classes; ++c) out[c] += vote[row * classes + c];
    if (settings_.first_class) KeepFirstClass(out);
  })};
}

}  // namespace retort::worker::release
