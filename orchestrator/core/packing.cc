#include "orchestrator/core/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace retort::orchestrator {
namespace {

constexpr double kPatience = 1.5;   // times what trials that take turns would need
constexpr double kDrift = 0.98;     // of what fewer trials did: then it is taken back
constexpr double kMaxTrying = 0.1;  // of the time that is left

}  // namespace

bool Packing::Load::Uniform() const {
  return !members.empty() && std::all_of(members.begin(), members.end(), [this](const Member& member) {
    return member.packable && member.shape == members.front().shape;
  });
}

bool Packing::Load::AllReported() const {
  return std::all_of(members.begin(), members.end(), [](const Member& member) { return member.reported; });
}

void Packing::Load::Count(double now) {
  for (Member& member : members) {
    member.had += Share() * (now - member.counted_at);
    member.counted_at = now;
  }
}

double Packing::ComputeMeanShare(TrialId trial, double now) const {
  const auto place = places_.find(trial);
  if (place == places_.end() || place->second.size() != 1) return 1;
  const Load& load = loads_.at(place->second.front());
  const auto member =
      std::find_if(load.members.begin(), load.members.end(), [trial](const Member& m) { return m.trial == trial; });
  const double lasted = now - member->seated_at;
  if (!member->packable || lasted <= 0) return 1;
  return (member->had + load.Share() * (now - member->counted_at)) / lasted;
}

void Packing::Pace::Add(double more_steps, double more_seconds, int width) {
  if (reports >= 4 * kReportsPerTrial * width) {
    steps /= 2;
    seconds /= 2;
    reports /= 2;
  }
  steps += more_steps;
  seconds += more_seconds;
  ++reports;
}

bool Packing::Pace::FindAll(int width) const {
  return reports >= kReportsPerTrial * width && seconds >= kSecondsPerTrial * width;
}

double Packing::Measurements::Allowance() const {
  const auto pace = paces.find(width);
  if (pace == paces.end() || pace->second.reports == 0) return 0;
  const double interval = std::max(pace->second.seconds / pace->second.reports, kSecondsPerTrial / kReportsPerTrial);
  const double taking_turns = static_cast<double>(width + 1) / width;
  return kPatience * (startup + (kReportsPerTrial + 1) * interval) * taking_turns;
}

bool Packing::Measurements::WorthTrying(double steps_left) const {
  const auto pace = paces.find(width);
  const auto least = paces.find(base);
  if (pace == paces.end() || !pace->second.FindAll(width) || least == paces.end()) return false;
  const double now_takes = steps_left / pace->second.Sum(width);
  const double alone_takes = steps_left / least->second.Sum(base);
  const double gained = std::max(0.0, alone_takes - now_takes);
  const double cost = Allowance();
  if (width > base && cost > kMaxTrying * now_takes) return false;
  return spent + cost <= kMaxLoss * alone_takes + gained;
}

void Packing::Seated(TrialId trial, const Device& device, const std::string& shape, bool packable, int base,
                     double now) {
  Load& load = loads_[device];
  load.Count(now);
  load.settled_at = now;
  load.members.push_back({trial, shape, packable, now, 0, now, false, 0, now});
  places_[trial].push_back(device);
  if (!packable) return;
  ++packable_;
  load.base = base;
  Measurements& known = known_[{device, shape}];
  known.base = base;
  known.width = std::max(known.width, base);
  if (!load.Uniform() || load.width() <= known.width || known.since) return;
  known.since = now;
  known.allowance = known.Allowance();
}

void Packing::Progressed(TrialId trial, std::int64_t step, std::int64_t total_steps, double now) {
  if (packable_ == 0) return;
  const auto place = places_.find(trial);
  if (place == places_.end() || place->second.size() != 1) return;
  const Device device = place->second.front();
  Load& load = loads_.at(device);
  const auto member =
      std::find_if(load.members.begin(), load.members.end(), [trial](const Member& m) { return m.trial == trial; });
  if (!member->packable) return;
  const Key key{device, member->shape};
  Measurements& known = known_.at(key);
  if (known.steps == 0 || total_steps < known.steps) known.steps = total_steps;
  if (!member->reported) {
    member->reported = true;
    const double startup = now - member->seated_at;
    known.startup = known.startup == 0 ? startup : (known.startup + startup) / 2;  // the first one is a cold one
    load.settled_at = now;
  } else if (step > member->step && now > member->at && member->at >= load.settled_at && load.AllReported() &&
             load.Uniform()) {
    known.paces[load.width()].Add(static_cast<double>(step - member->step), now - member->at, load.width());
  }
  member->step = step;
  member->at = now;
  EvaluateDevice(key, load, now);
}

void Packing::Left(TrialId trial, bool out_of_memory, double now) {
  const auto place = places_.find(trial);
  if (place == places_.end()) return;
  for (const Device& device : place->second) Leave(device, trial, out_of_memory, now);
  places_.erase(place);
  std::erase(evictions_, trial);
}

void Packing::Leave(const Device& device, TrialId trial, bool out_of_memory, double now) {
  Load& load = loads_.at(device);
  const int before = load.width();
  load.Count(now);
  const auto member =
      std::find_if(load.members.begin(), load.members.end(), [trial](const Member& m) { return m.trial == trial; });
  const Member gone = *member;
  load.members.erase(member);
  load.settled_at = now;
  if (gone.packable) {
    --packable_;
    const Key key{device, gone.shape};
    Measurements& known = known_.at(key);
    if (known.since && load.width() <= known.width) {
      known.tried += now - *known.since;
      known.since.reset();
    }
    if (out_of_memory && before > load.base) {
      known.limit = std::min(known.limit.value_or(before), std::max(before - 1, load.base));
      known.width = std::min(known.width, *known.limit);
      AddFinding(key, known, before, *known.limit, false, "out of memory");
    }
  }
  if (load.members.empty()) loads_.erase(device);
}

