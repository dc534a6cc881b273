"""`retort epsilon` beside Google's dp-accounting on random parameters, the same ones in every run.

Retort's epsilon may not be below what dp-accounting calls optimistic, and not more than 1 % above what it calls
pessimistic. RDP is compared with RDP: tighter or equal within 0.002 %, but never below the privacy loss distribution.

    python dp_accounting_test.py RETORT [--count N] [--seed N] [--record]

dp-accounting takes minutes for its part, so what it said of the default parameters lies in dp_accounting_values.json, which
--record writes anew. The first LIVE of them, and all that do not lie there, are asked of dp-accounting itself: from this
Python or from RETORT_READERS_PYTHON (bash cluster/setup.sh --tests). Where it is not installed the first are compared with
what was recorded, too; RETORT_FORBID_SKIPS=1 makes that a failure.
"""

import argparse
import json
import logging
import math
import os
import random
import subprocess
import sys

SLACK = 1e-7  # dp-accounting's transforms move its epsilon by more than 1e-9 at small deltas
LIVE = 20  # two of each kind
VALUES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dp_accounting_values.json")


def peer_is_here():
    """Whether dp-accounting can be imported; this program may start again under the Python that has it."""
    try:
        import dp_accounting  # noqa: F401
    except ImportError:
        other = os.environ.pop("RETORT_READERS_PYTHON", "")
        if other and os.path.exists(other):
            os.execv(other, [other] + sys.argv)
        message = f"{sys.executable} lacks dp-accounting (bash cluster/setup.sh --tests)"
        if os.environ.get("RETORT_FORBID_SKIPS") == "1":
            sys.exit(f"FAILED, skips are forbidden: {message}")
        print(f"only with recorded values: {message}")
        return False
    return True


class Peer:
    """What dp-accounting says: recorded, or asked for now."""

    def __init__(self, record):
        self.live = True  # asks now, also for what is recorded
        self.values = {}
        if not record:
            with open(VALUES, encoding="utf-8") as file:
                self.values = json.load(file)
        self.answers = {}  # of this run
        self.here = peer_is_here()

    def ask(self, what, compute):
        """compute() gives (optimistic, pessimistic) epsilon."""
        if not self.here and what not in self.values:
            sys.exit(f"FAILED: no value is recorded of '{what}', and dp-accounting is not installed")
        fresh = self.here and (self.live or what not in self.values)
        self.answers[what] = list(compute()) if fresh else self.values[what]
        for said, recorded in zip(self.answers[what], self.values.get(what, ())):
            if abs(said - recorded) > 1e-6 * recorded:
                sys.exit(f"FAILED: of '{what}' dp-accounting says {said}, and {recorded} is recorded: --record")
        return self.answers[what]

    def record(self):
        with open(VALUES, "w", encoding="utf-8") as file:
            file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in self.answers.items()) + "\n}\n")


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
    def __init__(self, peer):
        self.peer = peer
        self.failures = 0
        self.widest = {}

    def check(self, what, ours, compute, allowed=0.01):
        optimistic, pessimistic = self.peer.ask(what, compute)
        if ours < optimistic * (1 - SLACK) - SLACK:
            self.fail(f"{what}: {ours} is below the optimistic {optimistic}")
        if ours > pessimistic * (1 + allowed) + SLACK:
            self.fail(f"{what}: {ours} is more than {100 * allowed:g} % above the pessimistic {pessimistic}")
        if pessimistic > 1e-6:
            kind = what.split()[0]
            self.widest[kind] = max(self.widest.get(kind, -1), ours / pessimistic - 1)

    def check_order(self, what, tighter, ours):
        if ours < tighter * (1 - SLACK) - SLACK:
            self.fail(f"{what}: {ours} is below {tighter}, the privacy loss distribution's")

    def fail(self, text):
        self.failures += 1
        print("FAILED " + text)


def bracket(make, count, delta, interval):
    """What computes (optimistic, pessimistic) epsilon of `count` of what make(pld, pessimistic, interval) gives."""
    def compute():
        from dp_accounting.pld import privacy_loss_distribution as pld
        return [make(pld, pessimistic, interval).self_compose(count).get_epsilon_for_delta(delta)
                for pessimistic in (False, True)]
    return compute


