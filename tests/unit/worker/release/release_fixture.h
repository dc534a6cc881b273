// Teachers with known answers, and a ledger in memory.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "worker/release/answers.h"
#include "worker/release/charge.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {

// Says its logits whatever it is asked, for as many rows as it has.
using FixedTeacher = ScriptedTeacher;

class MemoryPort : public LedgerClient {
 public:
  struct Entry {
    privacy::PrivacyEvent event;
    std::int64_t count = 0;
    std::int64_t used = -1;  // -1 while reserved
  };
  explicit MemoryPort(std::int64_t budget = INT64_MAX) : budget_(budget) {}

  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override {
    if (count > budget_) return Refused("The budget is spent.");
    budget_ -= count;
    entries[++last_] = {event, count, -1};
    return last_;
  }
  Status Settle(std::uint64_t id, std::int64_t used) override {
    entries.at(id).used = used;
    return {};
  }
  std::map<std::uint64_t, Entry> entries;

 private:
  std::int64_t budget_;
  std::uint64_t last_ = 0;
};

// A distinct query row for every (step, row), so that nothing is remembered by accident: rows < 4096,
// steps < 4096, since floats count exactly up to 2^24.
inline at::Tensor DistinctInputs(std::int64_t rows, std::int64_t step) {
  return at::arange(rows, at::kFloat).add(static_cast<double>(step) * 4096).reshape({rows, 1, 1, 1});
}

// Charges exactly what the release asks for, and releases.
inline Result<Released> ChargeAndRelease(Mechanism& mechanism, const Answers& answers, ChargeBook& book) {
  auto charge = book.Take(mechanism.Describe(answers.rows()), mechanism.DrawsFor(answers));
  if (!charge.ok()) return charge.status();
  return mechanism.Release(answers, std::move(charge).value());
}

}  // namespace retort::worker::release
