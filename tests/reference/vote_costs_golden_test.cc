// The cost of votes beside values of 50 digits (vote_costs_values.py): never below them, and hardly above.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "experiments/privacy/accountants/vote_costs.h"

namespace retort::privacy {
namespace {

nlohmann::json Rows(const char* name) {
  std::ifstream file(std::string(RETORT_SOURCE_DIR) + "/tests/reference/vote_costs_values.json");
  return nlohmann::json::parse(file).at(name);
}

double Value(const nlohmann::json& row) {
  const nlohmann::json& value = row.at("value");
  return value.is_null() ? std::numeric_limits<double>::infinity() : std::stod(value.get<std::string>());
}

// What is kept for rounding: a part in 10^8, and 10^-11 of what cancels, for each of `terms`.
void ExpectJustAbove(double computed, double golden, const std::string& row, double terms = 1) {
  if (std::isinf(golden)) {
    EXPECT_EQ(computed, golden) << row;
    return;
  }
  EXPECT_GE(computed, golden) << row;
  EXPECT_LE(computed, golden * (1 + 1e-8) + 1e-11 * terms) << row;
}

TEST(VoteCostsGolden, MissesAreThoseOfFiftyDigits) {
  for (const nlohmann::json& row : Rows("log_miss")) {
    const double computed = ComputeLogMiss(row.at("gap"), row.at("classes"), row.at("noise"));
    EXPECT_GE(computed, Value(row) * (1 + 1e-13)) << row;
    EXPECT_NEAR(computed, Value(row), 2e-9) << row;
  }
}

TEST(VoteCostsGolden, AnswersAreThoseOfFiftyDigits) {
  for (const nlohmann::json& row : Rows("answer"))
    ExpectJustAbove(ComputeNoisyMaxRdp(row.at("log_miss"), row.at("noise"), row.at("order")), Value(row), row.dump());
}

// One table for rows that share it.
const VoteCosts& Costs(const nlohmann::json& row) {
  static std::map<std::string, VoteCosts> known;
  const std::string key = nlohmann::json({row.at("members"), row.at("vote_noise"), row.at("order")}).dump();
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  VoteCosts costs = VoteCosts::Create({row.at("members"), row.at("classes"), row.at("threshold"),
                                       row.at("threshold_noise"), row.at("vote_noise"), row.at("order")})
                        .value();
  return known.emplace(key, std::move(costs)).first->second;
}

TEST(VoteCostsGolden, QueriesAreThoseOfFiftyDigits) {
  for (const nlohmann::json& row : Rows("cost"))
    ExpectJustAbove(Costs(row).Find({row.at("largest"), row.at("gap")}), Value(row), row.dump());
}

TEST(VoteCostsGolden, SensitivitiesAreThoseOfFiftyDigits) {
  for (const nlohmann::json& row : Rows("smooth")) {
    std::vector<Consensus> queries;
    for (const nlohmann::json& place : row.at("queries")) queries.push_back({place.at(0), place.at(1)});
    const double computed = Costs(row).SmoothSensitivity(queries, row.at("smoothness"), 1e-9);
    ExpectJustAbove(computed, Value(row), row.dump(), static_cast<double>(queries.size()));
  }
}

TEST(VoteCostsGolden, SmoothNoiseIsThatOfFiftyDigits) {
  for (const nlohmann::json& row : Rows("smooth_gaussian"))
    ExpectJustAbove(SmoothGaussianRdp(row.at("order"), row.at("smoothness"), row.at("noise"), row.at("moved")),
                    Value(row), row.dump());
}

}  // namespace
}  // namespace retort::privacy
