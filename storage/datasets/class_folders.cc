#include "storage/datasets/class_folders.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "storage/datasets/text_lines.h"

namespace retort::storage {
namespace {

using Classes = std::vector<std::pair<std::string, std::int64_t>>;

// Up to the next comma; or in double quotes, where two stand for one.
std::string CsvField(std::string_view text) {
  text = Trimmed(text);
  if (!text.starts_with('"')) return std::string(Trimmed(text.substr(0, text.find(','))));
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
    const std::string_view line = Trimmed(lines[i]);
    const std::size_t comma = line.find(',');
    if (line.empty()) continue;
    const auto number = ParseWholeNumber(Trimmed(line.substr(0, comma)));
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

std::vector<std::string> ClassFolders(const FileTree& tree, const std::string& prefix) {
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

std::vector<std::string> FoldersBelow(const FileTree& tree, const std::string& prefix) {
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
    for (std::string& name : ClassFolders(tree, prefix)) names.insert(std::move(name));
    for (std::string& name : FoldersBelow(tree, prefix))
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

}  // namespace retort::storage
