#include "orchestrator/reactor/list_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace retort::orchestrator {
namespace {

class ListSchedule {
 public:
  ListSchedule(const std::vector<TimedTrial>& trials, int slots, int at_once)
      : trials_(trials), free_(slots), at_once_(at_once), students_(trials.size()) {}

  std::optional<double> Run() {
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      if (trials_[i].teacher != TimedTrial::kNoTeacher)
        students_.at(trials_[i].teacher).push_back(i);
      else if (!trials_[i].running)
        ready_.push(MakeKey(i));
    }
    for (std::size_t i = 0; i < trials_.size(); ++i)
      if (trials_[i].running) Start(i);
    StartReady();
    while (!ends_.empty()) {
      now_ = ends_.top().first;
      while (!ends_.empty() && ends_.top().first <= now_) End();
      StartReady();
    }
    if (ended_ < trials_.size()) return std::nullopt;
    return now_;
  }

 private:
  using Key = std::pair<int, std::size_t>;  // (-priority, index)
  using Finish = std::pair<double, std::size_t>;

  [[nodiscard]] Key MakeKey(std::size_t index) const { return {-trials_[index].priority, index}; }

  void Start(std::size_t index) {
    free_ -= trials_[index].devices;
    ++running_;
    ends_.emplace(now_ + trials_[index].seconds, index);
  }

  void End() {
    const std::size_t index = ends_.top().second;
    ends_.pop();
    free_ += trials_[index].devices;
    --running_;
    ++ended_;
    for (const std::size_t student : students_[index])
      if (!trials_[student].running) ready_.push(MakeKey(student));
  }

  void StartReady() {
    while (!ready_.empty() && (at_once_ <= 0 || running_ < at_once_)) {
      const std::size_t index = ready_.top().second;
      if (trials_[index].devices > free_) return;
      ready_.pop();
      Start(index);
    }
  }

  const std::vector<TimedTrial>& trials_;
  int free_;
  int at_once_;
  int running_ = 0;
  double now_ = 0;
  std::size_t ended_ = 0;
  std::vector<std::vector<std::size_t>> students_;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready_;
  std::priority_queue<Finish, std::vector<Finish>, std::greater<>> ends_;
};

}  // namespace

std::optional<double> ComputeMakespan(const std::vector<TimedTrial>& trials, int slots, int at_once) {
  return ListSchedule(trials, slots, at_once).Run();
}

}  // namespace retort::orchestrator
