// TrialSpec as one JSON object: `role`, the keys of the table by canonical name, and what the planner
// derived. Every key is written, whether or not it applies, so that decoding gives back the same spec.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/json_integer.h"
#include "experiments/spec/json_writer.h"
#include "experiments/spec/spec_codec.h"
#include "experiments/spec/spec_keys.h"
#include "experiments/spec/spec_scan.h"

namespace retort {
namespace {

using Json = nlohmann::ordered_json;

void WriteRange(JsonWriter& json, std::string_view name, const IndexRange& range) {
  json.Key(name).BeginArray().Integer(range.begin).Integer(range.end).EndArray();
}

// Absent for a plain range over all examples.
void WriteSource(JsonWriter& json, std::string_view name, const SplitSource& source) {
  if (source == SplitSource()) return;
  json.Key(name).BeginObject();
  if (!source.part.empty()) json.Key("part").Text(source.part);
  if (!source.list.empty()) json.Key("list").Text(source.list).Key("digest").Text(source.digest);
  if (source.fraction > 0) json.Key("fraction").Number(source.fraction);
  if (source.open_end) json.Key("open_end").Flag(true);
  json.EndObject();
}

void WriteNumbers(JsonWriter& json, std::string_view name, const std::vector<double>& values) {
  if (values.empty()) return;
  json.Key(name).BeginArray();
  for (const double value : values) json.Number(value);
  json.EndArray();
}

// Absent where pictures are taken as they are.
void WritePreprocessing(JsonWriter& json, const Preprocessing& p) {
  if (p == Preprocessing()) return;
  json.Key("preprocessing").BeginObject().Key("crop_top").Number(p.crop_top).Key("resize").Integer(p.resize);
  json.Key("height").Integer(p.height).Key("width").Integer(p.width).Key("crop").Integer(p.crop);
  json.Key("exif_orientation").Flag(p.exif_orientation);
  json.Key("skip_broken").Flag(p.on_error == OnError::skip_and_count).EndObject();
}

Preprocessing DecodePreprocessing(const Json& data) {
  Preprocessing p;
  if (!data.contains("preprocessing")) return p;
  const Json& json = data.at("preprocessing");
  json.at("crop_top").get_to(p.crop_top);
  p.resize = IntegerOf<decltype(p.resize)>(json.at("resize"));
  p.height = IntegerOf<decltype(p.height)>(json.at("height"));
  p.width = IntegerOf<decltype(p.width)>(json.at("width"));
  p.crop = IntegerOf<decltype(p.crop)>(json.at("crop"));
  json.at("exif_orientation").get_to(p.exif_orientation);
  if (json.at("skip_broken").get<bool>()) p.on_error = OnError::skip_and_count;
  return p;
}

void WriteData(JsonWriter& json, const DataSpec& data) {
  json.BeginObject().Key("name").Text(data.name).Key("reader").Text(data.reader);
  if (!data.target.empty()) json.Key("target").Text(data.target);
  if (!data.version.empty()) json.Key("version").Text(data.version);
  json.Key("path").Text(data.path).Key("digest").Text(data.digest);
  if (data.published_as) json.Key("published_as").Text(*data.published_as);
  json.Key("split").BeginObject().Key("shuffle").Integer(data.split.shuffle);
  WriteRange(json, "train", data.split.train);
  WriteRange(json, "public", data.split.public_range);
  WriteRange(json, "test", data.split.test);
  WriteSource(json, "train_source", data.split.train_source);
  WriteSource(json, "public_source", data.split.public_source);
  WriteSource(json, "test_source", data.split.test_source);
  json.EndObject();
  WriteNumbers(json, "mean", data.mean);
  WriteNumbers(json, "std", data.std);
  WritePreprocessing(json, data.preprocessing);
  if (!data.sensitive_classes.empty()) {
    json.Key("sensitive_classes").BeginArray();
    for (const std::int64_t label : data.sensitive_classes) json.Integer(label);
    json.EndArray().Key("moved").Integer(data.moved);
  }
  if (data.budget) {
    json.Key("budget").BeginObject().Key("epsilon").Number(data.budget->epsilon);
    json.Key("delta").Number(data.budget->delta).EndObject();
  }
  json.Key("examples").Integer(data.examples).Key("channels").Integer(data.channels);
  json.Key("height").Integer(data.height).Key("width").Integer(data.width);
  json.Key("classes").Integer(data.classes).EndObject();
}

void WriteValue(JsonWriter& json, const SpecKey& key, const KeyValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) {
    json.Flag(*flag);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    json.Text(*text);
  } else if (const auto* real = std::get_if<double>(&value)) {
    json.Number(*real);
  } else if (const auto count = std::get<std::int64_t>(value); key.indexed) {
    json.Text(key.choices[static_cast<std::size_t>(count)]);
  } else {
    json.Integer(count);
  }
}

void WriteAxes(JsonWriter& json, const TrialSpec& spec) {
  json.Key("axes").BeginArray();
  for (const auto& [name, value] : spec.axes) json.BeginArray().Text(name).Text(value).EndArray();
  json.EndArray();
}

[[noreturn]] void Reject(const std::string& what) { throw std::invalid_argument(what); }

KeyValue DecodeValue(const SpecKey& key, const Json& json) {
  const KeyValue shape = key.get(TrialSpec{});
  if (key.indexed) {
    const auto name = json.get<std::string>();
    for (std::size_t i = 0; i < key.choices.size(); ++i) {
      if (key.choices[i] == name) return static_cast<std::int64_t>(i);
    }
    Reject("\"" + name + "\" is no " + std::string(key.name));
  }
  if (std::holds_alternative<bool>(shape)) return json.get<bool>();
  if (std::holds_alternative<std::string>(shape)) return json.get<std::string>();
  if (std::holds_alternative<double>(shape)) return json.get<double>();
  return IntegerOf<std::int64_t>(json);
}

IndexRange DecodeRange(const Json& json) {
  return {IntegerOf<std::int64_t>(json.at(0)), IntegerOf<std::int64_t>(json.at(1))};
}

std::vector<std::int64_t> DecodeIntegers(const Json& json, const char* name) {
  std::vector<std::int64_t> values;
  if (!json.contains(name)) return values;
  for (const Json& value : json.at(name)) values.push_back(IntegerOf<std::int64_t>(value));
  return values;
}

SplitSource DecodeSource(const Json& split, const char* name) {
  SplitSource source;
  if (!split.contains(name)) return source;
  const Json& json = split.at(name);
  source.part = json.value("part", "");
  source.list = json.value("list", "");
  source.digest = json.value("digest", "");
  source.fraction = json.value("fraction", 0.0);
  source.open_end = json.value("open_end", false);
  return source;
}

std::shared_ptr<const DataSpec> DecodeData(const Json& json) {
  auto data = std::make_shared<DataSpec>();
  json.at("name").get_to(data->name);
  json.at("reader").get_to(data->reader);
  json.at("path").get_to(data->path);
  json.at("digest").get_to(data->digest);
  if (json.contains("published_as")) data->published_as = json.at("published_as").get<std::string>();
  const Json& split = json.at("split");
  data->split.shuffle = IntegerOf<decltype(data->split.shuffle)>(split.at("shuffle"));
  data->split.train = DecodeRange(split.at("train"));
  data->split.public_range = DecodeRange(split.at("public"));
  data->split.test = DecodeRange(split.at("test"));
  data->split.train_source = DecodeSource(split, "train_source");
  data->split.public_source = DecodeSource(split, "public_source");
  data->split.test_source = DecodeSource(split, "test_source");
  data->target = json.value("target", "");
  data->version = json.value("version", "");
  data->mean = json.value("mean", std::vector<double>());
  data->std = json.value("std", std::vector<double>());
  data->preprocessing = DecodePreprocessing(json);
  data->sensitive_classes = DecodeIntegers(json, "sensitive_classes");
  if (json.contains("moved")) data->moved = IntegerOf<std::int64_t>(json.at("moved"));
  if (json.contains("budget")) {
    data->budget =
        Budget{json.at("budget").at("epsilon").get<double>(), json.at("budget").at("delta").get<double>()};
  }
  data->examples = IntegerOf<std::int64_t>(json.at("examples"));
  data->channels = IntegerOf<std::int64_t>(json.at("channels"));
  data->height = IntegerOf<std::int64_t>(json.at("height"));
  data->width = IntegerOf<std::int64_t>(json.at("width"));
  data->classes = IntegerOf<std::int64_t>(json.at("classes"));
  return data;
}

TrialId DecodeId(const Json& json) {
  const auto id = TrialId::FromHex(json.get<std::string>());
  if (!id) Reject("\"" + json.get<std::string>() + "\" is no trial id");
  return *id;
}

// Keys that the table does not know are an error: they would be lost.
TrialSpec DecodeObject(const Json& json) {
  TrialSpec spec;
  for (const auto& [name, value] : json.items()) {
    const SpecKey* known = nullptr;
    for (const SpecKey& key : SpecKeys()) {
      if (key.name == name) known = &key;
    }
    if (name == "role")
      spec.role = value.get<std::string>() == "teacher" ? Role::teacher : Role::student;
    else if (name == "teacher")
      value.get_to(spec.teacher);
    else if (name == "data")
      spec.data = DecodeData(value);
    else if (name == "parent")
      spec.parent = DecodeId(value);
    else if (name == "id")
      spec.id = DecodeId(value);
    else if (name == "name")
      value.get_to(spec.name);
    else if (name == "axes")
      value.get_to(spec.axes);
    else if (known != nullptr)
      known->set(spec, DecodeValue(*known, value));
    else
      Reject("unknown key \"" + name + "\"; it was written by another version");
  }
  return spec;
}

// Two readers could take different ones of two values.
Json ParseWithoutRepeatedKeys(const std::string& text) {
  std::vector<std::set<std::string>> seen;  // of the objects that are open
  return Json::parse(text, [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) seen.emplace_back();
    if (event == Json::parse_event_t::object_end) seen.pop_back();
    if (event == Json::parse_event_t::key && !seen.back().insert(parsed.get<std::string>()).second)
      throw std::invalid_argument("the key " + parsed.dump() + " stands there twice");
    return true;
  });
}

}  // namespace

