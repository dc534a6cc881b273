#include "worker/release/randomized_response.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/methods/methods.h"
#include "worker/release/answers.h"

namespace retort::worker::release {
namespace {

constexpr double kMinEpsilon = 1e-6, kMaxEpsilon = 700;
constexpr std::int64_t kMinCandidates = 2;

std::vector<std::size_t> Marked(const bool* candidate, std::size_t classes) {
  std::vector<std::size_t> set;
  for (std::size_t c = 0; c < classes; ++c) {
    if (candidate[c]) set.push_back(c);
  }
  return set;
}

std::vector<std::size_t> EveryClass(std::size_t classes) {
  std::vector<std::size_t> set(classes);
  std::iota(set.begin(), set.end(), std::size_t{0});
  return set;
}

// In the form that the memory stores.
at::Tensor AsBits(const at::Tensor& values) {
  const at::Tensor rows = values.cpu().contiguous();
  return rows.scalar_type() == at::kFloat ? rows.view(at::kInt) : rows;
}

}  // namespace

std::size_t AnswerAmong(std::size_t truth, const std::vector<std::size_t>& candidates, double epsilon0,
                        noise::ChaChaStream& bits) {
  const std::size_t k = candidates.size();
  if (k == 1) return candidates[0];
  const auto place =
      static_cast<std::size_t>(std::find(candidates.begin(), candidates.end(), truth) - candidates.begin());
  if (place == k) return candidates[bits.Below(k)];
  if (bits.NextU64() >= LeaveThreshold(epsilon0, static_cast<std::int64_t>(k))) return truth;
  const std::uint64_t other = bits.Below(k - 1);
  return candidates[other < place ? other : other + 1];
}

std::uint64_t LeaveThreshold(double epsilon0, std::int64_t candidates) {
  const auto others = static_cast<double>(candidates - 1);
  const double leave = others / (std::exp(epsilon0) + others) * (1 + 0x1p-42);
  const double scaled = std::ceil(std::ldexp(leave, 64));
  return scaled < 1 ? 1 : static_cast<std::uint64_t>(scaled);
}

ResponseSettings MakeResponseSettings(const TrialSpec& spec, std::int64_t classes, std::int64_t members) {
  ResponseSettings settings;
  settings.epsilon0 = spec.release.epsilon0;
  settings.classes = classes;
  settings.batch = spec.batch;
  if (spec.release.response_over == ResponseOver::classes) settings.form = ResponseForm::every_class;
  if (GivesSoftAnswers(spec)) settings.form = ResponseForm::soft;
  settings.candidates = spec.release.threshold > 0 ? 0 : spec.release.top_k;
  settings.members = members;
  settings.generator_touched_teacher =
      spec.generator.discriminator == Discriminator::teacher || spec.generator.pretrain_steps > 0;
  return settings;
}

RandomizedResponse::RandomizedResponse(const ResponseSettings& settings, noise::NoiseKey key)
    : settings_(settings), key_(std::move(key)), memory_(settings.classes) {}

Result<std::unique_ptr<RandomizedResponse>> RandomizedResponse::Create(const ResponseSettings& settings,
                                                                       noise::NoiseKey key) {
  if (!(settings.epsilon0 >= kMinEpsilon && settings.epsilon0 <= kMaxEpsilon)) {
    return UsageError("Randomised response needs an epsilon between 1e-6 and 700 for each answer.");
  }
  if (settings.classes < kMinCandidates || settings.batch < 1 || settings.members < 1) {
    return UsageError("Randomised response needs two classes or more, and a batch of 1 or more.");
  }
  const std::int64_t candidates = settings.candidates;
  if (candidates != 0 && (candidates < kMinCandidates || candidates > settings.classes)) {
    return UsageError("Randomised response needs two candidates or more, and no more than there are classes.");
  }
  if (settings.members > 1 && settings.form != ResponseForm::one_hot) {
    return UsageError("The printed forms of randomised response are of a single teacher.");
  }
  return std::unique_ptr<RandomizedResponse>(new RandomizedResponse(settings, std::move(key)));
}

privacy::PrivacyEvent RandomizedResponse::Describe(std::int64_t rows) const {
  privacy::PrivacyEvent event;
  const bool several = settings_.members > 1;
  event.kind = several ? privacy::MechanismKind::member_response : privacy::MechanismKind::randomized_response;
  event.unit = privacy::EventUnit::row;
  event.count = rows;
  event.epsilon0 = settings_.epsilon0;
  event.choices = kMinCandidates;
  event.rows_per_batch = settings_.batch;
  event.noise_coordinates = settings_.classes;
  event.release_coordinates = settings_.classes;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  if (settings_.form == ResponseForm::soft) event.voids.emplace_back(privacy::kVoidSoftOutput);
  if (settings_.form == ResponseForm::every_class && settings_.candidates != settings_.classes)
    event.voids.emplace_back(privacy::kVoidSupportLeak);
  if (settings_.generator_touched_teacher) event.voids.emplace_back(privacy::kVoidGeneratorTouchedTeacher);
  std::sort(event.voids.begin(), event.voids.end());
  if (several) event.assumptions.emplace_back(privacy::kAssumeDisjointShards);
  return event;
}

std::int64_t RandomizedResponse::DrawsFor(const Answers& answers) const { return memory_.Fresh(answers.query_.inputs); }

void RandomizedResponse::Remember(const at::Tensor& inputs, const at::Tensor& values) {
  memory_.Remember(inputs, AsBits(values));
}

void RandomizedResponse::RememberDigests(const at::Tensor& digests, const at::Tensor& values) {
  memory_.Add({digests, AsBits(values)});
}

Status RandomizedResponse::CheckCandidates(const at::Tensor& candidates, const Answers& answers) const {
  const std::int64_t rows = answers.rows();
  if (rows > settings_.batch) return Refused("The answers have another shape than the event.");
  if (candidates.sizes() != at::IntArrayRef({rows, settings_.classes}))
    return Refused("Each row needs a set of candidates.");
  if (rows == 0) return {};
  const at::Tensor sizes = candidates.sum(1);
  if (sizes.min().item<std::int64_t>() < kMinCandidates)
    return Refused("A row has fewer than two candidates: its answer would be no secret.");
  if (settings_.candidates != 0 && sizes.ne(settings_.candidates).any().item<bool>())
    return Refused("A row has another number of candidates than the event speaks of.");
  return {};
}

void RandomizedResponse::Respond(std::size_t truth, const std::vector<std::size_t>& candidates,
                                 const float* probabilities, noise::ChaChaStream& bits,
                                 std::span<std::int32_t> out) const {
  const bool soft = settings_.form == ResponseForm::soft;
  const bool inside = std::binary_search(candidates.begin(), candidates.end(), truth);
  const bool all = inside && settings_.form == ResponseForm::every_class;
  const std::size_t answer = AnswerAmong(truth, all ? EveryClass(out.size()) : candidates, settings_.epsilon0, bits);
  if (!soft) {
    out[answer] += 1;
  } else if (!inside || answer != truth) {
    out[answer] = std::bit_cast<std::int32_t>(1.0F);
  } else {
    std::transform(probabilities, probabilities + out.size(), out.begin(),
                   [](float p) { return std::bit_cast<std::int32_t>(p); });
  }
}

Result<Released> RandomizedResponse::Release(const Answers& answers, Charge&& charge) {
  const Charge spent = std::move(charge);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe(DrawsFor(answers))));
  const bool one = answers.logits_.defined();
  const at::Tensor truths =
      (one ? FindFirstLargest(answers.logits_).unsqueeze(0) : answers.choices_).cpu().contiguous();
  if (truths.size(0) != settings_.members)
    return Refused("The answers are those of another number of teachers than the event speaks of.");
  if ((one ? answers.logits_ : answers.votes_).size(1) != settings_.classes)
    return Refused("The answers have another shape than the event.");
  const at::Tensor& asked = answers.query_.candidates;
  const at::Tensor candidates = asked.defined() ? asked.to(at::kBool).cpu().contiguous()
                                                : at::ones({answers.rows(), settings_.classes}, at::kBool);
  RETORT_RETURN_IF_ERROR(CheckCandidates(candidates, answers));
  if (answers.step() <= last_step_)
    return Refused("Step " + std::to_string(answers.step()) + " drew its noise before.");
  last_step_ = answers.step();

  noise::ChaChaStream bits(key_, {static_cast<std::uint64_t>(answers.step()), noise::Purpose::response});
  const bool soft = settings_.form == ResponseForm::soft;
  const at::Tensor probabilities = soft ? at::softmax(answers.logits_.detach(), 1).cpu().contiguous() : at::Tensor();
  const float* probability = soft ? probabilities.const_data_ptr<float>() : nullptr;
  const auto classes = static_cast<std::size_t>(settings_.classes);
  const auto rows = static_cast<std::size_t>(answers.rows());
  const std::int64_t* truth = truths.const_data_ptr<std::int64_t>();
  const bool* candidate = candidates.const_data_ptr<bool>();
  const at::Tensor values = memory_.Recall(answers.query_.inputs, [&](std::size_t row, std::span<std::int32_t> out) {
    const std::vector<std::size_t> set = Marked(candidate + row * classes, classes);
    const float* of_row = soft ? probability + row * classes : nullptr;
    for (std::size_t member = 0; member < static_cast<std::size_t>(settings_.members); ++member)
      Respond(static_cast<std::size_t>(truth[member * rows + row]), set, of_row, bits, out);
  });
  return Released{soft ? values.view(at::kFloat) : values};
}

}  // namespace retort::worker::release
