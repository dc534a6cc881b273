// One message of every type, with values that a careless codec would lose.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "cluster/messages.h"

namespace retort::testing {

inline privacy::PrivacyEvent SampleEvent() {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::gaussian_gradient;
  event.unit = privacy::EventUnit::batch;
  event.count = 64;
  event.sensitivity = 2e-3;
  event.noise_std = 0.1;
  event.rows_per_batch = 256;
  event.noise_coordinates = 10;
  event.release_coordinates = 10;
  event.source = privacy::NoiseSource::secure_lattice;
  event.voids = {"teacher-jacobian-reaches-generator"};
  event.assumptions = {"honest \"quotes\"", "ε ≥ 0"};
  return event;
}

inline cluster::Start SampleStart() {
  return {.spec = R"({"method":"dpdfd","sigma":100})",
          .gang_rank = 1,
          .gang_size = 2,
          .device = "cuda:1",
          .trial_directory = "/results/trials/x",
          .attempt_directory = "/results/trials/x/attempt-3",
          .teacher_file = "",
          .data_path = "/data/caf\xC3\xA9",
          .sweep = "quickstart",
          .gang_host = "10.0.0.7",
          .charged = {SampleEvent()},
          .teacher_claims = {R"({"adjacency":"example"})", "not a claim \xC3\xA9"},
          .teacher_parameters = "feed"};
}

inline std::vector<cluster::Message> SampleMessages() {
  using namespace cluster;  // NOLINT(google-build-using-namespace)
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::string not_utf8("\x00\xFF\xC0 key\n", 8);
  return {
      Hello{"0.1.0+abc", "cpu", {"cpu", "gloo"}},
      GangAddress{not_utf8},
      Reserve{std::numeric_limits<std::uint64_t>::max(), SampleEvent(), 64},
      Settle{7, std::numeric_limits<std::int64_t>::min()},
      Progress{12, 160, "release", {{"loss", kNan}, {"accuracy", 0.1}, {"floor", -0.0}, {"bound", kInfinity}}},
      CheckpointCommitted{12, "a1b2", 0.25, 1LL << 33},
      Ended{false,
            FailureKind::not_finite,
            "loss is NaN at step 3",
            {{"test.accuracy", 5e-324}},
            {{"seconds", 1.0 / 3}, {"least", -kInfinity}},
            "deadbeef",
            "trials/x/attempt-1/attempt.h5"},
      SampleStart(),
      GangReady{std::string(3, '\x80')},
      Reserved{7, false, "the budget of 'digits' is spent"},
      Stop{false, 2.5},
      Register{
          "node-1", 2, {"cuda:0", "cuda:1"}, "0.1.0", "10.0.0.7", 8, "node-1/5a3c/net:[4026531840]", {"GPU-1", ""}},
      Lease{{{0, 1}, {2, 0}}, 1, SampleStart()},
      Heartbeat{1e9 + 0.1, 1LL << 40, 1LL << 33},
      Drain{true, 30},
      Shutdown{},
      WorkerLost{FailureKind::worker_crash, "SIGSEGV"},
      Answer{not_utf8},
  };
}

inline cluster::Envelope SampleEnvelope(cluster::Message message) {
  return {AttemptId{TrialId(0x1F3A9C2E00000001), 3}, Generation{5}, 42, std::move(message)};
}

}  // namespace retort::testing