std::string EncodeTrialSpec(const TrialSpec& spec) {
  JsonWriter json;
  json.BeginObject().Key("role").Text(spec.role == Role::teacher ? "teacher" : "student");
  for (const SpecKey& key : SpecKeys()) {
    if (key.name != "data") {
      json.Key(key.name);
      WriteValue(json, key, key.get(spec));
    } else if (spec.data) {
      json.Key("data");
      WriteData(json, *spec.data);
    }
  }
  if (spec.parent) json.Key("parent").Text(spec.parent->Hex());
  json.Key("id").Text(spec.id.Hex()).Key("name").Text(spec.name);
  WriteAxes(json, spec);
  return json.EndObject().Take();
}

// The one place where nlohmann_json may throw.
Result<TrialSpec> DecodeTrialSpec(const std::string& json) {
  try {
    const Json document = ParseWithoutRepeatedKeys(json);
    if (!document.is_object()) return DamageError("the trial's spec is not a JSON object");
    return DecodeObject(document);
  } catch (const std::exception& failure) {
    return DamageError(std::string("the trial's spec cannot be read: ") + failure.what());
  }
}

Result<TrialSpec> TrialSpecReader::Read(const std::string& json) {
  if (std::optional<TrialSpec> quick = ScanTrialSpec(json, data_text_, data_)) return std::move(*quick);
  RETORT_ASSIGN_OR_RETURN(TrialSpec spec, DecodeTrialSpec(json));
  data_text_ = ScanDataText(json);
  data_ = spec.data;
  return spec;
}

}  // namespace retort
