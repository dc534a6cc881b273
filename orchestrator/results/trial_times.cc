#include "orchestrator/results/trial_times.h"

#include <algorithm>
#include <variant>

#include "orchestrator/core/events.h"
#include "orchestrator/journal/journal.h"
#include "storage/log/record_log.h"

namespace retort::orchestrator {
namespace {

using TimesById = std::unordered_map<TrialId, TrialTimes>;

// Takes from each event what it says of times.
class TimesCollector {
 public:
  explicit TimesCollector(const std::set<TrialId>& wanted) : wanted_(wanted) {}

  void Note(const JournalEvent& event) {
    at_ = event.at;
    std::visit([this](const auto& what) { Add(what); }, event.event);
  }
  [[nodiscard]] TimesById Take() { return std::move(times_); }

 private:
  template <typename T>
  void Add(const T&) {}
  void Add(const AttemptLeased& event) { Begin(event.attempt.trial); }
  void Add(const AttemptStarted& event) { Begin(event.attempt.trial); }
  void Add(const ProgressNoted& event) { AddSteps(event.attempt.trial, event.step); }
  void Add(const CheckpointNoted& event) { AddSteps(event.attempt.trial, event.step); }
  void Add(const AttemptEnded& event) {
    if (TrialTimes* times = Find(event.attempt.trial)) times->ended = at_;
  }

  TrialTimes* Find(TrialId trial) { return wanted_.contains(trial) ? &times_[trial] : nullptr; }
  void Begin(TrialId trial) {
    if (TrialTimes* times = Find(trial)) *times = {at_, 0, {}};
  }
  void AddSteps(TrialId trial, std::int64_t steps) {
    TrialTimes* times = Find(trial);
    if (times != nullptr && (times->notes.empty() || steps > times->notes.back().first))
      times->notes.emplace_back(steps, at_);
  }

  const std::set<TrialId>& wanted_;
  TimesById times_;
  double at_ = 0;
};

}  // namespace

Result<TimesById> ReadTrialTimes(storage::Env& env, const std::string& directory, const std::set<TrialId>& wanted) {
  RETORT_ASSIGN_OR_RETURN(const storage::LogContents contents,
                          storage::ReadRecordLog(env, GetJournalPath(directory), storage::LogKind::journal));
  JournalCodec codec;
  TimesCollector collector(wanted);
  for (const storage::Record& record : contents.records) {
    RETORT_ASSIGN_OR_RETURN(const JournalRecord decoded, codec.Decode(record.type, record.payload));
    if (const auto* event = std::get_if<JournalEvent>(&decoded)) collector.Note(*event);
  }
  return collector.Take();
}

double FindTime(const TrialTimes& times, std::int64_t step, double otherwise) {
  const auto note = std::upper_bound(times.notes.begin(), times.notes.end(), step,
                                     [](std::int64_t wanted, const auto& one) { return wanted < one.first; });
  const double found = note != times.notes.end() ? note->second : times.ended > 0 ? times.ended : otherwise;
  return std::max(found, times.began);
}

}  // namespace retort::orchestrator
