#include "worker/release/dkd_rows.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::worker::release {
namespace {

constexpr std::int64_t kGrain = 8192;  // logits that are worth a thread

// other[c] = softmax over the classes but `target`, 0 there. Returns 1 - softmax(logits)[target], as a sum of
// the others and without subtraction: exact also where the label is all but certain.
template <typename T>
T Decouple(const T* logits, std::int64_t classes, std::int64_t target, T temperature, T* other) {
  T highest = -std::numeric_limits<T>::infinity();
  for (std::int64_t c = 0; c < classes; ++c) {
    if (c != target) highest = std::max(highest, logits[c]);
  }
  T sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    other[c] = c == target ? T(0) : std::exp((logits[c] - highest) / temperature);
    sum += other[c];
  }
  for (std::int64_t c = 0; c < classes; ++c) other[c] /= sum;
  const T lead = (logits[target] - highest) / temperature;
  if (lead < 0) return T(1) / (T(1) + std::exp(lead) / sum);
  const T odds = sum * std::exp(-lead);
  return odds / (T(1) + odds);
}

template <typename T>
struct Weights {
  T alpha, beta, temperature;
};

template <typename T>
void Row(const T* student, const T* teacher, std::int64_t classes, const Weights<T>& weights, T* told,
         T* gradient) {
  const std::int64_t target = std::max_element(teacher, teacher + classes) - teacher;
  const T t = Decouple(teacher, classes, target, weights.temperature, told);
  const T p = Decouple(student, classes, target, weights.temperature, gradient);
  const T pull = weights.temperature * weights.alpha * (t - p);
  const T spread = weights.temperature * weights.beta;
  for (std::int64_t c = 0; c < classes; ++c) {
    const T own = gradient[c];
    gradient[c] = pull * ((c == target ? T(1) : T(0)) - own) + spread * (own - told[c]);
  }
}

}  // namespace

at::Tensor DkdRows(const at::Tensor& student_logits, const at::Tensor& teacher_logits, double alpha,
                   double beta, double temperature) {
  RETORT_CHECK(student_logits.dim() == 2 && student_logits.sizes() == teacher_logits.sizes());
  RETORT_CHECK(student_logits.scalar_type() == teacher_logits.scalar_type() && student_logits.size(1) >= 2);
  const at::Tensor student = student_logits.cpu().contiguous(), teacher = teacher_logits.cpu().contiguous();
  const at::Tensor gradient = at::empty_like(student);
  const std::int64_t rows = student.size(0), classes = student.size(1);
  AT_DISPATCH_FLOATING_TYPES(student.scalar_type(), "dkd_rows", [&] {
    const Weights<scalar_t> weights{static_cast<scalar_t>(alpha), static_cast<scalar_t>(beta),
                                    static_cast<scalar_t>(temperature)};
    const auto* s = student.const_data_ptr<scalar_t>();
    const auto* t = teacher.const_data_ptr<scalar_t>();
    auto* g = gradient.data_ptr<scalar_t>();
    at::parallel_for(0, rows, kGrain / classes + 1, [&](std::int64_t first, std::int64_t last) {
      std::vector<scalar_t> told(static_cast<std::size_t>(classes));
      for (std::int64_t i = first * classes; i < last * classes; i += classes)
        Row(s + i, t + i, classes, weights, told.data(), g + i);
    });
  });
  return gradient.to(student_logits.device());
}

}  // namespace retort::worker::release
