#include <algorithm>
#include <charconv>
#include <utility>

#include "storage/data/tree_kinds.h"
#include "storage/input_files.h"

namespace retort::storage {
namespace {

constexpr std::uint64_t kBlock = 512;
constexpr std::uint64_t kMostHeaderText = 1 << 20;  // of a long name or a pax header

std::string_view Text(std::string_view field) {
  return field.substr(0, std::min(field.find('\0'), field.size()));
}

class TarScan {
 public:
  TarScan(const std::string& path, const InputFile& file, std::uint64_t base, std::uint64_t size,
          const std::string& prefix)
      : path_(path), file_(file), begin_(base), at_(base), end_(base + size), prefix_(prefix) {}

  Result<TreeIndex> Run() {
    if (end_ - begin_ < kBlock) return Damaged("is no tar archive: shorter than a header of 512 bytes");
    while (end_ - at_ >= kBlock) {
      RETORT_ASSIGN_OR_RETURN(const std::string header, ReadBytes(file_, at_, kBlock));
      if (header.find_first_not_of('\0') == std::string::npos) return Finish();
      RETORT_RETURN_IF_ERROR(Member(header));
    }
    if (at_ != end_) return Damaged("truncated inside a header");
    return Finish();  // without the two empty blocks, which some writers leave out
  }

 private:
  Status Damaged(const std::string& what) const {
    return DamageError(path_ + ": at byte " + std::to_string(at_) + ": " + what +
                       (at_ == begin_ ? "" : "; fetch the archive again"));
  }
  Status NotWanted(const std::string& name, const std::string& why) const {
    return Refused(path_ + ": at byte " + std::to_string(at_) + ": the name \"" + name + "\" " + why +
                   "; an archive like this is not read");
  }

  Result<TreeIndex> Finish() {
    RETORT_RETURN_IF_ERROR(CheckNames(path_, index_));
    return std::move(index_);
  }

  // Octal digits, or a big-endian number where the first bit is set.
  Result<std::uint64_t> Number(std::string_view field, const char* what) const {
    if ((static_cast<unsigned char>(field[0]) & 0x80U) != 0) {
      std::uint64_t value = 0;
      for (std::size_t i = field.size() - 8; i < field.size(); ++i)
        value = (value << 8) | static_cast<unsigned char>(field[i]);
      for (std::size_t i = 1; i < field.size() - 8; ++i)
        if (field[i] != '\0') return Damaged(std::string("its ") + what + " is beyond any disk");
      return value;
    }
    std::string_view digits = Text(field);
    while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
    while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
    std::uint64_t value = 0;
    if (digits.empty()) return value;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
    if (error != std::errc() || end != digits.data() + digits.size())
      return Damaged(std::string("its ") + what + " is no octal number");
    return value;
  }

  Status CheckSum(const std::string& header) const {
    const Result<std::uint64_t> stored = Number(std::string_view(header).substr(148, 8), "checksum");
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < header.size(); ++i)
      sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
    if (stored.ok() && sum == *stored) return {};
    return at_ == begin_ ? Damaged("is no tar archive (folder, .tar, .tar.gz or .zip are read)")
                         : Damaged("the checksum of a header does not hold");
  }

  Status Member(const std::string& header) {
    RETORT_RETURN_IF_ERROR(CheckSum(header));
    const std::string_view bytes = header;
    RETORT_ASSIGN_OR_RETURN(std::uint64_t size, Number(bytes.substr(124, 12), "size"));
    const char type = header[156];
    const bool described = type == 'L' || type == 'K' || type == 'x' || type == 'g';
    if (!described && pax_size_ > 0) size = pax_size_;
    const std::uint64_t data = at_ + kBlock;
    if (size > end_ - data)
      return Damaged("a member of " + std::to_string(size) + " bytes, and " + std::to_string(end_ - data) +
                     " are left: truncated");
    if (described) {
      RETORT_RETURN_IF_ERROR(Description(type, data, size));
    } else {
      RETORT_RETURN_IF_ERROR(Keep(bytes, type, data, size));
      long_name_.clear();
      pax_size_ = 0;
    }
    const std::uint64_t padded = size % kBlock == 0 ? size : size + (kBlock - size % kBlock);
    at_ = padded > end_ - data ? end_ : data + padded;
    return {};
  }

  Status Keep(std::string_view header, char type, std::uint64_t data, std::uint64_t size) {
    std::string name = long_name_;
    if (name.empty()) {
      name = Text(header.substr(0, 100));
      const std::string_view folder = header.substr(257, 5) == "ustar" ? Text(header.substr(345, 155)) : "";
      if (!folder.empty() && header[263] != ' ') name = std::string(folder) + "/" + name;
    }
    if (const std::string trouble = NameTrouble(name); !trouble.empty()) return NotWanted(name, trouble);
    if (type == '1' || type == '2') return NotWanted(name, "is a link");
    if (type == '3' || type == '4' || type == '6') return NotWanted(name, "is a device or a pipe");
    if (type == 'S') return NotWanted(name, "is a sparse file");
    const bool folder = type == '5' || name.back() == '/';
    if (!folder && type != '0' && type != '\0' && type != '7') return {};  // what describes the archive
    if (index_.files.size() + index_.folders.size() >= kMostFiles)
      return Refused(path_ + " holds more than 20 million files");
    std::string clean = CleanName(name);
    if (clean.empty()) return {};
    if (folder)
      index_.folders.push_back(prefix_ + clean);
    else
      index_.files.push_back({prefix_ + clean, size, data, 0});
    return {};
  }

