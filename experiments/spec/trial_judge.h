// Complaints about one trial, each at the key that it is about.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/spec/complaints.h"
#include "experiments/spec/sweep_document.h"
#include "experiments/spec/trial_resolver.h"

namespace retort {

class Judge {
 public:
  Judge(const Layers& layers, const SweepDocument& document, Complaints& complaints)
      : layers_(layers), document_(document), complaints_(complaints) {}

  void Say(std::initializer_list<std::string_view> keys, std::string message,
           std::vector<std::string> choices = {}) {
    good_ = false;
    for (const std::string_view key : keys) {
      if (const Assignment* assignment = StrongestOf(layers_, key)) {
        complaints_.Error(assignment->where, assignment->path, std::move(message), std::move(choices));
        return;
      }
    }
    const Position where = document_.trial_where.source >= 0 ? document_.trial_where : document_.sweep_where;
    complaints_.Error(where, "trial." + std::string(*keys.begin()), std::move(message), std::move(choices));
  }
  [[nodiscard]] bool good() const { return good_; }
  // Whether an axis or an argument sets the key for this trial, not what all trials share.
  [[nodiscard]] const Assignment* OwnOf(std::string_view key) const {
    const Assignment* assignment = StrongestOf(layers_, key);
    return assignment != nullptr && assignment->path.starts_with("sweep.") ? assignment : nullptr;
  }
  [[nodiscard]] const SweepDocument& document() const { return document_; }

 private:
  const Layers& layers_;
  const SweepDocument& document_;
  Complaints& complaints_;
  bool good_ = true;
};

}  // namespace retort
