"""`retort run --on-end CMD`: told once at each end of a sweep, also after a resume, and never in the way of it.

usage: on_end_test.py --retort PROGRAM
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import PATIENCE, parse_options, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None

NAPS = """
retort = 1
[trial]
method = "sleep"
steps = {steps}
seconds = {seconds}
checkpoint_every = "0s"
[sweep]
name = "{name}"
seeds = [{seeds}]
"""
TELL = 'echo "$RETORT_SWEEP $RETORT_OUTCOME $RETORT_SUCCEEDED/$RETORT_TRIALS $RETORT_EXIT_CODE" >> "$RETORT_RESULTS.told"'


class OnEndTest(unittest.TestCase):
    def write(self, name, seeds="0, 1", seconds="0.01", steps=1):
        with open(os.path.join(FOLDER, name + ".toml"), "w", encoding="utf-8") as file:
            file.write(NAPS.format(name=name, seeds=seeds, seconds=seconds, steps=steps))
        return name + ".toml"

    def run_sweep(self, sweep, *words, on_end=TELL):
        return subprocess.run([OPTIONS.retort, "run", sweep, "--on-end", on_end, *words], cwd=FOLDER, capture_output=True,
                              text=True, check=False, timeout=120)

    def told(self, name):
        path = os.path.join(FOLDER, "results", name + ".told")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_an_end_is_told_once(self):
        sweep = self.write("once")
        for _ in range(3):
            self.assertEqual(self.run_sweep(sweep).returncode, 0)
        self.assertEqual(self.told("once"), ["once succeeded 2/2 0"])
        self.assertEqual(subprocess.run([OPTIONS.retort, "verify", "--results", "results/once"], cwd=FOLDER, check=False,
                                        capture_output=True).returncode, 0)

    def test_a_resumed_sweep_is_told_when_it_has_ended(self):
        sweep = self.write("resumed", seeds="0", steps=40, seconds="3")
        with subprocess.Popen([OPTIONS.retort, "run", sweep, "--quiet", "--on-end", TELL], cwd=FOLDER) as run:
            wait_for(lambda: os.path.exists(os.path.join(FOLDER, "results", "resumed", "targets.json")), "it runs")
            run.send_signal(signal.SIGTERM)
            self.assertEqual(run.wait(PATIENCE), 75)
        self.assertEqual(self.told("resumed"), [])
        for _ in range(2):
            self.assertEqual(self.run_sweep(sweep).returncode, 0)
        self.assertEqual(self.told("resumed"), ["resumed succeeded 1/1 0"])

    def test_another_trial_makes_another_end(self):
        self.assertEqual(self.run_sweep(self.write("grown", seeds="0")).returncode, 0)
        self.assertEqual(self.run_sweep(self.write("grown", seeds="0, 1")).returncode, 0)
        self.assertEqual(self.told("grown"), ["grown succeeded 1/1 0", "grown succeeded 2/2 0"])

    def test_its_failure_changes_nothing(self):
        ended = self.run_sweep(self.write("failing"), "--json", on_end="echo words; exit 9")
        self.assertEqual(ended.returncode, 0)
        self.assertIn("--on-end failed: it ended with exit code 9", ended.stderr)
        self.assertEqual(json.loads(ended.stdout)["exit_code"], 0)
        self.assertIn("words", ended.stderr)

    def test_failed_trials_are_a_failed_sweep(self):
        sweep = self.write("cancelled", seeds="0, 1", steps=60, seconds="3")
        with subprocess.Popen([OPTIONS.retort, "run", sweep, "--quiet", "--on-end", TELL], cwd=FOLDER) as run:
            wait_for(lambda: os.path.exists(os.path.join(FOLDER, "results", "cancelled", "targets.json")), "it runs")
            done = subprocess.run([OPTIONS.retort, "cancel", "sleep-s1", "--results", "results/cancelled"], cwd=FOLDER,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            code = run.wait(PATIENCE)
        self.assertEqual(self.told("cancelled"), [f"cancelled {'succeeded' if code == 0 else 'failed'} 1/2 {code}"])

    def test_a_sweep_file_with_errors_has_no_end(self):
        with open(os.path.join(FOLDER, "wrong.toml"), "w", encoding="utf-8") as file:
            file.write("retort = 1\nnothing = 2\n")
        ended = self.run_sweep("wrong.toml", on_end="touch told-of-nothing")
        self.assertEqual(ended.returncode, 2)
        self.assertFalse(os.path.exists(os.path.join(FOLDER, "told-of-nothing")))


if __name__ == "__main__":
    OPTIONS = parse_options("retort")
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    FOLDER = tempfile.mkdtemp(prefix="retort-on-end-")
    os.environ["XDG_CACHE_HOME"] = os.path.join(FOLDER, "cache")
    sys.exit(run_tests(FOLDER, at_once=2))
