"""Values of one-run audits of trade-off curves, with 50 digits, for one_run_golden_test.

    python one_run_tradeoff.py            writes one_run_tradeoff.csv beside this file
    python one_run_tradeoff.py --check    exits with 1 where that file says anything else

After Mahloujifar, Melis and Chaudhuri 2025, "Auditing f-differential privacy in one run": m fair coins, a mechanism whose
trade-off curve for a change of one coin is f, k coins guessed. Let p[i] be the probability of exactly i correct guesses.
For every set T of counts

    sum over i in T of i p[i] / m  <=  1 - f(sum over i in T of (k - i + 1) p[i - 1] / m).

The p-value of c correct guesses is the largest tail p[c] + ... + p[k] that is possible. It is found in probabilities: all
of the tail at c, then for i = c - 1, ..., 0 the least p[i] that T = {i + 1, ..., k} allows; the tail is too large when
they add up to more than 1. Nothing here shares code or form with experiments/privacy/attack_bounds.cc.

It needs mpmath (bash cluster/setup.sh --tests); without it --check exits with 77.
"""

import csv
import os
import sys
from statistics import NormalDist

try:
    from mpmath import mp, mpf
except ImportError:
    print("only with mpmath: bash cluster/setup.sh --tests")
    sys.exit(77)

mp.dps = 50
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "one_run_tradeoff.csv")
COLUMNS = ["id", "quantity", "canaries", "guesses", "correct", "mu", "pairs", "significance", "value", "rel_tol"]


def normal_cdf(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def normal_quantile(p):
    """By Newton's method from the 16 digits that Python's own has."""
    if p > mpf(1) / 2:
        return -normal_quantile(1 - p)
    x = mpf(NormalDist().inv_cdf(float(p)))
    for _ in range(3):
        x -= (normal_cdf(x) - p) * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)
    return x


class Gaussian:
    def __init__(self, mu):
        self.mu = mpf(mu)

    def least(self, r):
        """The least x with 1 - f(x) >= r, f(x) = Phi(Phi^-1(1 - x) - mu)."""
        if r <= 0:
            return mpf(0)
        if r >= 1:
            return mpf(1)
        return normal_cdf(normal_quantile(r) - self.mu)


class Pairs:
    def __init__(self, text):
        self.pairs = [tuple(mpf(number) for number in pair.split(":")) for pair in text.split(";")]

    def least(self, r):
        """f(x) = max over pairs of max(0, 1 - delta - e^eps x, e^-eps (1 - delta - x))."""
        x = mpf(0)
        for epsilon, delta in self.pairs:
            x = max(x, (r - delta) / mp.e**epsilon, 1 - delta - mp.e**epsilon * (1 - r))
        return min(x, mpf(1))


def is_possible(tail, curve, m, k, c):
    p = {i: mpf(0) for i in range(k + 1)}
    p[c] = tail
    correct = tail * c / m  # sum over i of T of i p[i] / m
    wrong = mpf(0)  # sum over i of T without its least of (k - i + 1) p[i - 1] / m
    total = tail
    for i in range(c - 1, -1, -1):
        wrong += p[i + 1] * (k - (i + 1)) / m
        missing = curve.least(correct) - wrong
        if missing > 0:
            p[i] = missing * m / (k - i)
            correct += p[i] * i / m
            total += p[i]
        if total > 1:
            return False
    return True


def p_value(curve, m, k, c):
    if c == 0 or is_possible(mpf(1), curve, m, k, c):
        return mpf(1)
    low, high = mp.log(mpf(10) ** -40), mpf(0)
    for _ in range(70):
        middle = (low + high) / 2
        if is_possible(mp.e**middle, curve, m, k, c):
            low = middle
        else:
            high = middle
    return mp.e**high


def mu_lower(m, k, c, significance):
    if is_possible(mpf(significance), Gaussian(0), m, k, c):
        return mpf(0)
    low, high = mpf(0), mpf(20)
    for _ in range(60):
        middle = (low + high) / 2
        if is_possible(mpf(significance), Gaussian(middle), m, k, c):
            high = middle
        else:
            low = middle
    return low


CASES = [
    ("p", 10, 10, 10, "1", "", ""),
    ("p", 20, 10, 9, "0.5", "", ""),
    ("p", 40, 20, 17, "0.25", "", ""),
    ("p", 100, 50, 40, "0", "", ""),
    ("p", 100, 50, 45, "2", "", ""),
    ("p", 300, 75, 60, "0.7", "", ""),
    ("p", 20, 10, 10, "", "1:0", ""),
    ("p", 40, 20, 18, "", "0.5:0.00001", ""),
    ("p", 100, 50, 44, "", "1:0.00001;2:0.000000000001", ""),
    ("p", 100, 50, 20, "", "1:0.00001", ""),
    ("p", 60, 30, 29, "", "1.5:0.01;0.5:0.1", ""),
    ("mu", 20, 10, 10, "", "", "0.05"),
    ("mu", 100, 50, 40, "", "", "0.05"),
    ("mu", 100, 50, 28, "", "", "0.05"),
    ("mu", 250, 62, 60, "", "", "0.05"),
    ("mu", 250, 62, 62, "", "", "0.000001"),
]


def compute():
    rows = []
    for number, (quantity, m, k, c, mu, pairs, significance) in enumerate(CASES, 1):
        if quantity == "p":
            value = p_value(Gaussian(mu) if mu else Pairs(pairs), m, k, c)
        else:
            value = mu_lower(m, k, c, significance)
        rows.append([f"F{number}", quantity, m, k, c, mu, pairs, significance, mp.nstr(value, 17), "1e-9"])
    return rows


def main():
    rows = [[str(cell) for cell in row] for row in compute()]
    if sys.argv[1:] == ["--check"]:
        with open(FILE, encoding="utf-8", newline="") as file:
            stored = list(csv.reader(file))
        if stored != [COLUMNS] + rows:
            sys.exit(f"FAILED: {FILE} holds other values than {rows}")
        return
    with open(FILE, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS] + rows)


if __name__ == "__main__":
    main()
