#include "orchestrator/cli/estimate_text.h"

#include <fmt/format.h>

#include "orchestrator/cli/number_text.h"

namespace retort::orchestrator::cli {

std::string SweepEstimateText(const SweepEstimate& estimate) {
  const Interval& time = estimate.seconds;
  const Interval& hours = estimate.device_hours;
  const bool sure = time.low == time.high && hours.low == hours.high;
  std::string text = fmt::format("about {} on {} {}", DurationText(time.mean), estimate.slots,
                                 estimate.slots == 1 ? "slot" : "slots");
  if (!sure)
    text += fmt::format(" ({} to {} nine times out of ten)", DurationText(time.low), DurationText(time.high));
  text += fmt::format(", {:.2g} device-hours", hours.mean);
  if (!sure) text += fmt::format(" ({:.2g} to {:.2g})", hours.low, hours.high);
  if (estimate.disk_bytes && *estimate.disk_bytes > 0)
    text += ", disk about " + BytesText(*estimate.disk_bytes);
  if (estimate.from_running) text += "; judged by trials that have not ended yet";
  if (estimate.as_if_alone) text += "; as if no trials shared a device, which makes it shorter where it gains";
  return text;
}

}  // namespace retort::orchestrator::cli
