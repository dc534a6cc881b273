#include "worker/audit/confidence_score.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>

namespace retort::worker::audit {

std::vector<double> ConfidenceScores(const Network& network, const Examples& examples) {
  constexpr std::int64_t kRows = 256;
  const at::NoGradGuard no_grad;
  std::vector<double> scores;
  scores.reserve(static_cast<std::size_t>(examples.size()));
  for (std::int64_t first = 0; first < examples.size(); first += kRows) {
    const std::int64_t rows = std::min(kRows, examples.size() - first);
    const at::Tensor logits = network.Forward(examples.Range(first, rows)).logits.to(at::kDouble);
    const at::Tensor label = examples.labels.narrow(0, first, rows).unsqueeze(1);
    const at::Tensor others = logits.scatter(1, label, -std::numeric_limits<double>::infinity()).logsumexp(1);
    const at::Tensor part =
        at::nan_to_num(logits.gather(1, label).squeeze(1) - others, std::numeric_limits<double>::lowest())
            .cpu()
            .contiguous();
    const auto* score = part.const_data_ptr<double>();
    scores.insert(scores.end(), score, score + rows);
  }
  return scores;
}

}  // namespace retort::worker::audit
