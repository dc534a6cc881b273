// What TensorBoard is given of an ε: float32 on the safe side of it.
#include "orchestrator/cli/render/tracker_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "storage/formats/byte_codec.h"
#include "storage/formats/event_file.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// As it stands in a record behind its tag: field 2 of a value, of 32 bits.
std::string EncodeScalar(const std::string& tag, float value) {
  storage::ByteWriter bytes;
  bytes.Raw(tag + "\x15");
  bytes.U32(std::bit_cast<std::uint32_t>(value));
  return std::move(bytes).Take();
}

TEST(TrackerFiles, EpsilonIsRoundedToItsSafeSide) {
  constexpr double kBelowNearest = 6.708, kAboveNearest = 6.707;
  TrialRecord record;
  record.name = "trial";
  for (const double epsilon : {kBelowNearest, kAboveNearest}) {
    const float nearest = storage::RoundToFloat(epsilon, storage::Rounding::nearest);
    ASSERT_EQ(nearest > epsilon, epsilon == kBelowNearest);
    record.epsilons = {{"proven.example", epsilon, "", false}, {"audited-lower-bound.example", epsilon, "", true}};
    record.metrics = {{"loss", epsilon}};
    const std::string bytes = MakeTensorBoardRun(record).bytes;
    const float up = storage::RoundToFloat(epsilon, storage::Rounding::up);
    const float down = storage::RoundToFloat(epsilon, storage::Rounding::down);
    EXPECT_THAT(bytes, HasSubstr(EncodeScalar("epsilon/proven.example", up)));
    EXPECT_THAT(bytes, HasSubstr(EncodeScalar("epsilon/audited-lower-bound.example", down)));
    EXPECT_THAT(bytes, HasSubstr(EncodeScalar("metric/loss", nearest)));
    EXPECT_THAT(bytes, Not(HasSubstr(EncodeScalar("epsilon/proven.example", down))));
  }
}

}  // namespace
}  // namespace retort::orchestrator::cli
