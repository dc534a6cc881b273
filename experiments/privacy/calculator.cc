#include "experiments/privacy/calculator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "experiments/privacy/calculator_papers.h"
#include "experiments/privacy/discrete_gaussian.h"
#include "experiments/privacy/exact_gdp.h"
#include "experiments/privacy/laplace.h"
#include "experiments/privacy/noise_composition.h"
#include "experiments/privacy/number_text.h"
#include "experiments/privacy/pld_accountant.h"
#include "experiments/privacy/randomized_response.h"
#include "experiments/privacy/rdp_accountant.h"
#include "experiments/privacy/reasons.h"
#include "experiments/privacy/relation.h"
#include "experiments/spec/trial_rules.h"

namespace retort::privacy {
namespace {

constexpr const char* kBalleWang =
    "exact Gaussian curve (Balle-Wang 2018, theorem 8; composed as in Dong-Roth-Su 2019)";
constexpr const char* kCks =
    "Renyi DP converted by Canonne-Kamath-Steinke 2020, proposition 12 (Balle et al. 2020, theorem 21)";
constexpr const char* kMironov =
    "Renyi DP converted by Mironov 2017, proposition 3: looser, where a paper used it";
constexpr const char* kPld =
    "privacy loss distribution, pessimistic grid (Doroshenko et al. 2022), composed by Fourier transform";
constexpr const char* kOpposite =
    "privacy loss distribution of opposite gradients, which lose most (Kahane 1986), pessimistic grid, composed "
    "by Fourier transform";
constexpr const char* kTwice = "one removal and one addition: (2e, (1 + e^e) d) from (e, d)";
constexpr const char* kGivenSensitivity = "sensitivity-as-given";
constexpr const char* kOneCoordinate = "one-coordinate";

class Parameters {
 public:
  explicit Parameters(const Question& question) : values_(question.values) {}
  double operator[](const char* name) const { return values_.at(name); }
  [[nodiscard]] double Or(const char* name, double otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }
  [[nodiscard]] std::int64_t Whole(const char* name) const { return std::llround(values_.at(name)); }

