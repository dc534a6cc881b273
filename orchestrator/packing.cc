#include "orchestrator/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace retort::orchestrator {
namespace {

constexpr double kPatience = 1.5;   // times what trials that take turns would need
constexpr double kDrift = 0.98;     // of what fewer trials did: then it is taken back
constexpr double kMostTrying = 0.1;  // of the time that is left

}  // namespace

bool Packing::Crowd::Uniform() const {
  return !members.empty() && std::all_of(members.begin(), members.end(), [this](const Member& member) {
    return member.packable && member.shape == members.front().shape;
  });
}

bool Packing::Crowd::AllReported() const {
  return std::all_of(members.begin(), members.end(), [](const Member& member) { return member.reported; });
}

void Packing::Crowd::Count(double now) {
  for (Member& member : members) {
    member.had += Share() * (now - member.counted_at);
    member.counted_at = now;
  }
}

double Packing::ShareOf(TrialId trial, double now) const {
  const auto place = places_.find(trial);
  if (place == places_.end() || place->second.size() != 1) return 1;
  const Crowd& crowd = crowds_.at(place->second.front());
  const auto member = std::find_if(crowd.members.begin(), crowd.members.end(),
                                   [trial](const Member& m) { return m.trial == trial; });
  const double lasted = now - member->seated_at;
  if (!member->packable || lasted <= 0) return 1;
  return (member->had + crowd.Share() * (now - member->counted_at)) / lasted;
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

bool Packing::Pace::Known(int width) const {
  return reports >= kReportsPerTrial * width && seconds >= kSecondsPerTrial * width;
}

double Packing::Knowledge::Allowance() const {
  const auto pace = paces.find(width);
  if (pace == paces.end() || pace->second.reports == 0) return 0;
  const double interval = std::max(pace->second.seconds / pace->second.reports, kSecondsPerTrial / kReportsPerTrial);
  const double taking_turns = static_cast<double>(width + 1) / width;
  return kPatience * (startup + (kReportsPerTrial + 1) * interval) * taking_turns;
}

bool Packing::Knowledge::WorthTrying(double steps_left) const {
  const auto pace = paces.find(width);
  const auto least = paces.find(base);
  if (pace == paces.end() || !pace->second.Known(width) || least == paces.end()) return false;
  const double now_takes = steps_left / pace->second.Sum(width);
  const double alone_takes = steps_left / least->second.Sum(base);
  const double gained = std::max(0.0, alone_takes - now_takes);
  const double cost = Allowance();
  if (width > base && cost > kMostTrying * now_takes) return false;
  return spent + cost <= kMostLoss * alone_takes + gained;
}

void Packing::Seated(TrialId trial, const Device& device, const std::string& shape, bool packable, int base,
                     double now) {
  Crowd& crowd = crowds_[device];
  crowd.Count(now);
  crowd.settled_at = now;
  crowd.members.push_back({trial, shape, packable, now, 0, now, false, 0, now});
  places_[trial].push_back(device);
  if (!packable) return;
  ++packable_;
  crowd.base = base;
  Knowledge& known = known_[{device, shape}];
  known.base = base;
  known.width = std::max(known.width, base);
  if (!crowd.Uniform() || crowd.width() <= known.width || known.since) return;
  known.since = now;
  known.allowance = known.Allowance();
}

void Packing::Progressed(TrialId trial, std::int64_t step, std::int64_t total_steps, double now) {
  if (packable_ == 0) return;
  const auto place = places_.find(trial);
  if (place == places_.end() || place->second.size() != 1) return;
  const Device device = place->second.front();
  Crowd& crowd = crowds_.at(device);
  const auto member = std::find_if(crowd.members.begin(), crowd.members.end(),
                                   [trial](const Member& m) { return m.trial == trial; });
  if (!member->packable) return;
  const Key key{device, member->shape};
  Knowledge& known = known_.at(key);
  if (known.steps == 0 || total_steps < known.steps) known.steps = total_steps;
  if (!member->reported) {
    member->reported = true;
    const double startup = now - member->seated_at;
    known.startup = known.startup == 0 ? startup : (known.startup + startup) / 2;  // the first one is a cold one
    crowd.settled_at = now;
  } else if (step > member->step && now > member->at && member->at >= crowd.settled_at && crowd.AllReported() &&
             crowd.Uniform()) {
    known.paces[crowd.width()].Add(static_cast<double>(step - member->step), now - member->at, crowd.width());
  }
  member->step = step;
  member->at = now;
  Judge(key, crowd, now);
}

void Packing::Left(TrialId trial, bool out_of_memory, double now) {
  const auto place = places_.find(trial);
  if (place == places_.end()) return;
  for (const Device& device : place->second) Leave(device, trial, out_of_memory, now);
  places_.erase(place);
  std::erase(unwelcome_, trial);
}

void Packing::Leave(const Device& device, TrialId trial, bool out_of_memory, double now) {
  Crowd& crowd = crowds_.at(device);
  const int before = crowd.width();
  crowd.Count(now);
  const auto member = std::find_if(crowd.members.begin(), crowd.members.end(),
                                   [trial](const Member& m) { return m.trial == trial; });
  const Member gone = *member;
  crowd.members.erase(member);
  crowd.settled_at = now;
  if (gone.packable) {
    --packable_;
    const Key key{device, gone.shape};
    Knowledge& known = known_.at(key);
    if (known.since && crowd.width() <= known.width) {
      known.tried += now - *known.since;
      known.since.reset();
    }
    if (out_of_memory && before > crowd.base) {
      known.limit = std::min(known.limit.value_or(before), std::max(before - 1, crowd.base));
      known.width = std::min(known.width, *known.limit);
      Find(key, known, before, *known.limit, false, "out of memory");
    }
  }
  if (crowd.members.empty()) crowds_.erase(device);
}

void Packing::Judge(const Key& key, Crowd& crowd, double now) {
  Knowledge& known = known_.at(key);
  if (!crowd.Uniform()) return;
  if (known.since) {
    JudgeTry(key, known, crowd, now);
    return;
  }
  const auto host = hosts_.find(key.first.HostKey());
  const bool short_of_memory = host != hosts_.end() && host->second.peak > 0 && !host->second.Fits();
  if (short_of_memory && !known.short_of_memory) {
    known.short_of_memory = true;
    Find(key, known, known.width + 1, known.width, false,
         fmt::format("a worker takes up to {} MiB, and the host has {} MiB left", host->second.peak >> 20,
                     host->second.available >> 20));
  }
  const int width = crowd.width();
  if (width != known.width || width <= known.base) return;
  const Pace& pace = known.paces[width];
  const Pace& least = known.paces[known.base];
  if (!pace.Known(width) || pace.Sum(width) >= kDrift * least.Sum(known.base)) return;
  Find(key, known, width, known.base, false, "slower than before");
  known.limit = known.width = known.base;
  StepBack(crowd, known.width);
}

void Packing::JudgeTry(const Key& key, Knowledge& known, Crowd& crowd, double now) {
  const int width = known.width + 1;
  if (crowd.width() != width) return;
  const Pace& pace = known.paces[width];
  if (!pace.Known(width)) return;
  if (pace.Sum(width) < kLeastGain * known.paces[known.width].Sum(known.width)) {
    TurnDown(key, known, crowd, "", now);
    return;
  }
  Find(key, known, width, known.width, true, "");
  known.width = width;
  known.since.reset();
  known.tried = 0;
}

void Packing::TurnDown(const Key& key, Knowledge& known, Crowd& crowd, const std::string& cause, double now) {
  Find(key, known, known.width + 1, known.width, false, cause);
  known.limit = known.width;
  known.spent += known.tried + now - *known.since;
  known.since.reset();
  known.tried = 0;
  StepBack(crowd, known.width);
}

// Those that came last go first.
void Packing::StepBack(const Crowd& crowd, int width) {
  for (int i = crowd.width() - 1; i >= width; --i)
    unwelcome_.push_back(crowd.members[static_cast<std::size_t>(i)].trial);
}

void Packing::Find(const Key& key, const Knowledge& known, int tried, int than, bool kept, const std::string& cause) {
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
    const auto crowd = crowds_.find(key.first);
    if (crowd == crowds_.end()) continue;
    TurnDown(key, known, crowd->second, fmt::format("too slow to be measured in {:.1f} s", known.allowance), now);
  }
}

