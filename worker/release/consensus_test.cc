#include "worker/release/consensus_test.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "worker/release/answer_memory.h"

namespace retort::worker::release {
namespace {

// The noise is drawn as a whole number of these parts of a deviation (relation.cc counts what that moves).
constexpr double kParts = 4096;
// The sensitivity is this part of the allowed cost at least, and a cost beyond so many times it counts as that: with
// both, sums in floating point are off by less than a ten-thousandth of the sensitivity.
constexpr double kLeastSensitivity = 1e-6, kMostCost = 100;

}  // namespace

ConsensusTest::ConsensusTest(const ConsensusSettings& settings, privacy::VoteCosts costs,
                             noise::LatticeGaussian lattice, noise::NoiseKey key)
    : settings_(settings), costs_(std::move(costs)), lattice_(std::move(lattice)), key_(std::move(key)) {}

Result<std::unique_ptr<ConsensusTest>> ConsensusTest::Create(const ConsensusSettings& settings, noise::NoiseKey key) {
  const privacy::VoteTest& test = settings.planned.test;
  RETORT_ASSIGN_OR_RETURN(privacy::VoteCosts costs,
                          privacy::VoteCosts::Create({settings.members, settings.classes, settings.threshold,
                                                      test.threshold_noise, test.vote_noise, test.order}));
  RETORT_ASSIGN_OR_RETURN(noise::LatticeGaussian lattice, noise::LatticeGaussian::Create(kParts));
  return std::unique_ptr<ConsensusTest>(
      new ConsensusTest(settings, std::move(costs), std::move(lattice), std::move(key)));
}

privacy::PrivacyEvent ConsensusTest::Describe() const {
  privacy::PrivacyEvent event = settings_.planned;
  if (asked_ > 0) event.test.queries = static_cast<std::int64_t>(seen_.size());
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  return event;
}

Status ConsensusTest::Observe(const Answers& answers) {
  if (!answers.votes_.defined() || answers.query_.grain != 1)
    return Refused("A test of the cost of votes needs whole votes of an ensemble.");
  asked_ += answers.rows();
  const at::Tensor votes = answers.votes_.cpu().contiguous();
  const auto classes = static_cast<std::size_t>(votes.size(1));
  if (votes.size(1) != settings_.classes) return Refused("The answers have another number of classes than the test.");
  const at::Tensor digests = QueryDigests(answers.query_.inputs);
  const auto* bytes = reinterpret_cast<const char*>(digests.const_data_ptr<std::uint8_t>());
  const auto* vote = votes.const_data_ptr<std::int32_t>();
  for (std::int64_t row = 0; row < votes.size(0); ++row, bytes += kDigestBytes, vote += classes) {
    if (!seen_.emplace(bytes, static_cast<std::size_t>(kDigestBytes)).second) continue;
    std::array<std::int32_t, 2> first = {};
    std::partial_sort_copy(vote, vote + classes, first.begin(), first.end(), std::greater<>());
    queries_.push_back({first[0], first[0] - first[1]});
  }
  return {};
}

Result<bool> ConsensusTest::Release(Charge&& charge) {
  const Charge spent = std::move(charge);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe()));
  if (std::exchange(released_, true)) return Refused("The cost of these votes was tested before.");
  const privacy::PrivacyEvent& planned = settings_.planned;
  if (asked_ != planned.test.queries) return Refused("Other queries were seen than the test is about.");
  const double allowed = planned.test.cost;
  const double cost = std::min(costs_.Sum(queries_), kMostCost * allowed);
  const double sensitivity = costs_.SmoothSensitivity(queries_, planned.test.smoothness, kLeastSensitivity * allowed);
  // Passes where Z is at most this, rounded down to where two numbers of parts meet.
  const double place = (allowed - cost) / (sensitivity * planned.noise_std) - planned.sensitivity;
  const double parts = std::floor(std::clamp(place, -1000.0, 1000.0) * kParts - 0.5);
  noise::ChaChaStream bits(key_, {0, noise::Purpose::consensus});
  std::array<std::int32_t, 1> drawn = {};
  lattice_.Sample(bits, drawn);
  return static_cast<double>(drawn[0]) <= parts;
}

}  // namespace retort::worker::release
