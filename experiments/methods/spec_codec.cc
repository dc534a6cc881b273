// TrialSpec as one JSON object: `role`, the keys of the table by canonical name, and what the planner
// derived. Every key is written, whether or not it applies, so that decoding gives back the same spec.
#include "experiments/methods/spec_codec.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/json.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/network_layers.h"
#include "experiments/methods/networks.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/methods/teacher_outputs.h"

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

// Absent where images are taken as they are.
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
  p.resize = RequireInteger<decltype(p.resize)>(json.at("resize"));
  p.height = RequireInteger<decltype(p.height)>(json.at("height"));
  p.width = RequireInteger<decltype(p.width)>(json.at("width"));
  p.crop = RequireInteger<decltype(p.crop)>(json.at("crop"));
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
  if (data.split.validation.size() > 0) WriteRange(json, "validation", data.split.validation);
  WriteSource(json, "validation_source", data.split.validation_source);
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
  if (key.type == KeyType::indices) {
    const auto text = json.get<std::string>();
    if (!text.empty() && !ParseOutputs(text)) Reject("\"" + text + "\" are no " + std::string(key.name));
    return text;
  }
  if (std::holds_alternative<std::string>(shape)) return json.get<std::string>();
  if (std::holds_alternative<double>(shape)) return json.get<double>();
  return RequireInteger<std::int64_t>(json);
}

IndexRange DecodeRange(const Json& json) {
  return {RequireInteger<std::int64_t>(json.at(0)), RequireInteger<std::int64_t>(json.at(1))};
}

std::vector<std::int64_t> DecodeIntegers(const Json& json, const char* name) {
  std::vector<std::int64_t> values;
  if (!json.contains(name)) return values;
  for (const Json& value : json.at(name)) values.push_back(RequireInteger<std::int64_t>(value));
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
  data->split.shuffle = RequireInteger<decltype(data->split.shuffle)>(split.at("shuffle"));
  data->split.train = DecodeRange(split.at("train"));
  data->split.public_range = DecodeRange(split.at("public"));
  data->split.test = DecodeRange(split.at("test"));
  data->split.train_source = DecodeSource(split, "train_source");
  data->split.public_source = DecodeSource(split, "public_source");
  data->split.test_source = DecodeSource(split, "test_source");
  if (split.contains("validation")) data->split.validation = DecodeRange(split.at("validation"));
  data->split.validation_source = DecodeSource(split, "validation_source");
  data->target = json.value("target", "");
  data->version = json.value("version", "");
  data->mean = json.value("mean", std::vector<double>());
  data->std = json.value("std", std::vector<double>());
  data->preprocessing = DecodePreprocessing(json);
  data->sensitive_classes = DecodeIntegers(json, "sensitive_classes");
  if (json.contains("moved")) data->moved = RequireInteger<std::int64_t>(json.at("moved"));
  if (json.contains("budget")) {
    data->budget = Budget{json.at("budget").at("epsilon").get<double>(), json.at("budget").at("delta").get<double>()};
  }
  data->examples = RequireInteger<std::int64_t>(json.at("examples"));
  data->channels = RequireInteger<std::int64_t>(json.at("channels"));
  data->height = RequireInteger<std::int64_t>(json.at("height"));
  data->width = RequireInteger<std::int64_t>(json.at("width"));
  data->classes = RequireInteger<std::int64_t>(json.at("classes"));
  return data;
}

TrialId DecodeId(const Json& json) {
  const auto id = TrialId::FromHex(json.get<std::string>());
  if (!id) Reject("\"" + json.get<std::string>() + "\" is no trial id");
  return *id;
}

std::shared_ptr<const std::string> DecodeLayers(std::string text, bool generator) {
  const Result<std::vector<NetworkLayer>> layers = ParseNetworkLayers(text);
  if (!layers.ok()) Reject(layers.status().message());
  if (MakesImages(*layers) != generator)
    Reject(generator ? "generator_layers are of a network that makes no pictures" : "layers are those of a generator");
  return std::make_shared<const std::string>(std::move(text));
}

// Trials of dp-merf are older than its key `generator`, and name the one that other methods have.
void NameClassGenerator(TrialSpec& spec) {
  if (ReleasesEmbedding(FindKind(spec)) && IsNamedGenerator(spec.generator.network))
    spec.generator.network = kClassGenerator;
}

