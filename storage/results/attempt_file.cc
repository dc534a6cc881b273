#include "storage/results/attempt_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "storage/files/env.h"
#include "storage/files/read_limits.h"
#include "storage/results/hdf5_conventions.h"
#include "storage/results/hdf5_reader.h"
#include "storage/results/hdf5_writer.h"
#include "storage/results/result_tables.h"

namespace retort::storage {
namespace {

constexpr std::array<std::string_view, 3> kParameterGroups = {"student/", "generator/", "teacher/"};

bool IsParameterName(const std::string& name) {
  return std::any_of(kParameterGroups.begin(), kParameterGroups.end(),
                     [&](std::string_view group) { return name.compare(0, group.size(), group) == 0; });
}

// Prefixes that name whole groups where `prefix` ends before the group's name does.
std::vector<std::string> GroupsFor(const std::string& prefix) {
  if (prefix.find('/') != std::string::npos) return {prefix};
  std::vector<std::string> groups;
  for (const std::string_view group : kParameterGroups) {
    if (group.compare(0, prefix.size(), prefix) == 0) groups.emplace_back(group);
  }
  return groups;
}

void WriteHeader(Hdf5Writer& writer, const AttemptFile& file) {
  writer.Attribute("/", "Conventions", std::string_view(kConventions));
  writer.Attribute("/", "trial", file.trial);
  writer.Attribute("/", "attempt", std::int64_t{file.attempt});
  writer.Attribute("/", "sweep", file.sweep);
  writer.Attribute("/", "spec_json", file.spec_json);
  writer.Attribute("/", "provenance_json", file.provenance_json);
  writer.Attribute("/", "teacher_digest", file.teacher_digest);
  writer.Attribute("/", "history",
                   "written once by a retort worker, when attempt " + std::to_string(file.attempt) + " of trial " +
                       file.trial + " ended; provenance_json names the build");
}

using Values = std::vector<std::pair<std::string, double>>;

Table ValueTable(const Values& values) {
  std::vector<std::string> names, units, long_names;
  std::vector<double> numbers;
  for (const auto& [name, value] : values) {
    Quantity quantity = FindQuantity(name);
    names.push_back(name);
    numbers.push_back(value);
    units.push_back(std::move(quantity.units));
    long_names.push_back(std::move(quantity.long_name));
  }
  return {{"name", std::move(names)},
          {"value", std::move(numbers)},
          {"units", std::move(units)},
          {"long_name", std::move(long_names)}};
}

Result<Values> ReadValues(const Hdf5Reader& reader, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const Table table, reader.CompoundTable(path));
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, FindColumn<std::string>(table, "name"));
  RETORT_ASSIGN_OR_RETURN(const std::vector<double> numbers, FindColumn<double>(table, "value"));
  Values values;
  for (std::size_t i = 0; i < names.size(); ++i) values.emplace_back(names[i], numbers[i]);
  return values;
}

// [N, C, H, W] and [N, …].
void DescribeSamples(Hdf5Writer& writer, const std::vector<std::int64_t>& images,
                     const std::vector<std::int64_t>& released) {
  Describe(writer, "/samples/images", {"pictures for which something was released, pixels from 0 to 255", "1"});
  Describe(writer, "/samples/released", {"what was released for each picture", "1"});
  Describe(writer, "/samples/step", {"step in which it was released", "1"});
  WriteScale(writer, "/samples/sample", images[0], "place among the samples");
  WriteScale(writer, "/samples/channel", images[1], "colour channel");
  WriteScale(writer, "/samples/row", images[2], "row of pixels, from the top");
  WriteScale(writer, "/samples/column", images[3], "column of pixels, from the left");
  AttachScales(writer, "/samples/images", {"/samples/sample", "/samples/channel", "/samples/row", "/samples/column"});
  AttachScales(writer, "/samples/step", {"/samples/sample"});
  AttachScales(writer, "/samples/released", {"/samples/sample"});
  if (released.size() != 2) return;
  WriteScale(writer, "/samples/coordinate", released[1], "coordinate of what was released");
  writer.AttachScale("/samples/released", "/samples/coordinate", 1);
}

void WriteSamples(Hdf5Writer& writer, const Samples& samples) {
  const std::vector<std::int64_t>& shape = samples.images.shape;
  if (shape.size() != 4 || samples.images.dtype != DType::u8) {
    return writer.Fail(Refused("Sample images must be u8 [N, C, H, W]."));
  }
  const auto n = static_cast<std::size_t>(shape[0]);
  if (samples.step.size() != n || samples.released.shape.empty() || samples.released.shape[0] != shape[0]) {
    return writer.Fail(Refused("Samples need as many steps and released rows as images."));
  }
  writer.Dataset("/samples/images", samples.images, {1, shape[1], shape[2], shape[3]});
  writer.Attribute("/samples/images", "mean", samples.mean);
  writer.Attribute("/samples/images", "std", samples.std);
  writer.Attribute("/samples/images", "claim", samples.claim);
  writer.Dataset("/samples/released", samples.released);
  writer.Dataset("/samples/step", samples.step);
  DescribeSamples(writer, shape, samples.released.shape);
}

