#!/usr/bin/env python3
"""Computes what Confident-GNMax costs on given votes with 50 digits, and compares it with vote_costs_values.json.

usage: vote_costs_values.py write | check

The formulas are those of Papernot et al. 2018 (theorem 6, propositions 7, 8 and 10, theorem 23) and of PROOFS.md, written down a
second time: nothing here is shared with the accountant. Needs mpmath.
"""
import json
import pathlib
import sys

try:
    from mpmath import mp, mpf, erfc, exp, log, sqrt
except ImportError:
    print("mpmath is not there")
    sys.exit(77)

mp.dps = 50
FILE = pathlib.Path(__file__).with_name("vote_costs_values.json")


def below(x):
    return erfc(-x / sqrt(mpf(2))) / 2


def log_miss(gap, classes, noise):
    """Another class wins, by a gap that rounding and ties make shorter by one vote."""
    if gap < 1:
        return mpf(0)
    return min(mpf(0), log((classes - 1) * below(-mpf(gap - 1) / (noise * sqrt(mpf(2))))))


def answer(log_q, noise, order):
    """Theorem 6 at proposition 10's orders: as printed, or with the likely outcome's probability taken for 1; or
    proposition 8."""
    plain = order / noise**2
    second = noise * sqrt(-log_q)
    first = second + 1
    if second <= 1 or first <= order:
        return plain
    other = exp((log_q + second / noise**2) * (1 - 1 / second))
    if other >= 1:
        return plain
    printed = printed_answer(log_q, noise, order)
    if printed is not None:
        return min(plain, printed)
    moment = (1 - other) ** (1 - order) + exp(log_q) * exp((order - 1) * (first / noise**2 - log_q / (first - 1)))
    return min(plain, log(moment) / (order - 1))


def printed_answer(log_q, noise, order):
    """Theorem 6 as it is printed, where its condition holds; else nothing."""
    second = noise * sqrt(-log_q)
    first = second + 1
    if second <= 1 or first <= order:
        return None
    high1, high2, q = first / noise**2, second / noise**2, exp(log_q)
    if q > exp((second - 1) * high2) / (first / (first - 1) * second / (second - 1)) ** second or q * exp(high2) >= 1:
        return None
    a = (1 - q) / (1 - (q * exp(high2)) ** ((second - 1) / second))
    b = exp(high1) / q ** (1 / (first - 1))
    if b < a:
        return None
    return log((1 - q) * a ** (order - 1) + q * b ** (order - 1)) / (order - 1)


def best_answer(gap, rule, cache):
    key = ("answer", gap, rule)
    if key not in cache:
        classes, noise, order = rule[1], rule[4], rule[5]
        own = answer(log_miss(gap, classes, noise), noise, order)
        cache[key] = min(own, best_answer(gap - 1, rule, cache)) if gap > 0 else own
    return cache[key]


def cost(largest, gap, rule, cache):
    """Threshold and answer, against a neighbour whose largest count is one more or one less."""
    key = (largest, gap, rule)
    if key not in cache:
        members, classes, threshold, s1, s2, order = rule
        place = lambda count: (mpf(count - threshold) + mpf(1) / 2) / s1
        weight = exp((order - 1) * best_answer(gap, rule, cache))
        p = below(place(largest))
        moments = []
        for other in (largest - 1, largest + 1):
            r = below(place(other))
            moments.append(p**order * r ** (1 - order) * weight
                           + below(-place(largest)) ** order * below(-place(other)) ** (1 - order))
        cache[key] = max(mpf(0), log(max(moments)) / (order - 1))
    return cache[key]


def smooth(queries, rule, smoothness, cache):
    """The largest sum of changes in boxes around the queries that grow by a member each, shrunk."""
    members = rule[0]
    inside = lambda value: range(0, members + 1)[max(0, value[0]):value[1] + 1]
    change = {}
    for m in range(members + 1):
        for g in range(members + 1):
            here = cost(m, g, rule, cache)
            change[m, g] = max(abs(cost(a, b, rule, cache) - here)
                               for a in inside((m - 1, m + 1)) for b in inside((g - 2, g + 2)))
    best = mpf(0)
    for distance in range(members + 1):
        total = mpf(0)
        for m, g in queries:
            total += max(change[a, b] for a in inside((m - distance, m + distance))
                         for b in inside((g - 2 * distance, g + 2 * distance)))
        best = max(best, exp(-smoothness * distance) * total)
    return best


