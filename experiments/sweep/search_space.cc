#include "experiments/sweep/search_space.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

namespace retort {
namespace {

constexpr std::uint64_t kRedraws = 1000;  // of a point that was taken
constexpr int kFineDigits = 4, kMaxDigits = 15;

// The scale on which a dimension is even. A whole number has the share of half a step to both sides.
struct Scale {
  double low, high;
  bool log;

  explicit Scale(const SearchDimension& dimension)
      : low(Map(dimension.low - (dimension.integer ? 0.5 : 0), dimension.log)),
        high(Map(dimension.high + (dimension.integer ? 0.5 : 0), dimension.log)),
        log(dimension.log) {}

  static double Map(double value, bool log) { return log ? std::log(value) : value; }
  [[nodiscard]] double At(double unit) const {
    const double mapped = low + unit * (high - low);
    return log ? std::exp(mapped) : mapped;
  }
  [[nodiscard]] double Unit(double value) const { return (Map(value, log) - low) / (high - low); }
};

double Number(const KeyValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? 0 : *real;
}

double Rounded(const SearchDimension& dimension, double value) {
  const double largest = std::max(std::fabs(dimension.low), std::fabs(dimension.high));
  const double finer = std::round(std::log10(largest / (dimension.high - dimension.low)));
  const int digits = std::clamp(kFineDigits + static_cast<int>(std::max(0.0, finer)), kFineDigits, kMaxDigits);
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return std::strtod(text, nullptr);
}

SearchPoint PointFrom(const SearchSpec& spec, const RngStream& stream, std::uint64_t draw) {
  SearchPoint point;
  for (std::size_t i = 0; i < spec.space.size(); ++i) {
    const SearchDimension& dimension = spec.space[i];
    point.push_back(ComputeValueAt(dimension, stream.Lane(i).Uniform(draw)));
  }
  return point;
}

// The first point that is not taken, where all values are counted through.
SearchPoint FindFree(const SearchSpec& spec, const std::set<SearchPoint>& taken) {
  const auto count = [](const SearchDimension& dimension) {
    return dimension.choices.empty() ? static_cast<std::size_t>(dimension.high - dimension.low) + 1
                                     : dimension.choices.size();
  };
  for (std::size_t index = 0; index <= taken.size(); ++index) {
    SearchPoint point;
    std::size_t rest = index;
    for (const SearchDimension& dimension : spec.space) {
      const std::size_t values = count(dimension);
      point.push_back(
          ComputeValueAt(dimension, (static_cast<double>(rest % values) + 0.5) / static_cast<double>(values)));
      rest /= values;
    }
    if (!taken.contains(point)) return point;
  }
  return PointFrom(spec, MakePointStream(spec, taken.size()), 0);
}

}  // namespace

double CountPoints(const SearchSpec& spec) {
  double count = 1;
  for (const SearchDimension& dimension : spec.space) {
    if (!dimension.choices.empty())
      count *= static_cast<double>(dimension.choices.size());
    else if (dimension.integer)
      count *= dimension.high - dimension.low + 1;
    else
      return std::numeric_limits<double>::infinity();
  }
  return count;
}

KeyValue ComputeValueAt(const SearchDimension& dimension, double unit) {
  if (!dimension.choices.empty()) {
    const auto count = static_cast<double>(dimension.choices.size());
    return dimension.choices[static_cast<std::size_t>(std::clamp(std::floor(unit * count), 0.0, count - 1))];
  }
  const double value = Scale(dimension).At(unit);
  if (!dimension.integer) return std::clamp(Rounded(dimension, value), dimension.low, dimension.high);
  const double whole = std::clamp(std::round(value), dimension.low, dimension.high);
  if (dimension.key != nullptr && dimension.key->type == KeyType::number) return whole;
  return static_cast<std::int64_t>(whole);
}

double ComputeUnit(const SearchDimension& dimension, const KeyValue& value) {
  return std::clamp(Scale(dimension).Unit(Number(value)), 0.0, 1.0);
}

std::size_t FindChoice(const SearchDimension& dimension, const KeyValue& value) {
  const auto& choices = dimension.choices;
  return static_cast<std::size_t>(std::find(choices.begin(), choices.end(), value) - choices.begin());
}

bool ContainsPoint(const SearchSpec& spec, const SearchPoint& point) {
  if (point.size() != spec.space.size()) return false;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const SearchDimension& dimension = spec.space[i];
    const double number = Number(point[i]);
    const bool held = dimension.choices.empty() ? number >= dimension.low && number <= dimension.high
                                                : FindChoice(dimension, point[i]) < dimension.choices.size();
    if (!held) return false;
  }
  return true;
}

RngStream MakePointStream(const SearchSpec& spec, std::size_t index) {
  return {spec.seed, Purpose::search, static_cast<std::uint64_t>(index)};
}

SearchPoint DrawPoint(const SearchSpec& spec, std::size_t index, const std::set<SearchPoint>& taken) {
  const RngStream stream = MakePointStream(spec, index);
  for (std::uint64_t draw = 0; draw < kRedraws; ++draw) {
    SearchPoint point = PointFrom(spec, stream, draw);
    if (!taken.contains(point)) return point;
  }
  return FindFree(spec, taken);
}

std::vector<SearchPoint> DrawPoints(const SearchSpec& spec, std::size_t count) {
  std::set<SearchPoint> taken;
  std::vector<SearchPoint> points;
  while (points.size() < count) {
    points.push_back(DrawPoint(spec, points.size(), taken));
    taken.insert(points.back());
  }
  return points;
}

std::vector<SearchPoint> DrawLatinHypercube(const SearchSpec& spec) {
  const std::int64_t count = spec.trials;
  std::vector<SearchPoint> points(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < spec.space.size(); ++i) {
    const RngStream stream(spec.seed, Purpose::search, i, 1);
    const std::vector<std::int64_t> parts = DrawPermutation(count, stream);
    for (std::size_t k = 0; k < points.size(); ++k) {
      const double within = stream.Lane(1).Uniform(k);
      points[k].push_back(
          ComputeValueAt(spec.space[i], (static_cast<double>(parts[k]) + within) / static_cast<double>(count)));
    }
  }
  // Values that are few may meet in a point twice; the second is drawn anew.
  std::set<SearchPoint> taken;
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (taken.contains(points[k])) points[k] = DrawPoint(spec, k, taken);
    taken.insert(points[k]);
  }
  return points;
}

}  // namespace retort
