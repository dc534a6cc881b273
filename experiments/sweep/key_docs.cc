#include "experiments/sweep/key_docs.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/base/status.h"
#include "experiments/methods/data_spec.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/network_layers.h"
#include "experiments/methods/presets.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/sweep/figure_specs.h"
#include "experiments/sweep/network_tables.h"
#include "experiments/sweep/search_spec.h"
#include "experiments/sweep/section_keys.h"
#include "experiments/sweep/select_spec.h"
#include "experiments/sweep/toml_tree.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

bool NamesNetwork(const SpecKey& key) { return key.name == "network" || key.name == "generator"; }

std::string TypeText(const SpecKey& key) {
  switch (key.type) {
    case KeyType::flag:
      return "boolean";
    case KeyType::count:
      return "integer " + FormatLimits(key.limits) +
             (key.zero_word.empty() ? "" : ", or `\"" + std::string(key.zero_word) + "\"`");
    case KeyType::number:
      return "number " + FormatLimits(key.limits);
    case KeyType::duration:
      return "duration, as `\"30s\"`";
    case KeyType::name:
      return "name";
    case KeyType::text:
      return "string";
    case KeyType::path:
      return "path of a file";
    case KeyType::indices:
      return "array of integers " + FormatLimits(key.limits) + ", no two alike";
    case KeyType::choice:
      break;
  }
  std::string text;
  for (const std::string_view choice : key.choices)
    text += (text.empty() ? "`\"" : ", `\"") + std::string(choice) + "\"`";
  if (NamesNetwork(key)) text += ", or a `[network.NAME]` of the file";
  return text;
}