  Status Description(char type, std::uint64_t data, std::uint64_t size) {
    if (size > kMostHeaderText) return Damaged("a name or header of " + std::to_string(size) + " bytes");
    RETORT_ASSIGN_OR_RETURN(const std::string text, ReadBytes(file_, data, size));
    if (type == 'L') long_name_ = Text(text);
    return type == 'x' ? Pax(text) : Status();
  }

  // "LENGTH KEY=VALUE\n", one after the other.
  Status Pax(std::string_view text) {
    while (!text.empty()) {
      std::size_t length = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
      const auto digits = static_cast<std::size_t>(end - text.data());
      if (error != std::errc() || length > text.size() || length < digits + 3)
        return Damaged("a broken pax header");
      const std::string_view record = text.substr(digits + 1, length - digits - 2);
      const std::size_t equals = record.find('=');
      if (equals == std::string_view::npos) return Damaged("a broken pax header");
      const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
      if (key == "path") long_name_ = value;
      if (key.starts_with("GNU.sparse")) return NotWanted(long_name_, "is a sparse file");
      if (key == "size") {
        const auto [tail, bad] = std::from_chars(value.data(), value.data() + value.size(), pax_size_);
        if (bad != std::errc() || tail != value.data() + value.size()) return Damaged("a broken pax size");
      }
      text.remove_prefix(length);
    }
    return {};
  }

  const std::string& path_;
  const InputFile& file_;
  const std::uint64_t begin_;
  std::uint64_t at_, end_;
  const std::string& prefix_;
  std::string long_name_;       // of the next member
  std::uint64_t pax_size_ = 0;  // of the next member; 0 = its header says it
  TreeIndex index_;
};

// A stretch of another file, which it keeps open.
class Stretch final : public InputFile {
 public:
  Stretch(std::shared_ptr<const InputFile> file, const TreeFile& place, std::string where)
      : file_(std::move(file)), place_(place), where_(std::move(where)) {}
  std::uint64_t size() const override { return place_.size; }
  Status ReadAt(std::uint64_t offset, std::size_t count, char* out) const override {
    if (offset > place_.size || count > place_.size - offset)
      return DamageError(where_ + ": ends at byte " + std::to_string(place_.size) + ", and " +
                         std::to_string(count) + " bytes were to be read at " + std::to_string(offset));
    return file_->ReadAt(place_.offset + offset, count, out);
  }

 private:
  std::shared_ptr<const InputFile> file_;
  TreeFile place_;
  std::string where_;
};

class TarTree final : public FileTree {
 public:
  TarTree(const std::string& path, TreeIndex index, std::shared_ptr<const InputFile> file, std::string stamp)
      : FileTree(path, std::move(index)), file_(std::move(file)), stamp_(std::move(stamp)) {}

  std::string Where(const TreeFile& file) const override {
    return path() + ": " + file.name + " at byte " + std::to_string(file.offset);
  }
  Result<std::string> Read(const TreeFile& file) const override {
    if (file.size > kMostFileBytes) return Refused(Where(file) + " is larger than 4 GiB");
    return ReadBytes(*file_, file.offset, file.size);
  }
  Result<std::unique_ptr<InputFile>> Open(const TreeFile& file) const override {
    return std::unique_ptr<InputFile>(std::make_unique<Stretch>(file_, file, Where(file)));
  }
  std::string Stamp() const override { return stamp_; }

 private:
  std::shared_ptr<const InputFile> file_;
  std::string stamp_;
};

}  // namespace

Result<TreeIndex> IndexTar(const std::string& path, const InputFile& file, std::uint64_t base, std::uint64_t size,
                           const std::string& prefix) {
  RETORT_CHECK(base <= file.size() && size <= file.size() - base);
  return TarScan(path, file, base, size, prefix).Run();
}

// Archives in the archive, one level deep, are opened too: their files appear as NAME/FILE for NAME.tar.
Result<std::shared_ptr<const FileTree>> OpenTarTree(const std::string& path, std::unique_ptr<InputFile> file,
                                                    const std::string& stamp) {
  RETORT_ASSIGN_OR_RETURN(TreeIndex outer, IndexTar(path, *file, 0, file->size(), ""));
  TreeIndex index{{}, std::move(outer.folders)};
  for (const TreeFile& member : outer.files) {
    if (!member.name.ends_with(".tar")) {
      index.files.push_back(member);
      continue;
    }
    const std::string folder = member.name.substr(0, member.name.size() - 4);
    RETORT_ASSIGN_OR_RETURN(TreeIndex inner, IndexTar(path + ": " + member.name, *file, member.offset,
                                                      member.size, folder + "/"));
    index.files.insert(index.files.end(), std::make_move_iterator(inner.files.begin()),
                       std::make_move_iterator(inner.files.end()));
    index.folders.insert(index.folders.end(), std::make_move_iterator(inner.folders.begin()),
                         std::make_move_iterator(inner.folders.end()));
    index.folders.push_back(folder);
    if (index.files.size() + index.folders.size() > kMostFiles)
      return Refused(path + " holds more than 20 million files");
  }
  RETORT_RETURN_IF_ERROR(CheckNames(path, index));
  return std::shared_ptr<const FileTree>(
      std::make_shared<TarTree>(path, std::move(index), std::move(file), stamp));
}

}  // namespace retort::storage
