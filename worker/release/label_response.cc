#include "worker/release/label_response.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "worker/noise/noise_key.h"
#include "worker/release/randomized_response.h"

namespace retort::worker::release {
namespace {

constexpr double kMinLabelEpsilon = 1e-6, kMaxLabelEpsilon = 700;

}  // namespace

PrivateLabels::PrivateLabels(const at::Tensor& labels) {
  const at::Tensor own = labels.cpu().contiguous();
  const auto* label = own.const_data_ptr<std::int64_t>();
  labels_.assign(label, label + own.numel());
}

UnlabelledExamples SealLabels(const Examples& examples) {
  return {examples.Relabelled(at::full_like(examples.labels, -1)), PrivateLabels(examples.labels)};
}

LabelResponse::LabelResponse(const LabelSettings& settings, noise::NoiseKey key)
    : settings_(settings), key_(std::move(key)) {}

Result<std::unique_ptr<LabelResponse>> LabelResponse::Create(const LabelSettings& settings, noise::NoiseKey key) {
  if (!(settings.epsilon0 >= kMinLabelEpsilon && settings.epsilon0 <= kMaxLabelEpsilon))
    return UsageError("A label's release needs an epsilon0 between 1e-6 and 700.");
  const bool empty = std::any_of(settings.parts.begin(), settings.parts.end(), [](auto labels) { return labels < 1; });
  if (settings.classes < 2 || settings.parts.empty() || empty)
    return UsageError("Releasing labels needs two classes or more, and a label or more in every part.");
  std::unique_ptr<LabelResponse> made(new LabelResponse(settings, std::move(key)));
  if (settings.noise == LabelNoise::laplace) {
    RETORT_ASSIGN_OR_RETURN(noise::LatticeLaplace laplace,
                            noise::LatticeLaplace::Create(LabelLaplaceRate(settings.epsilon0)));
    made->laplace_.emplace(std::move(laplace));
  }
  return made;
}

privacy::PrivacyEvent LabelResponse::Describe(std::size_t part) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::label_response;
  event.unit = privacy::EventUnit::row;
  event.count = event.rows_per_batch = settings_.parts.at(part);
  event.epsilon0 = settings_.epsilon0;
  event.choices = 2;
  event.noise_coordinates = static_cast<std::int64_t>(part) + 1;
  event.release_coordinates = settings_.classes;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  return event;
}

Status LabelResponse::Begin(LabelNoise noise, const PrivateLabels& labels, std::size_t part, const at::Tensor& rows,
                            std::int64_t step, const Charge& charge) {
  if (part >= settings_.parts.size() || rows.numel() != settings_.parts[part])
    return Refused("The labels are those of no part that their event speaks of.");
  RETORT_RETURN_IF_ERROR(charge.Covers(Describe(part)));
  if (noise != settings_.noise) return Refused("The labels' event speaks of another kind of noise.");
  if (step <= last_step_) return Refused("Step " + std::to_string(step) + " drew its noise before.");
  released_.resize(labels.labels_.size());
  const auto* row = rows.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < rows.numel(); ++i) {
    if (row[i] < 0 || row[i] >= labels.size())
      return Refused("There is no label of row " + std::to_string(row[i]) + ".");
    if (labels.labels_[static_cast<std::size_t>(row[i])] < 0 ||
        labels.labels_[static_cast<std::size_t>(row[i])] >= settings_.classes)
      return Refused("A label is none of the classes that the event says.");
    if (released_[static_cast<std::size_t>(row[i])])
      return Refused("The label of row " + std::to_string(row[i]) + " was released before.");
    released_[static_cast<std::size_t>(row[i])] = true;
  }
  last_step_ = step;
  return {};
}

Result<at::Tensor> LabelResponse::Respond(const PrivateLabels& labels, std::size_t part, const at::Tensor& rows,
                                          const at::Tensor& candidates, std::int64_t step, Charge&& charge) {
  const Charge spent = std::move(charge);
  const at::Tensor which = rows.cpu().contiguous(), sets = candidates.to(at::kBool).cpu().contiguous();
  if (sets.dim() != 2 || sets.size(0) != which.numel() || sets.size(1) != settings_.classes)
    return Refused("Each row needs a set of candidates.");
  if (which.numel() > 0 && !sets.any(1).all().item<bool>()) return Refused("A row has no candidate.");
  RETORT_RETURN_IF_ERROR(Begin(LabelNoise::response, labels, part, which, step, spent));
  noise::ChaChaStream bits(key_, {static_cast<std::uint64_t>(step), noise::Purpose::labels});
  at::Tensor out = at::empty({which.numel()}, at::kLong);
  const bool* candidate = sets.const_data_ptr<bool>();
  const auto* row = which.const_data_ptr<std::int64_t>();
  auto* answer = out.mutable_data_ptr<std::int64_t>();
  const auto classes = static_cast<std::size_t>(settings_.classes);
  std::vector<std::size_t> set;
  for (std::int64_t i = 0; i < which.numel(); ++i, candidate += classes) {
    set.clear();
    for (std::size_t c = 0; c < classes; ++c) {
      if (candidate[c]) set.push_back(c);
    }
    const auto truth = static_cast<std::size_t>(labels.labels_[static_cast<std::size_t>(row[i])]);
    answer[i] = static_cast<std::int64_t>(AnswerAmong(truth, set, settings_.epsilon0, bits));
  }
  return out;
}

Result<at::Tensor> LabelResponse::AddLaplace(const PrivateLabels& labels, std::size_t part, const at::Tensor& rows,
                                             std::int64_t step, Charge&& charge) {
  const Charge spent = std::move(charge);
  const at::Tensor which = rows.cpu().contiguous();
  RETORT_RETURN_IF_ERROR(Begin(LabelNoise::laplace, labels, part, which, step, spent));
  noise::ChaChaStream bits(key_, {static_cast<std::uint64_t>(step), noise::Purpose::labels});
  at::Tensor out = at::empty({which.numel(), settings_.classes}, at::kFloat);
  const auto* row = which.const_data_ptr<std::int64_t>();
  auto* value = out.mutable_data_ptr<float>();
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(settings_.classes));
  // Noise beyond the sampler's range is cut off here, whatever the label.
  const std::int64_t most = laplace_->reach() - kLabelSteps;
  for (std::int64_t i = 0; i < which.numel(); ++i) {
    laplace_->Sample(bits, drawn);
    const auto truth = static_cast<std::size_t>(labels.labels_[static_cast<std::size_t>(row[i])]);
    drawn[truth] += kLabelSteps;
    for (const std::int64_t steps : drawn)
      *value++ =
          static_cast<float>(std::ldexp(static_cast<double>(std::clamp(steps, -most, most)), -kLabelLatticeBits));
  }
  return out;
}

}  // namespace retort::worker::release
