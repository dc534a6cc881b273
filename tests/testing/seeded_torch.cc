// LibTorch's own generator begins with a random seed in C++: every test begins with one that is known.
#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace {

class SeedEachTest : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& /*test*/) override { at::manual_seed(20); }
};

// GoogleTest owns the listener.
[[maybe_unused]] const bool kListens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new SeedEachTest);
  return true;
}();

}  // namespace
