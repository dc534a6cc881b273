// Sets in one .npz. MedMNIST has six arrays, {train,val,test}_{images,labels}: images u8 [n, H, W] or [n, H, W, 3],
// labels [n, 1]. What `retort sample` writes has two: images u8 [n, channels, H, W] of 1 or 3 channels,
// labels [n].
#include <algorithm>
#include <cstring>
#include <utility>

#include "experiments/methods/network_layers.h"
#include "storage/datasets/readers.h"
#include "storage/formats/npy_file.h"

namespace retort::storage {
namespace {

constexpr std::uint64_t kMaxPart = std::uint64_t{16} << 30;

struct Published {
  std::string_view stem;
  std::int64_t classes;
};
constexpr Published kSets[] = {{"pathmnist", 9},    {"dermamnist", 7},   {"octmnist", 4},    {"pneumoniamnist", 2},
                               {"retinamnist", 5},  {"breastmnist", 2},  {"bloodmnist", 8},  {"tissuemnist", 8},
                               {"organamnist", 11}, {"organcmnist", 11}, {"organsmnist", 11}};

std::int64_t CountClasses(const std::string& path, const ExampleSet& set) {
  std::string stem = path.substr(path.rfind('/') + 1);
  stem = stem.substr(0, std::min(stem.find('.'), stem.find('_')));
  for (const Published& known : kSets)
    if (stem == known.stem) return known.classes;
  return set.labels.empty() ? 0 : *std::max_element(set.labels.begin(), set.labels.end()) + 1;
}

// The path itself, or the one .npz of the folder; `such`: its usual name.
Result<std::string> FindNpz(Env& env, const DataSpec& data, std::string_view such) {
  RETORT_ASSIGN_OR_RETURN(const FileStamp stamp, env.Stamp(data.path));
  if (!stamp.folder) return data.path;
  RETORT_ASSIGN_OR_RETURN(std::vector<std::string> names, env.List(data.path));
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".npz"); });
  if (names.size() == 1) return data.path + "/" + names.front();
  if (names.empty()) return MissingFile(data, data.path + "/*.npz", "expected one file such as " + std::string(such));
  return UsageError("data." + data.name + ": " + data.path + " holds " + std::to_string(names.size()) +
                    " .npz files; name one, as " + data.path + "/" + names.front());
}

// [n, H, W, C] to [n, C, H, W].
void AddPixels(const TensorBlob& images, ExampleSet& set) {
  const auto channels = static_cast<std::size_t>(set.channels);
  if (channels == 1) {
    set.pixels.insert(set.pixels.end(), images.bytes.begin(), images.bytes.end());
    return;
  }
  const auto area = static_cast<std::size_t>(set.height * set.width);
  const std::size_t first = set.pixels.size();
  set.pixels.resize(first + images.bytes.size());
  std::uint8_t* out = set.pixels.data() + first;
  for (std::size_t begin = 0; begin < images.bytes.size(); begin += area * channels)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t i = 0; i < area; ++i) *out++ = images.bytes[begin + i * channels + c];
}

Status CheckImages(const std::string& where, const NpyHeader& images, ExampleSet& set) {
  const auto& shape = images.shape;
  const bool color = shape.size() == 4 && shape[3] == 3;
  if (images.dtype != DType::u8 || (shape.size() != 3 && !color) || shape[0] == 0 || shape[1] == 0 || shape[2] == 0)
    return Refused(where + " is not of bytes [n, H, W] or [n, H, W, 3]; volumes (the 3D sets) are not read");
  const std::int64_t channels = color ? 3 : 1;
  if (set.height == 0) {
    set.channels = channels;
    set.height = shape[1];
    set.width = shape[2];
  }
  if (set.channels == channels && set.height == shape[1] && set.width == shape[2]) return {};
  return DamageError(where + " holds pictures of another shape than train_images");
}

Result<std::int64_t> LabelAt(const TensorBlob& labels, std::size_t i) {
  const std::uint8_t* at = labels.bytes.data() + i * ComputeByteSize(labels.dtype);
  const auto as = [at]<typename T>(T value) {
    std::memcpy(&value, at, sizeof(T));
    return static_cast<std::int64_t>(value);
  };
  switch (labels.dtype) {
    case DType::u8:
      return as(std::uint8_t{});
    case DType::i32:
      return as(std::int32_t{});
    case DType::u32:
      return as(std::uint32_t{});
    case DType::i64:
      return as(std::int64_t{});
    case DType::u64:
      return as(std::uint64_t{});
    default:
      return DamageError("floating point");
  }
}

Status AddLabels(const std::string& where, const TensorBlob& labels, std::int64_t count, ExampleSet& set) {
  const auto& shape = labels.shape;
  if (shape.size() == 2 && shape[1] > 1)
    return Refused(where + ": " + std::to_string(shape[1]) +
                   " labels an example (as ChestMNIST has); sets of one label are read");
  if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[1] != 1) || shape[0] != count)
    return DamageError(where + " is not of one label for each of " + std::to_string(count) + " pictures");
  for (std::int64_t i = 0; i < count; ++i) {
    const Result<std::int64_t> label = LabelAt(labels, static_cast<std::size_t>(i));
    if (!label.ok() || *label < 0 || *label > 65535)
      return DamageError(where + ": the label of example " + std::to_string(i) + " is no class number");
    set.labels.push_back(*label);
  }
  return {};
}