// Whether the generator that is named is one of the zoo, or its layers are there.
bool HasItsGenerator(const TrialSpec& spec) {
  return IsNamedGenerator(spec.generator.network) == (spec.generator.layers == nullptr);
}

// A key that the table does not have is an error: decoding would lose it.
TrialSpec DecodeObject(const Json& json) {
  TrialSpec spec;
  for (const auto& [name, value] : json.items()) {
    const SpecKey* known = nullptr;
    for (const SpecKey& key : ListSpecKeys()) {
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
    else if (name == "layers")
      spec.layers = DecodeLayers(value.get<std::string>(), false);
    else if (name == "generator_layers")
      spec.generator.layers = DecodeLayers(value.get<std::string>(), true);
    else if (name == "score")
      value.get_to(spec.score);
    else if (name == "draw")
      value.get_to(spec.draw);
    else if (name == "score_noise")
      value.get_to(spec.score_noise);
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
  NameClassGenerator(spec);
  if (!HasItsGenerator(spec))
    Reject("the generator \"" + spec.generator.network + "\" is " +
           (spec.generator.layers ? "one of the zoo, and has no layers of its own"
                                  : "none of the zoo, and lacks its layers"));
  return spec;
}

// A key that stands twice is an error: two readers could take different values.
Json ParseWithoutRepeatedKeys(const std::string& text) {
  std::vector<std::set<std::string>> seen;  // keys of the objects that are open
  return Json::parse(text, [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) seen.emplace_back();
    if (event == Json::parse_event_t::object_end) seen.pop_back();
    if (event == Json::parse_event_t::key && !seen.back().insert(parsed.get<std::string>()).second)
      throw std::invalid_argument("the key " + parsed.dump() + " stands there twice");
    return true;
  });
}

constexpr std::string_view kDataKey = "\"data\":";

using LayerTexts = std::vector<std::shared_ptr<const std::string>>;

class Scan {
 public:
  Scan(std::string_view json, std::string_view data_text, const std::shared_ptr<const DataSpec>& data,
       const LayerTexts& layers, const LayerTexts& generator_layers)
      : rest_(json), data_text_(data_text), data_(data), layers_(layers), generator_layers_(generator_layers) {}

  std::optional<TrialSpec> Run() {
    if (!Skip('{')) return std::nullopt;
    for (bool first = true; first || Skip(','); first = false) {
      const std::optional<std::string_view> key = Text();
      if (!key || !Skip(':') || !Member(*key)) return std::nullopt;
    }
    if (!Skip('}') || !rest_.empty()) return std::nullopt;
    NameClassGenerator(spec_);
    if (!HasItsGenerator(spec_)) return std::nullopt;
    return std::move(spec_);
  }

 private:
  bool Skip(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool Skip(std::string_view wanted) {
    if (rest_.substr(0, wanted.size()) != wanted) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }

  // Reads a string of plain ASCII without escapes.
  std::optional<std::string_view> Text() {
    if (!Skip('"')) return std::nullopt;
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(0, end);
    for (const char c : text)
      if (c == '\\' || c < ' ') return std::nullopt;
    rest_.remove_prefix(end + 1);
    return text;
  }

  template <typename T>
  std::optional<T> Number() {
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const std::string_view digits = rest_.substr(0, static_cast<std::size_t>(end - rest_.data()));
    if (error != std::errc() || !IsJsonNumber(digits)) return std::nullopt;
    rest_.remove_prefix(digits.size());
    return value;
  }

  // Whether text that from_chars takes is a JSON number, which "1.", ".5", "01" and "inf" are not.
  static bool IsJsonNumber(std::string_view digits) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!digits.empty() && digits.front() == '-') digits.remove_prefix(1);
    if (digits.empty() || !is_digit(digits.front()) || !is_digit(digits.back())) return false;
    if (digits.front() == '0' && digits.size() > 1 && is_digit(digits[1])) return false;
    const std::size_t point = digits.find('.');
    return point == std::string_view::npos || is_digit(digits[point + 1]);
  }

  bool Into(std::string& field) {
    const std::optional<std::string_view> text = Text();
    if (text) field = *text;
    return text.has_value();
  }

  bool Member(std::string_view key) {
    const std::span<const SpecKey> keys = ListSpecKeys();
    // The keys come in the order of the table.
    for (; next_ < keys.size() && keys[next_].set == nullptr;) ++next_;
    if (next_ < keys.size() && keys[next_].name == key) return Value(next_);
    if (const std::optional<bool> done = Special(key)) return *done;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i].name == key && keys[i].set != nullptr) return Value(i);
    return false;
  }

  bool FindFirst(std::size_t place) {
    if (place >= seen_.size() || seen_[place]) return false;
    seen_.set(place);
    return true;
  }

  // Reads a member that has no row in the table; nothing for an unknown one.
  std::optional<bool> Special(std::string_view key) {
    constexpr std::array<std::string_view, 12> kNames = {"role", "teacher", "data",        "parent",
                                                         "id",   "name",    "axes",        "score",
                                                         "draw", "layers",  "score_noise", "generator_layers"};
    const auto found = std::find(kNames.begin(), kNames.end(), key);
    if (found == kNames.end()) return std::nullopt;
    if (!FindFirst(ListSpecKeys().size() + static_cast<std::size_t>(found - kNames.begin()))) return false;
    if (key == "role") return Role();
    if (key == "teacher") return Into(spec_.teacher);
    if (key == "data") return Data();
    if (key == "parent") return Id([this](TrialId id) { spec_.parent = id; });
    if (key == "id") return Id([this](TrialId id) { spec_.id = id; });
    if (key == "name") return Into(spec_.name);
    if (key == "score") return Into(spec_.score);
    if (key == "draw") return Into(spec_.draw);
    if (key == "score_noise") return Noise();
    if (key == "layers") return Layers(layers_, spec_.layers);
    if (key == "generator_layers") return Layers(generator_layers_, spec_.generator.layers);
    return Axes();
  }

  bool Value(std::size_t place) {
    if (!FindFirst(place)) return false;
    next_ = place + 1;
    const SpecKey& key = ListSpecKeys()[place];
    switch (key.type) {
      case KeyType::flag: {
        const bool yes = Skip("true");
        if (!yes && !Skip("false")) return false;
        key.set(spec_, yes);
        return true;
      }
      case KeyType::count:
        return Set(key, Number<std::int64_t>());
      case KeyType::number:
      case KeyType::duration:
        return Set(key, Number<double>());
      case KeyType::choice:
        return Choice(key);
      case KeyType::text:
      case KeyType::path: {
        const std::optional<std::string_view> text = Text();
        if (text) key.set(spec_, std::string(*text));
        return text.has_value();
      }
      case KeyType::indices: {
        const std::optional<std::string_view> text = Text();
        if (!text || (!text->empty() && !ParseOutputs(*text))) return false;
        key.set(spec_, std::string(*text));
        return true;
      }
      case KeyType::name:
        break;
    }
    return false;
  }

  template <typename T>
  bool Set(const SpecKey& key, const std::optional<T>& value) {
    if (value) key.set(spec_, *value);
    return value.has_value();
  }

  bool Choice(const SpecKey& key) {
    const std::optional<std::string_view> text = Text();
    if (!text) return false;
    if (!key.indexed) {
      key.set(spec_, std::string(*text));
      return true;
    }
    for (std::size_t i = 0; i < key.choices.size(); ++i) {
      if (key.choices[i] != *text) continue;
      key.set(spec_, static_cast<std::int64_t>(i));
      return true;
    }
    return false;
  }

  bool Role() {
    const std::optional<std::string_view> text = Text();
    if (text) spec_.role = *text == "teacher" ? retort::Role::teacher : retort::Role::student;
    return text.has_value();
  }

  bool Data() {
    if (data_ == nullptr || data_text_.empty() || !Skip(data_text_)) return false;
    spec_.data = data_;
    return true;
  }

  bool Noise() {
    const std::optional<double> noise = Number<double>();
    if (noise) spec_.score_noise = *noise;
    return noise.has_value();
  }

  bool Layers(const LayerTexts& texts, std::shared_ptr<const std::string>& field) {
    const std::optional<std::string_view> text = Text();
    if (!text) return false;
    const auto known = std::find_if(texts.begin(), texts.end(), [&text](const auto& one) { return *one == *text; });
    if (known == texts.end()) return false;
    field = *known;
    return true;
  }

  template <typename F>
  bool Id(F set) {
    const std::optional<std::string_view> text = Text();
    const std::optional<TrialId> id = text ? TrialId::FromHex(*text) : std::nullopt;
    if (id) set(*id);
    return id.has_value();
  }

  bool Axes() {
    if (!Skip('[')) return false;
    if (Skip(']')) return true;
    for (bool first = true; first || Skip(','); first = false) {
      std::string key, value;
      if (!Skip('[') || !Into(key) || !Skip(',') || !Into(value) || !Skip(']')) return false;
      spec_.axes.emplace_back(std::move(key), std::move(value));
    }
    return Skip(']');
  }

  std::string_view rest_, data_text_;
  const std::shared_ptr<const DataSpec>& data_;
  const LayerTexts &layers_, &generator_layers_;
  TrialSpec spec_;
  std::size_t next_ = 0;   // in the table: the key expected now
  std::bitset<256> seen_;  // keys of the table, then those that are none of its rows
};

