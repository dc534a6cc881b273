#include "worker/release/confident_votes.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "experiments/privacy/planned_events.h"

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

namespace {

std::vector<std::string> ComputeRowDigests(const at::Tensor& inputs) {
  const at::Tensor digests = QueryDigests(inputs);
  const auto* bytes = reinterpret_cast<const char*>(digests.const_data_ptr<std::uint8_t>());
  std::vector<std::string> all;
  for (std::int64_t row = 0; row < digests.size(0); ++row, bytes += kDigestBytes)
    all.emplace_back(bytes, static_cast<std::size_t>(kDigestBytes));
  return all;
}

}  // namespace

ConfidentSettings MakeConfidentSettings(const TrialSpec& spec, std::int64_t classes) {
  return {.votes = MakeVoteSettings(spec, classes),
          .threshold = {.threshold = spec.release.vote_threshold, .scale = spec.release.threshold_noise},
          .answers = privacy::CountPlannedAnswers(spec)};
}

ConfidentVotes::ConfidentVotes(const ConfidentSettings& settings, std::unique_ptr<VoteThreshold> threshold,
                               std::unique_ptr<NoisyVotes> votes)
    : settings_(settings), threshold_(std::move(threshold)), votes_(std::move(votes)) {}

Result<std::unique_ptr<ConfidentVotes>> ConfidentVotes::Create(const ConfidentSettings& settings,
                                                               noise::NoiseKey threshold_key,
                                                               noise::NoiseKey answer_key) {
  RETORT_CHECK(settings.votes.first_class && settings.votes.grain == 1);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<VoteThreshold> threshold,
                          VoteThreshold::Create(settings.threshold, std::move(threshold_key)));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<NoisyVotes> votes, NoisyVotes::Create(settings.votes, std::move(answer_key)));
  return std::unique_ptr<ConfidentVotes>(new ConfidentVotes(settings, std::move(threshold), std::move(votes)));
}

// One answer more for every query, up to the most that there may be.
Status ConfidentVotes::Pay(std::int64_t fresh, ChargeBook& book) {
  const std::int64_t owed = std::min(fresh, settings_.answers - charged_);
  RETORT_ASSIGN_OR_RETURN(Charge more, book.Take(votes_->Describe(owed), owed));
  charged_ += owed;
  if (credit_)
    credit_->Join(std::move(more));
  else
    credit_.emplace(std::move(more));
  return {};
}

// Decides for each query that is new: it passed, and there is an answer left. i64 [rows that are answered].
at::Tensor ConfidentVotes::ChooseRows(const at::Tensor& inputs, const at::Tensor& passed) {
  const auto* pass = passed.const_data_ptr<std::int32_t>();
  std::vector<std::int64_t> rows;
  std::int64_t row = 0;
  for (std::string& digest : ComputeRowDigests(inputs)) {
    const auto [decided, fresh] = decided_.try_emplace(std::move(digest), false);
    if (fresh && pass[row] == 1 && answered_ < settings_.answers) {
      decided->second = true;
      ++answered_;
    }
    if (decided->second) rows.push_back(row);
    ++row;
  }
  return at::tensor(rows, at::kLong);
}

Result<at::Tensor> ConfidentVotes::Release(const at::Tensor& inputs, const Answers& answers, ChargeBook& book) {
  const std::int64_t fresh = threshold_->DrawsFor(answers);
  RETORT_ASSIGN_OR_RETURN(Charge charge, book.Take(threshold_->Describe(fresh), fresh));
  RETORT_RETURN_IF_ERROR(Pay(fresh, book));
  RETORT_ASSIGN_OR_RETURN(const Released passed, threshold_->Release(answers, std::move(charge)));
  const at::Tensor rows = ChooseRows(inputs, passed.values);
  at::Tensor released = at::zeros({answers.rows(), settings_.votes.classes}, at::kInt);
  if (rows.numel() == 0) return released;
  const Answers chosen = Oracle::SelectRows(answers, rows);
  RETORT_ASSIGN_OR_RETURN(const Released said, votes_->Release(chosen, credit_->Split(votes_->DrawsFor(chosen))));
  return released.index_copy_(0, rows, said.values);
}

void ConfidentVotes::Remember(const at::Tensor& inputs, const at::Tensor& values) {
  const at::Tensor said = (values.sum(1) > 0).cpu();
  threshold_->Remember(inputs, said.to(at::kInt).unsqueeze(1));
  const at::Tensor rows = said.nonzero().view({-1});
  votes_->Remember(inputs.index_select(0, rows.to(inputs.device())), values.index_select(0, rows.to(values.device())));
  std::int64_t row = 0;
  for (std::string& digest : ComputeRowDigests(inputs)) {
    const bool answered = said[row++].item<bool>();
    if (decided_.try_emplace(std::move(digest), answered).second && answered) ++answered_;
  }
}

}  // namespace retort::worker::release