Status AddPart(const NpzFile& npz, const std::string& path, const std::string& key, ExampleSet& set) {
  const std::string images = key + "_images", labels = key + "_labels";
  for (const std::string& name : {images, labels})
    if (!npz.Has(name))
      return DamageError(path + ": has no array \"" + name + "\"; MedMNIST files hold " +
                         "{train,val,test}_{images,labels}");
  RETORT_ASSIGN_OR_RETURN(const NpyHeader header, npz.Header(images));
  RETORT_RETURN_IF_ERROR(CheckImages(path + ": " + images, header, set));
  RETORT_ASSIGN_OR_RETURN(const TensorBlob marks, npz.Read(labels, std::uint64_t{1} << 30));
  RETORT_RETURN_IF_ERROR(AddLabels(path + ": " + labels, marks, header.shape[0], set));
  RETORT_ASSIGN_OR_RETURN(const TensorBlob pixels, npz.Read(images, kMaxPart));
  AddPixels(pixels, set);
  return {};
}

}  // namespace

Result<ExampleSet> ReadMedMnist(Env& env, const DataSpec& data) {
  RETORT_ASSIGN_OR_RETURN(const std::string path, FindNpz(env, data, "pathmnist.npz"));
  RETORT_ASSIGN_OR_RETURN(const NpzFile npz, NpzFile::Open(env, path));
  ExampleSet set;
  constexpr std::pair<const char*, const char*> kKeys[] = {{"train", "train"}, {"val", "validation"}, {"test", "test"}};
  for (const auto& [key, part] : kKeys) {
    RETORT_RETURN_IF_ERROR(AddPart(npz, path, key, set));
    EndPart(set, part);
  }
  set.classes = CountClasses(path, set);
  set.sources.push_back(path);
  return set;
}

namespace {

bool HoldsColors(std::int64_t channels) { return channels == 1 || channels == 3; }

// What puts channels first that stand last, where they do.
std::string DescribeTranspose(const std::vector<std::int64_t>& shape) {
  if (HoldsColors(shape[3]))
    return "images.transpose(0, 3, 1, 2) of NumPy makes it " + FormatShape({shape[0], shape[3], shape[1], shape[2]});
  return "where channels stand last, images[..., :3].transpose(0, 3, 1, 2) of NumPy takes the first 3 and puts them "
         "first";
}

Status CheckArrays(const std::string& where, const NpzFile& npz) {
  for (const char* name : {"images", "labels"})
    if (!npz.Has(name))
      return DamageError(where + ": has no array \"" + name +
                         "\"; expected images, u8 [n, channels, H, W], and labels");
  RETORT_ASSIGN_OR_RETURN(const NpyHeader images, npz.Header("images"));
  const auto& shape = images.shape;
  if (images.dtype != DType::u8 || (shape.size() != 3 && shape.size() != 4) ||
      std::find(shape.begin(), shape.end(), 0) != shape.end())
    return Refused(where + ": images is not of bytes [n, channels, H, W] or [n, H, W]");
  if (shape.size() == 3 || HoldsColors(shape[1])) return {};
  return Refused(where + ": images is of shape " + FormatShape(shape) +
                 "; expected [n, channels, H, W] of 1 or 3 channels, or [n, H, W]; " + DescribeTranspose(shape));
}

}  // namespace

Result<ExampleSet> ReadNpzArrays(Env& env, const DataSpec& data) {
  RETORT_ASSIGN_OR_RETURN(const std::string path, FindNpz(env, data, "samples.npz"));
  RETORT_ASSIGN_OR_RETURN(const NpzFile npz, NpzFile::Open(env, path));
  RETORT_RETURN_IF_ERROR(CheckArrays(path, npz));
  RETORT_ASSIGN_OR_RETURN(const TensorBlob labels, npz.Read("labels", std::uint64_t{1} << 30));
  RETORT_ASSIGN_OR_RETURN(const NpyHeader header, npz.Header("images"));
  ExampleSet set;
  RETORT_RETURN_IF_ERROR(AddLabels(path + ": labels", labels, header.shape[0], set));
  RETORT_ASSIGN_OR_RETURN(TensorBlob images, npz.Read("images", kMaxPart));
  set.pixels = std::move(images.bytes);
  set.channels = images.shape.size() == 4 ? images.shape[1] : 1;
  set.height = images.shape[images.shape.size() - 2];
  set.width = images.shape.back();
  set.classes = *std::max_element(set.labels.begin(), set.labels.end()) + 1;
  set.sources.push_back(path);
  return set;
}

}  // namespace retort::storage
