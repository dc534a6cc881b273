"""`retort plan` of 100,000 trials, whatever they are made of: less than 205 MiB, as text and as JSON.

usage: plan_memory_test.py --retort PROGRAM --source DIR
"""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import parse_options, run_tests  # noqa: E402

OPTIONS = None
FOLDER = None
TRIALS = 100_000
MOST_MEBIBYTES = 205

DIGITS = """
retort = 1
[data.digits]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 8000], public = [8000, 9000], test = [9000, 10000] }}
{more}
[trial]
data = "digits"
delta = 1e-5
"""
TEACHER = '[teacher]\nsingle = { network = "datalens", epochs = 5 }\n'
OF_TEACHER = 'teacher = "single"\nstudent = "datalens"\nsteps = 1000\n[sweep]\nname = "large"\n'


def values(first, count):
    return "[" + ", ".join(str(value) for value in range(first, first + count)) + "]"


def plan(text, printed, *options):
    """Writes what it prints to the file `printed`; the most memory it had, in MiB. A child counts what its parent held when
    it was started, so this program holds nothing large."""
    sweep = os.path.join(FOLDER, "sweep.toml")
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(text)
    with open(printed, "wb") as output, open(printed + ".messages", "wb") as messages:
        process = subprocess.Popen([OPTIONS.retort, "plan", sweep, "--results", os.path.join(FOLDER, "none"), *options],
                                   stdout=output, stderr=messages)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        with open(printed + ".messages", encoding="utf-8") as messages:
            raise AssertionError(messages.read(4000))
    return usage.ru_maxrss / 1024


def occurrences(word, path):
    count, rest = 0, b""
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            count += (rest + piece).count(word)
            rest = piece[1 - len(word):]
    return count


class PlanMemoryTest(unittest.TestCase):
    def check(self, text, trials, *options):
        printed = os.path.join(FOLDER, "printed")
        mebibytes = plan(text, printed, *options)
        print(f"{self._testMethodName} {' '.join(options)}: {mebibytes:.0f} MiB", flush=True)
        if options:
            self.assertEqual(occurrences(b'"runs":true', printed), trials)
        else:
            self.assertEqual(occurrences(f"Trials: {trials:,}, of which {trials:,} to run".encode(), printed), 1)
        self.assertLess(mebibytes, MOST_MEBIBYTES)

    def test_axes_crossed_with_seeds(self):
        text = (DIGITS.format(source=OPTIONS.source, more=TEACHER) + OF_TEACHER + f"seeds = {values(0, 10)}\n"
                f"grid.sigma = {values(1, 50)}\ngrid.batch = {values(16, 10)}\ngrid.replay = {values(1, 10)}\n"
                'zip.row = [{ reading = "working" }, { reading = "printed", kappa = 0.5 }]\n')
        self.check(text, TRIALS + 10)
        self.check(text, TRIALS + 10, "--json")

    def test_every_trial_has_claims_of_its_own(self):
        text = (DIGITS.format(source=OPTIONS.source, more=TEACHER) + OF_TEACHER +
                f"seeds = [0]\ngrid.sigma = {values(1, 1000)}\ngrid.batch = {values(16, 100)}\n")
        self.check(text, TRIALS + 1)
        self.check(text, TRIALS + 1, "--json")

    def test_half_of_the_trials_are_teachers(self):
        text = DIGITS.format(source=OPTIONS.source, more=TEACHER) + OF_TEACHER + f"seeds = {values(0, TRIALS // 2)}\n"
        self.check(text, TRIALS)

    def test_a_budget_asks_for_the_claims_of_all(self):
        text = DIGITS.format(source=OPTIONS.source, more="budget = { epsilon = 1e6, delta = 0.5 }")
        text += ('method = "dpsgd"\nstudent = "tanh-cnn"\nnorm_bound = 0.1\n[sweep]\nname = "large"\n'
                 f"seeds = {values(0, TRIALS // 10)}\ngrid.noise_multiplier = {values(1, 10)}\n")
        self.check(text, TRIALS)

    def test_costs_of_all_are_known(self):
        text = ('retort = 1\n[trial]\nmethod = "sleep"\n[sweep]\nname = "naps"\n'
                f"seeds = {values(0, TRIALS // 100)}\ngrid.seconds = {values(1, 10)}\ngrid.steps = {values(1, 10)}\n")
        self.check(text, TRIALS)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    FOLDER = tempfile.mkdtemp(prefix="retort-plan-memory-")
    sys.exit(run_tests(FOLDER))
