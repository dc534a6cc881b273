// Constants are fitted once: the next network of the same layers and images has what is kept, and nothing else.
#include "worker/models/features/constants_cache.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "storage/files/env.h"
#include "tests/testing/temporary_directory.h"
#include "worker/models/features/fit_features.h"

namespace retort::worker {
namespace {

using Kind = LayerKind;

std::vector<Layer> MakeFrozen(std::int64_t directions, std::int64_t classes) {
  return {{.kind = Kind::hog, .out = 4, .kernel = 4, .stride = 4, .rate = 1, .inputs = {kImages}},
          {.kind = Kind::whiten, .name = "whiten", .out = directions, .rate = 0.3, .spread = 0.1},
          {.kind = Kind::linear, .name = "fc", .out = classes, .bias = false, .init = Init::zero}};
}

class ConstantsCacheTest : public ::testing::Test {
 protected:
  at::Tensor Fit(std::int64_t directions = 5, std::int64_t classes = 3, std::int64_t side = 8) {
    Network network(MakeFrozen(directions, classes), {1, side, side}, RngStream(1));
    FitFeatures(network, cache_);
    return network.buffers().constants().clone();
  }
  std::vector<std::string> Files() { return storage::PosixEnv().List(Folder()).value(); }
  std::string Folder() { return folder_.path() + "/features"; }
  std::string Path() { return Folder() + "/" + Files().at(0); }

  testing::TemporaryDirectory folder_;
  ConstantsCache cache_{storage::PosixEnv(), folder_.path() + "/features", 2};
};

TEST_F(ConstantsCacheTest, SecondNetworkHasWhatTheFirstKept) {
  const at::Tensor fitted = Fit();
  const std::string key = cache_.FindKey(MakeFrozen(5, 3), {1, 8, 8});
  EXPECT_TRUE(Fit().equal(fitted));
  const at::Tensor other = at::arange(fitted.numel()).to(at::kFloat);
  cache_.Keep(key, other);
  EXPECT_TRUE(Fit().equal(other)) << "it was fitted once more";
  EXPECT_TRUE(Fit(5, 4).equal(other)) << "classes have no part in it";
}

TEST_F(ConstantsCacheTest, OtherLayersAndImagesAreOthers) {
  const std::string key = cache_.FindKey(MakeFrozen(5, 3), {1, 8, 8});
  EXPECT_EQ(cache_.FindKey(MakeFrozen(5, 9), {1, 8, 8}), key);
  EXPECT_NE(cache_.FindKey(MakeFrozen(6, 3), {1, 8, 8}), key);
  EXPECT_NE(cache_.FindKey(MakeFrozen(5, 3), {1, 8, 12}), key);
  EXPECT_NE(cache_.FindKey(MakeFrozen(5, 3), {3, 8, 8}), key);
  const int threads = at::get_num_threads();
  at::set_num_threads(threads + 1);
  EXPECT_NE(cache_.FindKey(MakeFrozen(5, 3), {1, 8, 8}), key) << "sums of other threads round differently";
  at::set_num_threads(threads);
  EXPECT_EQ(cache_.FindKey(MakeFrozen(5, 3), {1, 8, 8}), key);
}

TEST_F(ConstantsCacheTest, DamagedFileIsFittedAnew) {
  const at::Tensor fitted = Fit();
  const std::string whole = storage::PosixEnv().ReadFile(Path()).value();
  std::string flipped = whole;
  flipped[flipped.size() - 2] ^= 1;
  for (const std::string& bytes : {flipped, whole.substr(0, whole.size() - 4), whole + "more", std::string()}) {
    ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(Path(), bytes).ok());
    EXPECT_TRUE(Fit().equal(fitted));
    EXPECT_EQ(storage::PosixEnv().ReadFile(Path()).value(), whole) << "the file is not mended";
  }
}

TEST_F(ConstantsCacheTest, OldestLeaveAboveTheLimit) {
  for (const std::string key : {"a", "b", "c"}) cache_.Keep(key, at::full({2}, 1.0F));
  EXPECT_EQ(Files().size(), 2U);
  EXPECT_TRUE(cache_.Read("c", 2).has_value());
  EXPECT_FALSE(cache_.Read("a", 2).has_value());
}

TEST_F(ConstantsCacheTest, WithoutAFolderAllIsFitted) {
  const at::Tensor fitted = Fit();
  const ConstantsCache none(storage::PosixEnv(), "");
  EXPECT_EQ(none.FindKey(MakeFrozen(5, 3), {1, 8, 8}), "");
  for (const ConstantsCache& cache : {none, ConstantsCache(storage::PosixEnv(), "/dev/null/features")}) {
    Network network(MakeFrozen(5, 3), {1, 8, 8}, RngStream(1));
    FitFeatures(network, cache);
    EXPECT_TRUE(network.buffers().constants().equal(fitted));
  }
}

}  // namespace
}  // namespace retort::worker