// Reads what EncodeTrialSpec writes, in any order of keys. Returns nothing for anything unusual: blanks, escaped
// characters, an unknown or repeated key, a wrong type, a data set whose text is not `data_text`, which stands for
// `data`, or layers that are not among `layers` or `generator_layers`. The caller then decodes with the library, which
// says what is wrong, if anything is.
std::optional<TrialSpec> ScanTrialSpec(std::string_view json, std::string_view data_text,
                                       const std::shared_ptr<const DataSpec>& data, const LayerTexts& layers,
                                       const LayerTexts& generator_layers) {
  return Scan(json, data_text, data, layers, generator_layers).Run();
}

// Returns the text of the data set in the JSON of a spec; empty if there is none that the scan would find.
std::string_view ScanDataText(std::string_view json) {
  const std::size_t key = json.find(kDataKey);
  if (key == std::string_view::npos) return {};
  const std::size_t begin = key + kDataKey.size();
  if (json.substr(begin, 1) != "{") return {};
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < json.size(); ++i) {
    if (json[i] == '\\') return {};
    if (json[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (json[i] == '{') ++depth;
    if (json[i] == '}' && --depth <= 0) return depth == 0 ? json.substr(begin, i + 1 - begin) : std::string_view();
  }
  return {};
}

constexpr std::size_t kMaxNetworksKept = 64;

}  // namespace

