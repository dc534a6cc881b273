"""Retort's accountants beside dp-accounting, in one run: how many times faster, at which epsilon or noise.

    python accountant_ratio.py --bench accountant_bench --python PYTHON_WITH_DP_ACCOUNTING

Aims: RDP 300 times faster at an equal or tighter epsilon, PLD 20 times, calibration 40 times.
"""

import argparse
import logging
import os
import subprocess
import sys
import time

SETTINGS = [  # q, z, steps, delta, epsilon of the calibration
    (0.01, 1.0, 1000, 1e-5, 1.0),
    (256 / 60000, 1.1, 14062, 1e-5, 3.0),
    (0.04, 1.5, 2250, 1e-5, 3.0),
]
AIMS = {"rdp": 300, "pld": 20, "calibrate-rdp": 40, "calibrate-pld": 40}


def fastest(work, repeats):
    best, value = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        value = work()
        best = min(best, time.perf_counter() - start)
    return value, 1000 * best


def peer(kind, q, z, steps, delta, epsilon):
    """(value, milliseconds) of dp-accounting with its defaults."""
    import dp_accounting
    from dp_accounting import pld, rdp

    def event(noise):
        sampled = dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(noise))
        return dp_accounting.SelfComposedDpEvent(sampled, steps)

    accountant = rdp.RdpAccountant if kind.endswith("rdp") else pld.PLDAccountant
    if kind.startswith("calibrate"):
        return fastest(lambda: dp_accounting.calibrate_dp_mechanism(accountant, event, epsilon, delta), 1)

    def epsilon_of():
        one = accountant()
        one.compose(event(z))
        return one.get_epsilon(delta)

    return fastest(epsilon_of, 3)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--bench", required=True)
    options.add_argument("--python", default="")
    given = options.parse_args()
    try:
        import dp_accounting  # noqa: F401
    except ImportError:
        if not os.path.exists(given.python) or os.environ.get("ACCOUNTANT_RATIO"):
            print("SKIPPED: no dp-accounting (bash cluster/setup.sh --tests)")
            sys.exit(77)
        os.environ["ACCOUNTANT_RATIO"] = "1"
        os.execv(given.python, [given.python] + sys.argv)
    logging.getLogger().setLevel(logging.ERROR)
    for kind, aim in AIMS.items():
        for setting in SETTINGS:
            command = [given.bench, kind] + [repr(number) for number in setting]
            value, ours = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
            other, theirs = peer(kind, *setting)
            what = "noise" if kind.startswith("calibrate") else "epsilon"
            print(f"{kind}: q {setting[0]:.5g} z {setting[1]} T {setting[2]}: {what} {value:.6f} in {ours:.3f} ms, "
                  f"dp-accounting {other:.6f} in {theirs:.1f} ms: {theirs / ours:.0f} times (aim {aim})")


main()
