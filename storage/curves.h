// Curves of an attempt, and their place in HDF5: one dataset a curve over a common dimension `step`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::storage {

class Hdf5Reader;
class Hdf5Writer;

// Points (step, value) of each curve; steps are >= 0 and ascend.
using Curves = std::map<std::string, std::vector<std::pair<std::int64_t, double>>>;

// `group`/step holds every step at which any curve has a point; a curve without a point there has NaN.
// In dataset names '/' becomes '.'. No curves: an empty group.
void WriteCurves(Hdf5Writer& writer, const std::string& group, const Curves& curves);
// NaN points are left out, and with them what never was one.
[[nodiscard]] Result<Curves> ReadCurves(const Hdf5Reader& reader, const std::string& group);
// Curves of wall-clock time ("seconds", "step_seconds"), which differ between equal runs.
[[nodiscard]] bool IsTiming(const std::string& curve);

}  // namespace retort::storage