 private:
  const std::map<std::string, double>& values_;
};

Answer Blank(Adjacency adjacency, Neighbour neighbour, double delta, std::string units) {
  Answer answer;
  answer.claim.adjacency = adjacency;
  answer.claim.neighbour = neighbour;
  answer.claim.delta = delta;
  answer.claim.units = std::move(units);
  return answer;
}

// What the caller's sensitivity is about is the caller's: printed as one example replaced, and said so.
Answer OneExample(double delta) {
  Answer answer = Blank(Adjacency::example, Neighbour::replace, delta, "one training example");
  answer.claim.assumptions.emplace_back(kGivenSensitivity);
  return answer;
}

// `why` there is no bound, where there is none.
Answer Bounded(Answer answer, double epsilon, std::string accountant,
               std::string_view why = reason::kNoBound) {
  answer.unrounded = epsilon;
  answer.claim.epsilon = RoundEpsilonUp(epsilon);
  const bool bounded = std::isfinite(answer.claim.epsilon);
  answer.claim.status = bounded ? ClaimStatus::proven : ClaimStatus::unbounded;
  if (bounded) {
    answer.claim.accountant = std::move(accountant);
  } else {
    answer.claim.assumptions.clear();
    answer.claim.reason = why;
    answer.detail = ReasonText(why);
  }
  return answer;
}

Answer ByRdp(Answer answer, const std::function<double(double)>& curve,
             RdpConversion conversion = RdpConversion::canonne_kamath_steinke) {
  const RdpEpsilon best = EpsilonFromRdp(curve, answer.claim.delta, conversion);
  const bool newer = conversion == RdpConversion::canonne_kamath_steinke;
  answer.theorem = newer ? kCks : kMironov;
  answer.detail = "best order " + ShortNumber(best.order);
  answer.claim.reason = "order " + ShortNumber(best.order);
  return Bounded(std::move(answer), best.epsilon, newer ? "rdp" : "rdp-mironov",
                 best.reason.empty() ? reason::kNoBound : std::string_view(best.reason));
}

std::vector<Answer> Gaussian(const Parameters& given) {
  const double delta = given["delta"];
  const double mu = ComposedMu({{given.Whole("count"), given["sensitivity"], given["noise"], 1}});
  const std::string inputs = "mu² = count · sensitivity² / noise², mu = " + ShortNumber(mu);
  std::vector<Answer> answers;
  Answer exact = OneExample(delta);
  exact.theorem = kBalleWang;
  exact.claim.reason = "mu " + ShortNumber(mu);
  exact.detail = "mu is a rational number rounded up";
  answers.push_back(Bounded(std::move(exact), GaussianEpsilon(delta, mu), "exact-gdp", reason::kTooLarge));
  const auto curve = [mu](double order) { return order * mu * mu / 2; };
  answers.push_back(ByRdp(OneExample(delta), curve));
  answers.push_back(ByRdp(OneExample(delta), curve, RdpConversion::mironov));
  for (Answer& answer : answers) answer.inputs = inputs;
  return answers;
}

PrivacyEvent VoteEvent(const Parameters& given) {
  PrivacyEvent event;
  event.kind = MechanismKind::noisy_votes;
  event.unit = EventUnit::vote;
  event.count = given.Whole("queries");
  event.sensitivity = std::sqrt(2.0) * given.Or("grain", 1);
  event.noise_std = given["noise"] * given.Or("grain", 1);
  event.noise_coordinates = event.release_coordinates = 1;
  event.source = NoiseSource::secure_lattice;
  return event;
}

std::vector<Answer> Votes(const Parameters& given) {
  struct View {
    Relation relation;
    const char* units;
    const char* squared;
  };
  const char* moved = "mu² = 2 queries";
  const View views[] = {
      {{Adjacency::example, Neighbour::replace}, "one training example", moved},
      {{Adjacency::member, Neighbour::replace}, "one teacher of the ensemble", moved},
      {{Adjacency::member, Neighbour::zero_out}, "one teacher of the ensemble", "mu² = queries"},
      {{Adjacency::answer, Neighbour::answer}, "one answer on one synthetic point", "mu² = 2"}};
  std::vector<Answer> answers;
  for (const View& view : views) {
    Answer answer = Blank(view.relation.adjacency, view.relation.neighbour, given["delta"], view.units);
    const Composition sum = ComposeFor(view.relation, {VoteEvent(given)});
    const double mu =
        sum.unbounded.empty() ? ComposedMu(sum.gaussian) : std::numeric_limits<double>::infinity();
    answer.claim.assumptions = sum.assumptions;
    answer.theorem = kBalleWang;
    answer.inputs = std::string(view.squared) + " / noise², mu = " + ShortNumber(mu);
    answer.detail = view.relation.neighbour == Neighbour::zero_out
                        ? "a vote taken away changes one count by one"
                        : "a vote moved changes two counts by one";
    answer.claim.reason = "mu " + ShortNumber(mu);
    const double delta = DeltaLeft(sum, given["delta"]);
    answers.push_back(Bounded(std::move(answer), GaussianEpsilon(delta, mu), "exact-gdp",
                              delta > 0 ? reason::kTooLarge : reason::kNoiseEnds));
  }
  return answers;
}

std::vector<Answer> RandomizedResponse(const Parameters& given) {
  const double delta = given["delta"];
  const double epsilon0 = given["epsilon0"];
  const std::int64_t choices = given.Whole("choices");
  const std::int64_t count = given.Whole("count");
  std::vector<Answer> answers;
  const auto lattice = [&](std::int64_t k, const char* variant) {
    Answer answer = Blank(Adjacency::teacher, Neighbour::replace, delta, "the whole teacher");
    answer.variant = variant;
    answer.inputs = "ε₀ = " + ShortNumber(epsilon0) + ", " + std::to_string(k) + " choices, " +
                    std::to_string(count) + " answers that all change";
    answer.claim.reason = std::to_string(count) + " answers at " + std::to_string(k) + " choices";
    if (count <= kLongestResponseLattice) {
      answer.theorem = "exact sum over the lattice of losses -ε₀, 0, +ε₀";
      answer.detail = "the loss of all answers together is a multiple of ε₀";
      answers.push_back(
          Bounded(std::move(answer), ComposedResponseEpsilon(epsilon0, k, count, delta), "exact-lattice"));
      return;
    }
    answers.push_back(ByRdp(std::move(answer), [=](double order) {
      return static_cast<double>(count) * ResponseRdp(epsilon0, k, order);
    }));
  };
  // Sets that are chosen on the way are accounted for as their worst case, two choices: first, as it is safe.
  lattice(2, "answer sets chosen on the way");
  if (choices > 2) lattice(choices, "one fixed answer set");
  Answer one = Blank(Adjacency::answer, Neighbour::answer, delta, "one answer on one synthetic point");
  one.theorem = "every ratio of probabilities is at most e^ε₀";
  one.inputs = "ε₀ = " + ShortNumber(epsilon0);
  one.detail = "holds at δ = 0 too";
  one.claim.reason = "one answer";
  one.claim.epsilon = RoundGivenEpsilonUp(epsilon0);
  one.claim.status = ClaimStatus::proven;
  one.claim.accountant = "pure";
  one.unrounded = epsilon0;
  answers.push_back(std::move(one));
  return answers;
}

Answer OfSampledSteps(Neighbour neighbour, const Parameters& given) {
  Answer answer = Blank(Adjacency::example, neighbour, given["delta"], "one training example");
  answer.claim.assumptions.emplace_back(kAssumePoissonSampling);
  answer.inputs = "rate " + ShortNumber(given["sampling-rate"]) + ", noise multiplier " +
                  ShortNumber(given["noise-multiplier"]) + ", " + std::to_string(given.Whole("steps")) +
                  " steps";
  return answer;
}

// Where sampling is all that makes a bound hard to compute: as if every step took every example. A replaced
// example then changes the sum by two norm bounds.
Answer OrUnsampled(Answer answer, const Parameters& given) {
  if (answer.claim.status == ClaimStatus::proven) return answer;
  const std::int64_t squared = answer.claim.neighbour == Neighbour::replace ? 4 : 1;
  const double mu = ComposedMu({{given.Whole("steps"), 1, given["noise-multiplier"], squared}});
  answer.theorem = kBalleWang;
  answer.detail = "the other accountants end here, so this counts every step as if it took every example";
  answer.claim.reason = "mu " + ShortNumber(mu) + ", sampling left out";
  return Bounded(std::move(answer), GaussianEpsilon(given["delta"], mu), "exact-gdp", reason::kTooLarge);
}

Answer ByGrid(Answer answer, const PldBracket& bracket, std::string reason) {
  answer.detail = "between " + ShortNumber(bracket.lower) + " and " + ShortNumber(bracket.upper);
  if (bracket.points > 0)
    answer.detail +=
        "; grid of " + ShortNumber(bracket.spacing) + ", " + std::to_string(bracket.points) + " points";
  if (bracket.lower > 0) answer.claim.lower = std::floor(bracket.lower * 1000) / 1000;
  answer.detail += "; " + reason;
  answer.claim.reason = std::move(reason);
  return Bounded(std::move(answer), bracket.upper, "pld");
}

Answer SubsampledPld(const Parameters& given) {
  Answer answer = OfSampledSteps(Neighbour::add_remove, given);
  const PldBracket bracket = SubsampledGaussianPld(given["sampling-rate"], given["noise-multiplier"],
                                                   given.Whole("steps"), given["delta"]);
  if (bracket.rdp_order > 0) {
    answer.theorem = kCks;
    answer.detail = "rounding would dominate a loss distribution here, so this is RDP at order " +
                    ShortNumber(bracket.rdp_order);
    answer.claim.reason = "order " + ShortNumber(bracket.rdp_order);
    return Bounded(std::move(answer), bracket.upper, "rdp");
  }
  answer.theorem = kPld;
  return ByGrid(std::move(answer), bracket, bracket.removal_binds ? "removal binds" : "addition binds");
}

Answer SubsampledPldReplaced(const Parameters& given) {
  const PldBracket bracket = SubsampledGaussianPldReplaced(given["sampling-rate"], given["noise-multiplier"],
                                                           given.Whole("steps"), given["delta"]);
  Answer answer = OfSampledSteps(Neighbour::replace, given);
  answer.theorem = kOpposite;
  return ByGrid(std::move(answer), bracket, "opposite gradients bind");
}

std::vector<Answer> SubsampledGaussian(const Parameters& given, const std::string& accountant, bool quick) {
  std::vector<Answer> answers;
  if (accountant != "rdp") answers.push_back(OrUnsampled(SubsampledPld(given), given));
  if (accountant == "pld" && quick) return answers;
  if (accountant != "rdp") answers.push_back(OrUnsampled(SubsampledPldReplaced(given), given));
  if (accountant == "pld") return answers;
  const double q = given["sampling-rate"];
  const double z = given["noise-multiplier"];
  const double steps = given["steps"];
  const auto curve = [=](double order) { return steps * SubsampledGaussianRdp(q, z, order); };
  answers.push_back(OrUnsampled(ByRdp(OfSampledSteps(Neighbour::add_remove, given), curve), given));
  Answer replaced = OfSampledSteps(Neighbour::replace, given);
  const RdpEpsilon pair = ReplaceOneEpsilon(curve, given["delta"]);
  replaced.theorem = kTwice;
  replaced.detail = "best order " + ShortNumber(pair.order);
  replaced.claim.reason = "order " + ShortNumber(pair.order) + ", one removal and one addition";
  answers.push_back(OrUnsampled(Bounded(std::move(replaced), pair.epsilon, "rdp-group-of-2"), given));
  return answers;
}

// Of noise that loses alike in either direction; nothing where the grid bounds nothing.
void AddComposed(const LossBracket& bracket, double delta, std::string inputs, std::vector<Answer>& answers) {
  if (!std::isfinite(bracket.upper)) return;
  Answer answer = OneExample(delta);
  answer.claim.assumptions.emplace_back(kOneCoordinate);
  answer.theorem = kPld;
  answer.inputs = std::move(inputs);
  answer.detail = "between " + ShortNumber(bracket.lower) + " and " + ShortNumber(bracket.upper);
  if (bracket.points > 0)
    answer.detail +=
        "; grid of " + ShortNumber(bracket.spacing) + ", " + std::to_string(bracket.points) + " points";
  if (bracket.lower > 0) answer.claim.lower = std::floor(bracket.lower * 1000) / 1000;
  answer.claim.reason = "for queries with one coordinate";
  answers.push_back(Bounded(std::move(answer), bracket.upper, "pld"));
}

std::vector<Answer> Laplace(const Parameters& given, bool quick) {
  const double delta = given["delta"];
  const double ratio =
      std::nextafter(given["sensitivity"] / given["scale"], std::numeric_limits<double>::infinity());
  const double count = given["count"];
  std::vector<Answer> answers;
  Answer pure = OneExample(delta);
  if (given.Whole("count") == 1) {
    pure.theorem = "exact curve of one release: δ = 1 - e^((ε - sensitivity/scale)/2)";
    pure.claim.assumptions.emplace_back(kOneCoordinate);
    answers.push_back(Bounded(std::move(pure), LaplaceEpsilon(ratio, delta), "exact-laplace"));
  } else {
    pure.theorem = "the ε of all releases added up";
    pure.detail = "holds at δ = 0 too";
    answers.push_back(Bounded(std::move(pure), count * ratio, "pure"));
  }
  answers.push_back(ByRdp(OneExample(delta), [=](double order) { return count * LaplaceRdp(ratio, order); }));
  if (count > 1 && !quick)
    AddComposed(ComposedLaplace(ratio, given.Whole("count"), delta), delta, "", answers);
  std::stable_sort(answers.begin(), answers.end(),
                   [](const Answer& a, const Answer& b) { return a.unrounded < b.unrounded; });
  for (Answer& answer : answers) answer.inputs = "sensitivity/scale = " + ShortNumber(ratio);
  return answers;
}

// The least epsilon at which one draw on the integers has delta.
double DiscreteEpsilon(double noise, std::int64_t sensitivity, double delta) {
  double low = 0;
  double high = 1;
  const auto meets = [&](double epsilon) {
    return DiscreteGaussianDelta(noise, sensitivity, epsilon) <= delta * (1 - 1e-12);
  };
  if (meets(0)) return 0;
  while (!meets(high)) {
    low = high;
    high *= 2;
    if (high > 1e9) return std::numeric_limits<double>::infinity();
  }
  for (int round = 0; round < 60 && high - low > 1e-10 * high; ++round) {
    const double middle = (low + high) / 2;
    (meets(middle) ? high : low) = middle;
  }
  return high;
}

std::vector<Answer> DiscreteGaussian(const Parameters& given, bool quick) {
  const double delta = given["delta"];
  const double noise = given["noise"];
  const double sensitivity = given["sensitivity"];
  const double rho = MuSquaredUp({{given.Whole("count"), sensitivity, noise, 1}}) / 2;
  std::vector<Answer> answers;
  answers.push_back(ByRdp(OneExample(delta), [rho](double order) { return rho * order; }));
  answers.back().theorem =
      std::string("zero-concentrated DP (Canonne-Kamath-Steinke 2020, theorem 14); ") + kCks;
  answers.back().inputs = "rho = count · sensitivity² / (2 noise²) = " + ShortNumber(rho);
  if (sensitivity != std::floor(sensitivity) || sensitivity > 1e9 || noise > kWidestComposed || quick)
    return answers;
  const std::string inputs = "noise " + ShortNumber(noise) + ", sensitivity " + ShortNumber(sensitivity);
  if (given.Whole("count") > 1) {
    AddComposed(ComposedDiscreteGaussian(noise, std::llround(sensitivity), given.Whole("count"), delta),
                delta, inputs + ", " + std::to_string(given.Whole("count")) + " draws", answers);
    return answers;
  }
  Answer exact = OneExample(delta);
  exact.claim.assumptions.emplace_back(kOneCoordinate);
  exact.theorem = "exact curve of one draw (Canonne-Kamath-Steinke 2020, theorem 7)";
  exact.inputs = inputs;
  exact.detail = "for a query with one coordinate";
  answers.push_back(
      Bounded(std::move(exact), DiscreteEpsilon(noise, std::llround(sensitivity), delta), "exact-lattice"));
  return answers;
}

// Only where the grain says how many parts the noise is drawn in.
Status CheckGrain(const Question& question) {
  const Parameters given(question);
  const double drawn = given["noise"] * given.Or("grain", 1);
  if (!question.values.contains("grain") || (drawn >= kLeastVoteNoise && drawn <= kMostVoteNoise)) return {};
  return UsageError(
      "--noise times --grain must lie between 0.015625 and 1048576, the range that is drawn exactly, not " +
      ShortNumber(drawn) + ".");
}

std::vector<Answer> ByMechanism(const MechanismRule& rule, const Parameters& given,
                                const Question& question) {
  if (rule.name == "gaussian") return Gaussian(given);
  if (rule.name == "votes") return Votes(given);
  if (rule.name == "randomized-response") return RandomizedResponse(given);
  if (rule.name == "subsampled-gaussian") return SubsampledGaussian(given, question.accountant, question.quick);
  if (rule.name == "laplace") return Laplace(given, question.quick);
  return DiscreteGaussian(given, question.quick);
}

}  // namespace

Result<std::vector<Answer>> EpsilonOf(const Question& question) {
  RETORT_ASSIGN_OR_RETURN(const MechanismRule* rule, CheckedRule(question));
  if (rule->name == "paper") return PaperAnswers(question);
  if (rule->name == "votes" && !question.quick) RETORT_RETURN_IF_ERROR(CheckGrain(question));
  const Question charged = AsCharged(question, *rule);
  const Parameters given(charged);
  std::vector<Answer> answers = ByMechanism(*rule, given, question);
  const double lost = given.Or("retries", 0);
  if (lost == 0) return answers;
  for (Answer& answer : answers)
    answer.inputs += ", with " + ShortNumber(lost) + (lost == 1 ? " lost attempt" : " lost attempts");
  return answers;
}

}  // namespace retort::privacy
