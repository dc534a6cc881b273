#include "storage/results/hdf5_conventions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "experiments/base/json.h"
#include "experiments/base/status.h"
#include "storage/results/hdf5_reader.h"
#include "storage/results/hdf5_writer.h"

namespace retort::storage {
namespace {

constexpr std::int64_t kMaxScaleExtent = std::int64_t{1} << 24;

struct Known {
  std::string_view name, long_name, units;
};

constexpr std::array kKnown = {
    Known{"data.skipped", "pictures of the data set that were left out", "1"},
    Known{"device_busy", "fraction of the time in which kernels ran on the devices of an attempt", "1"},
    Known{"energy_joules", "energy of all devices of an attempt", "J"},
    Known{"labels.candidates", "mean number of labels that a randomised response chose among", "1"},
    Known{"labels.kept", "examples that the first stage kept", "1"},
    Known{"public.accuracy", "fraction of the public pictures that are classified rightly", "1"},
    Known{"seconds", "wall-clock time", "s"},
    Known{"sleep.seconds", "time slept", "s"},
    Known{"sleep.steps", "steps slept through", "1"},
    Known{"step", "completed steps", "1"},
    Known{"step_seconds", "wall-clock time of a step", "s"},
    Known{"stop.step", "completed steps when the training ended", "1"},
    Known{"student.parameters", "trainable values of the student", "1"},
    Known{"test.accuracy", "fraction of the test pictures that are classified rightly", "1"},
    Known{"test.member_accuracy", "mean accuracy of a single member of the ensemble on the test pictures", "1"},
    Known{"test.sensitive_accuracy", "accuracy on the sensitive classes of the test pictures", "1"},
    Known{"test.top5", "fraction of the test pictures whose class is among the five likeliest", "1"},
    Known{"train.answered", "queries that the threshold on votes let by", "1"},
    Known{"train.auxiliary_loss", "loss of the auxiliary teacher", "1"},
    Known{"train.candidates", "mean number of labels that a randomised response chose among", "1"},
    Known{"train.embedding_loss", "squared distance of the generator's mean embedding from the noisy one", "1"},
    Known{"train.generator_loss", "loss of the generator", "1"},
    Known{"train.loss", "loss of the network", "1"},
    Known{"train.noisy_gradient_norm", "Euclidean norm of the noisy gradient", "1"},
    Known{"train.student_loss", "loss of the student", "1"},
    Known{"train.vote_gap", "estimated gap between the votes for the winning class and for another", "1"},
    Known{"training_seconds", "wall-clock time of all steps", "s"},
    Known{"validation.accuracy", "fraction of the private validation pictures that are classified rightly, with noise",
          "1"},
};

}  // namespace

Quantity FindQuantity(const std::string& name) {
  for (const Known& known : kKnown) {
    if (known.name == name) return {std::string(known.long_name), std::string(known.units)};
  }
  std::string words = name;
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c == '.' || c == '_' || c == '/'; }, ' ');
  return {words, name.ends_with("seconds") ? "s" : "1"};
}

void Describe(Hdf5Writer& writer, const std::string& path, const Quantity& quantity) {
  writer.Attribute(path, "long_name", std::string_view(quantity.long_name));
  if (!quantity.units.empty()) writer.Attribute(path, "units", std::string_view(quantity.units));
}

void DescribeColumns(Hdf5Writer& writer, const std::string& path, const std::vector<TableColumn>& table) {
  nlohmann::json units = nlohmann::json::object();
  for (const TableColumn& column : table)
    if (!column.units.empty()) units[column.name] = column.units;
  writer.Attribute(path, "column_units", DumpJson(units));
}

void WriteScale(Hdf5Writer& writer, const std::string& path, std::int64_t extent, std::string_view long_name) {
  if (extent < 0 || extent > kMaxScaleExtent) {
    return writer.Fail(Refused("An axis of " + std::to_string(extent) + " places cannot be named '" + path + "'."));
  }
  std::vector<std::uint64_t> places(static_cast<std::size_t>(extent));
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  writer.Dataset(path, places);
  writer.DimensionScale(path, path.substr(path.find_last_of('/') + 1));
  Describe(writer, path, {std::string(long_name), ""});
}

void AttachScales(Hdf5Writer& writer, const std::string& dataset, const std::vector<std::string>& scales) {
  for (std::size_t axis = 0; axis < scales.size(); ++axis) {
    writer.AttachScale(dataset, scales[axis], static_cast<unsigned>(axis));
  }
}

void WriteTensors(Hdf5Writer& writer, const std::string& root, const std::vector<TensorBlob>& tensors) {
  std::int64_t order = 0;
  for (const TensorBlob& tensor : tensors) {
    const std::string path = root + "/" + tensor.name;
    writer.Dataset(path, tensor);
    writer.Attribute(path, "order", order++);
  }
}

Result<std::vector<TensorBlob>> ReadTensors(const Hdf5Reader& reader, const std::string& root,
                                            const std::vector<std::string>& prefixes) {
  std::vector<std::pair<std::int64_t, TensorBlob>> found;
  for (const std::string& prefix : prefixes) {
    const std::size_t slash = prefix.find('/');
    const std::string top = slash == std::string::npos ? root : root + "/" + prefix.substr(0, slash);
    for (const std::string& path : reader.DatasetsBelow(top.empty() ? "/" : top)) {
      const std::string name = path.substr(root.size() + 1);
      if (name.compare(0, prefix.size(), prefix) != 0) continue;
      RETORT_ASSIGN_OR_RETURN(const std::int64_t order, reader.IntegerAttribute(path, "order"));
      RETORT_ASSIGN_OR_RETURN(TensorBlob tensor, reader.Dataset(path));
      tensor.name = name;
      found.emplace_back(order, std::move(tensor));
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TensorBlob> tensors;
  for (auto& [order, tensor] : found) tensors.push_back(std::move(tensor));
  return tensors;
}

namespace {

constexpr std::string_view kStep = "step";

std::string DatasetName(std::string curve) {
  std::replace(curve.begin(), curve.end(), '/', '.');
  return curve == kStep ? "step_" : curve;
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
  Describe(writer, scale, FindQuantity(std::string(kStep)));
  std::map<std::int64_t, std::size_t> row;
  for (const std::int64_t step : steps) row.emplace(step, row.size());
  for (const auto& [name, points] : curves) {
    std::vector<double> values(steps.size(), std::numeric_limits<double>::quiet_NaN());
    for (const auto& [step, value] : points) values[row.at(step)] = value;
    const std::string dataset = group + "/" + DatasetName(name);
    writer.Dataset(dataset, values);
    writer.AttachScale(dataset, scale);
    Describe(writer, dataset, FindQuantity(name));
  }
}

Result<Curves> ReadCurves(const Hdf5Reader& reader, const std::string& group) {
  Curves curves;
  const std::vector<std::string> paths = reader.DatasetsBelow(group);
  if (paths.empty()) return curves;
  RETORT_ASSIGN_OR_RETURN(const TensorBlob scale, reader.Dataset(group + "/" + std::string(kStep)));
  const std::vector<std::uint64_t> steps = CopyValues<std::uint64_t>(scale);
  for (const std::string& path : paths) {
    const std::string name = path.substr(group.size() + 1);
    if (name == kStep) continue;
    RETORT_ASSIGN_OR_RETURN(const TensorBlob tensor, reader.Dataset(path));
    const std::vector<double> values = CopyValues<double>(tensor);
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

bool IsTiming(const std::string& curve) { return curve.ends_with("seconds"); }

}  // namespace retort::storage
