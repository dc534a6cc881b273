// Small values of every stored type, for tests.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "storage/results/attempt_file.h"
#include "storage/results/checkpoint_store.h"
#include "storage/results/result_file.h"

namespace retort::testing {

template <typename T>
storage::TensorBlob Blob(const std::string& name, storage::DType dtype, std::vector<std::int64_t> shape,
                         const std::vector<T>& values) {
  storage::TensorBlob blob{name, dtype, std::move(shape), {}};
  blob.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(blob.bytes.data(), values.data(), blob.bytes.size());
  return blob;
}

inline storage::TensorBlob FloatBlob(const std::string& name, const std::vector<float>& values) {
  return Blob(name, storage::DType::f32, {static_cast<std::int64_t>(values.size())}, values);
}

inline privacy::PrivacyEvent VoteEvent(std::int64_t count) {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::noisy_votes;
  event.unit = privacy::EventUnit::vote;
  event.count = count;
  event.sensitivity = 1.4142135623730951;
  event.noise_std = 17.3;
  event.noise_coordinates = 10;
  event.release_coordinates = 10;
  event.source = privacy::NoiseSource::secure_lattice;
  event.assumptions = {"disjoint-shards-by-index"};
  return event;
}

inline storage::LedgerEntry SampleLedgerEntry() {
  storage::LedgerEntry entry;
  entry.id = 3;
  entry.data_digest = std::string(64, 'd');
  entry.attempt = {TrialId(0x1f3a9c2e00000001), 2};
  entry.generation = 7;
  entry.state = storage::LedgerState::settled;
  entry.event = VoteEvent(64);
  entry.used = 40;
  return entry;
}

inline std::vector<privacy::Claim> SampleClaims() {
  privacy::Claim proven;
  proven.adjacency = privacy::Adjacency::example;
  proven.delta = 1e-5;
  proven.epsilon = 2.998;
  proven.lower = 2.9;
  proven.status = privacy::ClaimStatus::proven;
  proven.units = "one training example";
  proven.accountant = "exact-gdp";
  proven.assumptions = {"disjoint-shards-by-index", "quoted \"and; split\""};
  proven.reason = "μ² = Σ Δ²/σ²";
  privacy::Claim unbounded;
  unbounded.adjacency = privacy::Adjacency::teacher;
  unbounded.delta = 1e-5;
  unbounded.reason = "seeded-noise";
  return {proven, unbounded};
}

inline storage::AttemptFile SampleAttempt() {
  using storage::DType;
  storage::AttemptFile file;
  file.trial = "1f3a9c2e00000001";
  file.sweep = "quickstart";
  file.spec_json = R"({"method":"dpdfd"})";
  file.provenance_json = R"({"build":"release"})";
  file.attempt = 2;
  file.teacher_digest = std::string(64, 'e');
  file.metrics = {{"test.top5", 1.0}, {"test.accuracy", 0.85}};
  file.timings = {{"seconds", 12.5}};
  file.curves["loss.student"] = {{0, 2.5}, {1, 1.25}, {2, 0.625}};
  file.curves["test.accuracy"] = {{2, 0.875}};
  file.curves["seconds"] = {{0, 0.1}, {1, 0.2}, {2, 0.3}};
  storage::Samples samples;
  samples.images = Blob<std::uint8_t>("", DType::u8, {2, 1, 2, 3}, {0, 1, 2, 3, 4, 5, 255, 254, 253, 252, 251, 250});
  samples.released = Blob<float>("", DType::f32, {2, 2}, {0.5F, -0.5F, 1.5F, -1.5F});
  samples.step = {4, 5};
  samples.mean = {0.1307};
  samples.std = {0.3081};
  samples.claim = "example, replace: 2.998 at 1e-05 (proven)";
  file.samples = samples;
  file.parameters = {FloatBlob("student/fc2.weight", {1, 2, 3}), FloatBlob("student/fc1.bias", {4}),
                     Blob<std::int64_t>("generator/bn.num_batches_tracked", DType::i64, {}, {12}),
                     FloatBlob("student/conv1.weight", {})};
  storage::Evaluation evaluation;
  evaluation.confusion = {9, 1, 2, 8};
  evaluation.classes = 2;
  evaluation.accuracy = 0.85;
  evaluation.top5 = 1;
  evaluation.n = 20;
  file.evaluation = evaluation;
  file.ledger = {SampleLedgerEntry()};
  file.claims = SampleClaims();
  return file;
}

inline storage::ResultRow SampleRow() {
  storage::ResultRow row;
  row.trial = "1f3a9c2e00000001";
  row.name = "dpdfd-sound-digits-s0";
  row.role = "student";
  row.method = "dpdfd";
  row.reading = "sound";
  row.teacher = "shards";
  row.data = "digits";
  row.network = "datalens";
  row.seed = 18446744073709551615U;
  row.state = "succeeded";
  row.attempts = 2;
  row.metrics = {{"test.accuracy", 0.8125}, {"test.top5", 1.0}};
  row.timings = {{"seconds", 12.5}, {"step_seconds", 0.25}};
  row.parameters_digest = std::string(64, 'a');
  row.spec_json = R"({"method":"dpdfd"})";
  row.provenance_json = R"({"build":"release"})";
  row.attempt_file = "trials/dpdfd-sound-digits-s0-1f3a9c2e00000001/attempt-2/attempt.h5";
  row.axes = {{"method", "dpdfd"}, {"sigma", "100"}, {"claim", "example"}};
  row.claims = SampleClaims();
  row.row_digest = storage::ComputeRowDigest(row);
  return row;
}

inline storage::ResultRow SampleFailedRow() {
  storage::ResultRow row;
  row.trial = "00000000000000aa";
  row.name = "dpsgd-digits-s1";
  row.role = "student";
  row.method = "dpsgd";
  row.data = "digits";
  row.network = "tanh-cnn";
  row.seed = 1;
  row.state = "failed";
  row.attempts = 3;
  row.failure = "not_finite";
  row.detail = "the loss became NaN at step 12";
  row.spec_json = R"({"method":"dpsgd"})";
  row.provenance_json = "{}";
  row.axes = {{"method", "dpsgd"}, {"sigma", "2.5"}};
  row.row_digest = storage::ComputeRowDigest(row);
  return row;
}

}  // namespace retort::testing
