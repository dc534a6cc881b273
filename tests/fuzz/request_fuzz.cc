// Whatever lies in the folder of requests is a request or is refused with its reason; and whatever it asks
// for, the orchestrator stays sound and answers once.
#include "experiments/base/digests.h"
#include "orchestrator/core/amend_request.h"
#include "orchestrator/reactor/amendment.h"
#include "orchestrator/reactor/reactor.h"
#include "storage/formats/byte_codec.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/trial_builder.h"

namespace retort::testing {
namespace {

using orchestrator::AmendAnswer;
using orchestrator::Amendment;
using orchestrator::AmendRequest;
using orchestrator::AnswerKind;

constexpr orchestrator::Now kNow{1000, 1.7e9};

void CheckRequest(std::string_view bytes) {
  const Result<AmendRequest> request = orchestrator::DecodeRequest(bytes);
  if (!request.ok()) {
    CheckRefusal(request.status());
    return;
  }
  RETORT_CHECK(orchestrator::EncodeRequest(*request) == bytes);
  orchestrator::Core core({.results = "results", .provenance_json = "{}"});
  orchestrator::Outbox outbox;
  RETORT_CHECK(orchestrator::OpenSweep(core, FamilyPlan(2, 1), kNow, outbox).ok());
  orchestrator::OnMessage(core, WorldRank{0}, {{}, {}, 0, cluster::Register{"node", 1, {"cpu"}, "", ""}}, kNow, outbox);
  orchestrator::OnTick(core, kNow, outbox);
  orchestrator::OnAmendRequest(core, "1", *request, 5, kNow, outbox);
  RETORT_CHECK(core.CheckInvariants().ok());
  RETORT_CHECK(outbox.answers.size() == 1);
  orchestrator::OnTick(core, kNow, outbox);
  RETORT_CHECK(core.CheckInvariants().ok());
}

void CheckAnswer(std::string_view bytes) {
  const Result<AmendAnswer> answer = orchestrator::DecodeAnswer(bytes);
  if (!answer.ok())
    CheckRefusal(answer.status());
  else
    RETORT_CHECK(orchestrator::EncodeAnswer(*answer) == bytes);
}

// Mutations of what stands before the checksum get past it.
std::string Sealed(std::string_view body) {
  storage::ByteWriter writer;
  writer.Raw(body);
  writer.U32(ComputeCrc32c(body));
  return std::move(writer).Take();
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const SweepPlan plan = FamilyPlan(2, 1);
  std::vector<std::string> seeds;
  for (const Amendment amendment : {Amendment::cancel, Amendment::retry}) {
    AmendRequest request{amendment, plan.name, {}};
    for (const TrialSpec& trial : plan.trials) request.trials.push_back({trial.id, 0});
    const std::string bytes = orchestrator::EncodeRequest(request);
    seeds.push_back("R" + bytes);
    seeds.push_back("r" + bytes.substr(0, bytes.size() - 4));
    request.trials.resize(1);
    seeds.push_back("R" + orchestrator::EncodeRequest(request));
  }
  const std::string answer = orchestrator::EncodeAnswer({AnswerKind::saving, "a word", {TrialId(1), TrialId(2)}});
  seeds.push_back("A" + answer);
  seeds.push_back("a" + answer.substr(0, answer.size() - 4));
  return seeds;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort::testing;
  const std::string_view input = Bytes(data, size);
  if (input.empty()) return 0;
  const std::string_view bytes = input.substr(1);
  if (input.front() == 'R')
    CheckRequest(bytes);
  else if (input.front() == 'r')
    CheckRequest(Sealed(bytes));
  else if (input.front() == 'a')
    CheckAnswer(Sealed(bytes));
  else
    CheckAnswer(bytes);
  return 0;
}
