// torchvision's names of weights, and the files in the cache of torch.hub that they stand for.
#include "storage/weights/published_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "experiments/base/digests.h"

namespace retort::storage {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// A process with these variables.
auto Variables(std::map<std::string, std::string> variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(PublishedWeights, HubFolderIsTorchs) {
  EXPECT_EQ(FindHubFolder(Variables({{"HOME", "/h"}})), "/h/.cache/torch/hub/checkpoints");
  EXPECT_EQ(FindHubFolder(Variables({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}})), "/x/torch/hub/checkpoints");
  EXPECT_EQ(FindHubFolder(Variables({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}, {"TORCH_HOME", "/t"}})),
            "/t/hub/checkpoints");
  EXPECT_EQ(FindHubFolder(Variables({{"HOME", "/h"}, {"TORCH_HOME", "~/torch"}})), "/h/torch/hub/checkpoints");
  EXPECT_EQ(FindHubFolder(Variables({})), "");
}

TEST(PublishedWeights, FilesHaveTorchvisionsNames) {
  const auto find = Variables({{"TORCH_HOME", "/t"}});
  const std::map<std::string, std::string> published = {
      {"AlexNet_Weights.IMAGENET1K_V1", "alexnet-owt-7be5be79.pth"},
      {"VGG19_BN_Weights.IMAGENET1K_V1", "vgg19_bn-c79401a0.pth"},
      {"ResNet18_Weights.IMAGENET1K_V1", "resnet18-f37072fd.pth"},
      {"ResNet34_Weights.IMAGENET1K_V1", "resnet34-b627a593.pth"},
      {"ResNet50_Weights.IMAGENET1K_V1", "resnet50-0676ba61.pth"},
      {"ResNet50_Weights.IMAGENET1K_V2", "resnet50-11ad3fa6.pth"},
      {"Wide_ResNet50_2_Weights.IMAGENET1K_V1", "wide_resnet50_2-95faca4d.pth"},
      {"Wide_ResNet50_2_Weights.IMAGENET1K_V2", "wide_resnet50_2-9ba9bcbe.pth"},
      {"DenseNet161_Weights.IMAGENET1K_V1", "densenet161-8d451a50.pth"},
      {"MobileNet_V2_Weights.IMAGENET1K_V1", "mobilenet_v2-b0353104.pth"},
      {"MobileNet_V2_Weights.IMAGENET1K_V2", "mobilenet_v2-7ebf99e0.pth"},
      {"ShuffleNet_V2_X1_0_Weights.IMAGENET1K_V1", "shufflenetv2_x1-5666bf0f80.pth"},
      {"GoogLeNet_Weights.IMAGENET1K_V1", "googlenet-1378be20.pth"},
      {"ViT_B_16_Weights.IMAGENET1K_V1", "vit_b_16-c867db91.pth"},
      {"ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1", "vit_b_16_swag-9ac1b537.pth"}};
  for (const auto& [name, file] : published) {
    const Result<PublishedFile> found = FindPublishedFile(name, find);
    ASSERT_TRUE(found.ok()) << name;
    EXPECT_EQ(found->path, "/t/hub/checkpoints/" + file);
  }
}

TEST(PublishedWeights, EveryKnownFileHasItsName) {
  std::set<std::string> files;
  for (const KnownWeights& known : ListKnownWeights()) {
    EXPECT_TRUE(IsPublishedName(known.name)) << known.name;
    EXPECT_TRUE(files.insert(FormatFileName(known)).second) << known.name;
    EXPECT_EQ(FindKnownWeights(known.digest), &known) << known.name;
  }
}

TEST(PublishedWeights, PathsAreNoNames) {
  for (const char* path : {"weights.pth", "./ResNet18_Weights.IMAGENET1K_V1", "a/ResNet18_Weights.IMAGENET1K_V1",
                           "ResNet18_Weights.", "ResNet18_Weights", "ResNet18_Weights.V1.pth", "", "_.Weights"})
    EXPECT_FALSE(IsPublishedName(path)) << path;
}

TEST(PublishedWeights, UnknownNamesAreToldTheNearest) {
  const Result<PublishedFile> found =
      FindPublishedFile("MobileNetV2_Weights.IMAGENET1K_V1", Variables({{"HOME", "/h"}}));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::usage);
  EXPECT_THAT(found.status().choices(), Contains("MobileNet_V2_Weights.IMAGENET1K_V1"));
  EXPECT_THAT(found.status().message(), HasSubstr("MobileNet_V2_Weights.IMAGENET1K_V1"));
}

TEST(PublishedWeights, NobodySaysWhereTheCacheIs) {
  const Result<PublishedFile> found = FindPublishedFile("ResNet18_Weights.IMAGENET1K_V1", Variables({}));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::environment);
  EXPECT_THAT(found.status().message(), HasSubstr("set TORCH_HOME"));
}

TEST(PublishedWeights, AbsentFileIsToldWithItsPlace) {
  const Result<PublishedFile> found =
      FindPublishedFile("ResNet18_Weights.IMAGENET1K_V1", Variables({{"TORCH_HOME", "/t"}}));
  ASSERT_TRUE(found.ok());
  const Status absent = ReportAbsent(*found);
  EXPECT_EQ(absent.code(), StatusCode::environment);
  EXPECT_THAT(absent.message(), HasSubstr("https://download.pytorch.org/models/resnet18-f37072fd.pth"));
  EXPECT_THAT(absent.message(), HasSubstr("into /t/hub/checkpoints."));
}

TEST(PublishedWeights, OtherBytesAreRefusedWithBothDigests) {
  const std::string digest = ComputeSha256Hex("the bytes of the file");
  const KnownWeights right{"A_Weights.V1", "a", std::string_view(digest).substr(0, 8), 0, 0, 0, 0};
  EXPECT_TRUE(CheckPublished({&right, "/t/a.pth"}, digest).ok());
  const std::string other = ComputeSha256Hex("other bytes");
  const Status refused = CheckPublished({&right, "/t/a.pth"}, other);
  EXPECT_EQ(refused.code(), StatusCode::refused);
  EXPECT_THAT(refused.message(), HasSubstr(other));
  EXPECT_THAT(refused.message(), HasSubstr("begins with " + digest.substr(0, 8)));
}

}  // namespace
}  // namespace retort::storage
