#include "experiments/privacy/privacy_event.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/paper_formulas.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

PrivacyEvent Event() {
  PrivacyEvent event;
  event.kind = MechanismKind::gaussian_gradient;
  event.unit = EventUnit::row;
  event.count = 16384;
  event.sensitivity = 0.002;
  event.noise_std = 100 * 1e-3 / 256;
  event.epsilon0 = 0.1;
  event.choices = 3;
  event.sampling_rate = 1.0 / 3;
  event.rows_per_batch = 256;
  event.noise_coordinates = event.release_coordinates = 10;
  event.frobenius = true;
  event.granularity = 0x1p-40;
  event.source = NoiseSource::secure_lattice;
  event.voids = {"a", "b"};
  event.assumptions = {std::string(kAssumePoissonSampling)};
  return event;
}

TEST(PrivacyEvent, RoundTripsExactly) {
  const PrivacyEvent event = Event();
  const Result<PrivacyEvent> back = DecodeEvent(EncodeEvent(event));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_TRUE(back->SameMechanism(event));
  EXPECT_EQ(back->count, event.count);
}

TEST(PrivacyEvent, EveryFieldIsInTheEncoding) {
  const std::string first = EncodeEvent(Event());
  const auto changed = [&](auto change) {
    PrivacyEvent event = Event();
    change(event);
    return EncodeEvent(event) != first && DecodeEvent(EncodeEvent(event)).ok() &&
           EncodeEvent(*DecodeEvent(EncodeEvent(event))) == EncodeEvent(event);
  };
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.kind = MechanismKind::noisy_votes; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.unit = EventUnit::batch; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.count = 1; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.sensitivity = std::nextafter(e.sensitivity, 1.0); }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.noise_std = std::nextafter(e.noise_std, 1.0); }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.granularity = 0; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.epsilon0 = 0; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.choices = 2; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.sampling_rate = 1; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.rows_per_batch = 1; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.noise_coordinates = 1; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.release_coordinates = 1; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.frobenius = false; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.source = NoiseSource::seeded; }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.voids.clear(); }));
  EXPECT_TRUE(changed([](PrivacyEvent& e) { e.assumptions.clear(); }));
}

TEST(PrivacyEvent, NumbersThatJsonCannotSaySurvive) {
  PrivacyEvent event = Event();
  event.noise_std = std::nan("");
  event.sensitivity = std::numeric_limits<double>::infinity();
  const Result<PrivacyEvent> back = DecodeEvent(EncodeEvent(event));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(std::isnan(back->noise_std));
  EXPECT_TRUE(std::isinf(back->sensitivity));
}

TEST(PrivacyEvent, DamagedEncodingNamesTheField) {
  std::string json = EncodeEvent(Event());
  EXPECT_EQ(DecodeEvent("").status().code(), StatusCode::damage);
  EXPECT_EQ(DecodeEvent("[1]").status().code(), StatusCode::damage);
  json.replace(json.find("\"count\":16384"), 13, "\"count\":1.5");
  EXPECT_NE(DecodeEvent(json).status().message().find("'count'"), std::string::npos);
  std::string kind = EncodeEvent(Event());
  kind.replace(kind.find("\"kind\":1"), 8, "\"kind\":99");
  EXPECT_NE(DecodeEvent(kind).status().message().find("'kind'"), std::string::npos);
}

TEST(PrivacyEvent, SameMechanismIgnoresTheCountAlone) {
  PrivacyEvent other = Event();
  other.count = 7;
  EXPECT_TRUE(other.SameMechanism(Event()));
  other.noise_std *= 2;
  EXPECT_FALSE(other.SameMechanism(Event()));
}

TEST(Dyadic, EveryFiniteDoubleIsExact) {
  for (const double value : {0.0, 1.0, 0.1, 1e-3, std::sqrt(2.0), 5e-324, 1.7976931348623157e308, 3.0e20}) {
    const Result<Dyadic> dyadic = Dyadic::FromDouble(value);
    ASSERT_TRUE(dyadic.ok());
    EXPECT_EQ(dyadic->ToDouble(), value);
  }
  EXPECT_EQ(Dyadic::FromDouble(12).value(), (Dyadic{3, 2}));
}

TEST(Dyadic, RefusesWhatIsNoScale) {
  EXPECT_FALSE(Dyadic::FromDouble(-1).ok());
  EXPECT_FALSE(Dyadic::FromDouble(std::nan("")).ok());
  EXPECT_FALSE(Dyadic::FromDouble(std::numeric_limits<double>::infinity()).ok());
}

