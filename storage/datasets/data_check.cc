#include "storage/datasets/data_check.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "experiments/base/digests.h"
#include "storage/datasets/readers.h"
#include "storage/files/env.h"
#include "storage/images/image_scan.h"

namespace retort::storage {
namespace {

constexpr KnownFile kKnown[] = {
    {"idx", "MNIST", "train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"},
    {"idx", "MNIST", "train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"},
    {"idx", "MNIST", "t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"},
    {"idx", "MNIST", "t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"},
    {"idx", "Fashion-MNIST", "train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"},
    {"idx", "Fashion-MNIST", "train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"},
    {"idx", "Fashion-MNIST", "t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"},
    {"idx", "Fashion-MNIST", "t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"},
    {"idx", "KMNIST", "train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"},
    {"idx", "KMNIST", "train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"},
    {"idx", "KMNIST", "t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"},
    {"idx", "KMNIST", "t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"},
    {"cifar10", "CIFAR-10", "cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a"},
    {"cifar10", "CIFAR-10", "data_batch_1", "c99cafc152244af753f735de768cd75f"},
    {"cifar10", "CIFAR-10", "data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"},
    {"cifar10", "CIFAR-10", "data_batch_3", "54ebc095f3ab1f0389bbae665268c751"},
    {"cifar10", "CIFAR-10", "data_batch_4", "634d18415352ddfa80567beed471001a"},
    {"cifar10", "CIFAR-10", "data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"},
    {"cifar10", "CIFAR-10", "test_batch", "40351d587109b95175f43aff81a1287e"},
    {"cifar100", "CIFAR-100", "cifar-100-python.tar.gz", "eb9058c3a382ffc7106e4002c42a8d85"},
    {"cifar100", "CIFAR-100", "train", "16019d7e3df5f24257cddd939b257f8d"},
    {"cifar100", "CIFAR-100", "test", "f0ef6b0ae62326f3e7ffdfab6717acfc"},
    {"svhn", "SVHN", "train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373"},
    {"svhn", "SVHN", "test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3"},
    {"svhn", "SVHN", "extra_32x32.mat", "a93ce644f1a588dc4d68dda5feec44a7"},
    {"medmnist", "PathMNIST", "pathmnist.npz", "a8b06965200029087d5bd730944a56c1"},
    {"celeba", "CelebA", "img_align_celeba.zip", "00d2c5bc6d35e252742224ab0c1e8fcb"},
    {"celeba", "CelebA", "list_attr_celeba.txt", "75e246fa4810816ffd6ee81facbd244c"},
    {"celeba", "CelebA", "list_eval_partition.txt", "d32c9cbf5e040fd4025c592c306e6668"},
    {"imagenet", "ILSVRC2012", "ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"},
    {"imagenet", "ILSVRC2012", "ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"},
    {"imagenet", "ILSVRC2012", "ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"},
};

// Lower-case hex of the file; empty when it cannot be read whole.
std::string ComputeMd5(const InputFile& file) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_md5(), nullptr) != 1) return "";
  for (std::uint64_t at = 0; at < file.size();) {
    const std::uint64_t count = std::min<std::uint64_t>(file.size() - at, std::uint64_t{1} << 22);
    const Result<std::string> piece = ReadBytes(file, at, count);
    if (!piece.ok() || EVP_DigestUpdate(context.get(), piece->data(), piece->size()) != 1) return "";
    at += count;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned size = 0;
  if (EVP_DigestFinal_ex(context.get(), raw.data(), &size) != 1) return "";
  return FormatHex({reinterpret_cast<const char*>(raw.data()), size});
}

// Of the file at `path`, unless its name is that of no known one.
void Compare(Env& env, const std::vector<KnownFile>& known, const std::string& path, std::vector<FoundFile>& found) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (std::none_of(known.begin(), known.end(), [&name](const KnownFile& file) { return file.name == name; })) return;
  const auto file = env.OpenInput(path);
  if (!file.ok()) return;
  FoundFile entry{path, (*file)->size(), ComputeMd5(**file), ""};
  for (const KnownFile& publication : known)
    if (publication.name == name && publication.md5 == entry.md5) entry.as_published = publication.set;
  if (!entry.md5.empty()) found.push_back(std::move(entry));
}

void Search(Env& env, const std::vector<KnownFile>& known, const std::string& path, int depth,
            std::vector<FoundFile>& found) {
  const Result<FileStamp> stamp = env.Stamp(path);
  if (!stamp.ok()) return;
  if (!stamp->folder) return Compare(env, known, path, found);
  const Result<std::vector<std::string>> names = env.List(path);
  if (!names.ok() || names->size() > 1000 || depth > 2) return;  // a folder of images
  for (const std::string& name : *names)
    if (!name.starts_with('.')) Search(env, known, path + "/" + name, depth + 1, found);
}

}  // namespace

std::vector<KnownFile> ListKnownFiles(std::string_view reader) {
  std::vector<KnownFile> files;
  for (const KnownFile& file : kKnown)
    if (file.reader == reader) files.push_back(file);
  return files;
}

std::vector<FoundFile> CompareKnownFiles(Env& env, std::string_view reader, const std::string& path) {
  std::vector<FoundFile> found;
  const std::vector<KnownFile> known = ListKnownFiles(reader);
  if (!known.empty()) Search(env, known, path, 0, found);
  return found;
}

namespace {

constexpr std::size_t kMaxReported = 1000;

void CountClasses(const ExampleStore& store, DataReport& report) {
  report.class_counts.assign(static_cast<std::size_t>(store.classes()), 0);
  for (const std::int64_t label : store.labels()) ++report.class_counts[static_cast<std::size_t>(label)];
  report.class_names = store.class_names();
  for (std::size_t i = report.class_names.size(); i < report.class_counts.size(); ++i)
    report.class_names.push_back(std::to_string(i));
}

void CheckImages(const ExampleStore& store, DataReport& report) {
  std::int64_t clipped = 0;
  for (std::int64_t i = 0; i < store.size(); ++i) {
    const Result<std::string> bytes = store.Read(i);
    if (bytes.ok() && IsWideGrey(*bytes) && ComputeClippedShare(store.Where(i), *bytes) > kClippedWarningShare)
      ++clipped;
    const Status whole = bytes.ok() ? CheckImageFile(store.Where(i), *bytes) : bytes.status();
    if (whole.ok()) continue;
    if (report.damaged_in_all++ < kMaxReported) report.damaged.push_back(whole.message());
  }
  if (clipped > 0)
    report.warnings.push_back(std::to_string(clipped) +
                              " pictures of 16-bit grey have more than 1 % of their pixels above 255, where they are "
                              "clipped, as Pillow does; scale them to 8 bits.");
}

}  // namespace

Result<DataReport> CheckData(Env& env, const DataSpec& data, const DigestCache& cache) {
  RETORT_ASSIGN_OR_RETURN(const auto store, OpenExamples(env, data));
  DataReport report;
  report.examples = store->size();
  report.classes = store->classes();
  report.channels = store->channels();
  report.height = store->height();
  report.width = store->width();
  report.encoded = store->encoded();
  report.parts = store->parts();
  report.sources = store->set().sources;
  report.findings = store->set().findings;
  report.warnings = store->set().warnings;
  CountClasses(*store, report);
  if (store->encoded()) CheckImages(*store, report);
  RETORT_ASSIGN_OR_RETURN(report.digests, ComputeDataDigests(env, data, *store, {cache.folder, false}));
  report.known = CompareKnownFiles(env, data.reader, data.path);
  return report;
}

}  // namespace retort::storage
