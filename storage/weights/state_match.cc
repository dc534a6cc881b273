#include "storage/weights/state_match.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace retort::storage {
namespace {

// ---- What the names in a file of weights owe to the wrappers that a network was trained in

// How the names of a file become those of a network.
struct Naming {
  std::string prefix;  // taken off every name: "module._orig_mod."
  bool inner = false;  // then "_orig_mod.", "module." and the like also from within: "backbone._orig_mod.conv1.weight"
  std::string path;    // then this: "model."
  [[nodiscard]] std::string Of(const std::string& saved) const;
};

// How many tensors of the network would be missing under these names.
using CountMissing = std::function<std::size_t(const std::vector<std::string>& names)>;

constexpr std::array<std::string_view, 4> kWrappers = {"module.", "_orig_mod.", "_fsdp_wrapped_module.",
                                                       "_checkpoint_wrapped_module."};

bool AllBeginWith(const std::vector<std::string>& names, const std::string& prefix) {
  return !names.empty() && std::all_of(names.begin(), names.end(), [&prefix](const std::string& name) {
    return name.starts_with(prefix) && name.size() > prefix.size();
  });
}

// Without wrappers behind the first part of the name.
std::string WithoutInner(std::string name) {
  for (const std::string_view wrapper : kWrappers) {
    const std::string inner = "." + std::string(wrapper);
    for (std::size_t at = name.find(inner); at != std::string::npos; at = name.find(inner, at))
      name.erase(at + 1, wrapper.size());
  }
  return name;
}

std::vector<std::string> Under(const Naming& naming, const std::vector<std::string>& saved) {
  std::vector<std::string> names;
  for (const std::string& name : saved) names.push_back(naming.Of(name));
  return names;
}

bool Distinct(const std::vector<std::string>& names) {
  return std::set<std::string_view>(names.begin(), names.end()).size() == names.size();
}

std::string Naming::Of(const std::string& saved) const {
  std::string name = saved.starts_with(prefix) ? saved.substr(prefix.size()) : saved;
  if (inner) name = WithoutInner(std::move(name));
  return name.starts_with(path) ? name.substr(path.size()) : name;
}

// Counters that averages and wrappers keep beside the parameters: "n_averaged" of torch's AveragedModel, whatever that
// is wrapped in.
bool IsBookkeeping(const TensorBlob& blob) {
  constexpr std::array<std::string_view, 6> kNames = {"n_averaged", "num_updates", "decay",
                                                      "initted",    "step",        "updates"};
  std::int64_t elements = 1;
  for (const std::int64_t extent : blob.shape) elements *= extent;
  const std::string_view name = std::string_view(blob.name).substr(blob.name.rfind('.') + 1);
  return elements == 1 && std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// "module." and "_orig_mod.", as often as every name has them.
std::string WrapperPrefix(const std::vector<std::string>& names) {
  std::string prefix;
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view word : kWrappers) {
      const std::string longer = prefix + std::string(word);
      if (!AllBeginWith(names, longer)) continue;
      prefix = longer;
      found = true;
    }
  }
  return prefix;
}

// The naming under which nothing is missing, the simplest first; else the prefix alone. `own`: the network has names
// that begin as wrappers do, and keeps them.
Naming FindNaming(const std::vector<std::string>& saved, bool own, const CountMissing& missing) {
  const Naming plain{own ? "" : WrapperPrefix(saved), false, ""};
  if (missing(Under(plain, saved)) == 0) return plain;
  Naming naming = plain;
  naming.inner = true;
  std::vector<std::string> names = Under(naming, saved);
  if (!Distinct(names)) return plain;
  while (missing(names) != 0) {
    const std::size_t dot = names.empty() ? std::string::npos : names.front().find('.');
    if (dot == std::string::npos || !AllBeginWith(names, names.front().substr(0, dot + 1))) return plain;
    naming.path += names.front().substr(0, dot + 1);
    names = Under(naming, saved);
  }
  return naming;
}

// Leading paths ("ema_model.") below which each a whole network lies, beside other names.
std::vector<std::string> FindWholeParts(const std::vector<std::string>& saved, const CountMissing& missing) {
  std::set<std::string> paths;
  for (const std::string& name : saved)
    for (std::size_t dot = name.find('.'), depth = 0; dot != std::string::npos && depth < 3;
         dot = name.find('.', dot + 1), ++depth)
      paths.insert(name.substr(0, dot + 1));
  std::vector<std::string> whole;
  for (const std::string& path : paths) {
    if (whole.size() == 4 || paths.size() > 1000) break;
    std::vector<std::string> below;
    for (const std::string& name : saved)
      if (name.starts_with(path)) below.push_back(WithoutInner(name.substr(path.size())));
    if (!below.empty() && missing(below) == 0) whole.push_back(path);
  }
  return whole;
}

constexpr std::string_view kCount = "num_batches_tracked";
constexpr std::size_t kShown = 10;

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

