#include "storage/quantities.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "experiments/spec/status.h"
#include "storage/hdf5_table.h"
#include "storage/hdf5_writer.h"
#include "storage/json_text.h"

namespace retort::storage {
namespace {

constexpr std::int64_t kLongestScale = std::int64_t{1} << 24;

struct Known {
  std::string_view name, long_name, units;
};

constexpr std::array kKnown = {
    Known{"data.skipped", "pictures of the data set that were left out", "1"},
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
    Known{"test.member_accuracy", "mean accuracy of a single member of the ensemble on the test pictures",
          "1"},
    Known{"test.sensitive_accuracy", "accuracy on the sensitive classes of the test pictures", "1"},
    Known{"test.top5", "fraction of the test pictures whose class is among the five likeliest", "1"},
    Known{"train.auxiliary_loss", "loss of the auxiliary teacher", "1"},
    Known{"train.candidates", "mean number of labels that a randomised response chose among", "1"},
    Known{"train.embedding_loss", "squared distance of the generator's mean embedding from the noisy one",
          "1"},
    Known{"train.generator_loss", "loss of the generator", "1"},
    Known{"train.loss", "loss of the network", "1"},
    Known{"train.noisy_gradient_norm", "Euclidean norm of the noisy gradient", "1"},
    Known{"train.student_loss", "loss of the student", "1"},
    Known{"train.vote_gap", "estimated gap between the votes for the winning class and for another", "1"},
    Known{"training_seconds", "wall-clock time of all steps", "s"},
};

bool EndsIn(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

Quantity QuantityOf(const std::string& name) {
  for (const Known& known : kKnown) {
    if (known.name == name) return {std::string(known.long_name), std::string(known.units)};
  }
  std::string words = name;
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c == '.' || c == '_' || c == '/'; }, ' ');
  return {words, EndsIn(name, "seconds") ? "s" : "1"};
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

void WriteScale(Hdf5Writer& writer, const std::string& path, std::int64_t extent,
                std::string_view long_name) {
  if (extent < 0 || extent > kLongestScale) {
    return writer.Fail(
        Refused("An axis of " + std::to_string(extent) + " places cannot be named '" + path + "'."));
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

}  // namespace retort::storage
