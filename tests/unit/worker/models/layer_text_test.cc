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
  EXPECT_EQ(GetKindName(LayerKind::conv), "conv");
  EXPECT_EQ(GetKindName(LayerKind::batch_norm), "batch_norm");
  EXPECT_EQ(GetKindName(LayerKind::attention), "attention");
  EXPECT_EQ(GetKindName(LayerKind::adaptive_avg_pool), "adaptive_avg_pool");
  EXPECT_EQ(GetKindName(LayerKind::spatial_mean), "spatial_mean");
  EXPECT_EQ(GetKindName(LayerKind::whiten), "whiten");
}

TEST(LayerText, EveryNetworkIsAList) {
  for (const std::string& name : ListNetworkNames()) {
    const auto json = nlohmann::json::parse(FormatLayers(MakeLayers(name, 10).value()));
    EXPECT_EQ(json.size(), MakeLayers(name, 10)->size()) << name;
  }
}

}  // namespace
}  // namespace retort::worker
