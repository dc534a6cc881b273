// The newest state of a live page for all its readers alike: what is sent is made once, however many they are. A reader
// who is slow misses states in between, and is sent the newest one whole. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "monitoring/http_server.h"
#include "orchestrator/cli/serve/live_state.h"

namespace retort::orchestrator::cli {

class LiveFeed {
 public:
  // What stands around state and report (live_page.h).
  using MakePage = std::string (*)(const LiveState& state, const std::string& report, std::uint64_t revision);
  explicit LiveFeed(MakePage make) : make_(make) {}

  // Whether it differs from the one before: only then is it a new revision.
  bool Publish(LiveState state);
  void PublishReport(std::string html);
  // Gives every reader a line without meaning, so that those who have left are found.
  void Beat();

  [[nodiscard]] monitoring::HttpBody Page() const;
  [[nodiscard]] monitoring::HttpBody Report() const;
  [[nodiscard]] monitoring::HttpBody Status() const;
  // The events for a new reader, the first of them the whole state. Borrows the feed.
  [[nodiscard]] monitoring::HttpStream Follow() const;

 private:
  struct Seen {
    std::uint64_t revision = 0, beat = 0;
  };
  [[nodiscard]] monitoring::HttpBody Next(Seen& seen) const;
  void MakeEvents(const LiveState& before);

  const MakePage make_;
  mutable std::mutex mutex_;
  LiveState state_;
  std::uint64_t revision_ = 0, beat_ = 0;
  std::uint64_t reports_ = 0;
  monitoring::HttpBody report_, status_, whole_, change_;  // change_: since the revision before
  mutable monitoring::HttpBody page_;                      // of this revision, once somebody has asked for it
};

// One event of a stream, "id: 7\nevent: state\ndata: {…}\n\n". `document` is on one line.
[[nodiscard]] std::string FormatEvent(std::uint64_t id, const std::string& document);

}  // namespace retort::orchestrator::cli