std::string Replaced(const std::string& name, std::string_view from, std::string_view to) {
  const std::size_t at = name.find(from);
  if (at == std::string::npos) return "";
  return name.substr(0, at) + std::string(to) + name.substr(at + from.size());
}

// torchvision's (.*denselayer\d+\.(?:norm|relu|conv))\.([12]\.(?:weight|bias|running_mean|running_var)) ->
// \1\2
std::string DenseNetName(const std::string& name) {
  if (name.find("denselayer") == std::string::npos) return "";
  for (const std::string_view kind : {"norm", "relu", "conv"})
    for (const char digit : {'1', '2'}) {
      const std::string old = "." + std::string(kind) + "." + digit + ".";
      std::string renamed = Replaced(name, old, "." + std::string(kind) + digit + ".");
      if (!renamed.empty()) return renamed;
    }
  return "";
}

// Other names under which the network may know a tensor of the file.
std::vector<std::string> OtherNames(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kRenamed = {{{".mlp.linear_1.", ".mlp.0."},
                                                                                      {".mlp.linear_2.", ".mlp.3."},
                                                                                      {".mlp.0.", ".mlp.linear_1."},
                                                                                      {".mlp.3.", ".mlp.linear_2."}}};
  std::vector<std::string> names = {DenseNetName(name)};
  for (const auto& [from, to] : kRenamed) names.push_back(Replaced(name, from, to));
  std::erase(names, "");
  return names;
}

bool IsBatchCounter(const WantedTensor& wanted) {
  return wanted.name.ends_with(kCount) && wanted.dtype == DType::i64 && wanted.shape.empty();
}

// A count of batches that was averaged or rounded with the parameters is a float, and may have an extent of 1.
void MakeCounter(TensorBlob& blob) {
  const bool one = std::all_of(blob.shape.begin(), blob.shape.end(), [](std::int64_t extent) { return extent == 1; });
  float count = 0;
  if (!one || (blob.dtype == DType::f32 && blob.bytes.size() != sizeof count)) return;
  if (blob.dtype == DType::f32) {
    std::memcpy(&count, blob.bytes.data(), sizeof count);
    const std::int64_t whole = count > 0 && count < 0x1p62F ? std::llround(count) : 0;
    blob.bytes.resize(sizeof whole);
    std::memcpy(blob.bytes.data(), &whole, sizeof whole);
    blob.dtype = DType::i64;
  }
  blob.shape.clear();
}

