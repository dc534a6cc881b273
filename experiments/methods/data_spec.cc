#include "experiments/methods/data_spec.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace retort {
namespace {

using Names = std::string_view;

constexpr Names kTrainTest[] = {"train", "test"};
constexpr Names kTrainValidation[] = {"train", "validation"};
constexpr Names kTrainValidationTest[] = {"train", "validation", "test"};
constexpr Names kTrainTestExtra[] = {"train", "test", "extra"};
constexpr Names kFineCoarse[] = {"fine", "coarse"};
constexpr Names kGenderHair[] = {"gender", "hair"};
constexpr Names kCovidxVersions[] = {"9B", "9A", "5"};

constexpr double kMnistMean[] = {0.1307}, kMnistStd[] = {0.3081};
constexpr double kCifar10Mean[] = {0.4914, 0.4822, 0.4465}, kCifar10Std[] = {0.2470, 0.2435, 0.2616};
constexpr double kCifar100Mean[] = {0.5071, 0.4865, 0.4409}, kCifar100Std[] = {0.2673, 0.2564, 0.2762};
constexpr double kSvhnMean[] = {0.4377, 0.4438, 0.4728}, kSvhnStd[] = {0.1980, 0.2010, 0.1970};
constexpr double kImageNetMean[] = {0.485, 0.456, 0.406}, kImageNetStd[] = {0.229, 0.224, 0.225};
constexpr double kHalf[] = {0.5};

constexpr DataReader kReaders[] = {
    {"idx",
     "IDX files of MNIST and its relatives, plain or .gz",
     {},
     {},
     kTrainTest,
     10,
     1,
     false,
     kMnistMean,
     kMnistStd},
    {"cifar10",
     "CIFAR-10: the binary or the python version, a folder or the .tar.gz",
     {},
     {},
     kTrainTest,
     10,
     3,
     false,
     kCifar10Mean,
     kCifar10Std},
    {"cifar100",
     "CIFAR-100: the binary or the python version, a folder or the .tar.gz",
     kFineCoarse,
     {},
     kTrainTest,
     0,
     3,
     false,
     kCifar100Mean,
     kCifar100Std},
    {"svhn",
     "SVHN, cropped digits: train_32x32.mat and test_32x32.mat, with extra_32x32.mat where it is there",
     {},
     {},
     kTrainTestExtra,
     10,
     3,
     false,
     kSvhnMean,
     kSvhnStd},
    {"medmnist", "one .npz of MedMNIST, as pathmnist.npz", {}, {}, kTrainValidationTest, 0, 0, false, kHalf, kHalf},
    {"npz",
     "one .npz of images, u8 [n, 1 or 3 channels, height, width], and labels, as `retort sample` writes it",
     {},
     {},
     {},
     0,
     0,
     false,
     kHalf,
     kHalf},
    {"celeba",
     "CelebA, aligned: img_align_celeba (a folder or .zip) and the two lists",
     kGenderHair,
     {},
     kTrainValidationTest,
     0,
     3,
     true,
     kHalf,
     kHalf},
    {"covidx",
     "COVIDx CXR: train and test lists of a version beside the folders train and test",
     {},
     kCovidxVersions,
     kTrainTest,
     0,
     3,
     true,
     kImageNetMean,
     kImageNetStd},
    {"imagenet",
     "ILSVRC2012: class folders or the archives as downloaded",
     {},
     {},
     kTrainValidation,
     0,
     3,
     true,
     kImageNetMean,
     kImageNetStd},
    {"tiny-imagenet",
     "Tiny ImageNet 200: the folder or the .zip",
     {},
     {},
     kTrainValidation,
     0,
     3,
     true,
     kImageNetMean,
     kImageNetStd},
    {"pictures",
     "JPEG and PNG pictures, a folder a class, in a folder, .tar or .zip; below train and test or val "
     "where they are there",
     {},
     {},
     kTrainValidationTest,
     0,
     3,
     true,
     kImageNetMean,
     kImageNetStd},
    {"webdataset",
     "tar archives of NAME.png or NAME.jpg with NAME.cls, the number of the class, as `retort sample` writes them",
     {},
     {},
     {},
     0,
     3,
     true,
     kHalf,
     kHalf},
};

// Returns one value a channel.
std::vector<double> Spread(const std::vector<double>& own, std::span<const double> published, std::int64_t channels) {
  std::vector<double> values = own.empty() ? std::vector<double>(published.begin(), published.end()) : own;
  if (values.empty() || channels <= 0 || static_cast<std::int64_t>(values.size()) == channels) return values;
  const double average = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  return std::vector<double>(static_cast<std::size_t>(channels), average);
}

}  // namespace

std::span<const DataReader> ListDataReaders() { return kReaders; }

const DataReader* FindDataReader(std::string_view name) {
  for (const DataReader& reader : kReaders)
    if (reader.name == name) return &reader;
  return nullptr;
}

std::vector<std::string> ListDataReaderNames() {
  std::vector<std::string> names;
  for (const DataReader& reader : kReaders) names.emplace_back(reader.name);
  return names;
}

PixelScale FindPixelScale(const DataSpec& data) {
  const DataReader* reader = FindDataReader(data.reader);
  const std::span<const double> mean = reader == nullptr ? std::span<const double>(kHalf) : reader->mean;
  const std::span<const double> std = reader == nullptr ? std::span<const double>(kHalf) : reader->std;
  return {Spread(data.mean, mean, data.channels), Spread(data.std, std, data.channels)};
}

Status CheckPreprocessing(const Preprocessing& p) {
  if (!(p.crop_top >= 0 && p.crop_top < 1))
    return UsageError("crop_top is the fraction of rows taken off the top, at least 0 and below 1");
  if ((p.height > 0) != (p.width > 0)) return UsageError("size is [height, width], both above 0");
  if (p.height > 0 && p.resize > 0)
    return UsageError("resize makes the short side so long and size makes both sides so; give one of them");
  for (const std::int64_t side : {p.resize, p.height, p.width, p.crop}) {
    if (side < 0 || side > kMaxPreparedSide) {
      return UsageError("a side of prepared pictures is at most " + std::to_string(kMaxPreparedSide) + " pixels, not " +
                        std::to_string(side));
    }
  }
  const std::int64_t least = p.resize > 0 ? p.resize : std::min(p.height, p.width);
  if (p.crop > 0 && least > 0 && p.crop > least) {
    return UsageError("crop = " + std::to_string(p.crop) + " is larger than the pictures that are cut, of " +
                      std::to_string(least) + " pixels");
  }
  if (p.resize > 0 && p.crop == 0) {
    return UsageError("pictures with a short side of " + std::to_string(p.resize) +
                      " differ in the long one; give crop as well, or size = [height, width] instead of resize");
  }
  return {};
}

PreparedSides ComputePreparedSides(const Preprocessing& p) {
  return p.crop > 0 ? PreparedSides{p.crop, p.crop} : PreparedSides{p.height, p.width};
}

}  // namespace retort