def subsampled(retort, draw, comparison, with_pld, faint=False):
    """`faint`: so little is lost that a large delta may see none of it."""
    z = log_uniform(draw, 0.4, 20) if faint else log_uniform(draw, 0.6, 8)
    q = log_uniform(draw, 1e-6, 1e-2) if faint else log_uniform(draw, 1e-3, 0.5)
    steps = int(log_uniform(draw, 1, 10 if faint else 2000))
    delta = log_uniform(draw, 1e-5, 1e-1) if faint else log_uniform(draw, 1e-8, 1e-3)
    what = f"noise {z} rate {q} steps {steps} delta {delta}"
    ours = retort.epsilons("subsampled-gaussian", noise_multiplier=z, sampling_rate=q, steps=steps, delta=delta)
    tight = ours.get(("pld", "add-remove"), ours[("rdp", "add-remove")])

    def by_rdp():
        import dp_accounting
        from dp_accounting import rdp
        accountant = rdp.RdpAccountant()
        accountant.compose(dp_accounting.PoissonSampledDpEvent(q, dp_accounting.GaussianDpEvent(z)), steps)
        return 0.0, accountant.get_epsilon(delta)
    comparison.check("rdp " + what, ours[("rdp", "add-remove")], by_rdp, allowed=2e-5)
    comparison.check_order("rdp " + what, tight, ours[("rdp", "add-remove")])
    if not with_pld:
        return

    def made_for(relation):
        def make(pld, pessimistic, interval):
            import dp_accounting
            return pld.from_gaussian_mechanism(z, sampling_prob=q, value_discretization_interval=interval,
                                               pessimistic_estimate=pessimistic,
                                               neighboring_relation=dp_accounting.NeighboringRelation[relation])
        return make

    comparison.check("pld " + what, tight, bracket(made_for("ADD_OR_REMOVE_ONE"), steps, delta, 1e-3))
    replaced = ours.get(("pld", "replace"), math.inf)
    comparison.check("replaced " + what, replaced, bracket(made_for("REPLACE_ONE"), steps, delta, 1e-3))


def gaussian(retort, draw, comparison):
    count = int(log_uniform(draw, 1, 1000))
    noise = math.sqrt(count) * log_uniform(draw, 0.3, 10)
    delta = log_uniform(draw, 1e-8, 1e-3)
    ours = retort.epsilons("gaussian", noise=noise, sensitivity=1.0, count=count, delta=delta)

    def make(pld, pessimistic, interval):
        return pld.from_gaussian_mechanism(noise, value_discretization_interval=interval,
                                           pessimistic_estimate=pessimistic)

    comparison.check(f"gaussian noise {noise} count {count} delta {delta}", ours[("exact-gdp", "replace")],
                     bracket(make, count, delta, 1e-3))


def response(retort, draw, comparison):
    epsilon0 = log_uniform(draw, 0.05, 3)
    count = int(log_uniform(draw, 1, 300))
    delta = log_uniform(draw, 1e-8, 1e-3)
    ours = retort.epsilons("randomized-response", epsilon0=epsilon0, choices=2, count=count, delta=delta)
    flipped = 2 / (math.exp(epsilon0) + 1)  # probability of an answer drawn at random

    def make(pld, pessimistic, interval):
        return pld.from_randomized_response(flipped, 2, value_discretization_interval=interval,
                                            pessimistic_estimate=pessimistic)

    comparison.check(f"response epsilon0 {epsilon0} count {count} delta {delta}", ours[("exact-lattice", "replace")],
                     bracket(make, count, delta, epsilon0 / 200))


def laplace(retort, draw, comparison, composed):
    count = int(log_uniform(draw, 1, 1000)) if composed else 1
    scale = log_uniform(draw, 0.3, 30) * math.sqrt(count)
    delta = log_uniform(draw, 1e-8, 1e-2)
    ours = retort.epsilons("laplace", scale=scale, sensitivity=1.0, count=count, delta=delta)

    def make(pld, pessimistic, interval):
        return pld.from_laplace_mechanism(scale, value_discretization_interval=interval,
                                          pessimistic_estimate=pessimistic)

    tight = min(value for (_, neighbour), value in ours.items() if neighbour == "replace")
    comparison.check(f"laplace scale {scale} count {count} delta {delta}", tight, bracket(make, count, delta, 1e-4))


def discrete_gaussian(retort, draw, comparison, composed):
    count = int(log_uniform(draw, 2, 500)) if composed else 1
    sensitivity = draw.choice([1, 1, 2, 5])
    # At epsilons of hundreds the peer's transform errs by more than its two estimates differ.
    noise = max(log_uniform(draw, 0.7, 60), sensitivity * math.sqrt(count) / 12)
    delta = log_uniform(draw, 1e-8, 1e-3)
    ours = retort.epsilons("discrete-gaussian", noise=noise, sensitivity=sensitivity, count=count, delta=delta)

    def make(pld, pessimistic, interval):
        return pld.from_discrete_gaussian_mechanism(noise, sensitivity=sensitivity, value_discretization_interval=interval,
                                                    pessimistic_estimate=pessimistic)

    tight = ours[("pld" if composed else "exact-lattice", "replace")]
    comparison.check(f"discrete noise {noise} sensitivity {sensitivity} count {count} delta {delta}", tight,
                     bracket(make, count, delta, 1e-4))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("retort")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    logging.getLogger().setLevel(logging.ERROR)
    retort, count = Retort(options.retort), options.count
    draw = random.Random(options.seed)
    peer = Peer(options.record)
    comparison = Comparison(peer)
    for i in range(count):
        kind = i % 10
        peer.live = options.record or i < LIVE
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
    if options.record:
        peer.record()


main()
