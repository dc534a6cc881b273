#include "storage/datasets/readers.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "storage/images/image_decoder.h"

namespace retort::storage {
namespace {

using Classes = std::vector<std::pair<std::string, std::int64_t>>;

// Up to the next comma; or in double quotes, where two stand for one.
std::string CsvField(std::string_view text) {
  text = TrimText(text);
  if (!text.starts_with('"')) return std::string(TrimText(text.substr(0, text.find(','))));
  std::string field;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"' && (++i == text.size() || text[i] != '"')) break;
    field += text[i];
  }
  return field;
}

// "INDEX,NAME" a line; a header line without number is passed over.
Result<std::map<std::string, std::int64_t>> ReadClassIndex(const FileTree& tree, const TreeFile& file) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> lines, ReadLines(tree, file));
  std::map<std::string, std::int64_t> numbers;
  bool first = true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = TrimText(lines[i]);
    const std::size_t comma = line.find(',');
    if (line.empty()) continue;
    const auto number = ParseWholeNumber(TrimText(line.substr(0, comma)));
    const bool head = std::exchange(first, false);
    if (head && !number) continue;
    if (comma == std::string::npos || !number || *number > 65535)
      return LineError(tree.Where(file), i + 1, "\"" + lines[i] + "\" is not INDEX,NAME");
    const std::string name = CsvField(line.substr(comma + 1));
    if (!numbers.emplace(name, *number).second)
      return LineError(tree.Where(file), i + 1, "the class \"" + name + "\" stands twice");
  }
  return numbers;
}

}  // namespace

bool IsImageName(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  std::string ending(name.substr(dot + 1));
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == "jpg" || ending == "jpeg" || ending == "jfif" || ending == "jpe" || ending == "png";
}

std::optional<std::string> FindFolderWith(const FileTree& tree, std::string_view tail) {
  for (const TreeFile& file : tree.files()) {
    if (!file.name.ends_with(tail)) continue;
    const std::size_t begin = file.name.size() - tail.size();
    if (begin == 0 || file.name[begin - 1] == '/') return file.name.substr(0, begin);
  }
  return std::nullopt;
}

void EndPart(ExampleSet& set, const std::string& name) {
  const std::int64_t begin = set.parts.empty() ? 0 : set.parts.back().end;
  const auto end = static_cast<std::int64_t>(set.labels.size());
  if (end > begin) set.parts.push_back({name, begin, end});
}

Status MissingFile(const DataSpec& data, const std::string& where, const std::string& what) {
  return EnvironmentError("data." + data.name + ": " + where + " is missing; " + what);
}

