// The quick and the thorough decoder of a trial's spec agree on any bytes.
#include "experiments/methods/spec_codec.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/finished_sweep.h"

namespace retort::testing {

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const TrialSpec& spec : FamilyPlan(1, 1).trials) seeds.push_back(EncodeTrialSpec(spec));
  seeds.push_back(EncodeTrialSpec(SweptTrial(3, SmallData())));
  TrialSpec described = SweptTrial(4, SmallData());
  described.network = "mine";
  described.layers = std::make_shared<const std::string>(
      "conv name=a.0 out=4 kernel=3 stride=2 bias=false; group_norm name=n groups=2; leaky slope=0.1; "
      "pad_shortcut out=4 inputs=0; add inputs=2,3; flatten; linear name=fc out=classes");
  seeds.push_back(EncodeTrialSpec(described));
  return seeds;
}

// A reader takes of the spec before what the next one repeats.
const TrialSpecReader& ReaderAfterOne() {
  static const TrialSpecReader reader = [] {
    TrialSpecReader made;
    RETORT_CHECK(made.Read(EncodeTrialSpec(SweptTrial(0, SmallData()))).ok());
    return made;
  }();
  return reader;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  const std::string json(testing::Bytes(data, size));
  TrialSpecReader reader = testing::ReaderAfterOne();
  const auto thorough = DecodeTrialSpec(json);
  for (int again = 0; again < 2; ++again) {
    const auto quick = reader.Read(json);
    RETORT_CHECK(quick.ok() == thorough.ok());
    if (quick.ok()) RETORT_CHECK(EncodeTrialSpec(*quick) == EncodeTrialSpec(*thorough));
    if (!quick.ok()) testing::CheckRefusal(quick.status());
  }
  return 0;
}
