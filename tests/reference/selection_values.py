#!/usr/bin/env python3
"""Computes what private selection costs with 50 digits, and compares it with selection_values.json.

usage: selection_values.py write | check

The formulas are those of Papernot and Steinke 2022 (theorems 2 and 6) and of PROOFS.md ("Selection"), written down a second time:
orders by golden section on the theorem itself, divergences by the exact trade-off curve of the Gaussian in place of lines, and
integrals in place of sums. Nothing here is shared with the accountant. Needs mpmath. `write` also asks dp-accounting, whose
`RepeatAndSelectDpEvent` is by an author of the theorems, and needs it.
"""
import json
import pathlib
import sys

try:
    from mpmath import mp, mpf, erfc, erfinv, exp, expm1, inf, log, log1p, quad, sqrt
except ImportError:
    print("mpmath is not there")
    sys.exit(77)

mp.dps = 50
FILE = pathlib.Path(__file__).with_name("selection_values.json")


def below(x):
    return erfc(-x / sqrt(mpf(2))) / 2


def quantile(p):
    return sqrt(mpf(2)) * erfinv(2 * p - 1)


class Gaussian:
    """mu-GDP."""

    def __init__(self, mu):
        self.mu = mpf(mu)

    def rdp(self, order):
        return order * self.mu**2 / 2

    def delta(self, epsilon):
        return below(self.mu / 2 - epsilon / self.mu) - exp(epsilon) * below(-self.mu / 2 - epsilon / self.mu)


class Pure:
    """Randomised response over two, which dominates all that is (epsilon, 0)-DP."""

    def __init__(self, epsilon):
        self.epsilon = mpf(epsilon)

    def rdp(self, order):
        p, e = 1 / (1 + exp(-self.epsilon)), self.epsilon
        moment = p * exp((order - 1) * e) + (1 - p) * exp(-(order - 1) * e)
        return log(moment) / (order - 1)

    def delta(self, epsilon):
        return max(mpf(0), (exp(self.epsilon) - exp(epsilon)) / (1 + exp(self.epsilon)))


def mean_draws(law):
    if law["family"] == "poisson":
        return mpf(law["mean"])
    gamma, eta = mpf(law["gamma"]), mpf(law["eta"])
    if eta == 0:
        return (1 / gamma - 1) / log(1 / gamma)
    return eta * (1 - gamma) / gamma / (1 - gamma**eta)


def valley(function, low, high, rounds=160):
    """The least value of a function with one valley, over e^low to e^high."""
    golden = (sqrt(mpf(5)) - 1) / 2
    a, b = mpf(low), mpf(high)
    x, y = b - golden * (b - a), a + golden * (b - a)
    at_x, at_y = function(exp(x)), function(exp(y))
    for _ in range(rounds):
        if at_x < at_y:
            b, y, at_y = y, x, at_x
            x = b - golden * (b - a)
            at_x = function(exp(x))
        else:
            a, x, at_x = x, y, at_y
            y = a + golden * (b - a)
            at_y = function(exp(y))
    return min(at_x, at_y)


def second_part(law, base):
    """Theorem 2: the least over second orders, order 1 among them."""
    length = -log(mpf(law["gamma"]))

    def part(more):
        order = 1 + more
        return (1 - 1 / order) * base.rdp(order) + length / order

    return min(length, valley(part, -12, 25))


def selected_rdp(law, base, order, second=None):
    """What is published, and with what K = 0 adds to the moment."""
    order, mean = mpf(order), mean_draws(law)
    if law["family"] != "poisson":
        second = second_part(law, base) if second is None else second
        value = base.rdp(order) + (1 + mpf(law["eta"])) * second + log(mean) / (order - 1)
        return value, value
    grown = base.rdp(order) + mean * base.delta(log1p(1 / (order - 1)))
    published = grown + log(mean) / (order - 1)
    return published, log(exp(-mean) + mean * exp((order - 1) * grown)) / (order - 1)


def convert(rdp, order, delta):
    return rdp + log1p(-1 / order) - (log(delta) + log(order)) / (order - 1)


def rdp_epsilon(law, base, delta):
    second = None if law["family"] == "poisson" else second_part(law, base)
    value = valley(lambda more: convert(selected_rdp(law, base, 1 + more, second)[1], 1 + more, mpf(delta)), -6, 16)
    return max(mpf(0), value)


