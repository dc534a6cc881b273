#include "worker/training/evaluation.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>

namespace retort::worker {
namespace {

constexpr std::int64_t kRows = 500;

// i64 [n]: how many classes come before the labelled one, by their logits and then by their numbers.
at::Tensor ComputeRanks(const at::Tensor& labels, const at::Tensor& logits) {
  const at::Tensor label = labels.unsqueeze(1), own = logits.gather(1, label);
  const at::Tensor earlier = at::arange(logits.size(1), labels.options()).unsqueeze(0) < label;
  return ((logits <= own).logical_not() | ((logits == own) & earlier)).sum(1);
}

}  // namespace

std::int64_t ComputeMaxRowsPerPass(const ImageShape& shape) {
  constexpr std::int64_t kPixels = std::int64_t{64} * 224 * 224;
  return std::max<std::int64_t>(kPixels / (shape.height * shape.width), 1);
}

storage::Evaluation Evaluate(const at::Tensor& logits, const at::Tensor& labels) {
  storage::Evaluation out;
  out.classes = logits.size(1);
  out.n = logits.size(0);
  out.confusion.assign(static_cast<std::size_t>(out.classes * out.classes), 0);
  if (out.n == 0) return out;
  const at::Tensor best = logits.argmax(1).cpu(), truth = labels.cpu().contiguous();
  const at::Tensor ranks = ComputeRanks(labels.to(logits.device()), logits).cpu();
  const auto* guess = best.const_data_ptr<std::int64_t>();
  const auto* label = truth.const_data_ptr<std::int64_t>();
  const auto* rank = ranks.const_data_ptr<std::int64_t>();
  const std::int64_t most = std::min<std::int64_t>(5, out.classes);
  std::int64_t first = 0, any = 0;
  for (std::int64_t i = 0; i < out.n; ++i) {
    ++out.confusion[static_cast<std::size_t>(label[i] * out.classes + guess[i])];
    first += guess[i] == label[i] ? 1 : 0;
    any += rank[i] < most ? 1 : 0;
  }
  out.accuracy = static_cast<double>(first) / static_cast<double>(out.n);
  out.top5 = static_cast<double>(any) / static_cast<double>(out.n);
  return out;
}

storage::Evaluation Evaluate(const Network& network, const Examples& examples, GraphRegion* region) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> logits;
  const std::int64_t at_once = std::min(kRows, ComputeMaxRowsPerPass(network.input()));
  for (std::int64_t i = 0; i < examples.size(); i += at_once) {
    const std::int64_t rows = std::min(at_once, examples.size() - i);
    const at::Tensor images = examples.Range(i, rows);
    const auto forward = [&](const Tensors& in) -> Result<Tensors> { return Tensors{network.Forward(in[0]).logits}; };
    logits.push_back(region != nullptr && region->Records() ? region->Run({images}, forward).value()[0].clone()
                                                            : network.Forward(images).logits);
  }
  if (logits.empty()) logits.push_back(at::empty({0, network.classes()}, at::kFloat));
  return Evaluate(at::cat(logits), examples.labels);
}

std::vector<std::pair<std::string, double>> ListTestMetrics(const storage::Evaluation& evaluation) {
  return {{"test.accuracy", evaluation.accuracy}, {"test.top5", evaluation.top5}};
}

std::optional<double> ComputeAccuracyOn(const std::vector<std::int64_t>& classes,
                                        const storage::Evaluation& evaluation) {
  std::int64_t right = 0, all = 0;
  for (const std::int64_t label : classes) {
    if (label < 0 || label >= evaluation.classes) continue;
    const auto row = evaluation.confusion.begin() + static_cast<std::ptrdiff_t>(label * evaluation.classes);
    right += row[static_cast<std::ptrdiff_t>(label)];
    all = std::accumulate(row, row + static_cast<std::ptrdiff_t>(evaluation.classes), all);
  }
  if (all == 0) return std::nullopt;
  return static_cast<double>(right) / static_cast<double>(all);
}

}  // namespace retort::worker