// Describes the kinds that use the key, among those that a table at this place is about.
std::string KindsText(const SpecKey& key, KeyPlace place) {
  std::string text;
  bool every = true, trained = true;  // all kinds; all that train something
  for (const TrialKind kind : kTrialKinds) {
    if (IsTeacher(kind) != (place == kInTeacher)) continue;
    const KindMask mask = MakeMask(kind);
    every = every && (key.kinds & mask) != 0;
    trained = trained && (IsSleeper(kind) || (key.kinds & mask) != 0);
    if ((key.AllKinds() & mask) == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(GetKindName(kind));
    if (const std::string sources = key.SourcesFor(kind); !sources.empty()) text += " (`" + sources + "`)";
  }
  return every ? "all" : trained ? "all but sleep" : text;
}

// That of most methods, and which have public or private examples; what trains on private ones without a teacher is
// in the key's meaning.
std::string SourceDefault() {
  std::string open, closed;
  const auto add = [](std::string& names, const MethodTraits& method) {
    names += (names.empty() ? "" : ", ") + std::string(method.name);
  };
  for (const MethodTraits& method : GetMethods()) {
    if (method.source == QuerySource::public_split) add(open, method);
    if (method.source == QuerySource::private_split && method.teachers != 0) add(closed, method);
  }
  return "generator; public of " + open + "; private of " + closed;
}

std::string DefaultText(const SpecKey& key) {
  if (key.type == KeyType::name || key.type == KeyType::path) return "";
  if (key.name == "source") return SourceDefault();
  std::string text = FormatValue(key, key.get(TrialSpec{}));
  for (const PresetRow& row : ListPresetRows()) {
    if (row.key == key.name) return text + " *";
  }
  return text;
}

std::string IdentityText(const SpecKey& key) {
  if (key.type == KeyType::path) return "its SHA-256";
  if (!key.identity) return "no";
  return key.quiet == 0 ? "yes" : key.quiet == key.kinds ? "if set" : "yes, or if set";
}

std::string KeyRow(const SpecKey& key, KeyPlace place) {
  return "| `" + std::string(key.NameIn(place)) + "` | " + TypeText(key) + " | " + DefaultText(key) + " | " +
         KindsText(key, place) + " | " + IdentityText(key) + " | " + std::string(key.doc) + " |\n";
}

std::string KeyTable(KeyPlace place) {
  std::string text = "| key | value | default | used by | identity | meaning |\n|---|---|---|---|---|---|\n";
  for (const SpecKey& key : ListSpecKeys()) {
    if ((key.places & place) != 0) text += KeyRow(key, place);
  }
  return text;
}

TrialSpec ReadingOnly(Reading reading) {
  TrialSpec spec;
  spec.reading = reading;
  return spec;
}

// Of a preset's row: " (methods, readings)", those of the two that it names.
std::string Restriction(const PresetRow& row) {
  if (row.methods.empty() && row.readings.mask == 0) return {};
  std::string readings;
  for (std::size_t i = 0; row.readings.mask >> i != 0; ++i) {
    const auto reading = static_cast<Reading>(i);
    if ((row.readings.mask & MakeMask(reading)) == 0) continue;
    readings += (readings.empty() ? "" : " ") + FormatKey(ReadingOnly(reading), "reading");
  }
  const std::string comma = row.methods.empty() || readings.empty() ? "" : ", ";
  return " (" + std::string(row.methods) + comma + readings + ")";
}

std::string PresetTable() {
  std::string text = "| kind of trial | preset |\n|---|---|\n";
  for (const TrialKind kind : kTrialKinds) {
    TrialSpec spec;
    std::string values;
    for (const PresetRow& row : ListPresetRows()) {
      if ((row.kinds & MakeMask(kind)) == 0) continue;
      for (const SpecKey& key : ListSpecKeys()) {
        if (key.name != row.key) continue;
        values += (values.empty() ? "`" : ", `") + std::string(key.name) + " = " + FormatValue(key, row.value) + "`";
        values += Restriction(row);
      }
    }
    text += "| " + std::string(GetKindName(kind)) + " | " + values + " |\n";
  }
  return text;
}

std::string SectionTable(std::string_view section) {
  std::string text = "| key | value | when absent | meaning |\n|---|---|---|---|\n";
  for (const SectionKey& key : ListSectionKeys()) {
    if (key.section != section) continue;
    const std::string fallback = key.required ? "required" : std::string(key.fallback);
    text += "| `" + std::string(key.name) + "` | " + std::string(GetSectionTypeName(key.type)) + " | " + fallback +
            " | " + std::string(key.doc) + " |\n";
  }
  return text;
}

constexpr std::string_view kSplitText =
    "\nA split is by ranges, by fractions, or by parts and lists. Ranges are positions in the permutation of all "
    "examples that\n`shuffle` fixes. Fractions are taken from it one after the other: train, public, test. A part is "
    "one that the format sets\napart (the readers' table names them), whole or as `\"test[0:2000]\"`, "
    "`\"test[2000:]\"`: "
    "positions in its own permutation.\nA list file, relative to the sweep file, has one example a line: an index from "
    "0, or of pictures a name; `#` begins a\ncomment. Its order counts and `shuffle` does not touch it; beside a list "
    "stand other lists or whole parts.\n`retort data clients` writes such lists: examples shared out among clients, in "
    "equal shares or by Dirichlet draws. An ε of a\ntrial takes its list as given: what the division itself tells of "
    "the labels is not in it.\n";

std::string Joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "`\"" : ", `\"") + std::string(word) + "\"`";
  return text;
}

std::string Joined(std::span<const double> values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + FormatReal(value);
  return text;
}

std::string ReaderTable() {
  std::string text =
      "| reader | what lies at `path` | target or version | parts | mean; std |\n|---|---|---|---|---|\n";
  for (const DataReader& reader : ListDataReaders()) {
    text += "| `" + std::string(reader.name) + "` | " + std::string(reader.doc) + " | " + Joined(reader.targets) +
            Joined(reader.versions) + " | " + Joined(reader.parts) + " | " + Joined(reader.mean) + "; " +
            Joined(reader.std) + " |\n";
  }
  return text +
         "\nThe constants of `idx` are those of MNIST; for Fashion-MNIST write `mean = [0.2860]`, `std = [0.3530]`. A "
         "set of one\nchannel takes their average.\n\n"
         "Readers of class folders number all folders in the order of their names, as torchvision does: one without a "
         "picture\nthat is read counts, and `plan`, `run` and `data check` warn of it. A file `class-index.csv` beside "
         "them "
         "(`INDEX,NAME`\na line) numbers them otherwise. Where the weights of a teacher name their classes (`classes`, "
         "`class_names`,\n`class_to_idx`, `idx_to_class`, `id2label` beside the state dict or in a dict there, or in a "
         "safetensors "
         "file's metadata), a\nclass that stands at another number than in the data is an error.\n\n"
         "Lists and tables of classes are UTF-8, with or without a byte order mark, with line ends of any system.\n\n"
         "The parts of `pictures` are folders named train, val or test (also Training, valid, test_set and the like) "
         "that hold\n"
         "class folders, where there is a train and one of the others, or a train beside nothing else with class "
         "folders. "
         "What\nlies beside them is left out and told of; where the rule does not hold, the folders are classes, and "
         "names that "
         "look\nlike none are told of. Hidden files and what storage keeps beside the user's (`@eaDir`, `Thumbs.db`, "
         "`lost+found`)\nare not seen. JPEG (.jpg, .jpeg, .jpe, .jfif) and PNG are read; files of other kinds are "
         "counted and "
         "told of. PNG of\n16-bit grey is clipped at 255, as Pillow does, and told of where that meets more than 1 % "
         "of a picture's "
         "pixels.\n";
}

