#include "storage/datasets/example_store.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "experiments/base/diagnostic.h"
#include "experiments/methods/data_spec.h"
#include "storage/datasets/idx_file.h"
#include "storage/datasets/readers.h"
#include "storage/files/path_status.h"
#include "storage/files/read_limits.h"
#include "storage/images/image_scan.h"

namespace retort::storage {
namespace {

constexpr std::uint64_t kMaxImageBytes = std::uint64_t{256} << 20;

using Reader = Result<ExampleSet> (*)(Env&, const DataSpec&);
constexpr std::array<std::pair<std::string_view, Reader>, 12> kReaders = {{{"idx", &ReadIdxSet},
                                                                           {"cifar10", &ReadCifar},
                                                                           {"cifar100", &ReadCifar},
                                                                           {"svhn", &ReadSvhn},
                                                                           {"medmnist", &ReadMedMnist},
                                                                           {"npz", &ReadNpzArrays},
                                                                           {"celeba", &ReadCelebA},
                                                                           {"covidx", &ReadCovidx},
                                                                           {"imagenet", &ReadImageNet},
                                                                           {"tiny-imagenet", &ReadTinyImageNet},
                                                                           {"pictures", &ReadImageFolders},
                                                                           {"webdataset", &ReadWebDataset}}};

Status UnknownReader(const DataSpec& data) {
  const std::vector<std::string> names = SortByNearness(data.reader, ListDataReaderNames());
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  return UsageError("There is no reader \"" + data.reader + "\"; nearest first, there are " + known + ".");
}

// More classes are declared than the set names: where a folder is absent, those behind it have other numbers than a
// teacher may take them to have.
void WarnAboutNamelessClasses(const DataSpec& data, ExampleSet& set) {
  constexpr std::size_t kMaxNamed = 10;
  const auto named = static_cast<std::int64_t>(set.class_names.size());
  if (named == 0 || named >= data.classes) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(set.class_names.size(), kMaxNamed); ++i)
    names += (i > 0 ? ", " : "") + set.class_names[i];
  set.warnings.push_back("classes = " + std::to_string(data.classes) + ", and the set has " + std::to_string(named) +
                         " (" + names + (set.class_names.size() > kMaxNamed ? ", ..." : "") +
                         "), numbered from 0 on; if others lie between them, number the classes in class-index.csv.");
}

Status CheckClasses(const DataSpec& data, ExampleSet& set) {
  if (data.classes > 0) {
    for (std::size_t i = 0; i < set.labels.size(); ++i) {
      if (set.labels[i] < data.classes) continue;
      return UsageError("data." + data.name + ".classes = " + std::to_string(data.classes) + ", and example " +
                        std::to_string(i) + " in " + data.path + " has the label " + std::to_string(set.labels[i]) +
                        "; write " + std::to_string(std::max(set.classes, set.labels[i] + 1)) + ", or leave it out");
    }
    set.classes = data.classes;
    WarnAboutNamelessClasses(data, set);
  }
  for (const std::int64_t label : set.labels)
    if (label >= set.classes)
      return DamageError(data.path + ": the label " + std::to_string(label) + " is outside the " +
                         std::to_string(set.classes) + " classes of the set");
  return {};
}

// Of a few, from the first to the last: to look at all takes as long as to decode them (CheckData does).
void WarnAboutClipping(ExampleSet& set) {
  constexpr std::size_t kLookedAt = 8;
  const std::size_t count = std::min(kLookedAt, set.pictures.size());
  for (std::size_t i = 0; i < count; ++i) {
    const TreeFile& image = set.pictures[count == 1 ? 0 : i * (set.pictures.size() - 1) / (count - 1)];
    const Result<std::string> bytes = set.files->Read(image);
    const double share = bytes.ok() && IsWideGrey(*bytes) ? ComputeClippedShare(image.name, *bytes) : 0;
    if (!(share > kClippedWarningShare)) continue;
    set.warnings.push_back(
        image.name + " is of 16-bit grey, and " + std::to_string(std::lround(100 * share)) +
        " % of its pixels lie above 255, where they are clipped, as Pillow does; scale such pictures to "
        "8 bits.");
    return;
  }
}

// Where broken images are skipped, crop or size say how large all are, whatever the first one is.
Status CheckImages(const DataSpec& data, ExampleSet& set) {
  for (const TreeFile& image : set.pictures)
    if (image.size > kMaxImageBytes)
      return Refused(set.files->Where(image) + ": a picture of " + std::to_string(image.size >> 20) +
                     " MiB; at most 256 MiB are read");
  const TreeFile& first = set.pictures.front();
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, set.files->Read(first));
  const Result<EncodedImageSize> size = ReadImageSize(set.files->Where(first), bytes);
  const bool skipped = data.preprocessing.on_error == OnError::skip_and_count && data.height > 0;
  if (!size.ok() && !skipped) return size.status();
  WarnAboutClipping(set);
  set.channels = 3;
  set.height = size.ok() ? size->height : data.height;
  set.width = size.ok() ? size->width : data.width;
  return {};
}

}  // namespace

Result<ExampleSet> ReadIdxSet(Env& env, const DataSpec& data) {
  DataSpec any = data;
  any.classes = data.classes == 0 ? 256 : data.classes;
  RETORT_ASSIGN_OR_RETURN(IdxData idx, LoadIdx(env, any));
  ExampleSet set;
  set.channels = 1;
  set.height = idx.height;
  set.width = idx.width;
  set.labels.assign(idx.labels.begin(), idx.labels.end());
  set.pixels = std::move(idx.pixels);
  const std::int64_t most = *std::max_element(set.labels.begin(), set.labels.end());
  set.classes = std::max<std::int64_t>(data.classes == 0 ? 10 : data.classes, most + 1);
  if (idx.train > 0) set.parts.push_back({"train", 0, idx.train});
  if (idx.train < idx.examples) set.parts.push_back({"test", idx.train, idx.examples});
  set.sources.push_back(data.path);
  return set;
}

namespace {

Result<std::unique_ptr<ExampleStore>> Open(Env& env, const DataSpec& data) {
  const auto reader =
      std::find_if(kReaders.begin(), kReaders.end(), [&data](const auto& known) { return known.first == data.reader; });
  if (reader == kReaders.end()) return UnknownReader(data);
  RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, data.path));
  if (!there)
    return EnvironmentError("data." + data.name + ": " + data.path +
                            " does not exist; put the files there, or set the path to where they are");
  RETORT_ASSIGN_OR_RETURN(ExampleSet set, reader->second(env, data));
  if (set.labels.empty()) return DamageError(data.path + " holds no example");
  if (set.parts.size() == 1 && set.parts[0].name.empty()) set.parts.clear();
  RETORT_RETURN_IF_ERROR(CheckClasses(data, set));
  if (!set.pictures.empty()) RETORT_RETURN_IF_ERROR(CheckImages(data, set));
  return std::make_unique<ExampleStore>(std::move(set));
}

}  // namespace

Result<std::unique_ptr<ExampleStore>> OpenExamples(Env& env, const DataSpec& data) {
  return ReadWithinMemory("data." + data.name + ", '" + data.path + "'", [&] { return Open(env, data); });
}

}  // namespace retort::storage