double Packing::NextDeadline() const {
  double next = std::numeric_limits<double>::infinity();
  for (const auto& [key, known] : known_)
    if (known.since) next = std::min(next, *known.since + known.allowance - known.tried);
  return next;
}

bool Packing::MayJoin(const Device& device, const std::string& shape, int joining, int queued) const {
  const auto found = crowds_.find(device);
  const auto knowledge = known_.find({device, shape});
  if (found == crowds_.end() || knowledge == known_.end()) return false;
  const Crowd& crowd = found->second;
  const Knowledge& known = knowledge->second;
  if (!crowd.Uniform() || crowd.members.front().shape != shape) return false;
  if (crowd.width() + joining < known.width) return true;
  if (joining > 0 || crowd.width() > known.width || known.since || !crowd.AllReported()) return false;
  if (known.width >= std::min(known.limit.value_or(kMostPerSlot * known.base), kMostPerSlot * known.base)) return false;
  const auto host = hosts_.find(device.HostKey());
  if (host == hosts_.end() || !host->second.Fits()) return false;
  return known.WorthTrying(static_cast<double>(queued) * static_cast<double>(known.steps));
}

std::vector<std::pair<Device, std::string>> Packing::Candidates() const {
  std::vector<std::pair<Device, std::string>> found;
  for (const auto& [device, crowd] : crowds_)
    if (crowd.Uniform()) found.emplace_back(device, crowd.members.front().shape);
  return found;
}

bool Packing::IsCrowded(TrialId trial) const {
  const auto place = places_.find(trial);
  if (place == places_.end()) return false;
  const Crowd& crowd = crowds_.at(place->second.front());
  const bool shared = std::any_of(crowd.members.begin(), crowd.members.end(),
                                  [](const Member& member) { return member.packable; });
  return shared && crowd.width() > crowd.base;
}

}  // namespace retort::orchestrator
