// Private selection beside values of 50 digits (selection_values.py), beside what its authors published as code, and
// beside dp-accounting: never below, and hardly above.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "experiments/privacy/accountants/rdp_accountant.h"
#include "experiments/privacy/accountants/selection.h"

namespace retort::privacy {
namespace {

nlohmann::json SelectionRows(const char* name) {
  std::ifstream file(std::string(RETORT_SOURCE_DIR) + "/tests/reference/selection_values.json");
  return nlohmann::json::parse(file).at(name);
}

double GoldenValue(const nlohmann::json& row, const char* name = "value") {
  return std::stod(row.at(name).get<std::string>());
}

DrawLaw ReadLaw(const nlohmann::json& row) {
  if (row.at("family") == "poisson") return MakePoissonDraws(row.at("mean")).value();
  return MakeNegativeBinomialDraws(row.at("eta"), row.at("gamma")).value();
}

SelectionPool ReadPool(const nlohmann::json& base) {
  SelectionBase one;
  if (base.contains("mu"))
    one.mu = base.at("mu");
  else
    one.epsilon = base.at("epsilon");
  return SelectionPool({one});
}

TEST(SelectionGolden, RenyiDivergencesAreThoseOfFiftyDigits) {
  const nlohmann::json rows = SelectionRows("rdp");
  EXPECT_GE(rows.size(), 50U);
  for (const nlohmann::json& row : rows) {
    const double computed = ComputeSelectionRdp(ReadLaw(row), ReadPool(row.at("base")), row.at("order"));
    EXPECT_GE(computed, GoldenValue(row)) << row;
    // Second orders are whole ones from 20 on, and a million at most.
    EXPECT_LE(computed, GoldenValue(row) * (1 + 1e-3) + 1e-9) << row;
    EXPECT_GE(computed, GoldenValue(row, "published")) << row;
  }
}

TEST(SelectionGolden, EpsilonsByRdpAreThoseOfFiftyDigits) {
  for (const nlohmann::json& row : SelectionRows("epsilon")) {
    const SelectionEpsilon found = SelectByRdp(ReadLaw(row), ReadPool(row.at("base")), row.at("delta"));
    EXPECT_GE(found.epsilon, GoldenValue(row)) << row;
    EXPECT_LE(found.epsilon, GoldenValue(row) * 1.001 + 1e-6) << row;
  }
}

TEST(SelectionGolden, DivergencesLieAboveTheIntegral) {
  for (const nlohmann::json& row : SelectionRows("delta")) {
    const double golden = std::min(1.0, GoldenValue(row));
    const double computed =
        ComputeSelectionDelta(ReadLaw(row), ReadPool({{"mu", row.at("mu")}}), row.at("at"), std::min(golden, 0.5));
    EXPECT_GE(computed, golden * (1 - 1e-9)) << row;
    EXPECT_LE(computed, golden * 1.35) << row;
  }
}

// The closed forms of dp-accounting's own tests, by an author of the theorems.
TEST(SelectionGolden, ClosedFormsOfTheAuthorsHold) {
  for (const double rho : {1e-3, 0.05, 0.5})
    for (const double mean : {2.0, 10.0, 1000.0})
      for (const double shape : {0.0, 0.5, 1.0, 10.0}) {
        const DrawLaw law = SolveNegativeBinomialDraws(shape, mean).value();
        const double length = -std::log(law.gamma);
        if (length < rho) continue;  // their best second order is below 1
        const SelectionPool pool = ReadPool({{"mu", std::sqrt(2 * rho)}});
        for (const double order : {1.5, 8.0, 300.0}) {
          const double published = rho * (order - 1) + std::log(mean) / (order - 1) +
                                   2 * (1 + shape) * std::sqrt(rho * length) - shape * rho;
          const double computed = ComputeSelectionRdp(law, pool, order);
          EXPECT_GE(computed, published * (1 - 1e-9)) << rho << " " << mean << " " << shape << " " << order;
          EXPECT_LE(computed, published * (1 + 1e-3)) << rho << " " << mean << " " << shape << " " << order;
        }
      }
}

TEST(SelectionGolden, PureCandidatesOfPoissonDrawsAreThoseOfTheAuthors) {
  for (const double epsilon : {0.1, 1.0, 2.0})
    for (const double mean : {2.0, 10.0, 1000.0}) {
      // The condition of theorem 6 holds with delta 0 up to this order.
      const double order = 1 + 1 / std::expm1(epsilon);
      const double published =
          epsilon + std::log1p(std::expm1((1 - 2 * order) * epsilon) * (order - 1) / (2 * order - 1)) / (order - 1) +
          std::log(mean) * std::expm1(epsilon);
      // Theirs is of Laplace noise, whose divergence is below that of any pure candidate.
      const double computed =
          ComputeSelectionRdp(MakePoissonDraws(mean).value(), ReadPool({{"epsilon", epsilon}}), order);
      EXPECT_GE(computed, published * (1 - 1e-9)) << epsilon << " " << mean;
      EXPECT_LE(computed, epsilon + std::log(mean) * std::expm1(epsilon) + 1e-6 * mean + 0.2) << epsilon << " " << mean;
    }
}

TEST(SelectionGolden, DpSgdCostsNoMoreThanByDpAccounting) {
  for (const nlohmann::json& row : SelectionRows("dp_accounting")) {
    const double mean = row.at("mean");
    const DrawLaw law = row.at("shape").is_null() ? MakePoissonDraws(mean).value()
                                                  : SolveNegativeBinomialDraws(row.at("shape"), mean).value();
    SelectionBase base;
    base.rdp = [&](double order) {
      return row.at("steps").get<double>() * ComputeSubsampledGaussianRdp(row.at("rate"), row.at("noise"), order);
    };
    const SelectionPool pool({base});
    const double theirs = row.at("value");
    const double rdp = SelectByRdp(law, pool, row.at("delta")).epsilon;
    EXPECT_LE(rdp, theirs * (1 + 1e-5)) << row;
    EXPECT_GE(rdp, theirs * 0.97) << row;
    EXPECT_LE(ComputeSelectionBound(law, pool, row.at("delta")).epsilon, theirs + 0.001) << row;
  }
}

}  // namespace
}  // namespace retort::privacy
