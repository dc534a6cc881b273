// JSON Schema of a sweep file, from the key table.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "experiments/spec/spec_keys.h"
#include "experiments/spec/sweep.h"

namespace retort {
namespace {

using Json = nlohmann::ordered_json;

void Bound(Json& schema, const Limits& limits) {
  schema[limits.above_least ? "exclusiveMinimum" : "minimum"] = limits.least;
  schema["maximum"] = limits.most;
}

void BoundCount(Json& schema, const SpecKey& key) {
  Json count{{"type", "integer"}};
  Bound(count, key.limits);
  if (key.zero_word.empty())
    schema.update(count);
  else
    schema["anyOf"] = Json::array({std::move(count), Json{{"const", key.zero_word}}});
}

Json ValueSchema(const SpecKey& key) {
  Json schema{{"description", key.doc}};
  switch (key.type) {
    case KeyType::flag:
      schema["type"] = "boolean";
      break;
    case KeyType::count:
      BoundCount(schema, key);
      break;
    case KeyType::number:
      schema["type"] = "number";
      Bound(schema, key.limits);
      break;
    case KeyType::choice:
      schema["enum"] = key.ChoiceList();
      break;
    case KeyType::duration:
      schema["type"] = "string";
      schema["pattern"] = "^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)$";
      break;
    case KeyType::name:
    case KeyType::text:
      schema["type"] = "string";
      break;
    case KeyType::path:
      schema["type"] = "string";
      schema["minLength"] = 1;
      break;
  }
  if (key.type != KeyType::name && key.type != KeyType::path && key.type != KeyType::text) {
    const KeyValue fallback = key.get(TrialSpec{});
    if (const bool* flag = std::get_if<bool>(&fallback))
      schema["default"] = *flag;
    else if (key.type == KeyType::count)
      schema["default"] = std::get<std::int64_t>(fallback);
    else if (key.type == KeyType::number)
      schema["default"] = std::get<double>(fallback);
    else
      schema["default"] = ValueText(key, fallback);
  }
  return schema;
}

Json Closed(Json properties, Json required = Json::array()) {
  Json schema{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

Json SectionValue(const SectionKey& key) {
  Json schema{{"description", key.doc}};
  const auto list = [&schema](Json item) {
    schema["type"] = "array";
    schema["items"] = std::move(item);
  };
  switch (key.type) {
    case SectionType::text:
      schema["type"] = "string";
      break;
    case SectionType::flag:
      schema["type"] = "boolean";
      break;
    case SectionType::duration:
      schema["type"] = "string";
      schema["pattern"] = "^[0-9]+(\\.[0-9]*)?(ms|s|m|h|d)$";
      break;
    case SectionType::count:
      schema["type"] = "integer";
      Bound(schema, key.limits);
      break;
    case SectionType::number:
      schema["type"] = "number";
      Bound(schema, key.limits);
      break;
    case SectionType::texts:
      list({{"type", "string"}});
      break;
    case SectionType::tables:
      list({{"type", "object"}});
      break;
    case SectionType::table:
      schema["type"] = "object";
      break;
    case SectionType::share: {
      Json item{{"type", "integer"}};
      Bound(item, key.limits);
      schema["anyOf"] = Json::array({{{"type", "array"}, {"items", item}, {"minItems", 2}, {"maxItems", 2}},
                                     {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}},
                                     {{"type", "string"}}});
      break;
    }
    case SectionType::numbers: {
      Json item{{"type", "number"}};
      Bound(item, key.limits);
      list(std::move(item));
      schema["minItems"] = 1;
      break;
    }
    case SectionType::counts: {
      Json item{{"type", "integer"}};
      Bound(item, key.limits);
      list(std::move(item));
      break;
    }
  }
  return schema;
}

Json SectionSchema(std::string_view section, bool partial) {
  Json properties = Json::object(), required = Json::array();
  for (const SectionKey& key : SectionKeys()) {
    if (key.section != section) continue;
    properties[std::string(key.name)] = SectionValue(key);
    if (key.required && !partial) required.push_back(key.name);
  }
  return Closed(std::move(properties), std::move(required));
}

Json KeysSchema(KeyPlace place) {
  Json properties = Json::object();
  for (const SpecKey& key : SpecKeys()) {
    if ((key.places & place) != 0) properties[std::string(key.NameIn(place))] = ValueSchema(key);
  }
  properties["stop"] = SectionSchema("stop", false);
  return properties;
}

// Every key with one value, or an array of them.
Json ConditionSchema() {
  Json properties = Json::object();
  for (const SpecKey& key : SpecKeys()) {
    const Json value = ValueSchema(key);
    properties[std::string(key.TrialName())] = {
        {"anyOf", Json::array({value, {{"type", "array"}, {"items", value}, {"minItems", 1}}})}};
  }
  return Closed(std::move(properties));
}

Json SweepSchema(const Json& trial) {
  Json sweep = SectionSchema("sweep", false);
  Json grid = Json::object();
  for (const auto& [name, value] : trial.at("properties").items()) {
    grid[name] = {{"type", "array"}, {"items", value}, {"minItems", 1}, {"uniqueItems", true}};
  }
  const Json row{{"$ref", "#/$defs/trial"}}, condition{{"$ref", "#/$defs/condition"}};
  Json& properties = sweep["properties"];
  properties["seeds"]["minItems"] = 1;
  properties["seeds"]["uniqueItems"] = true;
  properties["grid"] = Closed(std::move(grid));
  properties["zip"] = {{"type", "object"},
                       {"additionalProperties", {{"type", "array"}, {"items", row}, {"minItems", 1}}}};
  properties["when"]["items"] = Closed({{"if", condition}, {"set", row}}, {"if", "set"});
  properties["exclude"]["items"] = condition;
  properties["quota"] = SectionSchema("sweep.quota", false);
  return sweep;
}

Json Named(Json entry) { return {{"type", "object"}, {"additionalProperties", std::move(entry)}}; }

// The six tables, of the file or of a profile.
void PutTables(Json& properties, bool partial) {
  Json data = SectionSchema("data.*", partial);
  data["properties"]["split"] = SectionSchema("data.*.split", partial);
  data["properties"]["budget"] = SectionSchema("data.*.budget", partial);
  Json teacher = KeysSchema(kInTeacher);
  teacher["private"] = SectionSchema("teacher.*.private", partial);
  properties["data"] = Named(std::move(data));
  properties["teacher"] = Named(Closed(std::move(teacher)));
  properties["trial"] = {{"$ref", "#/$defs/trial"}};
  properties["sweep"] = {{"$ref", "#/$defs/sweep"}};
  Json table = SectionSchema("table.*", partial);
  table["properties"]["interval"]["enum"] = Json::array({"t", "bootstrap"});
  const Json value{{"anyOf", Json::array({{{"type", "object"}}, {{"const", "none"}}})}};
  table["properties"]["joins"]["items"] =
      Closed({{"if", {{"type", "object"}}}, {"published", value}}, {"if", "published"});
  properties["table"] = Named(std::move(table));
  Json figure = SectionSchema("figure.*", partial);
  figure["properties"]["kind"]["enum"] = FigureKindNames();
  properties["figure"] = Named(std::move(figure));
}

}  // namespace

std::string SweepJsonSchema() {
  const Json trial = Closed(KeysSchema(kInTrial));
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Retort sweep file"}};
  schema.update(SectionSchema("", false));
  Json& properties = schema["properties"];
  properties["retort"] = {{"const", 1}, {"description", "version of this file format"}};
  PutTables(properties, false);
  Json profile = SectionSchema("profile.*", true);
  PutTables(profile["properties"], true);
  properties["profile"] = Named(std::move(profile));
  schema["$defs"] = {{"trial", trial}, {"condition", ConditionSchema()}, {"sweep", SweepSchema(trial)}};
  return schema.dump(2);
}

}  // namespace retort
