// Claims against 50-digit arithmetic, for parameters drawn over all that is accepted, corners among them.
// Longer runs:
// --gtest_repeat=N --gtest_shuffle draws other parameters in every round.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/randomized_response.h"
#include "experiments/privacy/accountants/rdp_accountant.h"
#include "experiments/privacy/accountants/scalar_noise.h"
#include "tests/unit/experiments/privacy/drawn_parameters.h"
#include "tests/unit/experiments/privacy/exact_truth.h"

namespace retort::privacy {
namespace {

TEST(NeverBelow, GaussianEpsilon) {
  Draw draw(1);
  for (int i = 0; i < 4000; ++i) {
    const double mu = i % 2 == 0 ? draw.Log(kLeast, kMost) : draw.Log(1e-6, 1e4), delta = draw.Delta();
    const double epsilon = ComputeGaussianEpsilon(delta, mu);
    ASSERT_GE(epsilon, 0) << Text({mu, delta});
    if (std::isinf(epsilon)) {
      EXPECT_GT(mu, 1e150) << Text({mu, delta});
      continue;
    }
    ASSERT_LE(ComputeGaussianDelta(epsilon, mu), Exact(delta)) << Text({mu, delta, epsilon});
    const double less = epsilon * (1 - 1e-9) - 1e-14 * mu * std::max(1.0, mu);
    if (less > 1e-300) {
      ASSERT_GE(ComputeGaussianDelta(less, mu), Exact(delta) * (1 - 2e-15)) << Text({mu, delta, epsilon});
    }
    ASSERT_LE(epsilon, ComputeGaussianEpsilon(delta, draw.More(mu))) << Text({mu, delta});
    ASSERT_GE(epsilon, ComputeGaussianEpsilon(std::min(draw.More(delta), 1 - 1e-16), mu)) << Text({mu, delta});
  }
}

TEST(NeverBelow, GaussianMuIsNeverAbove) {
  Draw draw(2);
  for (int i = 0; i < 1000; ++i) {
    const double epsilon = draw.Log(1e-300, 1e300), delta = draw.Delta();
    const double mu = ComputeGaussianMu(epsilon, delta);
    if (mu > 0) {
      ASSERT_LE(ComputeGaussianDelta(epsilon, mu), Exact(delta)) << Text({epsilon, delta, mu});
    }
    ASSERT_LE(ComputeGaussianEpsilon(delta, mu), epsilon) << Text({epsilon, delta, mu});
  }
}

TEST(NeverBelow, ComposedMu) {
  Draw draw(3);
  for (int i = 0; i < 2000; ++i) {
    const double sensitivity = draw.Log(kLeast, kMost), noise = draw.Log(kLeast, kMost);
    const auto count = static_cast<std::int64_t>(draw.Whole(1, 1e15));
    const double mu = ComputeComposedMu({{count, sensitivity, noise, 1}});
    ASSERT_GT(mu, 0) << Text({sensitivity, noise});
    if (std::isinf(mu)) continue;
    const Exact ratio = Exact(sensitivity) / noise;
    ASSERT_GE(Exact(mu) * mu, ratio * ratio * count) << Text({sensitivity, noise, static_cast<double>(count)});
  }
}

TEST(NeverBelow, ComposedResponses) {
  Draw draw(4);
  for (int i = 0; i < 1500; ++i) {
    const double epsilon0 = i % 2 == 0 ? draw.Log(kLeast, 1e5) : draw.Log(1e-9, 100), delta = draw.Delta();
    const auto choices = static_cast<std::int64_t>(draw.Whole(2, 1e9));
    const auto count = static_cast<std::int64_t>(i % 100 == 0 ? draw.Whole(1, 20'000) : draw.Whole(1, 200));
    const double epsilon = ComputeComposedResponseEpsilon(epsilon0, choices, count, delta);
    const std::string what = Text({epsilon0, static_cast<double>(choices), static_cast<double>(count), delta, epsilon});
    ASSERT_GE(epsilon, 0) << what;
    if (std::isinf(epsilon)) continue;
    ASSERT_LE(ComputeResponseDelta(epsilon0, choices, count, epsilon), Exact(delta)) << what;
    if (epsilon > 1e-300 && epsilon0 < 1e4) {
      ASSERT_GE(ComputeResponseDelta(epsilon0, choices, count, epsilon * (1 - 1e-8)), Exact(delta) * (1 - 1e-9))
          << what;
    }
    const double more = draw.More(epsilon0);
    if (delta > 1 - 1e-9) continue;  // what is left of 1 has few digits
    ASSERT_LE(epsilon, ComputeComposedResponseEpsilon(more, choices, count, delta)) << what;
    ASSERT_LE(epsilon, ComputeComposedResponseEpsilon(epsilon0, choices, count + 1, delta)) << what;
    ASSERT_GE(epsilon, ComputeComposedResponseEpsilon(epsilon0, 2 * choices, count, delta) * (1 - 1e-12)) << what;
  }
}

TEST(NeverBelow, RdpOfOneResponse) {
  Draw draw(5);
  for (int i = 0; i < 4000; ++i) {
    const double epsilon0 = i % 2 == 0 ? draw.Log(kLeast, kMost) : draw.Log(1e-12, 1e3);
    const double order = 1 + draw.Log(1e-6, 1e8);
    const auto choices = static_cast<std::int64_t>(draw.Whole(2, 1e9));
    const double rdp = ComputeResponseRdp(epsilon0, choices, order);
    const std::string what = Text({epsilon0, order, static_cast<double>(choices), rdp});
    ASSERT_GT(rdp, 0) << what;
    const Exact e = epsilon0, a = order;
    Exact moment;  // less 1
    if (a * e < 1e-8) {
      moment = a * (a - 1) * e * e / choices * (1 - 3 * a * e);  // the terms of e^3 and on are smaller than that
    } else if (a * e < 1e6) {
      moment = (exp(a * e) + exp((1 - a) * e) + (choices - 2)) / (exp(e) + (choices - 1)) - 1;
    } else {
      continue;
    }
    ASSERT_GE(Exact(rdp) * (a - 1), log1p(moment)) << what;
    ASSERT_LE(rdp, epsilon0 * (1 + 1e-12) + kLeast) << what;
  }
}

TEST(NeverBelow, RdpOfLaplace) {
  Draw draw(6);
  for (int i = 0; i < 4000; ++i) {
    const double ratio = i % 2 == 0 ? draw.Log(kLeast, kMost) : draw.Log(1e-12, 1e3);
    const double order = 1 + draw.Log(1e-6, 1e8);
    const double rdp = ComputeLaplaceRdp(ratio, order);
    const std::string what = Text({ratio, order, rdp});
    ASSERT_GT(rdp, 0) << what;
    ASSERT_LE(rdp, ratio) << what;
    const Exact r = ratio, a = order;
    if (a * r < 1e-8) {
      ASSERT_GE(Exact(rdp) * (a - 1), a * (a - 1) * r * r / 2 * (1 - 3 * a * r)) << what;
    } else if (a * r < 1e6) {
      const Exact moment = (a * exp((a - 1) * r) + (a - 1) * exp(-a * r)) / (2 * a - 1);
      ASSERT_GE(Exact(rdp) * (a - 1), log(moment)) << what;
    }
  }
}

TEST(NeverBelow, RdpOfSubsampledSteps) {
  Draw draw(7);
  for (int i = 0; i < 300; ++i) {
    const double q = i % 2 == 0 ? draw.Log(kLeast, 1) : draw.Log(1e-9, 0.999);
    const double z = i % 3 == 0 ? draw.Log(0.1, 1e100) : draw.Log(0.3, 30);
    const bool whole = i % 4 != 0;
    const double order = whole ? draw.Whole(2, 60) : 1 + draw.Log(1e-6, 30);
    if (q > 0.9999 || (!whole && order / z > 400)) continue;
    const double rdp = ComputeSubsampledGaussianRdp(q, z, order);
    const std::string what = Text({q, z, order, rdp});
    ASSERT_GT(rdp, 0) << what;
    const Exact truth = SubsampledLogMoment(q, z, order) / (Exact(order) - 1);
    ASSERT_GE(Exact(rdp), truth * (1 - 1e-15)) << what;
    if (rdp > 1e-300) {
      ASSERT_LE(Exact(rdp), truth * (1 + 1e-10)) << what;
    }
    ASSERT_LE(rdp, ComputeSubsampledGaussianRdp(q, z, draw.More(order)) * (1 + 1e-10)) << what;
    ASSERT_GE(rdp * (1 + 1e-10), ComputeSubsampledGaussianRdp(q, draw.More(z), order)) << what;
    ASSERT_LE(rdp, ComputeSubsampledGaussianRdp(std::min(1.0, draw.More(q)), z, order) * (1 + 1e-10)) << what;
  }
}

TEST(NeverBelow, RdpConverted) {
  Draw draw(8);
  for (int i = 0; i < 4000; ++i) {
    const double rdp = draw.Log(kLeast, 1e9), order = 1 + draw.Log(1e-6, 1e8), delta = draw.Delta();
    const double epsilon = ConvertRdp(rdp, order, delta, RdpConversion::canonne_kamath_steinke);
    const Exact a = order;
    ASSERT_GE(Exact(epsilon), rdp + log1p(-1 / a) - (log(Exact(delta)) + log(a)) / (a - 1))
        << Text({rdp, order, delta});
  }
}

}  // namespace
}  // namespace retort::privacy
