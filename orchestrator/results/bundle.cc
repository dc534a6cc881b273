#include "orchestrator/results/bundle.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/json.h"
#include "storage/formats/tar_archive.h"

namespace retort::orchestrator {
namespace {

using storage::kTarBlock;

constexpr const char* kListName = "bundle.json";
constexpr const char* kSumsName = "SHA256SUMS";
constexpr std::uint64_t kMaxMemberBytes = std::uint64_t{1} << 33;
constexpr std::string_view kListMark = "{\"bundle\":";

// What bundle.json says.
struct BundleList {
  std::int64_t version = 0;
  std::string program;
  std::vector<std::string> names;
};

std::string EncodeList(const Bundle& bundle) {
  nlohmann::ordered_json json;
  json["bundle"] = kBundleVersion;
  json["written_by"] = bundle.program;
  json["members"] = nlohmann::ordered_json::array();
  for (const BundleMember& member : bundle.members) json["members"].push_back(member.name);
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string SumLine(const BundleMember& member) {
  return ComputeSha256Hex(member.contents) + "  " + member.name + "\n";
}

std::string EncodeSums(const std::vector<BundleMember>& members) {
  std::string text;
  for (const BundleMember& member : members) text += SumLine(member);
  return text;
}

// Walks the archive member by member.
class BundleReader {
 public:
  BundleReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  // The next member, which is to be `expected`. Error: damage, naming it.
  [[nodiscard]] Result<BundleMember> Read(const std::string& expected) {
    const std::string_view rest = bytes_.substr(at_);
    const std::string where = name_ + ": " + expected + ": ";
    if (rest.size() < kTarBlock) return DamageError(where + "is missing: the bundle was cut.");
    if (rest[0] == '\0') return DamageError(where + "is missing: the bundle ends before it.");
    const std::string found(storage::ReadTarText(rest.substr(0, 100)));
    const Result<std::uint64_t> size = storage::ParseTarNumber(rest.substr(124, 12));
    if (!storage::TarChecksumFits(rest) || !size.ok())
      return DamageError(where + "its header was edited, at byte " + std::to_string(at_) + ".");
    if (found != expected)
      return DamageError(name_ + ": " + found + ": stands where " + expected +
                         " belongs: members were added, removed, renamed or moved.");
    if (*size > rest.size() - kTarBlock || *size >= kMaxMemberBytes)
      return DamageError(where + "is cut short: the bundle was cut.");
    BundleMember member{found, std::string(rest.substr(kTarBlock, *size))};
    const std::string whole = storage::EncodeTarMember(member.name, member.contents);
    if (!rest.starts_with(whole)) return DamageError(where + "its header or the padding behind it was edited.");
    at_ += whole.size();
    return member;
  }

  // Error: damage, for anything but the end.
  [[nodiscard]] Status End() const {
    const std::string_view rest = bytes_.substr(at_);
    if (rest == storage::EncodeTarEnd()) return {};
    const std::string found(storage::ReadTarText(rest.substr(0, 100)));
    if (rest.size() >= kTarBlock && !found.empty())
      return DamageError(name_ + ": " + found + ": was added after the last member.");
    return DamageError(name_ + ": the end is not that of a bundle: it was cut, or bytes were added after " + kSumsName +
                       ".");
  }

 private:
  std::string_view bytes_;
  const std::string& name_;
  std::size_t at_ = 0;
};

Result<BundleList> ReadList(const BundleMember& member, const std::string& name) {
  const auto read = [](const nlohmann::json& json) -> Result<BundleList> {
    BundleList list;
    list.version = RequireInteger<std::int64_t>(json.at("bundle"));
    list.program = json.at("written_by").get<std::string>();
    if (list.version == kBundleVersion) json.at("members").get_to(list.names);
    return list;
  };
  Result<BundleList> list = ReadJson<BundleList>(member.contents, "the list of members", read);
  if (!list.ok()) return DamageError(name + ": " + kListName + ": " + list.status().message());
  if (list->version == kBundleVersion) return list;
  return UsageError(name + " is a bundle of version " + std::to_string(list->version) + " (written by retort " +
                    list->program + "), and this retort reads version " + std::to_string(kBundleVersion) +
                    ": use the retort that wrote it.");
}

// Error: damage, naming the first member whose digest is not the one that was written down.
Status CheckSums(const std::vector<BundleMember>& members, std::string_view sums, const std::string& name) {
  for (const BundleMember& member : members) {
    const std::string line = SumLine(member);
    if (!sums.starts_with(line))
      return DamageError(name + ": " + member.name + ": its SHA-256 is " + ComputeSha256Hex(member.contents) +
                         ", and " + kSumsName + " says otherwise: one of them was edited.");
    sums.remove_prefix(line.size());
  }
  if (sums.empty()) return {};
  return DamageError(name + ": " + kSumsName + ": has lines for members that are not there.");
}

}  // namespace

const BundleMember* FindMember(const Bundle& bundle, std::string_view name) {
  const auto found = std::ranges::find(bundle.members, name, &BundleMember::name);
  return found == bundle.members.end() ? nullptr : &*found;
}

std::string EncodeBundle(const Bundle& bundle) {
  std::vector<BundleMember> all = {{kListName, EncodeList(bundle)}};
  all.insert(all.end(), bundle.members.begin(), bundle.members.end());
  all.push_back({kSumsName, EncodeSums(all)});
  std::string bytes;
  for (const BundleMember& member : all) bytes += storage::EncodeTarMember(member.name, member.contents);
  return bytes + storage::EncodeTarEnd();
}

bool LooksLikeBundle(std::string_view head) {
  return storage::LooksLikeTar(head) && storage::ReadTarText(head.substr(0, 100)) == kListName;
}

Result<Bundle> DecodeBundle(std::string_view bytes, const std::string& name) {
  if (!LooksLikeBundle(bytes)) return UsageError(name + " is no bundle: `retort bundle` writes one.");
  BundleReader reader(bytes, name);
  RETORT_ASSIGN_OR_RETURN(BundleMember first, reader.Read(kListName));
  if (!first.contents.starts_with(kListMark))
    return DamageError(name + ": " + kListName + ": does not begin with the version of the bundle.");
  RETORT_ASSIGN_OR_RETURN(const BundleList list, ReadList(first, name));
  std::vector<BundleMember> all = {std::move(first)};
  for (const std::string& member : list.names) {
    RETORT_ASSIGN_OR_RETURN(BundleMember read, reader.Read(member));
    all.push_back(std::move(read));
  }
  RETORT_ASSIGN_OR_RETURN(const BundleMember sums, reader.Read(kSumsName));
  RETORT_RETURN_IF_ERROR(reader.End());
  RETORT_RETURN_IF_ERROR(CheckSums(all, sums.contents, name));
  Bundle bundle{list.program, {}};
  const std::string told = all.front().contents;
  bundle.members.assign(std::make_move_iterator(all.begin() + 1), std::make_move_iterator(all.end()));
  if (told == EncodeList(bundle)) return bundle;
  return DamageError(name + ": " + kListName + ": is not as retort writes it: it was edited.");
}

}  // namespace retort::orchestrator
