// Files of data sets are any bytes: they are read, or refused with a reason. The first byte chooses the format.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "experiments/methods/data_spec.h"
#include "storage/datasets/data_inspection.h"
#include "storage/formats/mat_file.h"
#include "storage/formats/pickle.h"
#include "storage/images/image_scan.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/packed_zeros.h"

namespace retort::testing {
namespace {

using storage::ExampleStore;

std::string ReadFixture(const std::string& name) {
  std::ifstream file(std::string(RETORT_SOURCE_DIR) + "/tests/fixtures/data/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Format {
  char choice;
  const char* reader;  // of the data set at `path`; empty: the bytes themselves
  const char* path;
  const char* folder;  // of the fixtures, that lies around the file; empty: there is nothing else
  const char* file;    // the one that is any bytes
  const char* target = "";
  const char* version = "";
};
constexpr Format kFormats[] = {{'t', "pictures", "set.tar", "", "pictures.tar"},
                               {'z', "tiny-imagenet", "set.zip", "", "tiny-imagenet-200.zip"},
                               {'g', "cifar10", "set.tar.gz", "", "cifar10-packed/cifar-10-python.tar.gz"},
                               {'b', "cifar10", "set", "cifar10-binary", "data_batch_3.bin"},
                               {'f', "cifar100", "set", "cifar100-python", "train", "fine"},
                               {'v', "svhn", "set", "svhn", "train_32x32.mat"},
                               {'n', "medmnist", "pathmnist.npz", "", "pathmnist.npz"},
                               {'N', "npz", "samples.npz", "", "samples.npz"},
                               {'w', "webdataset", "set", "shards", "set-000000.tar"},
                               {'a', "celeba", "set", "celeba", "list_attr_celeba.txt", "hair"},
                               {'e', "celeba", "set", "celeba", "list_eval_partition.txt", "gender"},
                               {'o', "covidx", "set", "covidx", "labels/train_COVIDx9B.txt", "", "9B"},
                               {'r', "imagenet", "set", "imagenet", "ILSVRC2012_img_train.tar"},
                               {'l', "imagenet", "set", "imagenet", "ILSVRC2012_img_val.tar"},
                               {'d', "imagenet", "set", "imagenet", "meta.mat"},
                               {'u', "imagenet", "set", "imagenet", "ILSVRC2012_validation_ground_truth.txt"},
                               {'x', "idx", "set", "idx", "t10k-images-idx3-ubyte"},
                               {'y', "idx", "set", "idx", "t10k-labels-idx1-ubyte"},
                               {'X', "idx", "set", "idx-packed", "t10k-images-idx3-ubyte.gz"},
                               {'Y', "idx", "set", "idx-packed", "t10k-labels-idx1-ubyte.gz"},
                               {'m', "", "mat", "", "svhn/test_32x32.mat"},
                               {'s', "", "mat", "", "imagenet/meta.mat"},
                               {'p', "", "pickle", "", "cifar100-python/train"},
                               {'j', "", "picture", "", "covidx/test/c.jpeg"},
                               {'i', "", "picture", "", "covidx/train/a.png"}};

std::string MakeSeed(const Format& format) {
  const std::string folder = format.folder;
  return ReadFixture(folder.empty() ? format.file : folder + "/" + format.file);
}

// The data set as it should be, to which one file is not.
std::unique_ptr<FaultInjectionEnv> Surroundings(const Format& format) {
  auto env = std::make_unique<FaultInjectionEnv>();
  const std::string folder = format.path;
  RETORT_CHECK(env->CreateDirectories(folder).ok());
  const std::filesystem::path root = std::string(RETORT_SOURCE_DIR) + "/tests/fixtures/data/" + format.folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string inside = std::filesystem::relative(entry.path(), root).string();
    if (entry.is_directory())
      RETORT_CHECK(env->CreateDirectories(folder + "/" + inside).ok());
    else
      env->Put(folder + "/" + inside, ReadFixture(std::string(format.folder) + "/" + inside));
  }
  return env;
}

// Every label is a class, and every example can be asked for.
void CheckStore(const ExampleStore& store) {
  RETORT_CHECK(store.size() > 0);
  for (const std::int64_t label : store.labels()) RETORT_CHECK(label >= 0 && label < store.classes());
  if (store.encoded()) {
    for (std::int64_t i = 0; i < store.size(); ++i)
      if (const auto bytes = store.Read(i); !bytes.ok()) CheckRefusal(bytes.status());
  } else {
    const std::int64_t size = store.size() * store.channels() * store.height() * store.width();
    RETORT_CHECK(static_cast<std::int64_t>(store.pixels().size()) == size);
  }
}

Result<std::unique_ptr<ExampleStore>> Opened(const Format& format, const std::string& bytes) {
  static std::map<char, std::unique_ptr<FaultInjectionEnv>> kept;
  const bool alone = std::string_view(format.path) != "set";
  auto& env = kept[format.choice];
  if (env == nullptr) env = alone ? std::make_unique<FaultInjectionEnv>() : Surroundings(format);
  env->Put(alone ? format.path : std::string(format.path) + "/" + format.file, bytes);
  DataSpec data;
  data.name = "d";
  data.reader = format.reader;
  data.target = format.target;
  data.version = format.version;
  data.path = format.path;
  data.classes = FindDataReader(data.reader)->classes;
  return storage::OpenExamples(*env, data);
}

void OpenAs(const Format& format, const std::string& bytes) {
  const auto store = Opened(format, bytes);
  if (store.ok()) return CheckStore(**store);
  RETORT_CHECK(store.status().message().size() > 10);  // also that a file in an archive is missing
}

void Parse(const std::string& kind, const std::string& bytes) {
  Status status;
  if (kind == "mat") status = storage::ParseMat("f", bytes).status();
  if (kind == "pickle") status = storage::ParseNumpyPickle("f", bytes).status();
  if (kind == "picture") status = storage::CheckImageFile("f", bytes);
  if (!status.ok()) CheckRefusal(status);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const Format& format : kFormats) {
    const std::string seed = MakeSeed(format);
    // Mutations of what is refused as it stands would not come far.
    RETORT_CHECK(std::string_view(format.reader).empty() || Opened(format, seed).ok());
    seeds.push_back(format.choice + seed);
  }
  // What unpacks to a thousand times its size, and what says more than its bytes can hold.
  std::uint32_t checksum = 0;
  seeds.push_back("X" + IdxOfZeros(1));
  seeds.push_back("n" + NpzOfZeros(90));
  seeds.push_back("g" + PackedZeros(Packing::gzip, std::string(512, 'x'), 1, checksum));
  return seeds;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort::testing;
  const std::string bytes(Bytes(data, size));
  for (const Format& format : kFormats) {
    if (bytes.empty() || bytes[0] != format.choice) continue;
    if (std::string_view(format.reader).empty())
      Parse(format.path, bytes.substr(1));
    else
      OpenAs(format, bytes.substr(1));
  }
  return 0;
}
