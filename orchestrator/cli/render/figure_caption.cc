#include "orchestrator/cli/render/figure_caption.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/statement.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/results/tables/figure_words.h"

namespace retort::orchestrator::cli {

// Sentences below a figure.
namespace {

using privacy::Adjacency;
using privacy::Claim;
using privacy::ClaimStatus;

constexpr std::size_t kMaxNamed = 5;

template <typename F>
void EachPoint(const FigureData& data, F visit) {
  for (const FigurePanel& panel : data.panels)
    for (const FigureSeries& series : panel.series)
      for (const FigurePoint& point : series.points) visit(panel, series, point);
}

std::string SeedsSentence(const FigureData& data) {
  int least = 0, most = 0;
  bool intervals = false;
  EachPoint(data, [&](const FigurePanel&, const FigureSeries&, const FigurePoint& point) {
    const int n = point.summary.n;
    if (n == 0) return;
    least = least == 0 ? n : std::min(least, n);
    most = std::max(most, n);
    intervals = intervals || point.summary.ci95.has_value();
  });
  if (most == 0) return "Nothing of this sweep has been measured yet: all that is shown is published.";
  if (most == 1) return "One seed a point: no spread is known.";
  const std::string seeds =
      least == most ? fmt::format("Means of {} seeds", most) : fmt::format("Means of {} to {} seeds", least, most);
  if (!intervals) return seeds + ".";
  if (data.spec.kind == FigureKind::curve) return seeds + "; bands: 95 % interval of the mean (Student t).";
  return seeds + "; bars: 95 % interval of the mean (Student t), cut where it leaves the frame; dots: single seeds.";
}

std::string PublishedSentence(const FigureData& data) {
  if (data.spec.published.empty()) return "";
  bool any = false;
  EachPoint(data, [&](const FigurePanel&, const FigureSeries&, const FigurePoint& point) {
    any = any || point.published.has_value();
  });
  if (!any) return "No value of " + data.spec.published + " is for the data set, method and ε of these points.";
  return "Hollow: published, " + data.spec.published +
         ", at the paper's own ε, which is its formula's and not a proven one.";
}

std::string MissingSentence(const FigureData& data) {
  if (data.missing == 0) return "";
  std::vector<std::string> names;
  const auto name = [&](const FigurePanel& panel, const FigureSeries& series, const std::string& at) {
    std::string text = series.label;
    if (!at.empty()) text += (text.empty() ? "" : ": ") + DescribeValue(data, data.spec.x, at, nullptr);
    if (data.panels.size() > 1) text += (text.empty() ? "" : ", ") + panel.title;
    names.push_back(std::move(text));
  };
  if (data.spec.kind == FigureKind::curve) {
    for (const FigurePanel& panel : data.panels)
      for (const FigureSeries& series : panel.series)
        if (series.measured == 0) name(panel, series, "");
  } else {
    EachPoint(data, [&](const FigurePanel& panel, const FigureSeries& series, const FigurePoint& point) {
      if (point.state == CellState::missing) name(panel, series, data.spec.x == "epsilon" ? "" : point.at);
    });
  }
  std::string text = fmt::format("Missing: {} of {}", data.missing, data.all);
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i)
    if (!names[i].empty()) list += (list.empty() ? "" : "; ") + names[i];
  if (!list.empty()) text += " (" + list + (names.size() > kMaxNamed ? "; …" : "") + ")";
  return text + ". A run of the sweep measures them.";
}

std::string PartialSentence(const FigureData& data) {
  int partial = 0, failed = 0;
  EachPoint(data, [&](const FigurePanel&, const FigureSeries&, const FigurePoint& point) {
    if (point.state == CellState::partial) ++partial;
    failed += point.failed;
  });
  std::string text;
  if (partial > 0)
    text = fmt::format("{} point{} on fewer seeds than planned.", partial, partial == 1 ? " rests" : "s rest");
  if (failed > 0) text += fmt::format("{}{} trial{} failed.", text.empty() ? "" : " ", failed, failed == 1 ? "" : "s");
  return text;
}

std::string MapSentence(const FigureImages& images) {
  const FigureMap& map = *images.map;
  std::string pictures;
  for (const MapGroup& group : map.groups)
    pictures += fmt::format("{}{} {}", pictures.empty() ? "" : ", ", group.places.size(), group.label);
  return fmt::format("{}{}{}; perplexity {:.4g}, Kullback-Leibler divergence {:.3g} nats.", images.title,
                     images.title.empty() ? "" : ": ", pictures, map.perplexity, map.divergence);
}

std::vector<std::string> MapSentences(const FigureData& data) {
  std::vector<std::string> sentences = {
      "A t-SNE map of pixels: pictures that lie near each other are alike. Axes, sizes and the distance between "
      "groups mean nothing."};
  for (const FigureImages& images : data.images)
    if (images.map) sentences.push_back(MapSentence(images));
  sentences.emplace_back(
      "The private points are the positions of private pictures, and they move all others: no ε covers the map.");
  return sentences;
}

bool Bounded(const Claim& claim) { return claim.status == ClaimStatus::proven && std::isfinite(claim.epsilon); }

// A relation and how it is known: what one epsilon may be compared with.
struct ClaimGroup {
  Claim like;
  double low = HUGE_VAL, high = 0;  // of epsilon; of audited claims, of the lower bound
  bool unbounded = false;
};

bool Alike(const Claim& a, const Claim& b) {
  const auto guarantee = [](const Claim& claim) {
    return claim.status == ClaimStatus::proven || claim.status == ClaimStatus::unbounded;
  };
  return a.adjacency == b.adjacency && a.neighbour == b.neighbour && a.delta == b.delta &&
         a.delta_stated == b.delta_stated && (a.status == b.status || (guarantee(a) && guarantee(b)));
}

// The least of several guarantees on the same relation counts.
std::vector<Claim> FindBest(const std::vector<Claim>& claims) {
  std::vector<Claim> best;
  for (const Claim& claim : claims) {
    const auto known =
        std::find_if(best.begin(), best.end(), [&claim](const Claim& other) { return Alike(claim, other); });
    if (known == best.end())
      best.push_back(claim);
    else if (claim.status == ClaimStatus::proven && (!Bounded(*known) || claim.epsilon < known->epsilon))
      *known = claim;
  }
  return best;
}

void Gather(const std::vector<Claim>& claims, std::vector<ClaimGroup>& groups) {
  for (const Claim& claim : FindBest(claims)) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&claim](const ClaimGroup& known) { return Alike(known.like, claim); });
    if (group == groups.end()) group = groups.insert(groups.end(), ClaimGroup{claim});
    const double epsilon = claim.status == ClaimStatus::audited ? claim.lower.value_or(0) : claim.epsilon;
    if (claim.status == ClaimStatus::unbounded || !std::isfinite(epsilon)) {
      group->unbounded = true;
    } else {
      group->low = std::min(group->low, epsilon);
      group->high = std::max(group->high, epsilon);
    }
  }
}

