#include "worker/models/layer_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "worker/models/model_registry.h"

namespace retort::worker {
namespace {

TEST(LayerText, HoldsWhatDiffersFromTheDefaults) {
  EXPECT_EQ(FormatLayers({{.kind = LayerKind::conv, .name = "c", .out = 4, .kernel = 3, .spread = 0.1},
                          {.kind = LayerKind::add, .inputs = {0, kImages}},
                          {.kind = LayerKind::whiten, .name = "w", .out = 2, .rate = 0.5, .spread = 0.1}}),
            R"([{"kind":"conv","name":"c","out":4,"kernel":3},{"kind":"add","inputs":[0,-1]},)"
            R"({"kind":"whiten","name":"w","out":2,"rate":0.5,"spread":0.1}])");
}

TEST(LayerText, KindsHaveTheirNames) {
  EXPECT_EQ(KindName(LayerKind::conv), "conv");
  EXPECT_EQ(KindName(LayerKind::batch_norm), "batch_norm");
  EXPECT_EQ(KindName(LayerKind::attention), "attention");
  EXPECT_EQ(KindName(LayerKind::adaptive_avg_pool), "adaptive_avg_pool");
  EXPECT_EQ(KindName(LayerKind::spatial_mean), "spatial_mean");
  EXPECT_EQ(KindName(LayerKind::whiten), "whiten");
}

TEST(LayerText, EveryNetworkIsAList) {
  for (const std::string& name : ListNetworkNames()) {
    const auto json = nlohmann::json::parse(FormatLayers(MakeLayers(name, 10).value()));
    EXPECT_EQ(json.size(), MakeLayers(name, 10)->size()) << name;
  }
}

}  // namespace
}  // namespace retort::worker
