#include "worker/run/provenance.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace retort::worker {
namespace {

TEST(Provenance, SaysWhatAResultWasMadeWith) {
  TrialSpec spec;
  spec.threads = 3;
  const auto json =
      nlohmann::json::parse(FormatProvenanceJson("1.2 (abc)", spec, "cuda:1", "cuda, cpu", {{"seconds", 2.5}}));
  EXPECT_EQ(json["build"], "1.2 (abc)");
  EXPECT_EQ(json["device"], "cuda:1");
  EXPECT_EQ(json["trained_on"], "cuda, cpu");
  EXPECT_EQ(json["threads"], 3);
  EXPECT_EQ(json["timings"]["seconds"], 2.5);
  EXPECT_EQ(json["precision"], "float32");
  spec.precision = Precision::tf32;
  const auto find = [&](const char* device) {
    return nlohmann::json::parse(FormatProvenanceJson("1", spec, device, device, {}))["precision"];
  };
  EXPECT_EQ(find("cuda:0"), "tf32");
  EXPECT_EQ(find("cpu"), "float32");
  EXPECT_FALSE(json.contains("graphs"));
  const RegionUse replayed{.name = "teach", .eager = 2, .recorded = 1, .replayed = 7, .declined = ""},
      declined{.name = "student", .eager = 9, .recorded = 0, .replayed = 0, .declined = "the host reads"};
  const auto regions =
      nlohmann::json::parse(FormatProvenanceJson("1", spec, "cuda:0", "cuda", {}, {replayed, declined}))["graphs"];
  EXPECT_EQ(regions["teach"], (nlohmann::json{{"eager", 2}, {"recorded", 1}, {"replayed", 7}}));
  EXPECT_EQ(regions["student"]["declined"], "the host reads");
  for (const char* key : {"torch", "cpu_capability", "host"}) EXPECT_FALSE(json[key].get<std::string>().empty()) << key;
}

}  // namespace
}  // namespace retort::worker
