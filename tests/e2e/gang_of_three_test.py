"""A sweep with a gang of three real processes over Gloo, watched by Prometheus's own check while it runs, and read
afterwards with the lines of orchestrator/cli/HOWTO.md.

usage: gang_of_three_test.py --retort PROGRAM --source DIR
RETORT_READERS_PYTHON names a Python that has pandas, h5py and xarray, where the one that runs this lacks them. What is not
there is skipped with a word; RETORT_FORBID_SKIPS=1 makes that a failure.
"""
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import SMALL_DIGITS, SweepRun, parse_options, processes, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
READERS = ("pandas", "tables", "h5py", "xarray", "h5netcdf")

SWEEP = SMALL_DIGITS + """\
steps = 60
[sweep]
name = "quickstart"
zip.row = [
  {{ method = "dpsgd", devices = 3, priority = 2 }},
  {{ method = "dpsgd", devices = 1, priority = 1 }},
  {{ method = "sleep", devices = 3, seconds = 2, steps = 20 }},
]
"""


def skip(test, message):
    if os.environ.get("RETORT_FORBID_SKIPS") == "1":
        test.fail(f"skips are forbidden: {message}")
    test.skipTest(message)


class Run(SweepRun):
    def __init__(self):
        self.retort = OPTIONS.retort
        self.results = os.path.join(FOLDER, "results", "quickstart")
        self.log = os.path.join(FOLDER, "run.log")
        sweep = os.path.join(FOLDER, "sweep.toml")
        with open(sweep, "w", encoding="utf-8") as file:
            file.write(SWEEP.format(source=OPTIONS.source))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [OPTIONS.retort, "run", sweep, "--slots", "3", "--results", self.results, "--metrics-listen", "127.0.0.1:0"],
                stderr=log, stdout=subprocess.DEVNULL, start_new_session=True)

    def wait_for(self, condition):
        """Of a run that goes on."""
        def value():
            if self.process.poll() is not None:
                raise AssertionError("the run ended early: " + self.text())
            return condition()
        return wait_for(value, self.text)

    def workers(self):
        return [pid for pid, (parent, name, _) in processes().items()
                if parent == self.process.pid and name == "retort-worker"]

    def sleeps(self):
        return [t for t in self.trials() if t["name"].startswith("sleep") and t["state"] == "running"]

    def metrics(self):
        with open(os.path.join(self.results, "targets.json"), encoding="utf-8") as file:
            address = json.load(file)[0]["targets"][0]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as reply:
            return reply.read()


class GangOfThree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = Run()
        cls.workers = cls.run_.wait_for(lambda: len(w := cls.run_.workers()) >= 3 and w)
        cls.run_.wait_for(cls.run_.sleeps)
        cls.metrics = cls.run_.metrics()
        cls.code = cls.run_.end()

    def test_three_processes_train_as_a_single_device_does(self):
        self.assertEqual(self.code, 0, self.run_.text())
        self.assertEqual(len(self.workers), 3)
        trials = {t["spec"]["devices"]: t for t in self.run_.trials() if t["name"].startswith("dpsgd")}
        self.assertEqual({d: (t["state"], t["attempts"]) for d, t in trials.items()},
                         {1: ("succeeded", 1), 3: ("succeeded", 1)}, self.run_.text())
        accuracy = {d: t["metrics"]["test.accuracy"] for d, t in trials.items()}
        self.assertGreater(accuracy[3], 0.3, "it learned")
        self.assertAlmostEqual(accuracy[3], accuracy[1], delta=0.02)
        shown = {d: self.run_.ask("show", t["trial"]) for d, t in trials.items()}
        self.assertEqual(shown[3]["claims"], shown[1]["claims"])
        charged = {d: [(e["event"], e["used"]) for e in s["ledger"]] for d, s in shown.items()}
        self.assertEqual(charged[3], charged[1])
        self.assertEqual(subprocess.run([OPTIONS.retort, "verify", "--results", self.run_.results],
                                        stdout=subprocess.DEVNULL, check=False).returncode, 0)

    def test_promtool_accepts_the_metrics_of_a_run(self):
        self.assertIn(b"retort_", self.metrics)
        if shutil.which("promtool") is None:
            skip(self, "promtool is in the Debian package prometheus (bash cluster/setup.sh --tests)")
        done = subprocess.run(["promtool", "check", "metrics"], input=self.metrics, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, b""))

    def test_the_lines_of_the_page_read_its_results(self):
        if missing := [module for module in READERS if importlib.util.find_spec(module) is None]:
            skip(self, f"{sys.executable} lacks {', '.join(missing)} (bash cluster/setup.sh --tests)")
        with open(os.path.join(OPTIONS.source, "orchestrator/cli/HOWTO.md"), encoding="utf-8") as page:
            lines = [line for line in page if line.startswith("python3 -c ") and "results" in line]
        self.assertEqual(len(lines), 3, lines)
        for line, expected in zip(lines, ("dpsgd-devices3-digits-s0", "dpsgd-devices3-digits-s0", "noisy_gradient_norm")):
            program = shlex.split(line)[2]
            done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=FOLDER, capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, line + done.stderr)
            self.assertIn(expected, done.stdout, line)


if __name__ == "__main__":
    other = os.environ.pop("RETORT_READERS_PYTHON", "")
    if other and os.path.exists(other) and any(importlib.util.find_spec(module) is None for module in READERS):
        os.execv(other, [other] + sys.argv)
    OPTIONS = parse_options("retort", "source")
    FOLDER = tempfile.mkdtemp(prefix="retort-gang-of-three-")
    sys.exit(run_tests(FOLDER))
