#include "worker/release/randomized_response.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace retort::worker::release {
namespace {

constexpr double kLeastEpsilon = 1e-6, kLargestEpsilon = 700;
constexpr std::int64_t kFewestCandidates = 2;

// Uniform on 0 .. count - 1, exactly: words of the last, incomplete cycle are thrown away.
std::uint64_t Below(std::uint64_t count, noise::ChaChaStream& bits) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t incomplete = (kMost % count + 1) % count;
  std::uint64_t word = bits.NextU64();
  while (word > kMost - incomplete) word = bits.NextU64();
  return word % count;
}

// `candidates` in ascending order.
std::size_t Respond(std::size_t truth, const std::vector<std::size_t>& candidates, double epsilon0,
                    noise::ChaChaStream& bits) {
  const std::size_t k = candidates.size();
  std::size_t place = 0;
  while (place < k && candidates[place] != truth) ++place;
  if (place == k) return candidates[Below(k, bits)];
  if (bits.NextU64() >= LeaveThreshold(epsilon0, static_cast<std::int64_t>(k))) return truth;
  const std::size_t other = Below(k - 1, bits);
  return candidates[other < place ? other : other + 1];
}

std::size_t FirstLargest(std::span<const float> values) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < values.size(); ++c) {
    if (values[c] > values[best]) best = c;
  }
  return best;
}

}  // namespace

std::uint64_t LeaveThreshold(double epsilon0, std::int64_t candidates) {
  const auto others = static_cast<double>(candidates - 1);
  const double leave = others / (std::exp(epsilon0) + others) * (1 + 0x1p-42);
  const double scaled = std::ceil(std::ldexp(leave, 64));
  return scaled < 1 ? 1 : static_cast<std::uint64_t>(scaled);
}

RandomizedResponse::RandomizedResponse(const ResponseSettings& settings, noise::NoiseKey key)
    : settings_(settings), key_(std::move(key)), memory_(settings.classes) {}

Result<std::unique_ptr<RandomizedResponse>> RandomizedResponse::Create(const ResponseSettings& settings,
                                                                       noise::NoiseKey key) {
  if (!(settings.epsilon0 >= kLeastEpsilon && settings.epsilon0 <= kLargestEpsilon)) {
    return UsageError("Randomised response needs an epsilon between 1e-6 and 700 for each answer.");
  }
  if (settings.classes < kFewestCandidates || settings.batch < 1) {
    return UsageError("Randomised response needs two classes or more, and a batch of 1 or more.");
  }
  return std::unique_ptr<RandomizedResponse>(new RandomizedResponse(settings, std::move(key)));
}

privacy::PrivacyEvent RandomizedResponse::Describe(std::int64_t rows) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::randomized_response;
  event.unit = privacy::EventUnit::row;
  event.count = rows;
  event.epsilon0 = settings_.epsilon0;
  event.choices = kFewestCandidates;
  event.rows_per_batch = settings_.batch;
  event.noise_coordinates = settings_.classes;
  event.release_coordinates = settings_.classes;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  return event;
}

std::int64_t RandomizedResponse::DrawsFor(const Answers& answers) const {
  return memory_.Fresh(answers.query_.inputs);
}

Result<Released> RandomizedResponse::Release(const Answers& answers, Charge&& charge) {
  const Charge spent = std::move(charge);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe(DrawsFor(answers))));
  if (!answers.logits_.defined()) return Refused("Randomised response needs a single teacher's answers.");
  const std::int64_t rows = answers.rows();
  if (answers.logits_.size(1) != settings_.classes || rows > settings_.batch)
    return Refused("The answers have another shape than the event.");
  const at::Tensor& asked = answers.query_.candidates;
  const at::Tensor candidates = asked.defined() ? asked.to(at::kBool).cpu().contiguous()
                                                : at::ones({rows, settings_.classes}, at::kBool);
  if (candidates.sizes() != answers.logits_.sizes()) return Refused("Each row needs a set of candidates.");
  if (rows > 0 && candidates.sum(1).min().item<std::int64_t>() < kFewestCandidates)
    return Refused("A row has fewer than two candidates: its answer would be no secret.");
  if (answers.step() <= last_step_)
    return Refused("Step " + std::to_string(answers.step()) + " drew its noise before.");
  last_step_ = answers.step();

  noise::ChaChaStream bits(key_, {static_cast<std::uint64_t>(answers.step()), noise::Purpose::response});
  const at::Tensor logits = answers.logits_.detach().cpu().contiguous();
  const auto classes = static_cast<std::size_t>(settings_.classes);
  const float* logit = logits.const_data_ptr<float>();
  const bool* candidate = candidates.const_data_ptr<bool>();
  return Released{memory_.Recall(answers.query_.inputs, [&](std::size_t row, std::span<std::int32_t> out) {
    std::vector<std::size_t> set;
    for (std::size_t c = 0; c < classes; ++c) {
      if (candidate[row * classes + c]) set.push_back(c);
    }
    const std::size_t truth = FirstLargest({logit + row * classes, classes});
    out[Respond(truth, set, settings_.epsilon0, bits)] = 1;
  })};
}

}  // namespace retort::worker::release