std::string ParameterText(const LayerParameter& parameter) {
  static const NetworkLayer kPlain;
  const std::string limits = FormatLimits({parameter.least, parameter.most});
  std::string text = "`" + std::string(parameter.name) + "` ";
  std::string usual;
  if (parameter.flag != nullptr) {
    text += "boolean";
    usual = kPlain.*parameter.flag ? "true" : "false";
  } else if (parameter.number != nullptr) {
    text += "number " + limits;
    usual = FormatReal(kPlain.*parameter.number);
  } else {
    text += "integer " + limits + (parameter.classes ? " or `\"classes\"`" : "");
    usual = std::to_string(kPlain.*parameter.count);
  }
  if (!parameter.usual.empty()) usual = parameter.usual;
  return text + " (" + (parameter.required ? "required" : usual) + "): " + std::string(parameter.doc);
}

// The kinds of layers, then the blocks.
std::string LayerTable() {
  std::string text = "| kind | what it is | parameters (when absent): meaning |\n|---|---|---|\n";
  for (const LayerKindTraits& kind : ListLayerKinds()) {
    if (!kind.written) continue;
    std::string parameters = kind.weighted ? "`name`" : "";
    for (const LayerParameter& parameter : kind.parameters)
      parameters += (parameters.empty() ? "" : "; ") + ParameterText(parameter);
    text += "| `" + std::string(kind.word) + "` | " + std::string(kind.doc) + " | " + parameters + " |\n";
  }
  for (const BlockTraits& block : ListLayerBlocks()) {
    std::string parameters = "`name`";
    for (const BlockParameter& parameter : block.parameters)
      parameters +=
          "; `" + std::string(parameter.name) + "` " + std::string(parameter.value) + ": " + std::string(parameter.doc);
    text += "| `" + std::string(block.word) + "` | " + std::string(block.doc) + " | " + parameters + " |\n";
  }
  return text;
}

constexpr std::string_view kNetworkText =
    "\nA layer is a table `{ kind = \"conv\", out = 16, kernel = 3 }`, or its word alone where it needs no parameters: "
    "`\"relu\"`. Shapes\nfollow from the pictures and classes of the trial's data; the last layer is "
    "`{ kind = \"linear\", out = \"classes\" }`. Weights begin\nas PyTorch's. `name` is that of the layer's parameters "
    "in "
    "files of weights (`conv1` gives `conv1.weight`); layers without one are\nnumbered by kind in their block: "
    "`conv1`, "
    "`conv2`. `retort model check NAME --sweep SWEEP` says what of saved weights fits.\n\nThe layers, written out, are "
    "part of the trial's id; the networks of the zoo keep their names.\n\n"
    "A network with a `reshape` is a generator: the key `generator` takes its name, and nothing else does. Its first "
    "layer "
    "is\ngiven `latent` values a picture, normally distributed, and for dp-merf as many behind them as there are "
    "classes, "
    "1 for the class of the\npicture and 0 for the others. It ends in pictures of the data set's shape, by "
    "`\"sigmoid\"` "
    "(pixels between 0 and 1), by `\"tanh\"`\n(between -1 and 1, taken as between 0 and 1), after which the trial "
    "normalises them as its data is, or by\n`{ kind = \"batch_norm\", affine = false }` (normalised by their batch, as "
    "DAFL's; not for dp-merf). Its batch norms use the statistics\nof the batch at hand; `dropout` has no place in "
    "it.\n\n";

}  // namespace

