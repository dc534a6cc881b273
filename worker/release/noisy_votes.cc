#include "worker/release/noisy_votes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

namespace retort::worker::release {
namespace {

constexpr std::size_t kDigestBytes = 32;

// A digest of each row's bytes.
std::vector<std::string> RowDigests(const at::Tensor& inputs) {
  const at::Tensor rows = inputs.detach().cpu().contiguous();
  std::vector<std::string> digests(static_cast<std::size_t>(rows.size(0)));
  if (digests.empty()) return digests;
  const std::size_t bytes = rows.nbytes() / digests.size();
  const auto* data = static_cast<const std::uint8_t*>(rows.const_data_ptr());
  for (std::string& digest : digests) {
    digest = noise::Digest({data, bytes});
    data += bytes;
  }
  return digests;
}

}  // namespace

NoisyVotes::NoisyVotes(const VoteSettings& settings, noise::LatticeGaussian lattice, noise::NoiseKey key)
    : settings_(settings), lattice_(std::move(lattice)), key_(std::move(key)) {}

Result<std::unique_ptr<NoisyVotes>> NoisyVotes::Create(const VoteSettings& settings, noise::NoiseKey key) {
  RETORT_ASSIGN_OR_RETURN(noise::LatticeGaussian lattice, noise::LatticeGaussian::Create(settings.scale));
  return std::unique_ptr<NoisyVotes>(new NoisyVotes(settings, std::move(lattice), std::move(key)));
}

privacy::PrivacyEvent NoisyVotes::Describe(std::int64_t rows) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::noisy_votes;
  event.unit = privacy::EventUnit::vote;
  event.count = rows;
  event.sensitivity = std::sqrt(2.0);  // one member moves one vote; the double lies above the root
  event.noise_std = settings_.scale;
  event.noise_coordinates = settings_.classes;
  event.release_coordinates = settings_.classes;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  event.assumptions = {std::string(privacy::kAssumeDisjointShards)};
  return event;
}

std::int64_t NoisyVotes::DrawsFor(const Answers& answers) const {
  std::set<std::string> fresh;
  for (std::string& digest : RowDigests(answers.query_.inputs)) {
    if (!remembered_.contains(digest)) fresh.insert(std::move(digest));
  }
  return static_cast<std::int64_t>(fresh.size());
}

Result<Released> NoisyVotes::Release(const Answers& answers, Charge&& charge) {
  const Charge spent = std::move(charge);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe(DrawsFor(answers))));
  if (!answers.votes_.defined()) return Refused("Noisy votes need an ensemble's answers.");
  const at::Tensor votes = answers.votes_.cpu().contiguous();
  const auto classes = static_cast<std::size_t>(settings_.classes);
  if (votes.size(1) != settings_.classes)
    return Refused("The answers have another number of classes than the event.");
  if (answers.step() <= last_step_)
    return Refused("Step " + std::to_string(answers.step()) + " drew its noise before.");
  last_step_ = answers.step();

  noise::ChaChaStream bits(key_, {static_cast<std::uint64_t>(answers.step()), noise::Purpose::votes});
  const std::vector<std::string> digests = RowDigests(answers.query_.inputs);
  at::Tensor released = at::empty_like(votes);
  const auto* vote = votes.const_data_ptr<std::int32_t>();
  auto* out = released.data_ptr<std::int32_t>();
  for (std::size_t row = 0; row < digests.size(); ++row, vote += classes, out += classes) {
    auto [entry, fresh] = remembered_.try_emplace(digests[row]);
    if (fresh) {
      entry->second.resize(classes);
      lattice_.Sample(bits, entry->second);
      for (std::size_t c = 0; c < classes; ++c) entry->second[c] += vote[c];
    }
    std::copy(entry->second.begin(), entry->second.end(), out);
  }
  return Released{released};
}

VoteMemory NoisyVotes::Save() const {
  const auto rows = static_cast<std::int64_t>(remembered_.size());
  VoteMemory memory{at::empty({rows, static_cast<std::int64_t>(kDigestBytes)}, at::kByte),
                    at::empty({rows, settings_.classes}, at::kInt)};
  auto* digest = memory.digests.data_ptr<std::uint8_t>();
  auto* value = memory.values.data_ptr<std::int32_t>();
  for (const auto& [key, released] : remembered_) {
    digest = std::copy(key.begin(), key.end(), digest);
    value = std::copy(released.begin(), released.end(), value);
  }
  return memory;
}

void NoisyVotes::Restore(const VoteMemory& memory) {
  const at::Tensor digests = memory.digests.contiguous();
  const at::Tensor values = memory.values.contiguous();
  RETORT_CHECK(digests.size(1) == static_cast<std::int64_t>(kDigestBytes) &&
               values.size(1) == settings_.classes);
  const auto* digest = digests.const_data_ptr<std::uint8_t>();
  const auto* value = values.const_data_ptr<std::int32_t>();
  remembered_.clear();
  for (std::int64_t row = 0; row < digests.size(0);
       ++row, digest += kDigestBytes, value += settings_.classes) {
    remembered_[std::string(digest, digest + kDigestBytes)].assign(value, value + settings_.classes);
  }
}

void NoisyVotes::Remember(const at::Tensor& inputs, const at::Tensor& values) {
  const at::Tensor rows = values.cpu().contiguous();
  RETORT_CHECK(rows.size(0) == inputs.size(0) && rows.size(1) == settings_.classes);
  const auto* value = rows.const_data_ptr<std::int32_t>();
  for (const std::string& digest : RowDigests(inputs)) {
    remembered_[digest].assign(value, value + settings_.classes);
    value += settings_.classes;
  }
}

}  // namespace retort::worker::release