void WriteEvaluation(Hdf5Writer& writer, const Evaluation& evaluation) {
  TensorBlob confusion;
  confusion.dtype = DType::u32;
  confusion.shape = {evaluation.classes, evaluation.classes};
  confusion.bytes.resize(evaluation.confusion.size() * sizeof(std::uint32_t));
  if (!confusion.bytes.empty())
    std::memcpy(confusion.bytes.data(), evaluation.confusion.data(), confusion.bytes.size());
  writer.Dataset("/evaluation/confusion", confusion);
  writer.Attribute("/evaluation/confusion", "accuracy", evaluation.accuracy);
  writer.Attribute("/evaluation/confusion", "top5", evaluation.top5);
  writer.Attribute("/evaluation/confusion", "n", evaluation.n);
  Describe(writer, "/evaluation/confusion", {"test examples of each true class by the class that was predicted", "1"});
  WriteScale(writer, "/evaluation/true_class", evaluation.classes, "class of the example");
  WriteScale(writer, "/evaluation/predicted_class", evaluation.classes, "class that the network held most likely");
  AttachScales(writer, "/evaluation/confusion", {"/evaluation/true_class", "/evaluation/predicted_class"});
}

void WriteParameters(Hdf5Writer& writer, const std::vector<TensorBlob>& parameters) {
  WriteTensors(writer, "", parameters);
  for (const TensorBlob& tensor : parameters) {
    const std::size_t slash = tensor.name.find('/');
    const std::string network = tensor.name.substr(0, slash);
    Describe(writer, "/" + tensor.name, {"final " + tensor.name.substr(slash + 1) + " of the " + network, ""});
  }
}

void WriteTables(Hdf5Writer& writer, const AttemptFile& file) {
  writer.CompoundTable("/ledger", MakeLedgerTable(file.ledger));
  const Table claims = MakeClaimTable(file.claims, {});
  writer.CompoundTable("/claims", claims);
  writer.CompoundTable("/metrics", ValueTable(file.metrics));
  writer.CompoundTable("/provenance/timings", ValueTable(file.timings));
  Describe(writer, "/ledger", {"what the attempt was granted and what it used of it", ""});
  Describe(writer, "/claims",
           {"every epsilon of the trial: what it protects, at which delta, by which accountant", ""});
  DescribeColumns(writer, "/claims", claims);
  Describe(writer, "/metrics", {"results, as the attempt reported them at its end", ""});
  Describe(
      writer, "/provenance/timings",
      {"what the attempt reported at its end: wall-clock times in s, energy_joules in J, device_busy a fraction", ""});
}

Status ReadHeader(const Hdf5Reader& reader, AttemptFile& file) {
  RETORT_ASSIGN_OR_RETURN(file.trial, reader.TextAttribute("/", "trial"));
  RETORT_ASSIGN_OR_RETURN(const std::int64_t attempt, reader.IntegerAttribute("/", "attempt"));
  file.attempt = static_cast<std::uint32_t>(attempt);
  RETORT_ASSIGN_OR_RETURN(file.sweep, reader.TextAttribute("/", "sweep"));
  RETORT_ASSIGN_OR_RETURN(file.spec_json, reader.TextAttribute("/", "spec_json"));
  RETORT_ASSIGN_OR_RETURN(file.provenance_json, reader.TextAttribute("/", "provenance_json"));
  RETORT_ASSIGN_OR_RETURN(file.teacher_digest, reader.TextAttribute("/", "teacher_digest"));
  return {};
}

Result<Samples> ReadSamples(const Hdf5Reader& reader) {
  Samples samples;
  RETORT_ASSIGN_OR_RETURN(samples.images, reader.Dataset("/samples/images"));
  RETORT_ASSIGN_OR_RETURN(samples.released, reader.Dataset("/samples/released"));
  RETORT_ASSIGN_OR_RETURN(const TensorBlob step, reader.Dataset("/samples/step"));
  const std::vector<std::int64_t>& shape = samples.images.shape;
  const bool fit = samples.images.dtype == DType::u8 && shape.size() == 4 && !samples.released.shape.empty() &&
                   samples.released.shape[0] == shape[0] && step.dtype == DType::u64 &&
                   step.shape == std::vector<std::int64_t>{shape[0]};
  if (!fit) return DamageError("The parts of '/samples' of '" + reader.name() + "' do not fit each other.");
  samples.step = CopyValues<std::uint64_t>(step);
  RETORT_ASSIGN_OR_RETURN(samples.mean, reader.NumbersAttribute("/samples/images", "mean"));
  RETORT_ASSIGN_OR_RETURN(samples.std, reader.NumbersAttribute("/samples/images", "std"));
  RETORT_ASSIGN_OR_RETURN(samples.claim, reader.TextAttribute("/samples/images", "claim"));
  return samples;
}