std::string FormatKeysMarkdown() {
  std::string text =
      "# Keys of a sweep file\n\n"
      "Generated from the key table (`methods/spec_keys.cc`, `sweep/section_keys.cc`, `methods/presets.cc`); a test "
      "compares.\n\n"
      "Precedence, weakest first: default, preset, `[trial]`, profile, `KEY=VALUE` argument, axis, `when`.\n"
      "Behind a sweep file, `trial.lr=0.1` sets a key, `trial.lr=0.1,0.2` makes an axis of the grid, `~sweep.grid.lr`\n"
      "takes away what the file says; `+` and `++` before a key change nothing. Rows of an axis that write the key\n"
      "themselves keep theirs, which a warning counts; where all do, `trial.KEY` is refused. `trial.reading` reaches\n"
      "the methods that have readings, and a warning names the others, as it does where `[trial]` says it.\n"
      "A default marked * is replaced by the preset of some kinds of trials, below. Keys with identity "
      "\"yes\" are part\n"
      "of the trial's id where they apply; the data set's digest, reader, classes and split, the teacher's "
      "id and the\n"
      "method's revision are too. A key that reaches no trial to which it applies is an error. A source "
      "behind a kind\n"
      "of trial means that the key applies with that source alone.\n";
  text += "\n## The file\n\n" + SectionTable("");
  text += "\n## `[data.NAME]`\n\n" + SectionTable("data.*");
  text += "\n### Readers\n\n" + ReaderTable();
  text += "\n### `split`\n\n" + SectionTable("data.*.split") + std::string(kSplitText);
  text += "\n### `budget`\n\n" + SectionTable("data.*.budget");
  text += "\n## `[network.NAME]`\n\n" + SectionTable("network.*") + std::string(kNetworkText) + LayerTable();
  text +=
      "\n## `[teacher] NAME = {...}`\n\n"
      "With `private` a DP-SGD teacher, with `members` above 1 an ensemble, with `weights` or `torchscript` "
      "loaded from that\nfile, otherwise plain. `noise`, "
      "`delta`, `threads`\n"
      "and the execution keys come from `[trial]`.\n\n" +
      KeyTable(kInTeacher);
  text += "\n### `private`\n\n" + SectionTable("teacher.*.private");
  text += "\n## `[trial]`, axes and arguments\n\n" + KeyTable(kInTrial);
  text +=
      "\n### `stop`\n\n"
      "Here and in `[teacher]`: the trial ends at a look that finds the metric beyond the threshold. Looks "
      "come at "
      "fixed\nsteps, so that the same trial always stops at the same one; the row's `stop.step` tells which. "
      "The claims "
      "stay those of\nall steps. Part of the id where it is set. A step that records no loss is not looked "
      "at.\n\n" +
      SectionTable("stop");
  text += "\n### Presets\n\n" + PresetTable();
  text += "\n## `[sweep]`\n\n" + SectionTable("sweep");
  text += "\n### `quota`\n\n" + SectionTable("sweep.quota");
  text +=
      "\n### `select`\n\n"
      "K is drawn, then K candidates with replacement, each with a seed of its own; the one with the best score is "
      "released, and\nall others are destroyed unseen. The row's claims are the selection's. Candidates are students "
      "without a teacher whose\nclaims are proven, of one data set, `delta` and `noise`; how a candidate ends that "
      "fails is "
      "its score, the lowest. `retort plan`\nsays what the selection costs. With `epsilon` the trials give `claim` "
      "and `calibrate`, and no epsilon of their own.\n\n" +
      SectionTable("sweep.select");
  text +=
      "\n### `search`\n\n"
      "Everyday tuning: `trials` settings are suggested from `space`, and each runs once a seed and row of `grid` and "
      "`zip`; its\nscore is the mean over them. Every trial stays, with an epsilon of its own, and charges the ledger; "
      "that one was chosen is in\nno trial's epsilon, only in the total over all of them. What a search has suggested "
      "stands in the journal: a run that was\nstopped goes on with the same suggestions, and a larger `trials` goes "
      "on from what there is (with successive-halving it\nmakes other rungs, and is another search).\n\n" +
      SectionTable("sweep.search") + "\n`space.KEY = { ... }`, of keys that are numbers:\n\n" +
      SectionTable("sweep.search.space.*");
  text += "\nConditions of `when` and `exclude`, and `rows` and `columns` of tables, also know `seed`.\n";
  text += "\n## `[table.NAME]`\n\n" + SectionTable("table.*");
  text +=
      "\n## `[figure.NAME]`\n\n"
      "What `retort plot` draws into NAME.svg and NAME.png, or NAME.pdf. Axes that no key names tell series apart, so "
      "that a "
      "point never\nmixes trials that differ in more than their seed. Without any `[figure]` the first axis is drawn "
      "against the metric of the\nfirst table.\n\n" +
      SectionTable("figure.*");
  text += "\n## `[profile.NAME]`\n\n" + SectionTable("profile.*");
  return text;
}

