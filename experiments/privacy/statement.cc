#include "experiments/privacy/statement.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/relation.h"

namespace retort::privacy {
namespace {

// Above this epsilon, an observer who sees the release can almost always name the right neighbour.
constexpr double kNoProtection = 50;

bool Unbounded(const Claim& claim) { return claim.status == ClaimStatus::unbounded || !std::isfinite(claim.epsilon); }

std::string Where(const Claim& claim) {
  return std::string(GetAdjacencyName(claim.adjacency)) + ", " + std::string(GetNeighbourName(claim.neighbour)) +
         (claim.delta_stated ? ", δ=" + FormatExactNumber(claim.delta) : ", δ not stated");
}

// Returns what a paper's formula is about where that is less than an example.
std::string FormulaScope(const Claim& claim) {
  return claim.adjacency == Adjacency::label ? " for a label alone (pictures are public)" : "";
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string FormatDelta(const Claim& claim) {
  return claim.delta_stated ? FormatShortNumber(claim.delta) : "not stated";
}

std::string FormatEpsilon(const Claim& claim) {
  const std::string mark = claim.status == ClaimStatus::paper_formula ? "†" : "";
  if (claim.status == ClaimStatus::audited && claim.lower) {
    return "≥ " + FormatThreeDecimals(std::floor(*claim.lower * 1000) / 1000);
  }
  if (Unbounded(claim)) return "∞" + mark;
  return FormatThreeDecimals(claim.epsilon) + mark;
}

std::string FormatStatementLine(const Claim& claim) {
  const std::string number = FormatEpsilon(claim);
  if (claim.status == ClaimStatus::audited) return "ε " + number + " (" + Where(claim) + ", 95 % audit)";
  if (Unbounded(claim)) {
    return "ε = " + number + " (" + claim.reason + "; " + std::string(GetAdjacencyName(claim.adjacency)) + ", " +
           std::string(GetNeighbourName(claim.neighbour)) + ")";
  }
  if (claim.status == ClaimStatus::paper_formula) {
    return "ε = " + number + " (" + Where(claim) + ", " + claim.accountant + ", not a guarantee)";
  }
  return "ε ≤ " + number + " (" + Where(claim) + ", " + claim.accountant + ")";
}

std::string FormatStatementSentence(const Claim& claim) {
  if (claim.status == ClaimStatus::paper_formula) {
    return "The paper's own formula gives " + FormatEpsilon(claim) + " here" + FormulaScope(claim) +
           ". It is shown for comparison and guarantees nothing.";
  }
  if (claim.status == ClaimStatus::audited) {
    return "An attack shows that epsilon for " + claim.units + " is at least " +
           FormatThreeDecimals(claim.lower.value_or(claim.epsilon)) + " (95 % confidence).";
  }
  if (Unbounded(claim)) return "No bound holds for " + claim.units + ". " + std::string(DescribeReason(claim.reason));
  std::string text = "Proven for " + claim.units + ": epsilon at most " + FormatThreeDecimals(claim.epsilon) +
                     " at delta " + FormatExactNumber(claim.delta) + ".";
  if (!claim.assumptions.empty()) text += " It rests on " + Joined(claim.assumptions) + ".";
  if (claim.adjacency == Adjacency::answer || claim.adjacency == Adjacency::slot) {
    text += " It protects answers on synthetic points, which belong to nobody, and no training example.";
  } else if (claim.epsilon > kNoProtection) {
    text += " A number this large is true and protects nothing in practice.";
  }
  return text;
}

std::string FormatDeltaWarning(const Claim& claim, std::int64_t examples) {
  if (examples < 1 || claim.delta <= 1.0 / static_cast<double>(examples)) return "";
  return "δ=" + FormatExactNumber(claim.delta) + " is larger than 1/N for the " + std::to_string(examples) +
         " private examples: it would allow publishing some of them whole.";
}

namespace {

bool Proven(const Claim& claim) { return claim.status == ClaimStatus::proven && std::isfinite(claim.epsilon); }

// Appends a sentence, with one space before it.
void AppendSentence(std::string& text, const std::string& sentence) {
  if (sentence.empty()) return;
  text += (text.empty() ? "" : " ") + sentence;
}

std::string NoiseText(const PrivacyEvent& event) {
  const char* source = "";
  if (event.source == NoiseSource::seeded) source = " from a seed";
  if (event.source == NoiseSource::none) source = " from no recorded source";
  return "Gaussian noise of standard deviation " + FormatSixDigits(event.noise_std) + source;
}

// How candidates were compared, where that cost something; empty elsewhere.
std::string ScoreSentence(const PrivateSelection* selection) {
  if (selection == nullptr) return "";
  for (const std::vector<PrivacyEvent>& events : selection->candidates)
    for (const PrivacyEvent& event : events)
      if (event.kind == MechanismKind::validation_count)
        return " They were compared by how many private validation examples, apart from those of the training, each "
               "classifies right, with " +
               NoiseText(event) + " on that number; the score that is shown has that noise.";
  return "";
}

// What one kind of release was, and how often.
std::string ReleaseSentence(const PrivacyEvent& event, TrialKind kind) {
  const std::string count = std::to_string(event.count);
  const std::string sensitivity = "sensitivity " + FormatSixDigits(event.sensitivity);
  switch (event.kind) {
    case MechanismKind::gaussian_gradient:
      return "Released: output gradients of " + sensitivity + " with " + NoiseText(event) + ", drawn " + count +
             (event.unit == EventUnit::batch ? " times, once for a batch of "
                                             : " times, once for a row, in batches of ") +
             std::to_string(event.rows_per_batch) + (event.frobenius ? ", the norm taken over the batch." : ".");
    case MechanismKind::noisy_votes:
      return "Released: " + count + " vote histograms of " + sensitivity + " with " + NoiseText(event) +
             " on whole numbers.";
    case MechanismKind::consensus_test:
      return "Released: whether the answers to " + std::to_string(event.test.queries) + " queries cost no more than " +
             FormatSixDigits(event.test.cost) +
             " on these votes, by Renyi "
             "differential privacy of order " +
             FormatSixDigits(event.test.order) + ", with " + NoiseText(event) + " in smooth sensitivities.";
    case MechanismKind::vote_threshold:
      return "Released: whether the largest of a query's vote counts, of " + sensitivity + " with " + NoiseText(event) +
             " on whole numbers, reaches the threshold, of " + count + " queries.";
    case MechanismKind::subsampled_gaussian:
      if (ReleasesEmbedding(kind))
        return "Released: " + count + " sum by class of vectors of the examples, of " + sensitivity + " with " +
               NoiseText(event) + ", over all examples.";
      return "Released: " + count + " sums of gradients of " + sensitivity + " with " + NoiseText(event) +
             (event.sampling_rate < 1 ? ", over samples that hold each example with probability " +
                                            FormatSixDigits(event.sampling_rate) + "."
                                      : ", each over all examples.");
    case MechanismKind::randomized_response:
      return "Released: " + count + " answers by randomised response over " + std::to_string(event.choices) +
             " choices, each at epsilon " + FormatSixDigits(event.epsilon0) + " for that answer alone.";
    case MechanismKind::member_gradient:
      return "Released: sums of the members' output gradients, of " + sensitivity + " a member with " +
             NoiseText(event) + ", drawn " + count + " times, once for a row, in batches of " +
             std::to_string(event.rows_per_batch) + ".";
    case MechanismKind::member_response:
      return "Released: " + count + " answers of every member by randomised response over " +
             std::to_string(event.choices) + " choices, each at epsilon " + FormatSixDigits(event.epsilon0) +
             " for that answer alone.";
    case MechanismKind::label_response:
      return "Released: " + count + " private labels, each once, at epsilon " + FormatSixDigits(event.epsilon0) + ".";
    case MechanismKind::loss_noise:
      return "Released: " + count + " updates computed from losses with noise, which the noise does not reach.";
    case MechanismKind::validation_count:
      return "Released: " + count + " count of the validation examples that the student classifies right, of " +
             sensitivity + " with " + NoiseText(event) + " on whole numbers.";
    case MechanismKind::private_selection:
      return "Released: the best alone of K candidates, drawn with replacement (K: " +
             (event.selection == nullptr ? "unknown" : DescribeDraws(event.selection->law)) +
             "); the others were destroyed unseen." + ScoreSentence(event.selection.get());
    case MechanismKind::none:
      return "Released: " + count + " answers of the teacher without noise.";
  }
  return "";
}

std::string NeighbourText(Neighbour neighbour) {
  switch (neighbour) {
    case Neighbour::replace:
      return "replaced by any other";
    case Neighbour::add_remove:
      return "added or removed";
    case Neighbour::zero_out:
      return "silenced";
    case Neighbour::answer:
      return "changed";
  }
  return "";
}

std::string AssumptionsText(const Claim& claim) {
  std::string names;
  for (const std::string& name : claim.assumptions) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "" : " This rests on " + names + ".";
}

std::string ProvenSentence(const Claim& claim) {
  const char* verb = claim.adjacency == Adjacency::slot ? " are " : " is ";
  return "Proven when " + claim.units + verb + NeighbourText(claim.neighbour) + ": epsilon at most " +
         FormatThreeDecimals(claim.epsilon) + " at delta " + FormatExactNumber(claim.delta) + ", by " +
         claim.accountant + (claim.reason.empty() ? "" : " (" + claim.reason + ")") + "." + AssumptionsText(claim);
}

std::string AboutPeople(const std::vector<Claim>& claims) {
  std::string text;
  const Claim* unbounded = nullptr;
  for (const Claim& claim : claims) {
    if (claim.adjacency != Adjacency::example || claim.status == ClaimStatus::paper_formula) continue;
    if (Proven(claim))
      AppendSentence(text, ProvenSentence(claim));
    else
      unbounded = &claim;
  }
  if (!text.empty()) return text;
  if (unbounded == nullptr) return "Nothing is claimed about the people whose examples were used.";
  return "No finite epsilon holds for one training example. " + std::string(DescribeReason(unbounded->reason));
}

std::string AboutOthers(const std::vector<Claim>& claims) {
  std::string text;
  for (const Claim& claim : claims) {
    if (claim.adjacency == Adjacency::example || !Proven(claim)) continue;
    AppendSentence(text, ProvenSentence(claim));
    if (claim.adjacency == Adjacency::answer || claim.adjacency == Adjacency::slot)
      AppendSentence(text, "Such answers belong to nobody: this protects no person.");
  }
  for (const Claim& claim : claims) {
    if (claim.status != ClaimStatus::paper_formula) continue;
    AppendSentence(text, "The paper's formula (" + claim.accountant + ") gives " + FormatEpsilon(claim) +
                             FormulaScope(claim) + " at delta " + FormatExactNumber(claim.delta) +
                             " here, which guarantees nothing.");
  }
  return text;
}

std::string NotCovered(const TrialSpec& spec, const std::vector<Claim>& claims) {
  const auto rests_on = [&](std::string_view name) {
    return std::any_of(claims.begin(), claims.end(), [&](const Claim& claim) {
      return std::find(claim.assumptions.begin(), claim.assumptions.end(), name) != claim.assumptions.end();
    });
  };
  std::string text = rests_on(kAssumeHiddenDraws)
                         ? "Not covered: what else was chosen by looking at results on private examples, and how many "
                           "trials the selection ran, and for how long"
                         : "Not covered: what was chosen by looking at results on private examples";
  text +=
      "; other trials on the same data, which add up (`retort status` shows the sum); the time that answers took; what "
      "`retort audit` finds";
  if (rests_on(kSelectedOnTest)) text += "; the test examples, on which the step to stop at was chosen";
  const auto added = [](const Claim& claim) { return Proven(claim) && claim.neighbour == Neighbour::add_remove; };
  if (std::any_of(claims.begin(), claims.end(), added)) text += "; the number of private examples";
  if (rests_on(kAssumeDisjointShards))
    text += "; examples that stand in two shards; the digest of the members' parameters";
  if (ShowsPublicImages(spec.source)) text += "; the public examples, and that none of them is private";
  if (spec.data)
    text += "; what is said of the data set as a whole: its digest, its classes, how many pictures cannot be read";
  return text + ".";
}

}  // namespace

std::string WriteTrialStatement(const TrialSpec& spec, const std::vector<Claim>& claims,
                                const std::vector<PrivacyEvent>& events) {
  std::string text;
  const std::vector<PrivacyEvent> sums = Aggregate(events);
  const TrialKind kind = FindKind(spec);
  for (const PrivacyEvent& event : sums) AppendSentence(text, ReleaseSentence(event, kind));
  if (sums.empty() && IsSleeper(kind)) return "The trial trains nothing and releases nothing.";
  if (sums.empty()) AppendSentence(text, "The trial charged no release to its ledger.");
  AppendSentence(text, AboutPeople(claims));
  AppendSentence(text, AboutOthers(claims));
  const auto larger = [](const Claim& a, const Claim& b) { return a.delta < b.delta; };
  const auto largest = std::max_element(claims.begin(), claims.end(), larger);
  if (largest != claims.end() && spec.data)
    AppendSentence(text, FormatDeltaWarning(*largest, spec.data->PrivateExamples()));
  AppendSentence(text, NotCovered(spec, claims));
  return text;
}

}  // namespace retort::privacy
