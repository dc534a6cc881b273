// A step of the dpdfd preset as retort-worker runs it, against the same arithmetic written out as one loop, without
// trial, ledger, transcript, gang or gallery. The two take turns; in the end their students are the same, bit for bit.
// usage: preset_overhead_bench key=value...   keys: those of dpdfd_step_bench
// Prints both medians and their ratio. Exit 3: the preset takes more than 1.05 of the loop; 1: other students.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/bench/preset_loop.h"
#include "worker/distill/generator_loss.h"
#include "worker/distill/transfer_set.h"
#include "worker/models/generators.h"
#include "worker/optim/optimisers.h"
#include "worker/optim/schedule.h"
#include "worker/release/mechanism.h"
#include "worker/release/output_gradient.h"
#include "worker/tensors/autograd.h"

namespace retort::worker {
namespace {

constexpr double kMost = 1.05;

class HandLoop {
 public:
  HandLoop(const TrialSpec& spec, const Dataset& data)
      : spec_(spec),
        teacher_(Require(MakeNetwork("datalens", data.shape, data.classes, RngStream(1, Purpose::parameters)))),
        student_(
            Require(MakeNetwork(spec.network, data.shape, data.classes, RngStream(spec.seed, Purpose::parameters)))),
        generator_(Require(Generator::Create(data.shape, spec.generator.latent, spec.generator.width,
                                             RngStream(spec.seed, Purpose::parameters, 0, 1)))),
        student_adam_(student_->parameters().flat().numel()),
        generator_adam_(generator_->parameters().flat().numel(), {.beta1 = 0.5}),
        transfer_(spec.distill.replay, spec.batch, data.shape, data.classes),
        key_(release::MakeNoiseKey(spec)) {}

  void Step(std::int64_t step) {
    const double decay = HoldThenLinear(step, spec_.steps, spec_.optimization.lr_hold, spec_.optimization.lr_end);
    const at::Tensor images = Images(step), shown = images.detach();
    const at::Tensor targets = Targets(step, shown);
    Teach(step, shown, targets, decay);
    Improve(step, images, targets, decay);
    transfer_.Push(shown, targets);
  }

  [[nodiscard]] const Network& student() const { return *student_; }

 private:
  at::Tensor Images(std::int64_t step) const {
    return generator_->Forward(
        DrawNormalRows(spec_.batch, spec_.generator.latent,
                       RngStream(spec_.seed, Purpose::latents, static_cast<std::uint64_t>(step))));
  }

  // y = p - gamma g~, of one row-normalised gradient of DKD a row.
  at::Tensor Targets(std::int64_t step, const at::Tensor& images) {
    const at::NoGradGuard no_grad;
    const at::Tensor own = student_->Forward(images).logits, other = teacher_->Forward(images).logits;
    const at::Tensor gradient =
        release::ComputeOutputGradient(release::MakeGradientRule(spec_), own, other).contiguous();
    at::Tensor noisy = at::empty_like(gradient);
    const release::Lattice lattice = Require(release::Lattice::For(
        spec_.release.norm_bound, spec_.release.sigma * spec_.release.norm_bound / static_cast<double>(spec_.batch)));
    const Status status =
        kernels_.NormaliseAndNoise(gradient,
                                   {lattice.step, lattice.ComputeTarget(gradient.size(1)), lattice.longest,
                                    spec_.release.normalization_floor, lattice.scale},
                                   key_, {static_cast<std::uint64_t>(step), noise::Purpose::gradient}, noisy);
    if (!status.ok()) std::exit(3);
    return release::ComputeSoftTarget(
        own, release::SubtractRowMean(noisy),
        InterpolateLinearly(step, spec_.steps, spec_.distill.kappa, spec_.distill.kappa_end) /
            spec_.release.norm_bound);
  }

