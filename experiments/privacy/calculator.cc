#include "experiments/privacy/calculator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/pld_accountant.h"
#include "experiments/privacy/accountants/randomized_response.h"
#include "experiments/privacy/accountants/rdp_accountant.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/accountants/scalar_noise.h"
#include "experiments/privacy/calculator_papers.h"
#include "experiments/privacy/calculator_selection.h"
#include "experiments/privacy/calibration.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"

namespace retort::privacy {
namespace {

constexpr const char* kBalleWang =
    "exact Gaussian curve (Balle-Wang 2018, theorem 8; composed as in Dong-Roth-Su 2019)";
constexpr const char* kCks =
    "Renyi DP converted by Canonne-Kamath-Steinke 2020, proposition 12 (Balle et al. 2020, theorem 21)";
constexpr const char* kMironov = "Renyi DP converted by Mironov 2017, proposition 3: looser, where a paper used it";
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

// The caller knows what its sensitivity is about: printed as one example replaced, with a note that says so.
Answer OneExample(double delta) {
  Answer answer = Blank(Adjacency::example, Neighbour::replace, delta, "one training example");
  answer.claim.assumptions.emplace_back(kGivenSensitivity);
  return answer;
}

// `why`: the reason, where there is no bound.
Answer Bounded(Answer answer, double epsilon, std::string accountant, std::string_view why = reason::kNoBound) {
  answer.unrounded = epsilon;
  answer.claim.epsilon = RoundEpsilonUp(epsilon);
  const bool bounded = std::isfinite(answer.claim.epsilon);
  answer.claim.status = bounded ? ClaimStatus::proven : ClaimStatus::unbounded;
  if (bounded) {
    answer.claim.accountant = std::move(accountant);
  } else {
    answer.claim.assumptions.clear();
    answer.claim.reason = why;
    answer.detail = DescribeReason(why);
  }
  return answer;
}

Answer ByRdp(Answer answer, const std::function<double(double)>& curve,
             RdpConversion conversion = RdpConversion::canonne_kamath_steinke) {
  const RdpEpsilon best = ComputeEpsilonFromRdp(curve, answer.claim.delta, conversion);
  const bool newer = conversion == RdpConversion::canonne_kamath_steinke;
  answer.theorem = newer ? kCks : kMironov;
  answer.detail = "best order " + FormatSixDigits(best.order);
  answer.claim.reason = "order " + FormatSixDigits(best.order);
  return Bounded(std::move(answer), best.epsilon, newer ? "rdp" : "rdp-mironov",
                 best.reason.empty() ? reason::kNoBound : std::string_view(best.reason));
}

std::vector<Answer> Gaussian(const Parameters& given) {
  const double delta = given["delta"];
  const double mu = ComputeComposedMu({{given.Whole("count"), given["sensitivity"], given["noise"], 1}});
  const std::string inputs = "mu² = count · sensitivity² / noise², mu = " + FormatSixDigits(mu);
  std::vector<Answer> answers;
  Answer exact = OneExample(delta);
  exact.theorem = kBalleWang;
  exact.claim.reason = "mu " + FormatSixDigits(mu);
  exact.detail = "mu is a rational number rounded up";
  answers.push_back(Bounded(std::move(exact), ComputeGaussianEpsilon(delta, mu), "exact-gdp", reason::kTooLarge));
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

// One that members of an ensemble are behind, of noise `noise` on `coordinates` counts.
PrivacyEvent MakeVoteEvent(MechanismKind kind, std::int64_t count, double sensitivity, double noise) {
  PrivacyEvent event;
  event.kind = kind;
  event.unit = EventUnit::vote;
  event.count = count;
  event.sensitivity = sensitivity;
  event.noise_std = noise;
  event.noise_coordinates = event.release_coordinates = 1;
  event.source = NoiseSource::secure_lattice;
  return event;
}

std::vector<PrivacyEvent> ConfidentEvents(const Parameters& given) {
  const std::int64_t queries = given.Whole("queries");
  const auto answers = static_cast<std::int64_t>(given.Or("answers", static_cast<double>(queries)));
  std::vector<PrivacyEvent> events = {
      MakeVoteEvent(MechanismKind::vote_threshold, queries, 1, given["threshold-noise"]),
      MakeVoteEvent(MechanismKind::noisy_votes, std::min(answers, queries), std::sqrt(2.0), given["noise"])};
  const double cost = given.Or("vote-cost", 0);
  if (cost > 0) {
    const double order = given.Or("vote-order", 12);
    events.push_back(
        MakeVoteEvent(MechanismKind::consensus_test, 1, ComputeTestMargin(given["delta"]), given.Or("cost-noise", 8)));
    events.back().test = {cost, order, ComputeTestSmoothness(order), given["threshold-noise"], given["noise"], queries};
  }
  return events;
}

// By what a test of the cost let by.
Answer TestedAnswer(Answer answer, const Composition& sum) {
  const Bound bound = ComputeBound(sum, answer.claim.delta);
  answer.variant = "cost tested";
  answer.theorem = kCks;
  answer.claim.reason = answer.detail = bound.reason;
  answer.claim.epsilon = answer.unrounded = bound.epsilon;
  answer.claim.accountant = bound.accountant;
  answer.claim.status = std::isfinite(bound.epsilon) ? ClaimStatus::proven : ClaimStatus::unbounded;
  if (answer.claim.status == ClaimStatus::unbounded) answer.claim.assumptions.clear();
  return answer;
}

// One relation that votes are claimed for, with what it protects and how mu follows.
struct VoteView {
  Relation relation;
  const char* units;
  const char* squared;
};

std::vector<Answer> ConfidentVotes(const Parameters& given) {
  const char* moved = "mu² = queries / threshold-noise² + 2 answers / noise²";
  const VoteView views[] = {
      {kExample, "one training example", moved},
      {kMember, "one teacher of the ensemble", moved},
      {kZeroedMember, "one teacher of the ensemble", "mu² = queries / threshold-noise² + answers / noise²"},
      {kAnswer, "one answer on one synthetic point", "mu² = 1 / threshold-noise² + 2 / noise²"}};
  std::vector<Answer> answers;
  std::vector<Answer> tested;
  for (const VoteView& view : views) {
    Answer answer = Blank(view.relation.adjacency, view.relation.neighbour, given["delta"], view.units);
    Composition sum = ComposeEvents(view.relation, ConfidentEvents(given));
    const double mu = sum.unbounded.empty() ? ComputeComposedMu(sum.gaussian) : std::numeric_limits<double>::infinity();
    answer.claim.assumptions = sum.assumptions;
    answer.inputs = std::string(view.squared) + ", mu = " + FormatSixDigits(mu);
    if (sum.tested) tested.push_back(TestedAnswer(answer, sum));
    const double delta = ComputeRemainingDelta(sum, given["delta"]);
    const std::string_view why = delta > 0 ? reason::kTooLarge : reason::kNoiseEnds;
    if (sum.tests.empty()) {
      answer.theorem = kBalleWang;
      answer.claim.reason = "mu " + FormatSixDigits(mu);
      answer.detail = "whatever is answered, of so many at most";
      answers.push_back(Bounded(std::move(answer), ComputeGaussianEpsilon(delta, mu), "exact-gdp", why));
      continue;
    }
    const RdpEpsilon best =
        sum.unbounded.empty() ? ComputeEpsilonFromRdp(MakeRdpCurve(sum), delta) : RdpEpsilon{mu, 0, ""};
    answer.theorem = kCks;
    answer.claim.reason = answer.detail = "order " + FormatSixDigits(best.order) + ", with the test, whatever it says";
    answers.push_back(Bounded(std::move(answer), best.epsilon, "rdp", why));
  }
  answers.insert(answers.end(), tested.begin(), tested.end());
  return answers;
}

std::vector<Answer> Votes(const Parameters& given) {
  const char* moved = "mu² = 2 queries";
  const VoteView views[] = {{{Adjacency::example, Neighbour::replace}, "one training example", moved},
                            {{Adjacency::member, Neighbour::replace}, "one teacher of the ensemble", moved},
                            {{Adjacency::member, Neighbour::zero_out}, "one teacher of the ensemble", "mu² = queries"},
                            {{Adjacency::answer, Neighbour::answer}, "one answer on one synthetic point", "mu² = 2"}};
  std::vector<Answer> answers;
  for (const VoteView& view : views) {
    Answer answer = Blank(view.relation.adjacency, view.relation.neighbour, given["delta"], view.units);
    const Composition sum = ComposeEvents(view.relation, {VoteEvent(given)});
    const double mu = sum.unbounded.empty() ? ComputeComposedMu(sum.gaussian) : std::numeric_limits<double>::infinity();
    answer.claim.assumptions = sum.assumptions;
    answer.theorem = kBalleWang;
    answer.inputs = std::string(view.squared) + " / noise², mu = " + FormatSixDigits(mu);
    answer.detail = view.relation.neighbour == Neighbour::zero_out ? "a vote taken away changes one count by one"
                                                                   : "a vote moved changes two counts by one";
    answer.claim.reason = "mu " + FormatSixDigits(mu);
    const double delta = ComputeRemainingDelta(sum, given["delta"]);
    answers.push_back(Bounded(std::move(answer), ComputeGaussianEpsilon(delta, mu), "exact-gdp",
                              delta > 0 ? reason::kTooLarge : reason::kNoiseEnds));
  }
  return answers;
}

std::vector<Answer> RandomizedResponse(const Parameters& given, bool quick) {
  const double delta = given["delta"];
  const double epsilon0 = given["epsilon0"];
  const std::int64_t choices = given.Whole("choices");
  const std::int64_t count = given.Whole("count");
  std::vector<Answer> answers;
  const auto lattice = [&](std::int64_t k, const char* variant) {
    Answer answer = Blank(Adjacency::teacher, Neighbour::replace, delta, "the whole teacher");
    answer.variant = variant;
    answer.inputs = "ε₀ = " + FormatSixDigits(epsilon0) + ", " + std::to_string(k) + " choices, " +
                    std::to_string(count) + " answers that all change";
    answer.claim.reason = std::to_string(count) + " answers at " + std::to_string(k) + " choices";
    if (count <= kMaxResponseLattice) {
      answer.theorem = "exact sum over the lattice of losses -ε₀, 0, +ε₀";
      answer.detail = "the loss of all answers together is a multiple of ε₀";
      answers.push_back(
          Bounded(std::move(answer), ComputeComposedResponseEpsilon(epsilon0, k, count, delta), "exact-lattice"));
      return;
    }
    answers.push_back(ByRdp(std::move(answer), [=](double order) {
      return static_cast<double>(count) * ComputeResponseRdp(epsilon0, k, order);
    }));
  };
  // Sets that are chosen on the way are accounted for as their worst case, two choices: first, as it is safe.
  lattice(2, "answer sets chosen on the way");
  if (choices > 2 && !quick) lattice(choices, "one fixed answer set");
  Answer one = Blank(Adjacency::answer, Neighbour::answer, delta, "one answer on one synthetic point");
  one.theorem = "every ratio of probabilities is at most e^ε₀";
  one.inputs = "ε₀ = " + FormatSixDigits(epsilon0);
  one.detail = "holds at δ = 0 too";
  one.claim.reason = "one answer";
  one.claim.epsilon = RoundGivenEpsilonUp(epsilon0);
  one.claim.status = ClaimStatus::proven;
  one.claim.accountant = "pure";
  one.unrounded = epsilon0;
  answers.push_back(std::move(one));
  return answers;
}

Answer DescribeSampledSteps(Neighbour neighbour, const Parameters& given) {
  Answer answer = Blank(Adjacency::example, neighbour, given["delta"], "one training example");
  answer.claim.assumptions.emplace_back(kAssumePoissonSampling);
  answer.inputs = "rate " + FormatSixDigits(given["sampling-rate"]) + ", noise multiplier " +
                  FormatSixDigits(given["noise-multiplier"]) + ", " + std::to_string(given.Whole("steps")) + " steps";
  return answer;
}

// Where sampling is all that makes a bound hard to compute: as if every step took every example. A replaced
// example then changes the sum by two norm bounds.
Answer ChooseUnsampled(Answer answer, const Parameters& given) {
  if (answer.claim.status == ClaimStatus::proven) return answer;
  const std::int64_t squared = answer.claim.neighbour == Neighbour::replace ? 4 : 1;
  const double mu = ComputeComposedMu({{given.Whole("steps"), 1, given["noise-multiplier"], squared}});
  answer.theorem = kBalleWang;
  answer.detail = "the other accountants end here, so this counts every step as if it took every example";
  answer.claim.reason = "mu " + FormatSixDigits(mu) + ", sampling left out";
  return Bounded(std::move(answer), ComputeGaussianEpsilon(given["delta"], mu), "exact-gdp", reason::kTooLarge);
}

Answer ByGrid(Answer answer, const PldBracket& bracket, std::string reason) {
  answer.detail = "between " + FormatSixDigits(bracket.lower) + " and " + FormatSixDigits(bracket.upper);
  if (bracket.points > 0)
    answer.detail +=
        "; grid of " + FormatSixDigits(bracket.spacing) + ", " + std::to_string(bracket.points) + " points";
  if (bracket.lower > 0) answer.claim.lower = std::floor(bracket.lower * 1000) / 1000;
  answer.detail += "; " + reason;
  answer.claim.reason = std::move(reason);
  return Bounded(std::move(answer), bracket.upper, "pld");
}

Answer SubsampledPld(const Parameters& given) {
  Answer answer = DescribeSampledSteps(Neighbour::add_remove, given);
  const PldBracket bracket = ComputeSubsampledGaussianPld(given["sampling-rate"], given["noise-multiplier"],
                                                          given.Whole("steps"), given["delta"]);
  if (bracket.rdp_order > 0) {
    answer.theorem = kCks;
    answer.detail = "rounding would dominate a loss distribution here, so this is RDP at order " +
                    FormatSixDigits(bracket.rdp_order);
    answer.claim.reason = "order " + FormatSixDigits(bracket.rdp_order);
    return Bounded(std::move(answer), bracket.upper, "rdp");
  }
  answer.theorem = kPld;
  return ByGrid(std::move(answer), bracket, bracket.removal_binds ? "removal binds" : "addition binds");
}

Answer SubsampledPldReplaced(const Parameters& given) {
  const PldBracket bracket = ComputeSubsampledGaussianPldReplaced(given["sampling-rate"], given["noise-multiplier"],
                                                                  given.Whole("steps"), given["delta"]);
  Answer answer = DescribeSampledSteps(Neighbour::replace, given);
  answer.theorem = kOpposite;
  return ByGrid(std::move(answer), bracket, "opposite gradients bind");
}

std::vector<Answer> SubsampledGaussian(const Parameters& given, const std::string& accountant, bool quick) {
  std::vector<Answer> answers;
  if (accountant != "rdp") answers.push_back(ChooseUnsampled(SubsampledPld(given), given));
  if (accountant == "pld" && quick) return answers;
  if (accountant != "rdp") answers.push_back(ChooseUnsampled(SubsampledPldReplaced(given), given));
  if (accountant == "pld") return answers;
  const double q = given["sampling-rate"];
  const double z = given["noise-multiplier"];
  const double steps = given["steps"];
  const auto curve = [=](double order) { return steps * ComputeSubsampledGaussianRdp(q, z, order); };
  answers.push_back(ChooseUnsampled(ByRdp(DescribeSampledSteps(Neighbour::add_remove, given), curve), given));
  Answer replaced = DescribeSampledSteps(Neighbour::replace, given);
  const RdpEpsilon pair = ReplaceOneEpsilon(curve, given["delta"]);
  replaced.theorem = kTwice;
  replaced.detail = "best order " + FormatSixDigits(pair.order);
  replaced.claim.reason = "order " + FormatSixDigits(pair.order) + ", one removal and one addition";
  answers.push_back(ChooseUnsampled(Bounded(std::move(replaced), pair.epsilon, "rdp-group-of-2"), given));
  return answers;
}

// Adds the bracket of noise that loses alike in either direction; nothing where the grid gives no bound.
void AddComposed(const LossBracket& bracket, double delta, std::string inputs, std::vector<Answer>& answers) {
  if (!std::isfinite(bracket.upper)) return;
  Answer answer = OneExample(delta);
  answer.claim.assumptions.emplace_back(kOneCoordinate);
  answer.theorem = kPld;
  answer.inputs = std::move(inputs);
  answer.detail = "between " + FormatSixDigits(bracket.lower) + " and " + FormatSixDigits(bracket.upper);
  if (bracket.points > 0)
    answer.detail +=
        "; grid of " + FormatSixDigits(bracket.spacing) + ", " + std::to_string(bracket.points) + " points";
  if (bracket.lower > 0) answer.claim.lower = std::floor(bracket.lower * 1000) / 1000;
  answer.claim.reason = "for queries with one coordinate";
  answers.push_back(Bounded(std::move(answer), bracket.upper, "pld"));
}

std::vector<Answer> Laplace(const Parameters& given, bool quick) {
  const double delta = given["delta"];
  const double ratio = std::nextafter(given["sensitivity"] / given["scale"], std::numeric_limits<double>::infinity());
  const double count = given["count"];
  std::vector<Answer> answers;
  Answer pure = OneExample(delta);
  if (given.Whole("count") == 1) {
    pure.theorem = "exact curve of one release: δ = 1 - e^((ε - sensitivity/scale)/2)";
    pure.claim.assumptions.emplace_back(kOneCoordinate);
    answers.push_back(Bounded(std::move(pure), ComputeLaplaceEpsilon(ratio, delta), "exact-laplace"));
  } else {
    pure.theorem = "the ε of all releases added up";
    pure.detail = "holds at δ = 0 too";
    answers.push_back(Bounded(std::move(pure), count * ratio, "pure"));
  }
  answers.push_back(ByRdp(OneExample(delta), [=](double order) { return count * ComputeLaplaceRdp(ratio, order); }));
  if (count > 1 && !quick) AddComposed(ComposeLaplace(ratio, given.Whole("count"), delta), delta, "", answers);
  std::stable_sort(answers.begin(), answers.end(),
                   [](const Answer& a, const Answer& b) { return a.unrounded < b.unrounded; });
  for (Answer& answer : answers) answer.inputs = "sensitivity/scale = " + FormatSixDigits(ratio);
  return answers;
}

// The least epsilon at which one draw on the integers has delta.
double DiscreteEpsilon(double noise, std::int64_t sensitivity, double delta) {
  double low = 0;
  double high = 1;
  const auto meets = [&](double epsilon) {
    return ComputeDiscreteGaussianDelta(noise, sensitivity, epsilon) <= delta * (1 - 1e-12);
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
  const double rho = ComputeMuSquaredUp({{given.Whole("count"), sensitivity, noise, 1}}) / 2;
  std::vector<Answer> answers;
  answers.push_back(ByRdp(OneExample(delta), [rho](double order) { return rho * order; }));
  answers.back().theorem = std::string("zero-concentrated DP (Canonne-Kamath-Steinke 2020, theorem 14); ") + kCks;
  answers.back().inputs = "rho = count · sensitivity² / (2 noise²) = " + FormatSixDigits(rho);
  if (sensitivity != std::floor(sensitivity) || sensitivity > 1e9 || noise > kMaxComposedSigma || quick) return answers;
  const std::string inputs = "noise " + FormatSixDigits(noise) + ", sensitivity " + FormatSixDigits(sensitivity);
  if (given.Whole("count") > 1) {
    AddComposed(ComposeDiscreteGaussian(noise, std::llround(sensitivity), given.Whole("count"), delta), delta,
                inputs + ", " + std::to_string(given.Whole("count")) + " draws", answers);
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

// Checks the noise only where the grain says in how many parts it is drawn.
Status CheckGrain(const Question& question) {
  const Parameters given(question);
  const double drawn = given["noise"] * given.Or("grain", 1);
  if (!question.values.contains("grain") || (drawn >= kMinVoteNoise && drawn <= kMaxVoteNoise)) return {};
  return UsageError(
      "--noise times --grain must lie between 0.015625 and 1048576, the range that is drawn exactly, not " +
      FormatSixDigits(drawn) + ".");
}

std::vector<Answer> ByMechanism(const MechanismRule& rule, const Parameters& given, const Question& question) {
  if (rule.name == "gaussian") return Gaussian(given);
  if (rule.name == "votes") return Votes(given);
  if (rule.name == "confident-votes") return ConfidentVotes(given);
  if (rule.name == "randomized-response") return RandomizedResponse(given, question.quick);
  if (rule.name == "subsampled-gaussian") return SubsampledGaussian(given, question.accountant, question.quick);
  if (rule.name == "laplace") return Laplace(given, question.quick);
  return DiscreteGaussian(given, question.quick);
}

}  // namespace

Result<std::vector<Answer>> ComputeEpsilon(const Question& question) {
  RETORT_ASSIGN_OR_RETURN(const MechanismRule* rule, FindCheckedRule(question));
  if (rule->name == "paper") return AnswerPaperQuestion(question);
  if (rule->name == "select") return AnswerSelectionQuestion(question);
  if (rule->name == "votes" && !question.quick) RETORT_RETURN_IF_ERROR(CheckGrain(question));
  const Question charged = ExpandRetries(question, *rule);
  const Parameters given(charged);
  std::vector<Answer> answers = ByMechanism(*rule, given, question);
  const double lost = given.Or("retries", 0);
  if (lost == 0) return answers;
  for (Answer& answer : answers)
    answer.inputs += ", with " + FormatSixDigits(lost) + (lost == 1 ? " lost attempt" : " lost attempts");
  return answers;
}

namespace {

constexpr double kMaxWhole = 1e15;

bool IsWhole(const ParameterRule& rule) {
  return rule.range == ParameterRange::whole || rule.range == ParameterRange::choices;
}

// Returns the parameter that the question leaves out.
Result<const ParameterRule*> FindUnknown(const Question& question, const MechanismRule& rule) {
  const ParameterRule* unknown = nullptr;
  int missing = 0;
  std::string flags;
  for (const std::string_view name : rule.solvable) {
    flags += (flags.empty() ? "--" : " and --") + std::string(name);
    if (question.values.contains(std::string(name))) continue;
    ++missing;
    unknown = &*std::find_if(rule.parameters.begin(), rule.parameters.end(),
                             [&](const ParameterRule& one) { return one.name == name; });
  }
  if (missing == 1) return unknown;
  const char* many = rule.solvable.size() == 1 ? "Leave out " : "Leave out exactly one of ";
  return UsageError(many + flags + ": it is what is solved for.");
}

double FirstEpsilon(Question question, const ParameterRule& unknown, double value) {
  question.values[std::string(unknown.name)] = value;
  const Result<std::vector<Answer>> answers = ComputeEpsilon(question);
  return answers.ok() ? answers->front().claim.epsilon : std::numeric_limits<double>::infinity();
}

// More noise, or more releases or a larger epsilon of one answer: what the parameter is.
bool IsNoise(const ParameterRule& rule) {
  return !IsWhole(rule) && rule.name != "epsilon0" && rule.name != "base-epsilon";
}

// The least noise or the most of anything else by doubling and halving in logarithms; claims are monotone in
// either. `meets` is true on the side asked for.
std::optional<double> Searched(const ParameterRule& unknown, const std::function<bool(double)>& meets) {
  const bool noise = IsNoise(unknown);
  const bool whole = IsWhole(unknown);
  const double most = whole ? kMaxWhole : 1e12;
  const double least = whole ? 1 : 1e-12;
  // `good` meets; `bad` does not, and lies towards less noise or more releases.
  double good = noise ? most : least;
  double bad = noise ? least : most;
  if (!meets(good)) return std::nullopt;
  if (meets(bad)) return bad;
  double near = 1;
  const bool at_one = meets(near);
  (at_one ? good : bad) = near;
  // Steps double in logarithms, since one probe can take a tenth of a second.
  double factor = at_one == noise ? 0.5 : 2;
  for (near *= factor; near > least && near < most; near *= factor) {
    const bool met = meets(near);
    (met ? good : bad) = near;
    if (met != at_one) break;
    factor *= factor;
  }
  for (int round = 0; round < 120; ++round) {
    if (whole ? std::abs(good - bad) <= 1 : std::abs(good - bad) <= 1e-10 * good) break;
    const double middle = whole ? std::floor((good + bad) / 2) : std::sqrt(good * bad);
    (meets(middle) ? good : bad) = middle;
  }
  return good;
}

// From a count that meets to the last one before the next that does not.
double RefineToLast(double good, const std::function<bool(double)>& meets) {
  const auto can = [&](double count) { return count <= kMaxWhole && meets(count); };
  double step = 1;
  for (; can(good + step); step *= 2) good += step;
  for (step /= 2; step >= 1; step /= 2)
    if (can(good + step)) good += step;
  return good;
}

// Solves by RDP: where rounding or the number of steps ends the search of the other accountant, its bounds are RDP's.
std::optional<double> SolvedByRdp(Question question, const ParameterRule& unknown, double epsilon) {
  question.accountant = "rdp";
  return Searched(unknown, [&](double value) { return FirstEpsilon(question, unknown, value) <= epsilon; });
}

// Solves by the mechanism's own accountant where it is faster than a search, which would repeat a slow bound.
std::optional<double> SolvedByPld(const Question& question, const MechanismRule& rule, const ParameterRule& unknown,
                                  double epsilon) {
  const auto value = [&](const char* name) { return question.values.at(name); };
  const double aim = ComputeTargetEpsilon(epsilon);
  if (!(aim > 0)) return std::nullopt;
  if (unknown.name == "steps") {
    const std::int64_t steps =
        ComputeSubsampledGaussianPldSteps(value("sampling-rate"), value("noise-multiplier"), value("delta"), aim);
    const double left = steps < 1 ? 0 : SubtractRetries(question, static_cast<double>(steps));
    if (left < 1) return std::nullopt;
    return left;
  }
  const double steps = ExpandRetries(question, rule).values.at("steps");
  const double noise =
      ComputeSubsampledGaussianPldNoise(value("sampling-rate"), std::llround(steps), value("delta"), aim);
  if (!std::isfinite(noise)) return std::nullopt;
  return noise;
}

}  // namespace

Result<Solution> SolveQuestion(const Question& question, double epsilon) {
  if (!(epsilon > 0) || !std::isfinite(epsilon))
    return UsageError("--epsilon must be a finite number above 0, not " + FormatSixDigits(epsilon) + ".");
  Question probe = question;
  probe.quick = true;
  const MechanismRule* rule = nullptr;
  for (const MechanismRule& one : ListMechanismRules())
    if (one.name == question.mechanism && one.method == question.method) rule = &one;
  if (rule == nullptr) return FindCheckedRule(question).status();
  RETORT_ASSIGN_OR_RETURN(const ParameterRule* unknown, FindUnknown(question, *rule));
  RETORT_RETURN_IF_ERROR(FindCheckedRule(question, unknown->name).status());
  if (probe.mechanism == "subsampled-gaussian" && probe.accountant.empty()) probe.accountant = "pld";
  const auto meets = [&](double value) { return FirstEpsilon(probe, *unknown, value) <= epsilon; };
  const bool pld = probe.accountant == "pld";
  std::optional<double> value = pld ? SolvedByPld(probe, *rule, *unknown, epsilon) : Searched(*unknown, meets);
  if (pld && !value) {
    value = SolvedByRdp(probe, *unknown, epsilon);
  } else if (pld && IsWhole(*unknown) && meets(*value + 1)) {
    // Of so many steps that a grid bounds them loosely, RDP finds more.
    const std::optional<double> rdp = SolvedByRdp(probe, *unknown, epsilon);
    if (rdp && *rdp > *value && meets(*rdp)) value = rdp;
    value = RefineToLast(*value, meets);
  }
  const Status none = UsageError("No --" + std::string(unknown->name) + " brings epsilon to " +
                                 FormatSixDigits(epsilon) + " here; raise epsilon, or change the other parameters.");
  if (!value) return none;
  if (IsNoise(*unknown)) {
    value = RoundUpToNineDigits(*value);
    for (int round = 0; round < 100 && !meets(*value); ++round) value = RoundUpToNineDigits(*value * (1 + 1e-8));
  } else if (!IsWhole(*unknown)) {
    for (int round = 0; round < 100 && !meets(*value); ++round) value = *value * (1 - 1e-9);
  }
  Solution solution;
  solution.parameter = unknown->name;
  solution.value = *value;
  solution.more = IsWhole(*unknown) && *value >= kMaxWhole;
  Question solved = question;
  solved.values[solution.parameter] = solution.value;
  RETORT_ASSIGN_OR_RETURN(solution.answers, ComputeEpsilon(solved));
  if (!(solution.answers.front().claim.epsilon <= epsilon)) return none;
  return solution;
}

}  // namespace retort::privacy
