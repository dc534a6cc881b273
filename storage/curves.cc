#include "storage/curves.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>

#include "storage/hdf5_reader.h"
#include "storage/hdf5_writer.h"
#include "storage/quantities.h"

namespace retort::storage {
namespace {

constexpr std::string_view kStep = "step";

std::string DatasetName(std::string curve) {
  std::replace(curve.begin(), curve.end(), '/', '.');
  return curve == kStep ? "step_" : curve;
}

template <typename T>
std::vector<T> ValuesOf(const TensorBlob& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

void WriteCurves(Hdf5Writer& writer, const std::string& group, const Curves& curves) {
  writer.Group(group);
  if (curves.empty()) return;
  std::set<std::int64_t> steps;
  for (const auto& [name, points] : curves) {
    for (const auto& point : points) steps.insert(point.first);
  }
  if (!steps.empty() && *steps.begin() < 0)
    return writer.Fail(Refused("A curve of '" + group + "' has a negative step."));
  const std::string scale = group + "/" + std::string(kStep);
  writer.Dataset(scale, std::vector<std::uint64_t>(steps.begin(), steps.end()));
  writer.DimensionScale(scale, std::string(kStep));
  Describe(writer, scale, QuantityOf(std::string(kStep)));
  std::map<std::int64_t, std::size_t> row;
  for (const std::int64_t step : steps) row.emplace(step, row.size());
  for (const auto& [name, points] : curves) {
    std::vector<double> values(steps.size(), std::numeric_limits<double>::quiet_NaN());
    for (const auto& [step, value] : points) values[row.at(step)] = value;
    const std::string dataset = group + "/" + DatasetName(name);
    writer.Dataset(dataset, values);
    writer.AttachScale(dataset, scale);
    Describe(writer, dataset, QuantityOf(name));
  }
}

Result<Curves> ReadCurves(const Hdf5Reader& reader, const std::string& group) {
  Curves curves;
  const std::vector<std::string> paths = reader.DatasetsBelow(group);
  if (paths.empty()) return curves;
  RETORT_ASSIGN_OR_RETURN(const TensorBlob scale, reader.Dataset(group + "/" + std::string(kStep)));
  const std::vector<std::uint64_t> steps = ValuesOf<std::uint64_t>(scale);
  for (const std::string& path : paths) {
    const std::string name = path.substr(group.size() + 1);
    if (name == kStep) continue;
    RETORT_ASSIGN_OR_RETURN(const TensorBlob tensor, reader.Dataset(path));
    const std::vector<double> values = ValuesOf<double>(tensor);
    if (tensor.dtype != DType::f64 || values.size() != steps.size()) {
      return DamageError("Curve '" + path + "' of '" + reader.name() + "' does not fit its steps.");
    }
    auto& points = curves[name];
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (!std::isnan(values[i])) points.emplace_back(static_cast<std::int64_t>(steps[i]), values[i]);
    }
  }
  return curves;
}

bool IsTiming(const std::string& curve) {
  constexpr std::string_view kSeconds = "seconds";
  return curve.size() >= kSeconds.size() &&
         curve.compare(curve.size() - kSeconds.size(), kSeconds.size(), kSeconds) == 0;
}

}  // namespace retort::storage
