#include "worker/release/charge.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "tests/unit/worker/release/release_fixture.h"
#include "worker/tensors/step_graphs.h"

namespace retort::worker::release {
namespace {

static_assert(!std::is_copy_constructible_v<Charge> && !std::is_default_constructible_v<Charge>);
static_assert(!std::is_constructible_v<Charge, privacy::PrivacyEvent, std::int64_t>);
static_assert(!std::is_copy_constructible_v<Answers> && !std::is_default_constructible_v<Answers>);

privacy::PrivacyEvent Event(double noise_std = 1) {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::gaussian_gradient;
  event.noise_std = noise_std;
  return event;
}

TEST(ChargeBook, ReservesABlockOnceAndSpendsIt) {
  MemoryPort port;
  ChargeBook book(&port, 4, 1000);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(book.Take(Event(), 10).ok());
  ASSERT_EQ(port.entries.size(), 1u);
  EXPECT_EQ(port.entries[1].count, 40);
  EXPECT_EQ(port.entries[1].event.count, 40);
  ASSERT_TRUE(book.Take(Event(), 10).ok());
  EXPECT_EQ(port.entries.size(), 2u);
  EXPECT_EQ(port.entries[1].used, 40);
  EXPECT_EQ(port.entries[2].used, -1);
  ASSERT_TRUE(book.SettleAll().ok());
  EXPECT_EQ(port.entries[2].used, 10);
  EXPECT_EQ(book.drawn(), 50);
}

TEST(ChargeBook, NothingIsPaidForInAStepThatIsRepeated) {
  MemoryPort port;
  ChargeBook book(&port, 4, 1000);
  GraphRegion region(nullptr, "tested");
  const Status said = region
                          .Run({},
                               [&](const Tensors& in) -> Result<Tensors> {
                                 RETORT_RETURN_IF_ERROR(book.Take(Event(), 10).status());
                                 return in;
                               })
                          .status();
  EXPECT_EQ(said.code(), StatusCode::refused);
  EXPECT_TRUE(port.entries.empty());
  EXPECT_EQ(book.drawn(), 0);
  EXPECT_TRUE(book.Take(Event(), 10).ok());
}

TEST(ChargeBook, BlockIsCappedToWhatThePlanStillNeeds) {
  MemoryPort port;
  ChargeBook book(&port, 64, 30);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(book.Take(Event(), 10).ok());
  ASSERT_EQ(port.entries.size(), 1u);
  EXPECT_EQ(port.entries[1].count, 30);
  ASSERT_TRUE(book.Take(Event(), 10).ok());  // beyond the plan: one take at a time
  EXPECT_EQ(port.entries[2].count, 10);
}

TEST(ChargeBook, EveryMechanismHasItsOwnBlock) {
  MemoryPort port;
  ChargeBook book(&port, 2, 100);
  ASSERT_TRUE(book.Take(Event(1), 1).ok());
  ASSERT_TRUE(book.Take(Event(2), 1).ok());
  ASSERT_TRUE(book.Take(Event(1), 1).ok());
  EXPECT_EQ(port.entries.size(), 2u);
}

TEST(ChargeBook, RefusalOfTheLedgerIsTheTakersRefusal) {
  MemoryPort port(15);
  ChargeBook book(&port, 1, 100);
  ASSERT_TRUE(book.Take(Event(), 10).ok());
  const auto refused = book.Take(Event(), 10);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::refused);
  EXPECT_EQ(book.drawn(), 10);
}

TEST(ChargeBook, NothingIsReservedForNoDraws) {
  MemoryPort port;
  ChargeBook book(&port, 8, 100);
  EXPECT_EQ(book.Take(Event(), 0).value().count(), 0);
  EXPECT_TRUE(port.entries.empty());
}

TEST(Charge, CoversItsOwnMechanismUpToItsCount) {
  MemoryPort port;
  ChargeBook book(&port, 1, 100);
  const Charge charge = book.Take(Event(), 10).value();
  privacy::PrivacyEvent wanted = Event();
  wanted.count = 10;
  EXPECT_TRUE(charge.Covers(wanted).ok());
  wanted.count = 11;
  EXPECT_EQ(charge.Covers(wanted).code(), StatusCode::refused);
  wanted = Event(0.5);
  wanted.count = 1;
  EXPECT_EQ(charge.Covers(wanted).code(), StatusCode::refused);
}

TEST(Charge, MovedFromChargePaysForNothing) {
  MemoryPort port;
  ChargeBook book(&port, 1, 100);
  Charge charge = book.Take(Event(), 10).value();
  const Charge moved = std::move(charge);
  EXPECT_EQ(charge.count(), 0);  // NOLINT(bugprone-use-after-move): the point of the test
  EXPECT_EQ(moved.count(), 10);
}

}  // namespace
}  // namespace retort::worker::release