// JSON Schema of a sweep file, from the key table.

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
      if (NamesNetwork(key))  // or one of the file
        schema["anyOf"] = Json::array({{{"enum", key.ChoiceList()}}, {{"type", "string"}}});
      else
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
    case KeyType::indices:
      schema["type"] = "array";
      schema["items"]["type"] = "integer";
      Bound(schema["items"], key.limits);
      schema["minItems"] = 1;
      schema["uniqueItems"] = true;
      break;
  }
  const bool is_text = key.type == KeyType::name || key.type == KeyType::path || key.type == KeyType::text;
  if (!is_text && key.type != KeyType::indices) {
    const KeyValue fallback = key.get(TrialSpec{});
    if (const bool* flag = std::get_if<bool>(&fallback))
      schema["default"] = *flag;
    else if (key.type == KeyType::count)
      schema["default"] = std::get<std::int64_t>(fallback);
    else if (key.type == KeyType::number)
      schema["default"] = std::get<double>(fallback);
    else
      schema["default"] = FormatValue(key, fallback);
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
    case SectionType::layers:
      list({{"anyOf", Json::array({{{"type", "string"}}, {{"type", "object"}}})}});
      schema["minItems"] = 1;
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
  for (const SectionKey& key : ListSectionKeys()) {
    if (key.section != section) continue;
    properties[std::string(key.name)] = SectionValue(key);
    if (key.required && !partial) required.push_back(key.name);
  }
  return Closed(std::move(properties), std::move(required));
}

Json KeysSchema(KeyPlace place) {
  Json properties = Json::object();
  for (const SpecKey& key : ListSpecKeys()) {
    if ((key.places & place) != 0) properties[std::string(key.NameIn(place))] = ValueSchema(key);
  }
  properties["stop"] = SectionSchema("stop", false);
  return properties;
}

// Every key with one value, or an array of them.
Json ConditionSchema() {
  Json properties = Json::object();
  for (const SpecKey& key : ListSpecKeys()) {
    const Json value = ValueSchema(key);
    properties[std::string(key.TrialName())] = {
        {"anyOf", Json::array({value, {{"type", "array"}, {"items", value}, {"minItems", 1}}})}};
  }
  return Closed(std::move(properties));
}

// Values of the key `name`, in an array of several.
Json ListSchema(const std::string& name) {
  const Json one{{"$ref", "#/definitions/trial/properties/" + name}};
  return {{"type", "array"}, {"items", one}, {"minItems", 2}, {"uniqueItems", true}};
}

// Whether the schema of a key has numbers.
bool HasNumbers(const Json& value) {
  const std::string text = value.dump();
  return text.find("\"number\"") != std::string::npos || text.find("\"integer\"") != std::string::npos;
}

Json DimensionSchema(const std::string& name, const Json& value) {
  if (!HasNumbers(value)) return ListSchema(name);
  return {{"anyOf", Json::array({ListSchema(name), {{"$ref", "#/definitions/range"}}})}};
}

Json RangeSchema() {
  Json range = SectionSchema("sweep.search.space.*", false);
  range["properties"]["scale"]["enum"] = Json::array({"linear", "log"});
  return range;
}

