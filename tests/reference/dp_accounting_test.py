"""`retort epsilon` beside Google's dp-accounting on random parameters, the same ones in every run.

Retort's epsilon may not be below what dp-accounting calls optimistic, and not more than 1 % above what it calls
pessimistic. RDP is compared with RDP: tighter or equal within 0.002 %, but never below the privacy loss distribution.

    python dp_accounting_test.py RETORT [COUNT [SEED]]

Needs dp-accounting (bash cluster/setup.sh --tests), from this Python or from RETORT_READERS_PYTHON. Without it the test
skips (exit 77); RETORT_FORBID_SKIPS=1 makes that a failure.
"""

import json
import logging
import math
import os
import random
import subprocess
import sys

SKIPPED = 77
SLACK = 1e-7  # dp-accounting's transforms move its epsilon by more than 1e-9 at small deltas


def find_peer():
    try:
        import dp_accounting  # noqa: F401
    except ImportError:
        other = os.environ.pop("RETORT_READERS_PYTHON", "")
        if other and os.path.exists(other):
            os.execv(other, [other] + sys.argv)
        message = f"dp_accounting_test: {sys.executable} lacks dp-accounting (bash cluster/setup.sh --tests)"
        if os.environ.get("RETORT_FORBID_SKIPS") == "1":
            sys.exit(f"FAILED, skips are forbidden: {message}")
        print(f"SKIPPED: {message}")
        sys.exit(SKIPPED)


class Retort:
    def __init__(self, program):
        self.program = program

    def epsilons(self, mechanism, **parameters):
        """Unrounded epsilon and lower end by accountant; the first of each."""
        command = [self.program, "epsilon", mechanism, "--json"]
        for name, value in parameters.items():
            command += ["--" + name.replace("_", "-"), repr(value) if isinstance(value, float) else str(value)]
        document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        found = {}
        for claim, detail in zip(document["claims"], document["details"]):
            value = math.inf if detail["unrounded"] == "inf" else detail["unrounded"]
            if claim["epsilon"] != "inf" and claim["epsilon"] < value:
                sys.exit(f"FAILED: {' '.join(command)} shows {claim['epsilon']}, below its own {value}")
            found.setdefault((claim["accountant"], claim["neighbour"]), value)
        return found


def log_uniform(draw, low, high):
    return math.exp(draw.uniform(math.log(low), math.log(high)))


class Comparison:
    def __init__(self):
        self.failures = 0
        self.widest = {}

    def check(self, what, ours, optimistic, pessimistic, allowed=0.01):
        if ours < optimistic * (1 - SLACK) - SLACK:
            self.fail(f"{what}: {ours} is below the optimistic {optimistic}")
        if ours > pessimistic * (1 + allowed) + SLACK:
            self.fail(f"{what}: {ours} is more than {100 * allowed:g} % above the pessimistic {pessimistic}")
        if pessimistic > 1e-6:
            kind = what.split()[0]
            self.widest[kind] = max(self.widest.get(kind, -1), ours / pessimistic - 1)

    def fail(self, text):
        self.failures += 1
        print("FAILED " + text)


def bracket(make, count, delta, interval):
    """(optimistic, pessimistic) epsilon of `count` of what make(pessimistic) gives."""
    ends = []
    for pessimistic in (False, True):
        loss = make(pessimistic, interval).self_compose(count)
        ends.append(loss.get_epsilon_for_delta(delta))
    return ends


def subsampled(retort, draw, comparison, with_pld, faint=False):
    """`faint`: so little is lost that a large delta may see none of it."""
    import dp_accounting
    from dp_accounting import rdp
    from dp_accounting.pld import privacy_loss_distribution as pld

    z = log_uniform(draw, 0.4, 20) if faint else log_uniform(draw, 0.6, 8)
    q = log_uniform(draw, 1e-6, 1e-2) if faint else log_uniform(draw, 1e-3, 0.5)
    steps = int(log_uniform(draw, 1, 10 if faint else 2000))
    delta = log_uniform(draw, 1e-5, 1e-1) if faint else log_uniform(draw, 1e-8, 1e-3)
    what = f"noise {z} rate {q} steps {steps} delta {delta}"
    ours = retort.epsilons("subsampled-gaussian", noise_multiplier=z, sampling_rate=q, steps=steps, delta=delta)
    tight = ours.get(("pld", "add-remove"), ours[("rdp", "add-remove")])
    accountant = rdp.RdpAccountant()
    accountant.compose(dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(z)), steps)
    comparison.check("rdp " + what, ours[("rdp", "add-remove")], tight, accountant.get_epsilon(delta), allowed=2e-5)
    if not with_pld:
        return

    def made_for(relation):
        def make(pessimistic, interval):
            return pld.from_gaussian_mechanism(z, sampling_prob=q, value_discretization_interval=interval,
                                               pessimistic_estimate=pessimistic, neighboring_relation=relation)
        return make

    relations = dp_accounting.NeighboringRelation
    comparison.check("pld " + what, tight, *bracket(made_for(relations.ADD_OR_REMOVE_ONE), steps, delta, 1e-3))
    replaced = ours.get(("pld", "replace"), math.inf)
    comparison.check("replaced " + what, replaced, *bracket(made_for(relations.REPLACE_ONE), steps, delta, 1e-3))


