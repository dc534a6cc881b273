#include "storage/results/result_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/json.h"
#include "experiments/methods/spec_codec.h"
#include "storage/files/read_limits.h"
#include "storage/formats/byte_codec.h"
#include "storage/results/hdf5_conventions.h"
#include "storage/results/hdf5_reader.h"
#include "storage/results/hdf5_writer.h"
#include "storage/results/result_tables.h"

namespace retort::storage {
namespace {

using Values = std::vector<std::pair<std::string, double>>;
using TextPairs = std::vector<std::pair<std::string, std::string>>;

// JSON has no infinities and no NaN; a NaN keeps its bits.
void WriteNumber(JsonWriter& json, double value) {
  if (std::isfinite(value)) {
    json.Number(value);
    return;
  }
  char bits[24] = {};
  std::snprintf(bits, sizeof(bits), "0x%016llx", static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value)));
  json.Text(bits);
}

double DecodeNumber(const nlohmann::json& json) {
  if (!json.is_string()) return json.get<double>();
  return std::bit_cast<double>(std::uint64_t{std::strtoull(json.get<std::string>().c_str(), nullptr, 16)});
}

void WriteValues(JsonWriter& json, const Values& values) {
  json.BeginArray();
  for (const auto& [name, value] : values) {
    json.BeginArray().Text(name);
    WriteNumber(json, value);
    json.EndArray();
  }
  json.EndArray();
}

Values DecodeValues(const nlohmann::json& list) {
  Values values;
  for (const nlohmann::json& pair : list) values.emplace_back(pair.at(0).get<std::string>(), DecodeNumber(pair.at(1)));
  return values;
}

void WriteTexts(JsonWriter& json, const TextPairs& texts) {
  json.BeginArray();
  for (const auto& [name, value] : texts) json.BeginArray().Text(name).Text(value).EndArray();
  json.EndArray();
}

void WriteClaims(JsonWriter& json, const std::vector<privacy::Claim>& claims) {
  json.BeginArray();
  for (const privacy::Claim& claim : claims) json.Raw(privacy::EncodeClaim(claim));
  json.EndArray();
}

Result<ResultRow> ReadRow(const nlohmann::json& json) {
  ResultRow row;
  json.at("trial").get_to(row.trial);
  json.at("name").get_to(row.name);
  json.at("role").get_to(row.role);
  json.at("method").get_to(row.method);
  json.at("reading").get_to(row.reading);
  json.at("teacher").get_to(row.teacher);
  json.at("data").get_to(row.data);
  json.at("network").get_to(row.network);
  json.at("seed").get_to(row.seed);
  json.at("state").get_to(row.state);
  json.at("attempts").get_to(row.attempts);
  json.at("failure").get_to(row.failure);
  json.at("detail").get_to(row.detail);
  row.metrics = DecodeValues(json.at("metrics"));
  row.timings = DecodeValues(json.at("timings"));
  json.at("row_digest").get_to(row.row_digest);
  json.at("parameters_digest").get_to(row.parameters_digest);
  json.at("spec_json").get_to(row.spec_json);
  json.at("provenance_json").get_to(row.provenance_json);
  json.at("attempt_file").get_to(row.attempt_file);
  for (const nlohmann::json& axis : json.at("axes")) {
    row.axes.emplace_back(axis.at(0).get<std::string>(), axis.at(1).get<std::string>());
  }
  for (const nlohmann::json& claim : json.at("claims")) {
    RETORT_ASSIGN_OR_RETURN(privacy::Claim decoded, privacy::DecodeClaim(DumpJson(claim)));
    row.claims.push_back(std::move(decoded));
  }
  return row;
}

// Paths and limits in a spec do not change a result: only what is part of identity counts.
std::string SpecIdentity(const std::string& spec_json) {
  const Result<TrialSpec> spec = DecodeTrialSpec(spec_json);
  return spec.ok() ? EncodeCanonically(*spec) : spec_json;
}

std::string DigestRow(const ResultRow& row, const std::string& identity) {
  const std::map<std::string, double> metrics(row.metrics.begin(), row.metrics.end());
  ByteWriter bytes;
  bytes.Text("retort-row-1");
  bytes.Text(identity);
  bytes.U32(static_cast<std::uint32_t>(metrics.size()));
  for (const auto& [name, value] : metrics) {
    bytes.Text(name);
    bytes.F64(value);
  }
  bytes.Text(row.parameters_digest);
  return ComputeSha256Hex(bytes.bytes());
}

}  // namespace

std::string EncodeRow(const ResultRow& row) {
  JsonWriter json;
  json.BeginObject().Key("attempt_file").Text(row.attempt_file).Key("attempts").Integer(row.attempts);
  json.Key("axes");
  WriteTexts(json, row.axes);
  json.Key("claims");
  WriteClaims(json, row.claims);
  json.Key("data").Text(row.data).Key("detail").Text(row.detail).Key("failure").Text(row.failure);
  json.Key("method").Text(row.method).Key("metrics");
  WriteValues(json, row.metrics);
  json.Key("name").Text(row.name).Key("network").Text(row.network);
  json.Key("parameters_digest").Text(row.parameters_digest).Key("provenance_json").Text(row.provenance_json);
  json.Key("reading").Text(row.reading).Key("role").Text(row.role).Key("row_digest").Text(row.row_digest);
  json.Key("seed").Integer(row.seed).Key("spec_json").Text(row.spec_json).Key("state").Text(row.state);
  json.Key("teacher").Text(row.teacher).Key("timings");
  WriteValues(json, row.timings);
  return json.Key("trial").Text(row.trial).EndObject().Take();
}

Result<ResultRow> DecodeRow(const std::string& json) { return ReadJson<ResultRow>(json, "a result row", ReadRow); }

