#include "experiments/base/reorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

namespace retort {
namespace {

TEST(Reorder, EveryPlaceGetsTheValueThatItsIndexNames) {
  std::mt19937 random(3);
  for (std::size_t count = 0; count < 50; ++count) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back("a value with a place of its own " + std::to_string(i));
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::string> wanted;
    for (const std::size_t index : order) wanted.push_back(values[index]);
    Reorder(values, order);
    EXPECT_EQ(values, wanted);
  }
}

}  // namespace
}  // namespace retort