TEST(ClaimCodec, RoundTripsBoundedAndUnbounded) {
  Claim claim;
  claim.adjacency = Adjacency::member;
  claim.neighbour = Neighbour::zero_out;
  claim.delta = 1e-5;
  claim.epsilon = 2.997;
  claim.lower = 1.25;
  claim.status = ClaimStatus::proven;
  claim.units = "one teacher of the ensemble";
  claim.accountant = "exact-gdp";
  claim.assumptions = {"poisson-sampling"};
  claim.reason = "mu 0.7";
  EXPECT_EQ(DecodeClaim(EncodeClaim(claim)).value(), claim);
  const Claim unbounded;
  EXPECT_NE(EncodeClaim(unbounded).find("\"epsilon\":\"inf\""), std::string::npos);
  EXPECT_NE(EncodeClaim(unbounded).find("\"lower\":null"), std::string::npos);
  EXPECT_EQ(DecodeClaim(EncodeClaim(unbounded)).value(), unbounded);
}

// Results folders of earlier versions hold such claims: a bound on noise whose last digits it left out.
TEST(ClaimCodec, ProvenClaimThatAssumedFloatNoiseComesBackUnbounded) {
  Claim claim;
  claim.epsilon = 2.997;
  claim.status = ClaimStatus::proven;
  claim.accountant = "pld";
  claim.assumptions = {"float-noise", "poisson-sampling"};
  const Claim back = DecodeClaim(EncodeClaim(claim)).value();
  EXPECT_EQ(back.status, ClaimStatus::unbounded);
  EXPECT_EQ(back.epsilon, std::numeric_limits<double>::infinity());
  EXPECT_EQ(back.reason, "float-noise");
}

// Results folders of earlier versions hold such claims.
TEST(ClaimCodec, ALabelFormulaOfAnExampleComesBackAsALabels) {
  for (const char* accountant : {"paper:dp-dfd", "paper:dpsd-thm2"}) {
    Claim claim;
    claim.delta = 1e-5;
    claim.epsilon = 1;
    claim.status = ClaimStatus::paper_formula;
    claim.accountant = accountant;
    claim.units = "one training example";
    claim.assumptions = {"selected-on-test"};
    claim.reason = "epsilon of one label, without composition; not a guarantee; this reading draws no such noise";
    const Claim back = DecodeClaim(EncodeClaim(claim)).value();
    EXPECT_EQ(back.adjacency, Adjacency::label);
    EXPECT_EQ(back.neighbour, Neighbour::replace);
    EXPECT_EQ(back.delta, 0);
    EXPECT_EQ(back.epsilon, 1);
    EXPECT_EQ(back.units, "one training example's label");
    EXPECT_EQ(back.assumptions, claim.assumptions);
    EXPECT_EQ(back.reason, std::string(kLabelFormulaTerms) + "; not a guarantee; this reading draws no such noise");
    EXPECT_EQ(DecodeClaim(EncodeClaim(back)).value(), back) << "and stays as it is";
    claim.epsilon = std::numeric_limits<double>::infinity();
    claim.reason = "seeded-noise";
    EXPECT_EQ(DecodeClaim(EncodeClaim(claim)).value().adjacency, Adjacency::label);
    EXPECT_EQ(DecodeClaim(EncodeClaim(claim)).value().reason, "seeded-noise");
    claim.accountant = "paper:dpsd-thm1";
    EXPECT_EQ(DecodeClaim(EncodeClaim(claim)).value(), claim) << "of data";
  }
}

// As this version computes it: `verify` compares what is stored in two places.
TEST(ClaimCodec, AnOldLabelFormulaBecomesTodaysClaim) {
  TrialSpec spec;
  spec.data = Digits();
  spec.method = "dp-dfd";
  spec.steps = 2;
  spec.release.epsilon0 = 1;
  const std::vector<Claim> today = PlannedClaims(spec);
  const Claim* paper = FindPaper(today);
  ASSERT_NE(paper, nullptr);
  ASSERT_EQ(paper->adjacency, Adjacency::label);
  Claim old = *paper;
  old.adjacency = Adjacency::example;
  old.delta = spec.privacy.delta;
  old.units = "one training example";
  old.reason = "epsilon of one label, without composition; not a guarantee";
  EXPECT_EQ(DecodeClaim(EncodeClaim(old)).value(), *paper);
}

TEST(ClaimCodec, AnUnstatedDeltaIsNullAndNoTrialsClaim) {
  Claim claim;
  claim.delta_stated = false;
  EXPECT_NE(EncodeClaim(claim).find("\"delta\":null"), std::string::npos);
  EXPECT_NE(DecodeClaim(EncodeClaim(claim)).status().message().find("'delta'"), std::string::npos);
}

TEST(ClaimCodec, UsesTheNamesOfTheContract) {
  Claim claim;
  claim.neighbour = Neighbour::add_remove;
  claim.status = ClaimStatus::paper_formula;
  const std::string json = EncodeClaim(claim);
  EXPECT_NE(json.find("\"neighbour\":\"add-remove\""), std::string::npos);
  EXPECT_NE(json.find("\"status\":\"paper-formula\""), std::string::npos);
  std::string wrong = json;
  wrong.replace(wrong.find("add-remove"), 10, "add/remove");
  EXPECT_NE(DecodeClaim(wrong).status().message().find("'neighbour'"), std::string::npos);
}

}  // namespace
}  // namespace retort::privacy
