#include "worker/evaluation.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>

namespace retort::worker {
namespace {

constexpr std::int64_t kRows = 500;

}  // namespace

std::int64_t RowsOfAPass(const ImageShape& shape) {
  constexpr std::int64_t kPixels = std::int64_t{64} * 224 * 224;
  return std::max<std::int64_t>(kPixels / (shape.height * shape.width), 1);
}

storage::Evaluation Evaluate(const at::Tensor& logits, const at::Tensor& labels) {
  storage::Evaluation out;
  out.classes = logits.size(1);
  out.n = logits.size(0);
  out.confusion.assign(static_cast<std::size_t>(out.classes * out.classes), 0);
  if (out.n == 0) return out;
  const at::Tensor best = std::get<1>(logits.topk(std::min<std::int64_t>(5, out.classes), 1)).cpu().contiguous();
  const at::Tensor truth = labels.cpu().contiguous();
  const auto* guess = best.const_data_ptr<std::int64_t>();
  const auto* label = truth.const_data_ptr<std::int64_t>();
  const std::int64_t k = best.size(1);
  std::int64_t first = 0, any = 0;
  for (std::int64_t i = 0; i < out.n; ++i) {
    ++out.confusion[static_cast<std::size_t>(label[i] * out.classes + guess[i * k])];
    first += guess[i * k] == label[i] ? 1 : 0;
    any += std::count(guess + i * k, guess + (i + 1) * k, label[i]);
  }
  out.accuracy = static_cast<double>(first) / static_cast<double>(out.n);
  out.top5 = static_cast<double>(any) / static_cast<double>(out.n);
  return out;
}

storage::Evaluation Evaluate(const Network& network, const Examples& examples) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> logits;
  const std::int64_t at_once = std::min(kRows, RowsOfAPass(network.input()));
  for (std::int64_t i = 0; i < examples.size(); i += at_once) {
    const std::int64_t rows = std::min(at_once, examples.size() - i);
    logits.push_back(network.Forward(examples.Range(i, rows)).logits);
  }
  if (logits.empty()) logits.push_back(at::empty({0, network.classes()}, at::kFloat));
  return Evaluate(at::cat(logits), examples.labels);
}

std::vector<std::pair<std::string, double>> TestMetrics(const storage::Evaluation& evaluation) {
  return {{"test.accuracy", evaluation.accuracy}, {"test.top5", evaluation.top5}};
}

std::optional<double> AccuracyOn(const std::vector<std::int64_t>& classes, const storage::Evaluation& evaluation) {
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
