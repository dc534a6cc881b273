// One Poisson-subsampled Gaussian step, exactly: rate q in (0, 1], noise standard deviation z over
// sensitivity. Removing an example compares (1-q) N(0, z^2) + q N(1, z^2) with N(0, z^2), adding one the
// other way round.
#pragma once

namespace retort::privacy {

// The least delta at epsilon (any finite value): q delta_G(log(1 + (e^epsilon - 1)/q)), with delta_G that of
// the Gaussian mechanism of noise z. 1 out of range.
[[nodiscard]] double SubsampledDeltaRemove(double q, double z, double epsilon);
// (1 - e^epsilon (1-q)) delta_G(log(e^epsilon q / (1 - e^epsilon (1-q)))); 0 from epsilon = -log(1-q) on.
[[nodiscard]] double SubsampledDeltaAdd(double q, double z, double epsilon);

}  // namespace retort::privacy