std::string RangeText(const ClaimGroup& group) {
  if (group.low == group.high) return FormatEpsilon(group.high);
  return FormatEpsilon(group.low) + " to " + FormatEpsilon(group.high);
}

std::string GroupText(const ClaimGroup& group) {
  const Claim& like = group.like;
  const std::string about =
      fmt::format("{}, {}, δ {}{}", GetAdjacencyName(like.adjacency), GetNeighbourName(like.neighbour),
                  like.delta_stated ? "= " : "", privacy::FormatDelta(like));
  switch (like.status) {
    case ClaimStatus::paper_formula:
      return "formula † ε = " + RangeText(group) + " (" + about + "; no guarantee)";
    case ClaimStatus::audited:
      return "audited ε ≥ " + RangeText(group) + " (" + about + ", 95 %)";
    case ClaimStatus::proven:
    case ClaimStatus::unbounded:
      break;
  }
  if (group.unbounded) return (group.high > 0 ? "ε not bounded for all (" : "ε = ∞ (") + about + ")";
  return "proven ε ≤ " + RangeText(group) + " (" + about + ")";
}

// What a reader must know of a series: whether an example is protected, the formula, and every finite proof.
bool Told(const ClaimGroup& group) {
  if (group.like.status == ClaimStatus::paper_formula || group.like.status == ClaimStatus::audited) return true;
  return group.like.adjacency == Adjacency::example || !group.unbounded;
}

std::string ClaimsOfSeries(const FigureSeries& series) {
  std::vector<ClaimGroup> groups;
  for (const FigurePoint& point : series.points)
    if (point.state != CellState::quoted) Gather(point.claims, groups);
  Gather(series.claims, groups);
  std::string text;
  for (const ClaimGroup& group : groups)
    if (Told(group)) text += (text.empty() ? "" : "; ") + GroupText(group);
  return text;
}

std::string JoinedNames(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : " · ") + names[i];
  return text;
}

// In the unit of the y axis.
std::string YText(const FigureData& data, double value) {
  return IsInPercent(data) ? fmt::format("{:.4g}", 100 * value) : FormatPublished(value, data.spec.y);
}

