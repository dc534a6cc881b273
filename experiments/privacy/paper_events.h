// What the papers' mechanisms release, as events, from the parameters the papers print.
#pragma once

#include <cstdint>

#include "experiments/privacy/privacy_event.h"

namespace retort::privacy {

struct PaperSetting {
  double sigma = 0;       // noise over the norm bound
  double norm_bound = 0;  // C; DPSD's beta
  double delta = 0;
  double epsilon0 = 0;  // of one label
  std::int64_t classes = 0, batch = 1, steps = 0;
  std::int64_t choices = 0;  // size of the selected set
};

// DPDFD and DPSD's data branch: one draw of N(0, (sigma C)^2 I) for a batch or for a row.
[[nodiscard]] PrivacyEvent PaperGradientEvent(const PaperSetting& setting, EventUnit unit, bool frobenius);
// The working reading: noise of sigma C / B on every row.
[[nodiscard]] PrivacyEvent PaperWorkingEvent(const PaperSetting& setting);
// DP-DFD and DPSD's label branch: one answer for every row, over the selected set.
[[nodiscard]] PrivacyEvent PaperResponseEvent(const PaperSetting& setting);
// RONA, had only its losses been released: in [0, B], noise sigma B, one a step.
[[nodiscard]] PrivacyEvent PaperLossEvent(const PaperSetting& setting);

}  // namespace retort::privacy