std::string EncodeTrialSpec(const TrialSpec& spec) {
  JsonWriter json;
  json.BeginObject().Key("role").Text(spec.role == Role::teacher ? "teacher" : "student");
  for (const SpecKey& key : ListSpecKeys()) {
    if (key.name != "data") {
      json.Key(key.name);
      WriteValue(json, key, key.get(spec));
    } else if (spec.data) {
      json.Key("data");
      WriteData(json, *spec.data);
    }
  }
  if (spec.parent) json.Key("parent").Text(spec.parent->Hex());
  if (spec.layers) json.Key("layers").Text(*spec.layers);
  if (spec.generator.layers) json.Key("generator_layers").Text(*spec.generator.layers);
  if (!spec.score.empty()) json.Key("score").Text(spec.score);
  if (!spec.draw.empty()) json.Key("draw").Text(spec.draw);
  if (spec.score_noise > 0) json.Key("score_noise").Number(spec.score_noise);
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
  if (std::optional<TrialSpec> quick = ScanTrialSpec(json, data_text_, data_, layers_, generator_layers_))
    return std::move(*quick);
  RETORT_ASSIGN_OR_RETURN(TrialSpec spec, DecodeTrialSpec(json));
  data_text_ = ScanDataText(json);
  data_ = spec.data;
  Share(spec.layers, layers_);
  Share(spec.generator.layers, generator_layers_);
  return spec;
}

void TrialSpecReader::Share(std::shared_ptr<const std::string>& field, LayerTexts& known) {
  if (!field) return;
  const auto same = [&field](const auto& one) { return *one == *field; };
  const auto found = std::find_if(known.begin(), known.end(), same);
  if (found != known.end())
    field = *found;
  else if (known.size() < kMaxNetworksKept)
    known.push_back(field);
}

}  // namespace retort
