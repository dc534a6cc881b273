"""What the tests share that start `retort run` and watch it from outside."""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

PATIENCE = 60  # seconds; generous, since a loaded machine is slow

# The head of a sweep file of small DP-SGD trials on digits; str.format fills in {source}.
SMALL_DIGITS = """
retort = 1
[data.digits]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 512], public = [512, 640], test = [640, 896] }}
[trial]
data = "digits"
student = "logistic"
noise = "seeded"
threads = 1
delta = 1e-4
noise_multiplier = 1
batch = 64
norm_bound = 0.1
lr = 1
"""


def parse_options(*required, **optional):
    """The test program's own arguments: `required` without dashes, `optional` with their defaults (False: a flag)."""
    parser = argparse.ArgumentParser()
    for name in required:
        parser.add_argument("--" + name, required=True)
    for name, default in optional.items():
        parser.add_argument("--" + name, default=default, **({"action": "store_true"} if default is False else {}))
    return parser.parse_args()


def all_tests_pass():
    return unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result.wasSuccessful()


def run_tests(folder):
    """Exit status of all test cases of the program; the folder stays where one of them fails."""
    if not all_tests_pass():
        return 1
    shutil.rmtree(folder)
    return 0


def wait_for(condition, what, seconds=PATIENCE, step=0.02):
    """The first true value of condition(). `what` is told when it does not come; a string or what gives one."""
    until = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(step)
    return value


def processes():
    """{pid: (parent, name, command line)} of every live process."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                stat = file.read()
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                line = file.read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, parent = stat.rsplit(")", 1)[1].split()[:2]
        if state != "Z":
            found[int(pid)] = (int(parent), stat[stat.index("(") + 1:stat.rindex(")")], line)
    return found


def mpi_ranks(*words):
    """Pids by number of the ranks of a `retort` whose command line holds all these words."""
    found = {}
    for pid, (_, name, line) in processes().items():
        if name != "retort" or not all(word in line for word in words):
            continue
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                match = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", file.read())
        except (FileNotFoundError, ProcessLookupError):
            continue
        if match:
            found[int(match[1])] = pid
    return found


class SweepRun:
    """A started sweep. Whoever derives from it sets `retort` (the program), `process`, `results` and `log`."""

    def text(self):
        """What it has said so far."""
        if not os.path.exists(self.log):
            return ""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def end(self, seconds=PATIENCE):
        """Its exit status; afterwards nothing of it runs."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds} s: {self.text()}") from None
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def ask(self, *command):
        """The JSON answer of another `retort` command about the results."""
        done = subprocess.run([self.retort, *command, "--json", "--results", self.results], capture_output=True, text=True,
                              check=True)
        return json.loads(done.stdout)

    def trials(self):
        return self.ask("list")["trials"]

    def rows(self):
        return {t["trial"]: (t["state"], t["row_digest"]) for t in self.trials()}