Json SearchSchema(const Json& trial) {
  Json search = SectionSchema("sweep.search", true);  // a profile may change a part of it
  Json& properties = search["properties"];
  properties["method"]["enum"] = kSearchMethods;
  properties["score"]["enum"] = Json::array({kPublicScore});
  properties["goal"]["enum"] = Json::array({"maximize", "minimize"});
  Json space = Json::object();
  for (const auto& [name, value] : trial.at("properties").items())
    if (name != "stop") space[name] = DimensionSchema(name, value);
  properties["space"] = Closed(std::move(space));
  Json rungs = Json::object();
  for (const auto& [name, value] : trial.at("properties").items())
    if (name != "stop" && HasNumbers(value)) rungs[name] = ListSchema(name);
  properties["rungs"] = Closed(std::move(rungs));
  properties["rungs"]["minProperties"] = properties["rungs"]["maxProperties"] = 1;
  return search;
}

Json SweepSchema(const Json& trial) {
  Json sweep = SectionSchema("sweep", false);
  Json grid = Json::object();
  for (const auto& [name, value] : trial.at("properties").items()) {
    grid[name] = {{"type", "array"}, {"items", value}, {"minItems", 1}, {"uniqueItems", true}};
  }
  const Json row{{"$ref", "#/definitions/trial"}}, condition{{"$ref", "#/definitions/condition"}};
  Json& properties = sweep["properties"];
  properties["seeds"]["minItems"] = 1;
  properties["seeds"]["uniqueItems"] = true;
  properties["grid"] = Closed(std::move(grid));
  properties["zip"] = {{"type", "object"},
                       {"additionalProperties", {{"type", "array"}, {"items", row}, {"minItems", 1}}}};
  properties["when"]["items"] = Closed({{"if", condition}, {"set", row}}, {"if", "set"});
  properties["exclude"]["items"] = condition;
  properties["quota"] = SectionSchema("sweep.quota", false);
  properties["select"] = SectionSchema("sweep.select", false);
  Json& chosen = properties["select"]["properties"];
  chosen["score"]["enum"] = Json::array({kPublicScore, kPrivateScore});
  chosen["distribution"]["enum"] = kDrawDistributions;
  properties["search"] = SearchSchema(trial);
  return sweep;
}

Json Named(Json entry) { return {{"type", "object"}, {"additionalProperties", std::move(entry)}}; }

// The seven tables, of the file or of a profile.
void PutTables(Json& properties, bool partial) {
  Json data = SectionSchema("data.*", partial);
  data["properties"]["split"] = SectionSchema("data.*.split", partial);
  data["properties"]["budget"] = SectionSchema("data.*.budget", partial);
  Json teacher = KeysSchema(kInTeacher);
  teacher["private"] = SectionSchema("teacher.*.private", partial);
  properties["data"] = Named(std::move(data));
  properties["network"] = Named(SectionSchema("network.*", partial));
  properties["teacher"] = Named(Closed(std::move(teacher)));
  properties["trial"] = {{"$ref", "#/definitions/trial"}};
  properties["sweep"] = {{"$ref", "#/definitions/sweep"}};
  Json table = SectionSchema("table.*", partial);
  table["properties"]["interval"]["enum"] = Json::array({"t", "bootstrap"});
  const Json value{{"anyOf", Json::array({{{"type", "object"}}, {{"const", "none"}}})}};
  table["properties"]["joins"]["items"] =
      Closed({{"if", {{"type", "object"}}}, {"published", value}}, {"if", "published"});
  properties["table"] = Named(std::move(table));
  Json figure = SectionSchema("figure.*", partial);
  figure["properties"]["kind"]["enum"] = ListFigureKindNames();
  properties["figure"] = Named(std::move(figure));
}

}  // namespace

std::string FormatSweepJsonSchema() {
  const Json trial = Closed(KeysSchema(kInTrial));
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "Retort sweep file"}};
  schema.update(SectionSchema("", false));
  Json& properties = schema["properties"];
  properties["retort"] = {{"const", 1}, {"description", "version of this file format"}};
  PutTables(properties, false);
  Json profile = SectionSchema("profile.*", true);
  PutTables(profile["properties"], true);
  properties["profile"] = Named(std::move(profile));
  schema["definitions"] = {
      {"trial", trial}, {"condition", ConditionSchema()}, {"range", RangeSchema()}, {"sweep", SweepSchema(trial)}};
  return schema.dump(2);
}

}  // namespace retort