Result<Evaluation> ReadEvaluation(const Hdf5Reader& reader) {
  Evaluation evaluation;
  RETORT_ASSIGN_OR_RETURN(const TensorBlob confusion, reader.Dataset("/evaluation/confusion"));
  if (confusion.shape.size() != 2 || confusion.shape[0] != confusion.shape[1] || confusion.dtype != DType::u32) {
    return DamageError("'/evaluation/confusion' of '" + reader.name() + "' is no square matrix of u32.");
  }
  evaluation.confusion = CopyValues<std::uint32_t>(confusion);
  evaluation.classes = confusion.shape[0];
  RETORT_ASSIGN_OR_RETURN(evaluation.accuracy, reader.NumberAttribute("/evaluation/confusion", "accuracy"));
  RETORT_ASSIGN_OR_RETURN(evaluation.top5, reader.NumberAttribute("/evaluation/confusion", "top5"));
  RETORT_ASSIGN_OR_RETURN(evaluation.n, reader.IntegerAttribute("/evaluation/confusion", "n"));
  return evaluation;
}

Status ReadRecordedInto(const Hdf5Reader& reader, AttemptFile& file) {
  RETORT_ASSIGN_OR_RETURN(file.curves, ReadCurves(reader, "/curves"));
  if (reader.Has("/samples/images")) {
    RETORT_ASSIGN_OR_RETURN(file.samples, ReadSamples(reader));
  }
  if (reader.Has("/evaluation/confusion")) {
    RETORT_ASSIGN_OR_RETURN(file.evaluation, ReadEvaluation(reader));
  }
  return {};
}

}  // namespace

Status WriteAttemptFile(Env& env, const std::string& path, const AttemptFile& file) {
  for (const TensorBlob& tensor : file.parameters) {
    if (!IsParameterName(tensor.name)) {
      return Refused("Parameter '" + tensor.name + "' must begin with student/, generator/ or teacher/.");
    }
  }
  Hdf5Writer writer(path);
  WriteHeader(writer, file);
  WriteCurves(writer, "/curves", file.curves);
  if (file.samples) WriteSamples(writer, *file.samples);
  if (file.evaluation) WriteEvaluation(writer, *file.evaluation);
  WriteParameters(writer, file.parameters);
  WriteTables(writer, file);
  RETORT_ASSIGN_OR_RETURN(std::string file_bytes, writer.Finish());
  file_bytes += MakeSeal(file_bytes);
  RETORT_RETURN_IF_ERROR(
      CheckFreeSpace(env, std::filesystem::path(path).parent_path().string(), file_bytes.size(), "a finished attempt"));
  return env.WriteFileAtomically(path, file_bytes);
}

namespace {

Result<std::vector<TensorBlob>> LoadParameters(const std::string& path, const std::string& prefix) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader, OpenSealedHdf5(path));
  return ReadTensors(reader, "", GroupsFor(prefix));
}

Result<AttemptFile> LoadResults(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader, OpenSealedHdf5(path));
  AttemptFile file;
  RETORT_RETURN_IF_ERROR(ReadRecordedInto(reader, file));
  return file;
}

Result<AttemptFile> LoadAll(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader, OpenSealedHdf5(path));
  AttemptFile file;
  RETORT_RETURN_IF_ERROR(ReadHeader(reader, file));
  RETORT_RETURN_IF_ERROR(ReadRecordedInto(reader, file));
  RETORT_ASSIGN_OR_RETURN(const Table ledger, reader.CompoundTable("/ledger"));
  RETORT_ASSIGN_OR_RETURN(file.ledger, DecodeLedgerTable(ledger));
  RETORT_ASSIGN_OR_RETURN(const Table claims, reader.CompoundTable("/claims"));
  RETORT_ASSIGN_OR_RETURN(file.claims, DecodeClaimTable(claims));
  RETORT_ASSIGN_OR_RETURN(file.metrics, ReadValues(reader, "/metrics"));
  RETORT_ASSIGN_OR_RETURN(file.timings, ReadValues(reader, "/provenance/timings"));
  RETORT_ASSIGN_OR_RETURN(file.parameters, ReadTensors(reader, "", GroupsFor("")));
  return file;
}

}  // namespace

Result<std::vector<TensorBlob>> ReadParameters(const std::string& path, const std::string& prefix) {
  return ReadWithinMemory("'" + path + "'", [&] { return LoadParameters(path, prefix); });
}

Result<AttemptFile> ReadAttemptResults(const std::string& path) {
  return ReadWithinMemory("'" + path + "'", [&] { return LoadResults(path); });
}

Result<AttemptFile> ReadAttemptFile(const std::string& path) {
  return ReadWithinMemory("'" + path + "'", [&] { return LoadAll(path); });
}

}  // namespace retort::storage
