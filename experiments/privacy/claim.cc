#include "experiments/privacy/claim.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "experiments/base/json.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/paper_formulas.h"
#include "experiments/privacy/relation.h"

namespace retort::privacy {
namespace {

// Orders are those of the enumerations.
constexpr std::array<std::string_view, 6> kAdjacencies = {"example", "answer", "slot", "teacher", "member", "label"};
constexpr std::array<std::string_view, 4> kNeighbours = {"replace", "add-remove", "zero-out", "answer"};
constexpr std::array<std::string_view, 4> kStatuses = {"proven", "paper-formula", "audited", "unbounded"};

template <typename Enum>
Enum FromName(JsonFields& fields, const char* key, std::span<const std::string_view> names) {
  const std::string name = fields.String(key);
  std::string choices;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
    choices += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  fields.Fail(key, "one of " + choices);
  return Enum{};
}

// Earlier versions called a bound proven that ignored the last digits of floating-point noise.
bool RestsOnFloatNoise(const Claim& claim) {
  return claim.status == ClaimStatus::proven &&
         std::find(claim.assumptions.begin(), claim.assumptions.end(), reason::kFloatNoise) != claim.assumptions.end();
}

// Earlier versions called the papers' epsilon of one label one of an example, at the delta of the trial.
bool CallsALabelAnExample(const Claim& claim) {
  return claim.status == ClaimStatus::paper_formula && claim.adjacency == Adjacency::example &&
         IsLabelFormula(claim.accountant);
}

// As ComputeClaims writes it today.
Claim MakeLabelClaim(Claim claim) {
  constexpr std::string_view kTermsThen = "epsilon of one label, without composition;";
  claim.adjacency = kLabel.adjacency;
  claim.neighbour = kLabel.neighbour;
  claim.delta = 0;
  claim.units = DescribeUnit(claim.adjacency);
  if (claim.reason.starts_with(kTermsThen) && !claim.reason.starts_with(kLabelFormulaTerms))
    claim.reason.replace(0, kTermsThen.size() - 1, kLabelFormulaTerms);
  return claim;
}

}  // namespace

std::string_view GetAdjacencyName(Adjacency adjacency) { return kAdjacencies.at(static_cast<std::size_t>(adjacency)); }
std::string_view GetNeighbourName(Neighbour neighbour) { return kNeighbours.at(static_cast<std::size_t>(neighbour)); }
std::string_view GetStatusName(ClaimStatus status) { return kStatuses.at(static_cast<std::size_t>(status)); }

std::string EncodeClaim(const Claim& claim) {
  nlohmann::json json;
  json["adjacency"] = GetAdjacencyName(claim.adjacency);
  json["neighbour"] = GetNeighbourName(claim.neighbour);
  json["delta"] = claim.delta_stated ? MakeJsonNumber(claim.delta) : nlohmann::json();
  json["epsilon"] = MakeJsonNumber(claim.epsilon);
  json["lower"] = claim.lower ? MakeJsonNumber(*claim.lower) : nlohmann::json();
  json["units"] = claim.units;
  json["accountant"] = claim.accountant;
  json["status"] = GetStatusName(claim.status);
  json["assumptions"] = claim.assumptions;
  json["reason"] = claim.reason;
  return DumpJson(json);
}

Result<Claim> DecodeClaim(const std::string& json) {
  JsonFields fields(json, "claim");
  Claim claim;
  claim.adjacency = FromName<Adjacency>(fields, "adjacency", kAdjacencies);
  claim.neighbour = FromName<Neighbour>(fields, "neighbour", kNeighbours);
  claim.delta = fields.Number("delta");
  claim.epsilon = fields.Number("epsilon");
  claim.lower = fields.NumberOrNull("lower");
  claim.units = fields.String("units");
  claim.accountant = fields.String("accountant");
  claim.status = FromName<ClaimStatus>(fields, "status", kStatuses);
  claim.assumptions = fields.Strings("assumptions");
  claim.reason = fields.String("reason");
  RETORT_RETURN_IF_ERROR(fields.status());
  if (CallsALabelAnExample(claim)) return MakeLabelClaim(std::move(claim));
  return RestsOnFloatNoise(claim) ? WithdrawClaim(std::move(claim), std::string(reason::kFloatNoise)) : claim;
}

Claim WithdrawClaim(Claim claim, std::string reason) {
  claim.epsilon = std::numeric_limits<double>::infinity();
  claim.lower.reset();
  claim.status = ClaimStatus::unbounded;
  claim.accountant.clear();
  claim.assumptions.clear();
  claim.reason = std::move(reason);
  return claim;
}

}  // namespace retort::privacy