class Matching {
 public:
  explicit Matching(const std::vector<WantedTensor>& wanted) : wanted_(wanted), found_(wanted.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) by_name_.emplace(wanted[i].name, i);
  }

  StateMatch Match(std::vector<TensorBlob> saved) {
    KeyReport& report = match_.report;
    std::erase_if(saved, [&](const TensorBlob& blob) {
      if (by_name_.contains(blob.name) || !IsBookkeeping(blob)) return false;
      report.dropped.push_back(blob.name);
      return true;
    });
    std::vector<std::string> names;
    for (const TensorBlob& blob : saved) names.push_back(blob.name);
    const auto missing = [this](const std::vector<std::string>& tried) { return Missing(tried); };
    // A network whose own names begin so keeps them.
    naming_ = FindNaming(names, !names.empty() && by_name_.contains(names.front()), missing);
    report.prefix = naming_.prefix + naming_.path;
    for (TensorBlob& blob : saved) Place(std::move(blob));
    for (std::size_t i = 0; i < wanted_.size(); ++i) Take(i);
    if (!report.missing.empty()) {
      report.hint = Hint(names, missing);
    } else if (report.misshaped.empty() && !report.unexpected.empty()) {
      report.hint = WithoutExtra(report.unexpected);
    }
    return std::move(match_);
  }

 private:
  void Place(TensorBlob blob) {
    KeyReport& report = match_.report;
    const std::string name = naming_.Of(blob.name);
    std::optional<std::size_t> place = Free(name);
    if (place && !blob.name.ends_with(name)) report.renamed.emplace_back(blob.name, name);
    if (!place) {
      for (const std::string& other : OtherNames(name)) {
        place = Free(other);
        if (place) break;
      }
      if (place) report.renamed.emplace_back(blob.name, wanted_[*place].name);
    }
    if (place) {
      found_[*place] = std::move(blob);
    } else if (IsDroppable(name)) {
      report.dropped.push_back(std::move(blob.name));
    } else {
      report.unexpected.push_back(std::move(blob.name));
    }
  }
  // Required tensors that none of the names gives; batch counters may always be absent.
  std::size_t Missing(const std::vector<std::string>& names) const {
    std::set<std::string> given(names.begin(), names.end());
    for (const std::string& name : names)
      for (std::string& other : OtherNames(name)) given.insert(std::move(other));
    return static_cast<std::size_t>(std::count_if(wanted_.begin(), wanted_.end(), [&given](const WantedTensor& one) {
      return one.required && !one.name.ends_with(kCount) && !given.contains(one.name);
    }));
  }

  // All that the network has is there, and more.
  static std::string WithoutExtra(const std::vector<std::string>& extra) {
    const std::string way =
        " All tensors of the network are there: save it without those that it has not, as torch.save(";
    if (extra.size() > kShown) return way + "model.state_dict(), path) of the network alone.";
    std::string listed;
    for (const std::string& name : extra) listed += (listed.empty() ? "'" : ", '") + name + "'";
    return way + "{k: v for k, v in state.items() if k not in [" + listed + "]}, path).";
  }

  // What to do about a file that holds the network otherwise.
  std::string Hint(const std::vector<std::string>& saved, const CountMissing& missing) const {
    const std::vector<std::string> parts = FindWholeParts(saved, missing);
    if (!parts.empty()) {
      std::string listed;
      for (const std::string& part : parts) listed += (listed.empty() ? "'" : ", '") + part + "'";
      return " The names below " + listed + " fit: save those that are meant alone, as torch.save({k.removeprefix('" +
             parts.front() + "'): v for k, v in state.items() if k.startswith('" + parts.front() + "')}, path).";
    }
    const auto& names = match_.report.missing;
    const bool statistics = std::all_of(names.begin(), names.end(), [](const std::string& name) {
      return name.ends_with("running_mean") || name.ends_with("running_var");
    });
    return statistics
               ? " It holds parameters without the running statistics of batch norms, as an average of parameters "
                 "alone does: copy it into the network and save model.state_dict()."
               : "";
  }
  std::optional<std::size_t> Free(const std::string& name) const {
    const auto at = by_name_.find(name);
    if (at == by_name_.end() || found_[at->second]) return std::nullopt;
    return at->second;
  }
  // Auxiliary heads, of a network that has none.
  bool IsDroppable(const std::string& name) const {
    for (const std::string_view head : {"aux1.", "aux2."}) {
      if (!name.starts_with(head)) continue;
      const auto next = by_name_.lower_bound(std::string(head));
      return next == by_name_.end() || !next->first.starts_with(head);
    }
    return false;
  }

  void Take(std::size_t i) {
    KeyReport& report = match_.report;
    const WantedTensor& wanted = wanted_[i];
    if (!found_[i]) return AddMissing(wanted);
    TensorBlob& blob = *found_[i];
    if (IsBatchCounter(wanted)) MakeCounter(blob);
    if (blob.shape != wanted.shape) {
      report.misshaped.push_back(wanted.name + " is " + ShapeText(blob.shape) + ", not " + ShapeText(wanted.shape));
    } else if (blob.dtype != wanted.dtype) {
      report.misshaped.push_back(
          wanted.name + (wanted.dtype == DType::f32 ? " holds integers, not floats" : " holds floats, not integers"));
    } else {
      ++report.matched;
      blob.name = wanted.name;
      match_.tensors.push_back(std::move(blob));
    }
  }
  void AddMissing(const WantedTensor& wanted) {
    KeyReport& report = match_.report;
    const bool count = IsBatchCounter(wanted);
    if (!wanted.required) {
      report.absent.push_back(wanted.name);
    } else if (count) {
      report.zeroed.push_back(wanted.name);
      match_.tensors.push_back({wanted.name, DType::i64, {}, std::vector<std::uint8_t>(8, 0)});
    } else {
      report.missing.push_back(wanted.name);
    }
  }

  const std::vector<WantedTensor>& wanted_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<std::optional<TensorBlob>> found_;  // per wanted tensor
  Naming naming_;
  StateMatch match_;
};

std::string Names(const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string text = " " + std::to_string(names.size()) + " " + what + ": ";
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", " : "") + names[i];
  return text + (names.size() > kShown ? ", ..." : "") + ".";
}

}  // namespace

StateMatch MatchState(const std::vector<WantedTensor>& wanted, std::vector<TensorBlob> saved) {
  return Matching(wanted).Match(std::move(saved));
}

Status RequireComplete(const KeyReport& report, const std::string& file, const std::string& network) {
  if (report.complete()) return {};
  return Refused(file + ": these are not the weights of the network '" + network + "'." +
                 Names("missing", report.missing) + Names("unexpected", report.unexpected) +
                 Names("of another shape", report.misshaped) + report.hint);
}

std::string FormatKeyReport(const KeyReport& report) {
  std::string text;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(report.missing.size(), "missing");
  add(report.unexpected.size(), "unexpected");
  add(report.misshaped.size(), "of another shape");
  if (text.empty()) text = "all " + std::to_string(report.matched) + " match";
  add(report.renamed.size(), "renamed");
  add(report.zeroed.size(), "batch counters set to 0");
  add(report.absent.size(), "absent and not needed");
  add(report.dropped.size(), "dropped");
  return text;
}

}  // namespace retort::storage
