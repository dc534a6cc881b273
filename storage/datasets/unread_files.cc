#include "storage/datasets/unread_files.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "storage/datasets/class_folders.h"
#include "storage/images/image_decoder.h"

namespace retort::storage {
namespace {

constexpr std::size_t kMaxKinds = 8;

// ".webp" of "a/B.WebP"; "without ending" where there is none.
std::string FileKind(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || name.size() - dot > 12) return "without ending";
  std::string kind(name.substr(dot));
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return kind;
}

bool IsImageKind(const std::string& kind) {
  static const std::set<std::string> kKinds = {
      ".webp",  ".bmp", ".dib", ".tif", ".tiff", ".gif", ".heic", ".heif", ".avif", ".jp2",  ".j2k", ".jxl",
      ".jxr",   ".ppm", ".pgm", ".pbm", ".pnm",  ".tga", ".ico",  ".svg",  ".psd",  ".exr",  ".hdr", ".dcm",
      ".dicom", ".dng", ".cr2", ".nef", ".arw",  ".raw", ".pcx",  ".sgi",  ".eps",  ".apng", ".jng"};
  return kKinds.contains(kind);
}

struct Unread {
  std::map<std::string, std::size_t> pictures, others;  // by kind
};

Unread CountUnread(const FileTree& tree) {
  Unread unread;
  for (const TreeFile& file : tree.files()) {
    if (IsImageName(file.name) || file.name.ends_with("class-index.csv")) continue;
    const std::string kind = FileKind(file.name);
    ++(IsImageKind(kind) ? unread.pictures : unread.others)[kind];
  }
  return unread;
}

// "6 .webp, 5 .bmp": the most frequent first.
std::string ByKind(const std::map<std::string, std::size_t>& counts) {
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMaxKinds); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(sorted[i].second) + " " + sorted[i].first;
  return text + (sorted.size() > kMaxKinds ? ", ..." : "");
}

std::size_t Sum(const std::map<std::string, std::size_t>& counts) {
  std::size_t sum = 0;
  for (const auto& [kind, count] : counts) sum += count;
  return sum;
}

std::string FormatUnreadImages(const std::map<std::string, std::size_t>& counts) {
  const std::size_t sum = Sum(counts);
  if (sum == 0) return "";
  return std::to_string(sum) + (sum == 1 ? " picture is" : " pictures are") + " of kinds that are not read (" +
         ByKind(counts) + ")";
}

}  // namespace

bool IsUnreadImageName(std::string_view name) { return IsImageKind(FileKind(name)); }

std::string DescribeUnreadImages(const FileTree& tree) { return FormatUnreadImages(CountUnread(tree).pictures); }

void WarnAboutUnreadImages(const FileTree& tree, ExampleSet& set) {
  const std::string text = DescribeUnreadImages(tree);
  if (text.empty()) return;
  set.warnings.push_back(text + " and left out. JPEG and PNG are read; `mogrify -format png FILES` converts others.");
}

void ReportOtherFiles(const FileTree& tree, ExampleSet& set) {
  const Unread unread = CountUnread(tree);
  if (unread.others.empty()) return;
  set.findings.push_back("Files that are no pictures are left out: " + ByKind(unread.others) + ".");
}

bool IsWideGrey(std::string_view bytes) {
  return bytes.starts_with("\x89PNG\r\n\x1a\n") && bytes.size() > 25 && bytes[24] == 16 && bytes[25] == 0;
}

double ClippedShare(const std::string& name, std::string_view bytes) {
  const Result<DecodedImage> image = DecodeImage(name, bytes);
  if (!image.ok()) return 0;
  return static_cast<double>(image->clipped) / static_cast<double>(image->whole.height * image->whole.width);
}

}  // namespace retort::storage
