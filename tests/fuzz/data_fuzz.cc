// Files of data sets are any bytes: they are read, or refused with a reason. The first byte chooses the format.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "experiments/spec/data_readers.h"
#include "storage/data/example_store.h"
#include "storage/data/mat_file.h"
#include "storage/data/numpy_pickle.h"
#include "storage/data/picture_scan.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/fault_injection_env.h"

namespace retort::testing {
namespace {

using storage::ExampleStore;

std::string ReadFixture(const std::string& name) {
  std::ifstream file(std::string(RETORT_SOURCE_DIR) + "/tests/fixtures/data/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Format {
  char choice;
  const char* reader;  // of the file `path`; empty: the bytes themselves
  const char* path;
  const char* fixture;
};
constexpr Format kFormats[] = {{'t', "pictures", "set.tar", "pictures.tar"},
                               {'z', "tiny-imagenet", "set.zip", "tiny-imagenet-200.zip"},
                               {'g', "cifar10", "set.tar.gz", "cifar10-packed/cifar-10-python.tar.gz"},
                               {'n', "medmnist", "pathmnist.npz", "pathmnist.npz"},
                               {'m', "", "mat", "svhn/test_32x32.mat"},
                               {'s', "", "mat", "imagenet/meta.mat"},
                               {'p', "", "pickle", "cifar100-python/train"},
                               {'j', "", "picture", "covidx/test/c.jpeg"},
                               {'i', "", "picture", "covidx/train/a.png"}};

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

void OpenAs(const Format& format, const std::string& bytes) {
  FaultInjectionEnv env;
  env.Put(format.path, bytes);
  DataSpec data;
  data.name = "d";
  data.reader = format.reader;
  data.path = format.path;
  data.classes = FindDataReader(data.reader)->classes;
  const auto store = storage::OpenExamples(env, data);
  if (store.ok()) return CheckStore(**store);
  RETORT_CHECK(store.status().message().size() > 10);  // also that a file in an archive is missing
}

void Parse(const std::string& kind, const std::string& bytes) {
  Status status;
  if (kind == "mat") status = storage::ParseMat("f", bytes).status();
  if (kind == "pickle") status = storage::ParseNumpyPickle("f", bytes).status();
  if (kind == "picture") status = storage::CheckPicture("f", bytes);
  if (!status.ok()) CheckRefusal(status);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const Format& format : kFormats) seeds.push_back(format.choice + ReadFixture(format.fixture));
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
