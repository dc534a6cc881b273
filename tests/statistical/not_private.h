// Mechanisms that say one thing and do another, for showing that the checks see it. Never linked into
// a program.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <utility>

#include "tests/unit/worker/release/release_fixture.h"
#include "worker/release/gaussian_gradient.h"

namespace retort::worker::release {

// Claims the event `claimed`, and releases what `inner` does, spoiled.
class NotPrivateMechanism : public Mechanism {
 public:
  NotPrivateMechanism(privacy::PrivacyEvent claimed, std::unique_ptr<Mechanism> inner)
      : claimed_(std::move(claimed)), inner_(std::move(inner)) {}

  privacy::PrivacyEvent Describe(std::int64_t rows) const override {
    privacy::PrivacyEvent event = claimed_;
    event.count = rows;
    return event;
  }

  Result<Released> Release(const Answers& answers, Charge&& charge) override {
    const Charge spent = std::move(charge);
    RETORT_RETURN_IF_ERROR(spent.Covers(Describe(answers.rows())));
    RETORT_ASSIGN_OR_RETURN(const Released released, ChargeAndRelease(*inner_, answers, book_));
    return Released{Spoil(released.values)};
  }

 protected:
  virtual at::Tensor Spoil(at::Tensor values) { return values; }

 private:
  privacy::PrivacyEvent claimed_;
  std::unique_ptr<Mechanism> inner_;
  MemoryPort port_;
  ChargeBook book_{&port_, 1, INT64_MAX};
};

// One number for all classes of a row.
class NotPrivateBroadcast final : public NotPrivateMechanism {
 public:
  using NotPrivateMechanism::NotPrivateMechanism;

 protected:
  at::Tensor Spoil(at::Tensor values) override { return values.slice(1, 0, 1).expand_as(values).contiguous(); }
};

// The first row's noise on every row of a step.
class NotPrivateReuseAcrossRows final : public NotPrivateMechanism {
 public:
  using NotPrivateMechanism::NotPrivateMechanism;

 protected:
  at::Tensor Spoil(at::Tensor values) override { return values.slice(0, 0, 1).expand_as(values).contiguous(); }
};

// The first step's noise in every step.
class NotPrivateReuseAcrossSteps final : public NotPrivateMechanism {
 public:
  using NotPrivateMechanism::NotPrivateMechanism;

 protected:
  at::Tensor Spoil(at::Tensor values) override {
    if (!first_.defined()) first_ = values.clone();
    return first_;
  }

 private:
  at::Tensor first_;
};

}  // namespace retort::worker::release