std::vector<std::string> ListClassFolders(const FileTree& tree, const std::string& prefix) {
  std::vector<std::string> names;
  for (const TreeFile* file : tree.Below(prefix)) {
    const std::size_t slash = file->name.find('/', prefix.size());
    if (slash == std::string::npos || !IsImageName(file->name)) continue;
    const std::string_view name = std::string_view(file->name).substr(prefix.size(), slash - prefix.size());
    if (names.empty() || names.back() != name) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> ListFoldersBelow(const FileTree& tree, const std::string& prefix) {
  std::set<std::string> names;
  const auto take = [&](std::string_view name, bool folder) {
    const std::size_t slash = name.find('/', prefix.size());
    if (slash == std::string_view::npos && !folder) return;
    names.emplace(name.substr(prefix.size(), slash - prefix.size()));
  };
  for (const TreeFile* file : tree.Below(prefix)) take(file->name, false);
  auto at = std::lower_bound(tree.folders().begin(), tree.folders().end(), prefix);
  for (; at != tree.folders().end() && at->starts_with(prefix); ++at) take(*at, true);
  names.erase("");
  return {names.begin(), names.end()};
}

namespace {

std::vector<std::string> NamesBelow(const FileTree& tree, const std::vector<std::string>& prefixes,
                                    IsClassName empty_counts) {
  std::set<std::string> names;
  for (const std::string& prefix : prefixes) {
    for (std::string& name : ListClassFolders(tree, prefix)) names.insert(std::move(name));
    for (std::string& name : ListFoldersBelow(tree, prefix))
      if (empty_counts == nullptr || empty_counts(name)) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

}  // namespace

Result<Classes> NumberClasses(const FileTree& tree, const std::string& folder, const std::vector<std::string>& prefixes,
                              ExampleSet& set, IsClassName empty_counts) {
  Classes classes;
  const TreeFile* index = tree.Find(folder + "class-index.csv");
  const IsClassName none = [](std::string_view) { return false; };
  const std::vector<std::string> names = NamesBelow(tree, prefixes, index == nullptr ? empty_counts : none);
  if (index == nullptr) {
    for (const std::string& name : names) classes.emplace_back(name, static_cast<std::int64_t>(classes.size()));
    set.class_names = names;
  } else {
    RETORT_ASSIGN_OR_RETURN(const auto numbers, ReadClassIndex(tree, *index));
    for (const auto& [name, number] : numbers) {
      if (static_cast<std::size_t>(number) >= set.class_names.size())
        set.class_names.resize(static_cast<std::size_t>(number) + 1);
      set.class_names[static_cast<std::size_t>(number)] = name;
    }
    for (const std::string& name : names) {
      const auto found = numbers.find(name);
      if (found == numbers.end())
        return DamageError(tree.Where(*index) + " has no line for the class \"" + name + "\"");
      classes.emplace_back(name, found->second);
    }
  }
  set.classes = static_cast<std::int64_t>(set.class_names.size());
  return classes;
}

void WarnAboutEmptyClasses(const Classes& classes, ExampleSet& set) {
  constexpr std::size_t kMaxNamed = 10;
  const std::set<std::int64_t> held(set.labels.begin(), set.labels.end());
  std::string names;
  std::size_t empty = 0;
  for (const auto& [name, number] : classes) {
    if (held.contains(number) || ++empty > kMaxNamed) continue;
    names += (names.empty() ? "" : ", ") + name + " (number " + std::to_string(number) + ")";
  }
  if (empty == 0) return;
  set.warnings.push_back(std::to_string(empty) + " of " + std::to_string(classes.size()) +
                         " classes hold no picture that is read: " + names + (empty > kMaxNamed ? ", ..." : "") +
                         ". Their folders are numbered as those of the others; take out what is no class, or number "
                         "the classes in class-index.csv.");
}

Status AddClassFolders(const FileTree& tree, const std::string& prefix, const Classes& classes, ExampleSet& set) {
  std::map<std::string_view, std::int64_t> numbers;
  for (const auto& [name, number] : classes) numbers.emplace(name, number);
  std::size_t outside = 0;
  for (const TreeFile* file : tree.Below(prefix)) {
    if (!IsImageName(file->name)) continue;
    const std::size_t slash = file->name.find('/', prefix.size());
    if (slash == std::string::npos) {
      ++outside;
      continue;
    }
    const auto found = numbers.find(std::string_view(file->name).substr(prefix.size(), slash - prefix.size()));
    if (found == numbers.end()) return DamageError(tree.Where(*file) + ": its folder is none of the classes");
    set.pictures.push_back(*file);
    set.labels.push_back(found->second);
  }
  if (outside > 0)
    set.findings.push_back(std::to_string(outside) + " pictures lie directly in " + tree.path() + "/" + prefix +
                           " and not in the folder of a class; they are left out.");
  return {};
}

bool IsWnid(std::string_view name) {
  return name.size() == 9 && name[0] == 'n' && name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

constexpr std::uint64_t kMaxText = std::uint64_t{512} << 20;
constexpr std::int64_t kMaxLines = 20'000'000;

Result<std::vector<std::string>> ReadLines(const FileTree& tree, const TreeFile& file) {
  if (file.size > kMaxText) return Refused(tree.Where(file) + " is a text of more than 512 MiB");
  RETORT_ASSIGN_OR_RETURN(const std::string text, tree.Read(file));
  if (std::count(text.begin(), text.end(), '\n') > kMaxLines)  // an empty one takes 32 times its byte
    return Refused(tree.Where(file) + " is a text of more than 20 million lines");
  return SplitLines(tree.Where(file), text);
}

Result<std::vector<std::string>> SplitLines(const std::string& where, std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return Refused(where + " is a text in UTF-16; save it as UTF-8");
  if (text.find('\0') != std::string_view::npos)
    return Refused(where + " holds zero bytes, as a text in UTF-16 does; save it as UTF-8");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const char line_end = text.find('\n') == std::string_view::npos ? '\r' : '\n';
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(line_end, begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    while (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string_view> SplitWords(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\r";
  for (std::size_t begin = line.find_first_not_of(kBlank); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlank, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlank, end);
  }
  return words;
}

std::string_view TrimText(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

Status LineError(const std::string& where, std::size_t line, const std::string& what) {
  return DamageError(where + ": line " + std::to_string(line) + ": " + what);
}

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

double ComputeClippedShare(const std::string& name, std::string_view bytes) {
  const Result<DecodedImage> image = DecodeImage(name, bytes);
  if (!image.ok()) return 0;
  return static_cast<double>(image->clipped) / static_cast<double>(image->whole.height * image->whole.width);
}

}  // namespace retort::storage