std::string PointText(const FigureData& data, const FigurePoint& point) {
  std::string text = point.at.empty() ? "all x" : point.at;
  if (point.summary.n > 0) text += ": " + YText(data, point.summary.mean);
  if (point.summary.ci95)
    text += fmt::format(" ({} to {})", YText(data, point.summary.ci95->first), YText(data, point.summary.ci95->second));
  if (point.summary.n == 0 && point.state == CellState::missing) text += ": missing";
  if (point.published) text += ", published " + YText(data, *point.published);
  return text;
}

}  // namespace

std::vector<std::string> FormatClaimSentences(const FigureData& data) {
  std::vector<std::pair<std::string, std::vector<std::string>>> said;  // claims, and whose they are
  const auto add = [&said](const std::string& claims, const std::string& name) {
    if (claims.empty()) return;
    auto known = std::find_if(said.begin(), said.end(), [&claims](const auto& entry) { return entry.first == claims; });
    if (known == said.end()) known = said.insert(said.end(), {claims, {}});
    if (!name.empty() && std::find(known->second.begin(), known->second.end(), name) == known->second.end())
      known->second.push_back(name);
  };
  for (const FigurePanel& panel : data.panels)
    for (const FigureSeries& series : panel.series)
      add(ClaimsOfSeries(series), data.panels.size() > 1 && !panel.title.empty() && !series.label.empty()
                                      ? series.label + " (" + panel.title + ")"
                                  : series.label.empty() ? panel.title
                                                         : series.label);
  for (const FigureImages& images : data.images) {
    FigureSeries series;
    series.claims = images.claims;
    add(ClaimsOfSeries(series), images.title);
  }
  std::vector<std::string> sentences;
  for (const auto& [claims, names] : said)
    sentences.push_back((names.empty() || said.size() == 1 ? "" : JoinedNames(names) + ": ") + claims + ".");
  return sentences;
}

std::vector<std::string> MakeCaption(const FigureData& data) {
  std::vector<std::string> caption;
  const auto add = [&caption](std::string sentence) {
    if (!sentence.empty()) caption.push_back(std::move(sentence));
  };
  if (data.smoke) add("smoke: a run of a few steps that shows that the sweep works; its values mean nothing.");
  if (data.spec.kind == FigureKind::map)
    for (std::string& sentence : MapSentences(data)) add(std::move(sentence));
  if (!ShowsImages(data.spec.kind)) add(SeedsSentence(data));
  add(PublishedSentence(data));
  add(MissingSentence(data));
  add(PartialSentence(data));
  for (std::string& sentence : FormatClaimSentences(data)) add(std::move(sentence));
  bool formula = false;
  for (const std::string& sentence : caption) formula = formula || sentence.find("†") != std::string::npos;
  for (const EpsilonTarget& target : data.epsilons) formula = formula || target.claim == "paper";
  if (formula) add("†: the paper's formula at these runs' parameters; not a guarantee.");
  for (const std::string& warning : data.warnings) add("Warning: " + warning);
  if (data.running) add("The sweep is running: this is what has finished so far.");
  add(fmt::format("Sweep {}, specs {}, retort {}", data.sweep, data.spec_hash, FormatVersion()));
  return caption;
}

std::string DescribeFigure(const FigureData& data) {
  std::string text = fmt::format("{} against {}.", FormatYLabel(data), FormatXLabel(data));
  if (data.spec.kind == FigureKind::samples) text = "Synthetic samples.";
  if (data.spec.kind == FigureKind::map) text = "Synthetic samples among pictures of their data set.";
  for (const FigurePanel& panel : data.panels) {
    for (const FigureSeries& series : panel.series) {
      const std::string name = panel.title + (panel.title.empty() || series.label.empty() ? "" : ", ") + series.label;
      text += "\n" + (name.empty() ? "Measured" : name) + ": ";
      if (data.spec.kind == FigureKind::curve) {
        text += series.points.empty() ? "missing"
                                      : fmt::format("{} points, from {} to {}", series.points.size(),
                                                    YText(data, series.points.front().summary.mean),
                                                    YText(data, series.points.back().summary.mean));
      } else {
        for (std::size_t i = 0; i < series.points.size(); ++i)
          text += (i == 0 ? "" : "; ") + PointText(data, series.points[i]);
      }
      text += ".";
    }
  }
  for (const FigureImages& images : data.images)
    text += "\n" + images.title + (images.samples ? "" : ": missing") + ".";
  for (const std::string& sentence : MakeCaption(data)) text += "\n" + sentence;
  return text;
}

}  // namespace retort::orchestrator::cli