  void Teach(std::int64_t step, const at::Tensor& images, const at::Tensor& targets, double decay) {
    const auto at_step = static_cast<std::uint64_t>(step);
    const RngStream order(spec_.seed, Purpose::queries, at_step), replay(spec_.seed, Purpose::replay, at_step),
        dropout(spec_.seed, Purpose::dropout, at_step);
    const std::int64_t replayed = transfer_.stored() > 0
                                      ? static_cast<std::int64_t>(static_cast<double>(spec_.distill.student_batch) *
                                                                  spec_.distill.replay_fraction)
                                      : 0;
    const std::int64_t fresh = spec_.distill.student_batch - replayed;
    std::vector<std::int64_t> permutation;
    std::int64_t drawn = 0;
    for (std::int64_t i = 0; i < spec_.distill.student_steps; ++i) {
      std::vector<std::int64_t> rows;
      for (; drawn < (i + 1) * fresh; ++drawn) {
        if (drawn % spec_.batch == 0)
          permutation = DrawPermutation(spec_.batch, order.Lane(static_cast<std::uint64_t>(drawn / spec_.batch)));
        rows.push_back(permutation[static_cast<std::size_t>(drawn % spec_.batch)]);
      }
      const at::Tensor picked = at::tensor(rows, at::kLong);
      at::Tensor x = images.index_select(0, picked), y = targets.index_select(0, picked);
      if (replayed > 0) {
        const auto [kept, of_kept] =
            transfer_.Take(transfer_.Draw(replayed, replay.Lane(static_cast<std::uint64_t>(i))));
        x = at::cat({x, kept});
        y = at::cat({y, of_kept});
      }
      const at::Tensor logits = student_->Train(x, RowStream(dropout.Lane(static_cast<std::uint64_t>(i)))).logits;
      const at::Tensor log_p = at::log_softmax(logits.detach(), 1);
      loss_ = -(y * log_p).sum().item<double>() / static_cast<double>(spec_.distill.student_batch);
      const at::Tensor seed =
          log_p.exp().mul_(y.sum(1, true)).sub_(y).mul_(1.0 / static_cast<double>(spec_.distill.student_batch));
      Descend({logits}, {seed}, student_->parameters(), student_adam_, spec_.optimization.lr * decay);
    }
  }

  void Improve(std::int64_t step, const at::Tensor& images, const at::Tensor& targets, double decay) {
    for (std::int64_t i = 0; i < spec_.generator.steps; ++i) {
      const NetworkOutput out = student_->Forward(i == 0 ? images : Images(step));
      const GeneratorGradient gradient = Require(ComputeGeneratorLoss(
          out, targets, {spec_.generator.one_hot, spec_.generator.information_entropy, spec_.generator.activation_norm},
          GeneratorForm::dafl, spec_.batch, *solo_));
      Descend({out.logits, out.features}, {gradient.logits, gradient.features}, generator_->parameters(),
              generator_adam_, spec_.generator.lr * decay);
    }
  }

  static void Descend(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& seeds,
                      ParameterArena& parameters, Adam& adam, double rate) {
    parameters.Gather(ComputeVectorJacobian(outputs, seeds, parameters.leaves()));
    adam.Step(parameters.flat(), parameters.gradient(), rate);
  }

  const TrialSpec& spec_;
  std::unique_ptr<Network> teacher_, student_;
  std::unique_ptr<Generator> generator_;
  Adam student_adam_, generator_adam_;
  TransferSet transfer_;
  noise::NoiseKey key_;
  noise::HostNoise kernels_;
  std::unique_ptr<Collective> solo_ = MakeSoloCollective();
  double loss_ = 0;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename F>
double MeasureSeconds(const F& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Empty where `blobs` hold the student's parameters bit for bit.
std::string Difference(const Network& student, const std::vector<storage::TensorBlob>& blobs) {
  if (!student.parameters().AllFinite()) return "A parameter is not finite.";
  for (const storage::TensorBlob& blob : student.StateBlobs("student/")) {
    if (std::find(blobs.begin(), blobs.end(), blob) == blobs.end()) return "The preset's " + blob.name + " is another.";
  }
  return {};
}

int Compare(const Options& options) {
  PresetLoop preset(options);
  HandLoop hand(preset.spec(), preset.data());
  const std::int64_t warmup = Number(options, "warmup", 5);
  std::vector<double> ours, theirs, ratios;
  for (std::int64_t step = 0; step < preset.spec().steps; ++step) {
    const bool first = step % 2 == 0;  // who begins changes
    double own = 0, other = 0;
    if (first) own = MeasureSeconds([&] { preset.Step(step); });
    other = MeasureSeconds([&] { hand.Step(step); });
    if (!first) own = MeasureSeconds([&] { preset.Step(step); });
    if (step < warmup) continue;
    ours.push_back(own);
    theirs.push_back(other);
    ratios.push_back(own / other);
  }
  const double ratio = Median(ratios);
  std::printf("a step: preset %.2f ms, written out %.2f ms, ratio %.3f (aim %.2f)\n", 1e3 * Median(ours),
              1e3 * Median(theirs), ratio, kMost);
  if (const std::string other = Difference(hand.student(), preset.Parameters()); !other.empty()) {
    std::fprintf(stderr, "%s\n", other.c_str());
    return 1;
  }
  return ratio <= kMost ? 0 : 3;
}

}  // namespace
}  // namespace retort::worker

int main(int argc, char** argv) { return retort::worker::Compare(retort::worker::ListOptions(argc, argv)); }