void Packing::EvaluateDevice(const Key& key, Load& load, double now) {
  Measurements& known = known_.at(key);
  if (!load.Uniform()) return;
  if (known.since) {
    EvaluateNextWidth(key, known, load, now);
    return;
  }
  const auto host = hosts_.find(key.first.HostKey());
  const bool short_of_memory = host != hosts_.end() && host->second.peak > 0 && !host->second.Fits();
  if (short_of_memory && !known.short_of_memory) {
    known.short_of_memory = true;
    AddFinding(key, known, known.width + 1, known.width, false,
               fmt::format("a worker takes up to {} MiB, and the host has {} MiB left", host->second.peak >> 20,
                           host->second.available >> 20));
  }
  const int width = load.width();
  if (width != known.width || width <= known.base) return;
  const Pace& pace = known.paces[width];
  const Pace& least = known.paces[known.base];
  if (!pace.FindAll(width) || pace.Sum(width) >= kDrift * least.Sum(known.base)) return;
  AddFinding(key, known, width, known.base, false, "slower than before");
  known.limit = known.width = known.base;
  EvictLast(load, known.width);
}

void Packing::EvaluateNextWidth(const Key& key, Measurements& known, Load& load, double now) {
  const int width = known.width + 1;
  if (load.width() != width) return;
  const Pace& pace = known.paces[width];
  if (!pace.FindAll(width)) return;
  if (pace.Sum(width) < kMinGain * known.paces[known.width].Sum(known.width)) {
    RejectWidth(key, known, load, "", now);
    return;
  }
  AddFinding(key, known, width, known.width, true, "");
  known.width = width;
  known.since.reset();
  known.tried = 0;
}

void Packing::RejectWidth(const Key& key, Measurements& known, Load& load, const std::string& cause, double now) {
  AddFinding(key, known, known.width + 1, known.width, false, cause);
  known.limit = known.width;
  known.spent += known.tried + now - *known.since;
  known.since.reset();
  known.tried = 0;
  EvictLast(load, known.width);
}

// Evicts the trials that joined last.
void Packing::EvictLast(const Load& load, int width) {
  for (int i = load.width() - 1; i >= width; --i) evictions_.push_back(load.members[static_cast<std::size_t>(i)].trial);
}

void Packing::AddFinding(const Key& key, const Measurements& known, int tried, int than, bool kept,
                         const std::string& cause) {
  const auto sum = [&known](int width) {
    const auto pace = known.paces.find(width);
    return pace == known.paces.end() ? 0 : pace->second.Sum(width);
  };
  findings_.push_back({key.first.host, key.first.name, key.second, tried, sum(tried), than, sum(than), kept, cause});
}

void Packing::SawMemory(const std::string& host, std::int64_t available, std::int64_t worker_peak) {
  if (packable_ == 0 && !hosts_.contains(host)) return;
  Memory& memory = hosts_[host];
  memory.available = available;
  memory.peak = std::max(memory.peak, worker_peak);
}

void Packing::Tick(double now) {
  for (auto& [key, known] : known_) {
    if (!known.since || known.tried + now - *known.since < known.allowance) continue;
    const auto load = loads_.find(key.first);
    if (load == loads_.end()) continue;
    RejectWidth(key, known, load->second, fmt::format("too slow to be measured in {:.1f} s", known.allowance), now);
  }
}

double Packing::NextDeadline() const {
  double next = std::numeric_limits<double>::infinity();
  for (const auto& [key, known] : known_)
    if (known.since) next = std::min(next, *known.since + known.allowance - known.tried);
  return next;
}

bool Packing::MayJoin(const Device& device, const std::string& shape, int joining, int queued) const {
  const auto found = loads_.find(device);
  const auto measurements = known_.find({device, shape});
  if (found == loads_.end() || measurements == known_.end()) return false;
  const Load& load = found->second;
  const Measurements& known = measurements->second;
  if (!load.Uniform() || load.members.front().shape != shape) return false;
  if (load.width() + joining < known.width) return true;
  if (joining > 0 || load.width() > known.width || known.since || !load.AllReported()) return false;
  if (known.width >= std::min(known.limit.value_or(kMaxTrialsPerSlot * known.base), kMaxTrialsPerSlot * known.base))
    return false;
  const auto host = hosts_.find(device.HostKey());
  if (host == hosts_.end() || !host->second.Fits()) return false;
  return known.WorthTrying(static_cast<double>(queued) * static_cast<double>(known.steps));
}

std::vector<std::pair<Device, std::string>> Packing::Candidates() const {
  std::vector<std::pair<Device, std::string>> found;
  for (const auto& [device, load] : loads_)
    if (load.Uniform()) found.emplace_back(device, load.members.front().shape);
  return found;
}

bool Packing::IsCrowded(TrialId trial) const {
  const auto place = places_.find(trial);
  if (place == places_.end()) return false;
  const Load& load = loads_.at(place->second.front());
  const bool shared =
      std::any_of(load.members.begin(), load.members.end(), [](const Member& member) { return member.packable; });
  return shared && load.width() > load.base;
}

}  // namespace retort::orchestrator
