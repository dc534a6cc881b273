#include "orchestrator/cli/serve/live_feed.h"

#include <algorithm>
#include <utility>

#include "experiments/base/json.h"

namespace retort::orchestrator::cli {
namespace {

using monitoring::HttpBody;

HttpBody Share(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

// `before`: parts that need not be sent again.
nlohmann::ordered_json MakeEvent(const LiveState& state, const std::vector<LivePart>& before, std::uint64_t revision,
                                 std::uint64_t reports) {
  nlohmann::ordered_json event = state.summary;
  event["revision"] = revision;
  event["report"] = reports;
  event["order"] = nlohmann::ordered_json::array();
  event["parts"] = nlohmann::ordered_json::object();
  for (const LivePart& part : state.parts) {
    event["order"].push_back(part.key);
    if (std::ranges::find(before, part) == before.end()) event["parts"][part.key] = part.html;
  }
  return event;
}

}  // namespace

std::string FormatEvent(std::uint64_t id, const std::string& document) {
  return "id: " + std::to_string(id) + "\nevent: state\ndata: " + document + "\n\n";
}

bool LiveFeed::Publish(LiveState state) {
  const std::lock_guard lock(mutex_);
  const bool same = revision_ > 0 && state.parts == state_.parts && state.summary == state_.summary;
  if (!same || status_ == nullptr || *status_ != state.status) status_ = Share(state.status);
  if (same) return false;
  std::swap(state_, state);
  MakeEvents(state);
  return true;
}

void LiveFeed::PublishReport(std::string html) {
  const std::lock_guard lock(mutex_);
  if (report_ != nullptr && *report_ == html) return;
  report_ = Share(std::move(html));
  ++reports_;
  MakeEvents(state_);
}

void LiveFeed::MakeEvents(const LiveState& before) {
  ++revision_;
  page_ = nullptr;
  whole_ = Share(FormatEvent(revision_, DumpJson(MakeEvent(state_, {}, revision_, reports_))));
  change_ = Share(FormatEvent(revision_, DumpJson(MakeEvent(state_, before.parts, revision_, reports_))));
}

void LiveFeed::Beat() {
  const std::lock_guard lock(mutex_);
  ++beat_;
}

HttpBody LiveFeed::Page() const {
  const std::lock_guard lock(mutex_);
  if (page_ == nullptr) page_ = Share(make_(state_, report_ == nullptr ? "" : *report_, reports_));
  return page_;
}

HttpBody LiveFeed::Report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

HttpBody LiveFeed::Status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

monitoring::HttpStream LiveFeed::Follow() const {
  return [this, seen = Seen{}]() mutable { return Next(seen); };
}

HttpBody LiveFeed::Next(Seen& seen) const {
  static const HttpBody kNothing = Share(":\n\n");
  const std::lock_guard lock(mutex_);
  const Seen before = std::exchange(seen, {revision_, beat_});
  if (before.revision != revision_) return before.revision + 1 == revision_ && before.revision > 0 ? change_ : whole_;
  return before.beat != beat_ ? kNothing : nullptr;
}

}  // namespace retort::orchestrator::cli
