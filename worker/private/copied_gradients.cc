#include "worker/private/copied_gradients.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "worker/private/per_sample_gradients.h"

namespace retort::worker {
namespace {

// Of `now` copies of each row, the first of them copy `copy`.
RowPlaces PlacesOf(const at::Tensor& rows, std::int64_t copies, std::int64_t copy, std::int64_t now) {
  const at::Tensor examples = rows.cpu().contiguous();
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < examples.size(0); ++i)
    for (std::int64_t c = 0; c < now; ++c) places.push_back(examples.const_data_ptr<std::int64_t>()[i] * copies + copy + c);
  return RowPlaces(std::move(places));
}

}  // namespace

Result<at::Tensor> MeanGradients(const Network& network, const CopiedRows& sample, std::int64_t most,
                                 const ImagesOf& images) {
  const std::int64_t rows = sample.rows.size(0), copies = sample.copies;
  RETORT_CHECK(rows == 1 || rows * copies <= most);
  const std::int64_t at_once = rows == 1 ? std::min(copies, most) : copies;
  at::Tensor sum;
  for (std::int64_t copy = 0; copy < copies; copy += at_once) {
    const std::int64_t now = std::min(at_once, copies - copy);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor seen,
                            images(sample.rows.repeat_interleave(now), PlacesOf(sample.rows, copies, copy, now)));
    const at::Tensor gradients = PerSampleGradients(network, seen, sample.labels.repeat_interleave(now));
    if (copies == 1) return gradients;
    const at::Tensor part = gradients.view({rows, now, -1}).sum(1);
    sum = sum.defined() ? sum + part : part;
  }
  return sum / static_cast<double>(copies);
}

}  // namespace retort::worker
