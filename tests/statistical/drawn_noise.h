// Noise as it comes out of the real mechanisms.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "tests/unit/worker/release/release_fixture.h"
#include "worker/release/dpsgd_step.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {

struct Drawn {
  at::Tensor draws;             // f64 [draws, coordinates]
  privacy::PrivacyEvent event;  // as reserved in the ledger
};

// Student and teacher agree, so the gradient is zero and the release is its noise. `undo` multiplies it
// back by what the reading divides by; `one_draw` keeps one row of each batch.
inline Drawn DrawGradientNoise(Mechanism& mechanism, std::int64_t steps, std::int64_t rows, std::int64_t classes,
                               double undo = 1, bool one_draw = false) {
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  const at::Tensor logits = at::sin(at::arange(rows * classes, at::kFloat)).reshape({rows, classes});
  FixedTeacher teacher(logits);
  std::vector<at::Tensor> parts;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Answers answers = Oracle::Ask(teacher, {DistinctInputs(rows, step), logits, step});
    const at::Tensor values = ChargeAndRelease(mechanism, answers, book).value().values.detach().to(at::kDouble) * undo;
    parts.push_back(one_draw ? values.slice(0, 0, 1) : values);
  }
  return {at::cat(parts), port.entries.begin()->second.event};
}

// Votes are known; what is left after taking them away is noise.
inline Drawn DrawVoteNoise(Mechanism& mechanism, std::int64_t steps, std::int64_t rows, std::int64_t classes,
                           std::int64_t grain = 1) {
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  const std::int64_t members = 5;
  FixedTeacher teacher(
      (100 * at::one_hot(at::arange(rows) % classes, classes)).to(at::kFloat).expand({members, rows, classes}));
  const at::Tensor votes = members * grain * at::one_hot(at::arange(rows) % classes, classes);
  std::vector<at::Tensor> parts;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Answers answers = Oracle::Ask(teacher, {DistinctInputs(rows, step), {}, step, grain});
    const at::Tensor values = ChargeAndRelease(mechanism, answers, book).value().values;
    parts.push_back((values - votes).to(at::kDouble));
  }
  return {at::cat(parts), port.entries.begin()->second.event};
}

// An empty sample's gradient sum is zero.
inline Drawn DrawDpSgdNoise(DpSgdStep& mechanism, std::int64_t steps) {
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  std::vector<at::Tensor> parts;
  for (std::int64_t step = 0; step < steps; ++step) {
    Charge charge = book.Take(mechanism.Describe(1), 1).value();
    parts.push_back(mechanism.Release(mechanism.NewSum(), step, std::move(charge)).value().to(at::kDouble));
  }
  return {at::stack(parts), port.entries.begin()->second.event};
}

}  // namespace retort::worker::release