std::string ComputeRowDigest(const ResultRow& row) { return DigestRow(row, SpecIdentity(row.spec_json)); }

std::string ComputeRowDigest(const ResultRow& row, const TrialSpec& spec) {
  return DigestRow(row, EncodeCanonically(spec));
}

namespace {

Table AllClaims(const std::vector<ResultRow>& rows) {
  std::vector<privacy::Claim> claims;
  std::vector<std::string> trials;
  for (const ResultRow& row : rows) {
    claims.insert(claims.end(), row.claims.begin(), row.claims.end());
    trials.resize(claims.size(), row.trial);
  }
  Table table = MakeClaimTable(claims, trials);
  if (trials.empty()) table.insert(table.begin(), {"trial", std::vector<std::string>()});
  return table;
}

Result<Curves> LoadCurves(const std::string& attempt_path) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader, OpenSealedHdf5(attempt_path));
  return ReadCurves(reader, "/curves");
}

// An attempt that cannot be read leaves an empty group that says why: the view is published all the same.
void CopyCurves(Hdf5Writer& writer, const std::string& results_directory, const ResultRow& row) {
  const std::string trial = row.name + "-" + row.trial;
  const Result<Curves> read = LoadCurves(results_directory + "/" + row.attempt_file);
  if (!read.ok()) {
    writer.Group("/curves/" + trial);
    writer.Attribute("/curves/" + trial, "missing", read.status().message());
    return;
  }
  Curves results, timings;
  for (const auto& [name, points] : *read) (IsTiming(name) ? timings : results)[name] = points;
  WriteCurves(writer, "/curves/" + trial, results);
  if (!timings.empty()) WriteCurves(writer, "/provenance/curves/" + trial, timings);
}

void WriteTables(Hdf5Writer& writer, const std::vector<ResultRow>& rows, const std::vector<LedgerEntry>& ledger) {
  const Table results = MakeRowTable(rows), claims = AllClaims(rows);
  writer.CompoundTable("/rows", results);
  writer.CompoundTable("/claims", claims);
  writer.CompoundTable("/ledger", MakeLedgerTable(ledger));
  writer.CompoundTable("/provenance/trials", MakeProvenanceTable(rows));
  writer.CompoundTable("/provenance/timings", MakeTimingTable(rows));
  Describe(writer, "/rows", {"the result of each trial that has ended: what it was, its metrics, its axes", ""});
  Describe(writer, "/claims",
           {"every epsilon of every trial: what it protects, at which delta, by which accountant", ""});
  DescribeColumns(writer, "/rows", results);
  DescribeColumns(writer, "/claims", claims);
  Describe(writer, "/ledger", {"every reservation of releases, and what was used of it", ""});
  Describe(writer, "/provenance/trials", {"the specification of each trial, and what it ran on", ""});
  Describe(writer, "/provenance/timings",
           {"of each trial: wall-clock times in s, energy_joules in J, device_busy a fraction", ""});
}

}  // namespace

Status WriteResultFile(Env& env, const std::string& results_directory, const std::string& sweep,
                       const std::vector<ResultRow>& rows, const std::vector<LedgerEntry>& ledger) {
  const std::string path = results_directory + "/results.h5";
  Hdf5Writer writer(path);
  writer.Attribute("/", "Conventions", std::string_view(kConventions));
  writer.Attribute("/", "sweep", sweep);
  writer.Attribute("/", "history",
                   std::string_view("derived by retort from journal.log, ledger.log and the trials beside it, and "
                                    "again whenever a trial ends; may be deleted"));
  WriteTables(writer, rows, ledger);
  writer.Group("/curves");
  writer.Group("/attempts");
  for (const ResultRow& row : rows) {
    if (row.attempt_file.empty()) continue;
    CopyCurves(writer, results_directory, row);
    writer.ExternalLink("/attempts/" + row.trial, row.attempt_file, "/");
  }
  RETORT_ASSIGN_OR_RETURN(std::string file_bytes, writer.Finish());
  file_bytes += MakeSeal(file_bytes);
  return env.WriteFileAtomically(path, file_bytes);
}

namespace {

Result<std::map<std::string, std::vector<privacy::Claim>>> LoadClaims(const std::string& results_directory) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader, Hdf5Reader::OpenResultFile(results_directory + "/results.h5"));
  RETORT_ASSIGN_OR_RETURN(const Table table, reader.CompoundTable("/claims"));
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> trials, FindColumn<std::string>(table, "trial"));
  RETORT_ASSIGN_OR_RETURN(const std::vector<privacy::Claim> claims, DecodeClaimTable(table));
  if (trials.size() != claims.size()) return DamageError("Columns of /claims have different lengths.");
  std::map<std::string, std::vector<privacy::Claim>> shown;
  for (std::size_t i = 0; i < claims.size(); ++i) shown[trials[i]].push_back(claims[i]);
  return shown;
}

Status CheckTables(const std::string& results_directory) {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Reader reader, Hdf5Reader::OpenResultFile(results_directory + "/results.h5"));
  for (const char* table : {"/rows", "/claims", "/ledger"})
    RETORT_RETURN_IF_ERROR(reader.CompoundTable(table).status());
  return {};
}

}  // namespace

Status CheckResultFile(const std::string& results_directory) {
  return ReadWithinMemory("'" + results_directory + "/results.h5'", [&] { return CheckTables(results_directory); });
}

Result<std::map<std::string, std::vector<privacy::Claim>>> ReadShownClaims(const std::string& results_directory) {
  return ReadWithinMemory("'" + results_directory + "/results.h5'", [&] { return LoadClaims(results_directory); });
}

}  // namespace retort::storage