def smooth_gaussian(order, smoothness, noise, moved):
    """The divergence of two Gaussians, at a thousand ratios of their variances up to the largest, both ways."""
    worst = mpf(0)
    for i in range(1001):
        for sign in (1, -1):
            r = exp(sign * 2 * smoothness * mpf(i) / 1000)  # variance under one, over that under the other
            mixed = order - (order - 1) * r
            if mixed <= 0:
                return None
            least = min(r, mpf(1))  # the smaller deviation squared, over the other's
            worst = max(worst, order * moved**2 * least / (2 * noise**2 * mixed) - log(r) / 2 - log(mixed) / (2 * (order - 1)))
    return worst


def text(value):
    return None if value is None else mp.nstr(value, 17)


def compute():
    rows = {"log_miss": [], "answer": [], "cost": [], "smooth": [], "smooth_gaussian": []}
    for gap, classes, noise in [(0, 10, 40), (1, 10, 40), (60, 10, 40), (230, 10, 40), (900, 10, 40), (3000, 100, 20)]:
        rows["log_miss"].append({"gap": gap, "classes": classes, "noise": noise,
                                 "value": text(log_miss(gap, classes, mpf(noise)))})
    for log_q, noise, order in [(-1, 40, 8), (-5, 40, 8), (-8.5, 40, 20), (-20, 40, 20), (-60, 40, 20), (-60, 100, 12),
                                (-200, 150, 4.5), (-12, 5, 16), (-12, 5, 18.5)]:
        value = answer(mpf(log_q), mpf(noise), mpf(order))
        rows["answer"].append({"log_miss": log_q, "noise": noise, "order": order, "value": text(value),
                               "printed": text(printed_answer(mpf(log_q), mpf(noise), mpf(order)))})
    cache = {}
    wide = (1000, 10, 700, mpf(150), mpf(100), mpf(12))
    small = (30, 3, 20, mpf(5), mpf(4), mpf(3))
    for rule, places in [(wide, [(100, 0), (699, 500), (700, 650), (990, 985), (1000, 1000)]),
                         (small, [(10, 0), (19, 12), (20, 20), (30, 30)])]:
        for largest, gap in places:
            rows["cost"].append({"members": rule[0], "classes": rule[1], "threshold": rule[2],
                                 "threshold_noise": float(rule[3]), "vote_noise": float(rule[4]),
                                 "order": float(rule[5]), "largest": largest, "gap": gap,
                                 "value": text(cost(largest, gap, rule, cache))})
    for queries, smoothness in [([(30, 30), (28, 27), (15, 2)], 0.05), ([(29, 28)] * 3, 0.2), ([(16, 4)], 0.01)]:
        rows["smooth"].append({"members": 30, "classes": 3, "threshold": 20, "threshold_noise": 5, "vote_noise": 4,
                               "order": 3, "queries": queries, "smoothness": smoothness,
                               "value": text(smooth(queries, small, mpf(smoothness), cache))})
    for order, smoothness, noise, moved in [(12, 0.02, 16, 1), (12, 0.02, 16, 2.5), (6, 0.03, 2, 1), (40, 0.001, 30, 1),
                                            (12, 0.05, 16, 1), (2, 0, 5, 1)]:
        rows["smooth_gaussian"].append({"order": order, "smoothness": smoothness, "noise": noise, "moved": moved,
                                        "value": text(smooth_gaussian(mpf(order), mpf(smoothness), mpf(noise),
                                                                      mpf(moved)))})
    return rows


def main():
    rows = compute()
    if sys.argv[1:] == ["write"]:
        FILE.write_text(json.dumps(rows, indent=1) + "\n")
        return 0
    if sys.argv[1:] != ["check"]:
        print(__doc__)
        return 2
    stored = json.loads(FILE.read_text())
    if stored != json.loads(json.dumps(rows)):
        print(f"{FILE.name} differs from what is computed now")
        return 1
    print("all values are those that are stored")
    return 0


if __name__ == "__main__":
    sys.exit(main())
