// CIFAR-10 and CIFAR-100. Binary: records of a label (CIFAR-100: coarse, then fine) and 3,072 pixels, channel
// by channel. Python: pickles of the same pixels and lists of labels.
#include <algorithm>
#include <iterator>
#include <utility>

#include "storage/datasets/readers.h"
#include "storage/formats/pickle.h"

namespace retort::storage {
namespace {

constexpr std::size_t kPixels = 3 * 32 * 32;
constexpr std::string_view kClasses10[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                           "dog",      "frog",       "horse", "ship", "truck"};

struct Layout {
  std::vector<std::string> train, test;  // file names
  bool pickled;
};

struct Kind {
  bool hundred, coarse;
  std::int64_t classes;
  std::int64_t published_train = 50000, published_test = 10000;

  [[nodiscard]] std::vector<Layout> Layouts() const {
    if (hundred) return {{{"train.bin"}, {"test.bin"}, false}, {{"train"}, {"test"}, true}};
    Layout binary{{}, {"test_batch.bin"}, false}, python{{}, {"test_batch"}, true};
    for (const char digit : {'1', '2', '3', '4', '5'}) {
      binary.train.push_back(std::string("data_batch_") + digit + ".bin");
      python.train.push_back(std::string("data_batch_") + digit);
    }
    return {binary, python};
  }
  [[nodiscard]] const char* LabelKey() const { return !hundred ? "labels" : coarse ? "coarse_labels" : "fine_labels"; }
  [[nodiscard]] std::vector<std::string> Archives() const {
    if (hundred) return {"cifar-100-binary.tar.gz", "cifar-100-python.tar.gz"};
    return {"cifar-10-binary.tar.gz", "cifar-10-python.tar.gz"};
  }
};

Status AddLabel(const std::string& where, std::int64_t label, const Kind& kind, ExampleSet& set) {
  if (label < 0 || label >= kind.classes)
    return DamageError(where + ": label " + std::to_string(label) + " is outside 0 to " +
                       std::to_string(kind.classes - 1) + "; fetch the file again");
  set.labels.push_back(label);
  return {};
}

Status AddBinary(const std::string& where, std::string_view bytes, const Kind& kind, ExampleSet& set) {
  const std::size_t head = kind.hundred ? 2 : 1, record = head + kPixels;
  if (bytes.empty()) return DamageError(where + " is empty; fetch the file again");
  if (bytes.size() % record != 0)
    return DamageError(where + ": truncated at byte " + std::to_string(bytes.size()) +
                       ", inside the record that begins at " + std::to_string(bytes.size() - bytes.size() % record) +
                       " (records have " + std::to_string(record) + " bytes); fetch the file again");
  for (std::size_t at = 0; at < bytes.size(); at += record) {
    const std::size_t label = kind.hundred && !kind.coarse ? at + 1 : at;
    RETORT_RETURN_IF_ERROR(
        AddLabel(where + ": at byte " + std::to_string(label), static_cast<unsigned char>(bytes[label]), kind, set));
    const std::string_view pixels = bytes.substr(at + head, kPixels);
    set.pixels.insert(set.pixels.end(), pixels.begin(), pixels.end());
  }
  return {};
}

Status AddPickled(const std::string& where, std::string_view bytes, const Kind& kind, ExampleSet& set) {
  RETORT_ASSIGN_OR_RETURN(const PickledDictionary batch, ParseNumpyPickle(where, bytes));
  const auto data = batch.arrays.find("data");
  const auto labels = batch.numbers.find(kind.LabelKey());
  const auto missing = [&](const std::string& what) {
    return DamageError(where + ": the dictionary has no " + what + "; this is no batch of CIFAR-" +
                       (kind.hundred ? "100" : "10"));
  };
  if (data == batch.arrays.end()) return missing("array \"data\" of bytes");
  if (labels == batch.numbers.end()) return missing(std::string("list \"") + kind.LabelKey() + "\"");
  const PickledBytes& pixels = data->second;
  const auto count = static_cast<std::int64_t>(labels->second.size());
  if (pixels.shape != std::vector<std::int64_t>{count, static_cast<std::int64_t>(kPixels)} || pixels.fortran)
    return DamageError(where + ": \"data\" is not of " + std::to_string(count) +
                       " rows (as there are labels) by 3072 in C order");
  for (std::size_t i = 0; i < labels->second.size(); ++i)
    RETORT_RETURN_IF_ERROR(AddLabel(where + ": example " + std::to_string(i), labels->second[i], kind, set));
  set.pixels.insert(set.pixels.end(), pixels.bytes.begin(), pixels.bytes.end());
  return {};
}

Status AddFiles(const DataSpec& data, const FileTree& tree, const std::string& folder,
                const std::vector<std::string>& names, bool pickled, const Kind& kind, ExampleSet& set) {
  for (const std::string& name : names) {
    const TreeFile* file = tree.Find(folder + name);
    if (file == nullptr)
      return MissingFile(data, tree.path() + "/" + folder + name, "the other files of the set are beside it");
    if (file->size > (std::uint64_t{1} << 30))
      return DamageError(tree.Where(*file) + ": larger than any file of this set (1 GiB)");
    RETORT_ASSIGN_OR_RETURN(const std::string bytes, tree.Read(*file));
    RETORT_RETURN_IF_ERROR(pickled ? AddPickled(tree.Where(*file), bytes, kind, set)
                                   : AddBinary(tree.Where(*file), bytes, kind, set));
    set.sources.push_back(tree.Where(*file));
  }
  return {};
}

// From the text files or the pickle beside the batches; the ten are known.
Status NameClasses(const FileTree& tree, const std::string& folder, const Kind& kind, ExampleSet& set) {
  set.classes = kind.classes;
  if (!kind.hundred) set.class_names.assign(std::begin(kClasses10), std::end(kClasses10));
  if (!kind.hundred) return {};
  const std::string list = kind.coarse ? "coarse_label_names" : "fine_label_names";
  std::vector<std::string> names;
  if (const TreeFile* text = tree.Find(folder + list + ".txt")) {
    RETORT_ASSIGN_OR_RETURN(names, ReadLines(tree, *text));
  } else if (const TreeFile* meta = tree.Find(folder + "meta"); meta != nullptr && meta->size < (1U << 20)) {
    RETORT_ASSIGN_OR_RETURN(const std::string bytes, tree.Read(*meta));
    RETORT_ASSIGN_OR_RETURN(PickledDictionary found, ParseNumpyPickle(tree.Where(*meta), bytes));
    names = std::move(found.texts[list]);
  }
  std::erase(names, "");
  if (static_cast<std::int64_t>(names.size()) == kind.classes) set.class_names = std::move(names);
  return {};
}

void Compare(const DataPart& part, std::int64_t published, ExampleSet& set) {
  if (part.size() == published) return;
  set.findings.push_back("Part \"" + part.name + "\" holds " + std::to_string(part.size()) +
                         " examples; the published set has " + std::to_string(published) + ".");
}

Result<ExampleSet> ReadTree(const DataSpec& data, const FileTree& tree, const Kind& kind) {
  for (const Layout& layout : kind.Layouts()) {
    std::optional<std::string> folder;
    for (const auto& names : {layout.train, layout.test})
      for (const std::string& name : names)
        if (!folder) folder = FindFolderWith(tree, name);
    if (!folder) continue;
    ExampleSet set;
    set.channels = 3;
    set.height = set.width = 32;
    RETORT_RETURN_IF_ERROR(AddFiles(data, tree, *folder, layout.train, layout.pickled, kind, set));
    EndPart(set, "train");
    RETORT_RETURN_IF_ERROR(AddFiles(data, tree, *folder, layout.test, layout.pickled, kind, set));
    EndPart(set, "test");
    RETORT_RETURN_IF_ERROR(NameClasses(tree, *folder, kind, set));
    for (const DataPart& part : set.parts)
      Compare(part, part.name == "train" ? kind.published_train : kind.published_test, set);
    return set;
  }
  const Layout binary = kind.Layouts().front();
  return MissingFile(data, tree.path() + "/" + binary.train.front(),
                     "expected the files of the binary or the python version, or one of the archives " +
                         kind.Archives()[0] + " and " + kind.Archives()[1]);
}

}  // namespace

Result<ExampleSet> ReadCifar(Env& env, const DataSpec& data) {
  const bool hundred = data.reader == "cifar100", coarse = hundred && data.target == "coarse";
  const Kind kind{hundred, coarse, hundred && !coarse ? 100 : hundred ? 20 : 10};
  RETORT_ASSIGN_OR_RETURN(const auto tree, OpenFileTree(env, data.path));
  for (const Layout& layout : kind.Layouts())
    if (FindFolderWith(*tree, layout.train.front())) return ReadTree(data, *tree, kind);
  for (const std::string& name : kind.Archives()) {
    const TreeFile* archive = tree->Find(name);
    if (archive == nullptr) continue;
    RETORT_ASSIGN_OR_RETURN(const auto unpacked, OpenFileTree(env, tree->Where(*archive)));
    return ReadTree(data, *unpacked, kind);
  }
  return ReadTree(data, *tree, kind);
}

}  // namespace retort::storage