def selected_delta(law, mu, epsilon):
    """The bound of PROOFS.md for a Gaussian base with its whole trade-off curve: the lines beyond the first that keeps h convex,
    and that one line from where it touches."""
    base, mean, mu, epsilon = Gaussian(mu), mean_draws(law), mpf(mu), mpf(epsilon)
    poisson = law["family"] == "poisson"
    first = mpf(0)
    if not poisson:
        gamma, eta = mpf(law["gamma"]), mpf(law["eta"])
        low, high = mpf(0), mpf(100)
        for _ in range(180):  # (1/gamma - 1) delta(e) = exp(e) - 1
            middle = (low + high) / 2
            low, high = (middle, high) if (1 / gamma - 1) * base.delta(middle) > expm1(middle) else (low, middle)
        first = high
    touch = below(-(first / mu + mu / 2))

    def tail(t):  # the other's mass above, and its slope
        if t >= touch:
            return exp(first) * t + base.delta(first), exp(first)
        x = quantile(t)
        return below(x + mu), exp(-mu * x - mu**2 / 2)

    def shift(t):
        other, slope = tail(t)
        if poisson:
            return log(slope) - mean * (other - t)
        return log(slope) + (eta + 2) * log((gamma + (1 - gamma) * t) / (gamma + (1 - gamma) * other))

    def hockey_stick(e):
        return base.delta(e) if e >= 0 else -expm1(e) + exp(e) * base.delta(-e)

    def inner(log_t):
        t = exp(log_t)
        if poisson:
            weight = mean * exp(-mean * t)
        else:
            weight = (eta + 1) * (1 - gamma) / gamma * (gamma / (gamma + (1 - gamma) * t)) ** (eta + 2)
        return weight * t * hockey_stick(epsilon + shift(t))

    other = tail(mpf(1))[0]
    if poisson:
        least, end = exp(-mean), -mean * (other - 1)
    else:
        least, end = gamma ** (eta + 1), -(eta + 1) * log(gamma + (1 - gamma) * other)
    mp.dps = 20
    points = [-60, -30, -20, -14, -10, -7, -5, -3, -2, -1, 0]
    points = sorted(set(points + [log(touch)])) if touch < 1 else points
    sum_ = quad(inner, points) + least * hockey_stick(epsilon + end)
    mp.dps = 50
    return mean * sum_


LAWS = [{"family": "poisson", "mean": m} for m in (0.5, 1, 2, 10, 30, 1000)] + [
    {"family": "negative_binomial", "eta": eta, "gamma": gamma}
    for eta, gamma in ((1, 0.5), (1, 0.1), (1, 0.01), (0, 0.3), (0, 0.02), (0, 1e-4), (-0.5, 0.1), (-0.5, 1e-3),
                       (-0.9, 1e-4), (0.5, 0.05), (2, 0.2), (5, 0.4), (50, 0.9))]
BASES = [{"mu": 0.01}, {"mu": 0.1}, {"mu": 0.5}, {"mu": 2}, {"epsilon": 0.1}, {"epsilon": 1}, {"epsilon": 4}]


def make(base):
    return Gaussian(base["mu"]) if "mu" in base else Pure(base["epsilon"])


def compute():
    rows = {"rdp": [], "epsilon": [], "delta": []}
    for i, law in enumerate(LAWS):
        for j, base in enumerate(BASES):
            if (i + j) % 2:
                continue
            order = [1.1, 2, 7, 40, 1000][(i + 2 * j) % 5]
            published, value = selected_rdp(law, make(base), order)
            rows["rdp"].append({**law, "base": base, "order": order, "published": mp.nstr(published, 30),
                                "value": mp.nstr(value, 30)})
        for base, delta in ((BASES[1], 1e-5), (BASES[2], 1e-6), (BASES[5], 1e-8)):
            if (i + len(rows["epsilon"])) % 2:
                continue
            rows["epsilon"].append({**law, "base": base, "delta": delta,
                                    "value": mp.nstr(rdp_epsilon(law, make(base), delta), 30)})
        mu, epsilon = [(0.1, 0.6), (0.5, 3), (2, 12), (0.3, 1.2)][i % 4]
        rows["delta"].append({**law, "mu": mu, "at": epsilon, "value": mp.nstr(selected_delta(law, mu, epsilon), 15)})
    return rows


def ask_dp_accounting():
    """Selections over DP-SGD, by the implementation of one of the authors, on its usual orders."""
    import dp_accounting
    from dp_accounting.rdp import rdp_privacy_accountant

    rows = []
    for mean, shape in ((10, 1), (10, 0), (4, 0.5), (10, 3), (10, float("inf")), (100, float("inf"))):
        for rate, noise, steps, delta in ((0.02, 2, 1000, 1e-5), (0.004, 1.1, 14000, 1e-5), (0.5, 20, 200, 1e-6)):
            event = dp_accounting.SelfComposedDpEvent(
                dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise)), steps)
            accountant = rdp_privacy_accountant.RdpAccountant()
            accountant.compose(dp_accounting.dp_event.RepeatAndSelectDpEvent(event, mean, shape))
            rows.append({"mean": mean, "shape": None if shape == float("inf") else shape, "rate": rate, "noise": noise,
                         "steps": steps, "delta": delta, "value": float(accountant.get_epsilon(delta))})
    return rows


def main(what):
    rows = compute()
    if what == "write":
        rows["dp_accounting"] = ask_dp_accounting()
        FILE.write_text(json.dumps(rows, indent=1) + "\n")
        return 0
    known = json.loads(FILE.read_text())
    wrong = [kind for kind in rows if known[kind] != rows[kind]]
    print("differs: " + ", ".join(wrong) if wrong else "same")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] not in (["write"], ["check"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
