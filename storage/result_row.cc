#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "experiments/spec/json_writer.h"
#include "experiments/spec/spec_codec.h"
#include "storage/byte_codec.h"
#include "storage/json_text.h"
#include "storage/result_file.h"

namespace retort::storage {
namespace {

using Values = std::vector<std::pair<std::string, double>>;
using Texts = std::vector<std::pair<std::string, std::string>>;

// JSON has no infinities and no NaN; a NaN keeps its bits.
void WriteNumber(JsonWriter& json, double value) {
  if (std::isfinite(value)) {
    json.Number(value);
    return;
  }
  char bits[24] = {};
  std::snprintf(bits, sizeof(bits), "0x%016llx",
                static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value)));
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
  for (const nlohmann::json& pair : list)
    values.emplace_back(pair.at(0).get<std::string>(), DecodeNumber(pair.at(1)));
  return values;
}

void WriteTexts(JsonWriter& json, const Texts& texts) {
  json.BeginArray();
  for (const auto& [name, value] : texts) json.BeginArray().Text(name).Text(value).EndArray();
  json.EndArray();
}

void WriteClaims(JsonWriter& json, const std::vector<privacy::Claim>& claims) {
  json.BeginArray();
  for (const privacy::Claim& claim : claims) json.Raw(privacy::EncodeClaim(claim));
  json.EndArray();
}

Result<ResultRow> RowFrom(const nlohmann::json& json) {
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
    RETORT_ASSIGN_OR_RETURN(privacy::Claim decoded, privacy::DecodeClaim(claim.dump()));
    row.claims.push_back(std::move(decoded));
  }
  return row;
}

// Paths and limits in a spec do not change a result: only what is part of identity counts.
std::string IdentityOf(const std::string& spec_json) {
  const Result<TrialSpec> spec = DecodeTrialSpec(spec_json);
  return spec.ok() ? CanonicalEncoding(*spec) : spec_json;
}

std::string DigestOver(const ResultRow& row, const std::string& identity) {
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
  return Sha256Hex(bytes.bytes());
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

Result<ResultRow> DecodeRow(const std::string& json) {
  return ReadJson<ResultRow>(json, "a result row", RowFrom);
}

std::string RowDigest(const ResultRow& row) { return DigestOver(row, IdentityOf(row.spec_json)); }

std::string RowDigest(const ResultRow& row, const TrialSpec& spec) {
  return DigestOver(row, CanonicalEncoding(spec));
}

}  // namespace retort::storage
