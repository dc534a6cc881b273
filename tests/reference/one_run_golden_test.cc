// One-run audits of trade-off curves, beside what one_run_tradeoff.py computed with 50 digits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/privacy/attack_bounds.h"
#include "tests/reference/golden_rows.h"

namespace retort::privacy {
namespace {

TradeOff MakeCurve(const GoldenRow& row) {
  if (row.Has("mu")) return MakeGaussianTradeOff(row.Number("mu"));
  std::vector<PrivacyPair> pairs;
  std::istringstream list(row.Text("pairs"));
  for (std::string pair; std::getline(list, pair, ';');) {
    const std::size_t colon = pair.find(':');
    pairs.push_back({std::stod(pair.substr(0, colon)), std::stod(pair.substr(colon + 1))});
  }
  return MakePairsTradeOff(std::move(pairs));
}

TEST(OneRunTradeOff, IsWhatFiftyDigitsSay) {
  int values = 0;
  for (const GoldenRow& row :
       ReadGoldenRows(std::string(RETORT_SOURCE_DIR) + "/tests/reference/one_run_tradeoff.csv")) {
    const OneRunAudit audit{std::llround(row.Number("canaries")), std::llround(row.Number("guesses")),
                            std::llround(row.Number("correct"))};
    const double value = row.Text("quantity") == "p" ? ComputeOneRunTradeOffPValue(audit, MakeCurve(row))
                                                     : ComputeOneRunMuLower(audit, row.Number("significance"));
    const double expected = row.Number("value");
    EXPECT_NEAR(value, expected, row.Number("rel_tol") * expected) << row.Text("id");
    ++values;
  }
  EXPECT_EQ(values, 16);
}

}  // namespace
}  // namespace retort::privacy