def gaussian(retort, draw, comparison):
    from dp_accounting.pld import privacy_loss_distribution as pld

    count = int(log_uniform(draw, 1, 1000))
    noise = math.sqrt(count) * log_uniform(draw, 0.3, 10)
    delta = log_uniform(draw, 1e-8, 1e-3)
    ours = retort.epsilons("gaussian", noise=noise, sensitivity=1.0, count=count, delta=delta)

    def make(pessimistic, interval):
        return pld.from_gaussian_mechanism(noise, value_discretization_interval=interval,
                                           pessimistic_estimate=pessimistic)

    comparison.check(f"gaussian noise {noise} count {count} delta {delta}", ours[("exact-gdp", "replace")],
                     *bracket(make, count, delta, 1e-3))


def response(retort, draw, comparison):
    from dp_accounting.pld import privacy_loss_distribution as pld

    epsilon0 = log_uniform(draw, 0.05, 3)
    count = int(log_uniform(draw, 1, 300))
    delta = log_uniform(draw, 1e-8, 1e-3)
    ours = retort.epsilons("randomized-response", epsilon0=epsilon0, choices=2, count=count, delta=delta)
    flipped = 2 / (math.exp(epsilon0) + 1)  # probability of an answer drawn at random

    def make(pessimistic, interval):
        return pld.from_randomized_response(flipped, 2, value_discretization_interval=interval,
                                            pessimistic_estimate=pessimistic)

    comparison.check(f"response epsilon0 {epsilon0} count {count} delta {delta}", ours[("exact-lattice", "replace")],
                     *bracket(make, count, delta, epsilon0 / 200))


def laplace(retort, draw, comparison, composed):
    from dp_accounting.pld import privacy_loss_distribution as pld

    count = int(log_uniform(draw, 1, 1000)) if composed else 1
    scale = log_uniform(draw, 0.3, 30) * math.sqrt(count)
    delta = log_uniform(draw, 1e-8, 1e-2)
    ours = retort.epsilons("laplace", scale=scale, sensitivity=1.0, count=count, delta=delta)

    def make(pessimistic, interval):
        return pld.from_laplace_mechanism(scale, value_discretization_interval=interval,
                                          pessimistic_estimate=pessimistic)

    tight = min(value for (_, neighbour), value in ours.items() if neighbour == "replace")
    comparison.check(f"laplace scale {scale} count {count} delta {delta}", tight, *bracket(make, count, delta, 1e-4))


def discrete_gaussian(retort, draw, comparison, composed):
    from dp_accounting.pld import privacy_loss_distribution as pld

    count = int(log_uniform(draw, 2, 500)) if composed else 1
    sensitivity = draw.choice([1, 1, 2, 5])
    # At epsilons of hundreds the peer's transform errs by more than its two estimates differ.
    noise = max(log_uniform(draw, 0.7, 60), sensitivity * math.sqrt(count) / 12)
    delta = log_uniform(draw, 1e-8, 1e-3)
    ours = retort.epsilons("discrete-gaussian", noise=noise, sensitivity=sensitivity, count=count, delta=delta)

    def make(pessimistic, interval):
        return pld.from_discrete_gaussian_mechanism(noise, sensitivity=sensitivity, value_discretization_interval=interval,
                                                    pessimistic_estimate=pessimistic)

    tight = ours[("pld" if composed else "exact-lattice", "replace")]
    comparison.check(f"discrete noise {noise} sensitivity {sensitivity} count {count} delta {delta}", tight,
                     *bracket(make, count, delta, 1e-4))


def main():
    find_peer()
    logging.getLogger().setLevel(logging.ERROR)
    retort = Retort(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    draw = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 20)
    comparison = Comparison()
    for i in range(count):
        kind = i % 10
        if kind < 5:
            subsampled(retort, draw, comparison, with_pld=kind < 2, faint=kind == 4)
        elif kind < 7:
            gaussian(retort, draw, comparison)
        elif kind < 8:
            response(retort, draw, comparison)
        elif kind < 9:
            laplace(retort, draw, comparison, composed=i % 20 < 15)
        else:
            discrete_gaussian(retort, draw, comparison, composed=i % 20 < 15)
    for kind, excess in sorted(comparison.widest.items()):
        print(f"{kind}: at most {100 * excess:.4f} % above dp-accounting's pessimistic bound")
    if comparison.failures:
        sys.exit(f"FAILED: {comparison.failures} of {count} parameter sets")
    print(f"ok, {count} parameter sets")


main()
