"""The sweep of IJCAI Table 3 in its small profile: pictures from folders, two teachers, two budgets, a ResNet-34, under
mpirun; and a teacher that is loaded from one of the files that it leaves.

usage: imagenet_sweep_test.py --retort PROGRAM --source DIR [--mpirun LAUNCHER]
RETORT_READERS_PYTHON names a Python that has h5py, where the one that runs this lacks it. Without any that part is
skipped with a word; RETORT_FORBID_SKIPS=1 makes that a failure.
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import SweepRun, parse_options, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
RUN = None

# A teacher from a file, beside the plan's own; the weights are those that the first sweep exported.
LOADED = """
retort = 1
[data.things]
reader = "pictures"
path = "{source}/tests/fixtures/folders/things"
resize = 32
crop = 32
split = {{ train = [0, 2], test = [2, 3] }}
[teacher]
own = {{ network = "wrn16-1", weights = "weights.pth" }}
[trial]
teacher = "own"
student = "wrn16-1"
threads = 1
steps = 2
batch = 4
student_batch = 4
student_steps = 1
replay = 0
latent = 16
generator_width = 8
[sweep]
seeds = [0, 1]
"""


def call(*command, cwd=None):
    return subprocess.run([OPTIONS.retort, *command], capture_output=True, text=True, cwd=cwd, check=False)


class Run(SweepRun):
    def __init__(self):
        self.retort = OPTIONS.retort
        self.results = os.path.join(FOLDER, "results")
        self.log = os.path.join(FOLDER, "run.log")
        self.sweep = os.path.join(OPTIONS.source, "experiments", "configs", "dpdfd-ijcai23", "table3.toml")
        launcher = [OPTIONS.mpirun, "-np", "2"] if OPTIONS.mpirun else []
        environment = dict(os.environ, RETORT_PICTURE_CACHE=os.path.join(FOLDER, "cache"))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                launcher + [OPTIONS.retort, "run", self.sweep, "--profile", "smoke", "--results", self.results,
                            "--metrics-listen", "127.0.0.1:0"],
                stderr=log, stdout=subprocess.DEVNULL, start_new_session=True, env=environment)

    def scrape(self):
        """The metrics of a run that goes on; None before there are any."""
        if self.process.poll() is not None:
            raise AssertionError(f"ended before it was asked: {self.text()}")
        targets = os.path.join(self.results, "targets.json")
        if not os.path.exists(targets):
            return None
        with open(targets, encoding="utf-8") as file:
            target = json.load(file)[0]["targets"][0]
        text = urllib.request.urlopen(f"http://{target}/metrics", timeout=10).read().decode()
        return text if "retort_trials" in text else None


class ImageNetSweep(unittest.TestCase):
    def test_every_trial_succeeds(self):
        trials = RUN.trials()
        self.assertEqual(len(trials), 12, "2 teachers on 2 data sets, and their students at 2 budgets")
        for trial in trials:
            self.assertEqual(trial["state"], "succeeded", trial)
            self.assertIn("test.accuracy", trial["metrics"])

    def test_claims_are_labelled_and_none_is_free(self):
        for trial in RUN.trials():
            shown = RUN.ask("show", trial["trial"])
            self.assertTrue(shown["claims"], trial["name"])
            for claim in shown["claims"]:
                self.assertNotEqual(claim["epsilon"], 0)

    def test_the_table_has_a_column_for_each_budget(self):
        done = call("table", RUN.sweep, "--profile", "smoke", "--results", RUN.results, "--format", "csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        for word in ("drawn", "trained", "imagenet", "things"):
            self.assertIn(word, done.stdout)

    def test_attempts_hold_samples_and_accounting(self):
        if importlib.util.find_spec("h5py") is None:
            if os.environ.get("RETORT_FORBID_SKIPS") == "1":
                self.fail("skips are forbidden: h5py is missing")
            self.skipTest("h5py is missing")
        import h5py

        seen = 0
        for trial in RUN.trials():
            if not trial["name"].startswith("dpdfd"):
                continue
            folder = os.path.join(RUN.results, "trials")
            [own] = [name for name in os.listdir(folder) if name.endswith(trial["trial"])]
            attempt = sorted(name for name in os.listdir(os.path.join(folder, own)) if name.startswith("attempt-"))[-1]
            with h5py.File(os.path.join(folder, own, attempt, "attempt.h5")) as file:
                images = file["samples/images"]
                self.assertEqual(images.shape[1:], (3, 32, 32))
                self.assertEqual([round(x, 3) for x in images.attrs["mean"]], [0.485, 0.456, 0.406])
                self.assertEqual(file["samples/released"].shape[1], 3)
                self.assertGreater(len(file["ledger"]), 0)
                self.assertGreater(len(file["claims"]), 0)
                self.assertIn("layer4.2.bn2.running_var", file["student"])
            seen += 1
        self.assertEqual(seen, 8)

    def test_a_teacher_is_loaded_from_an_exported_file(self):
        sweep, weights = os.path.join(FOLDER, "loaded.toml"), os.path.join(FOLDER, "weights.pth")
        with open(sweep, "w", encoding="utf-8") as file:
            file.write(LOADED.format(source=OPTIONS.source))
        planned = call("plan", sweep)
        self.assertEqual(planned.returncode, 0, planned.stderr)
        self.assertIn(f"teacher.own.weights: '{weights}' is not there", planned.stderr)
        missing = call("run", sweep, "--results", os.path.join(FOLDER, "missing-results"))
        self.assertEqual(missing.returncode, 3, missing.stderr)
        self.assertIn("loaded.toml:10:", missing.stderr)
        [teacher] = [t for t in RUN.trials() if t["name"].startswith("teacher-trained-things")]
        exported = call("export", teacher["trial"], "student", "--format", "torch", "--out", weights, "--results", RUN.results)
        self.assertEqual(exported.returncode, 0, exported.stderr)
        results = os.path.join(FOLDER, "loaded-results")
        planned = call("plan", sweep, "--results", results)
        self.assertIn("Loaded teachers", planned.stdout, planned.stderr)
        done = call("run", sweep, "--results", results, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        trials = json.loads(call("list", "--json", "--results", results).stdout)["trials"]
        self.assertEqual(len(trials), 3, "one teacher for both seeds")
        [own] = [t for t in trials if t["name"].startswith("teacher")]
        self.assertEqual(own["metrics"]["test.accuracy"], teacher["metrics"]["test.accuracy"])
        student = [t for t in trials if t["name"].startswith("dpdfd")][0]
        shown = json.loads(call("show", student["trial"], "--json", "--results", results).stdout)
        examples = [c for c in shown["claims"] if c["adjacency"] == "example" and c["status"] != "paper-formula"]
        self.assertEqual([(c["epsilon"], c["reason"]) for c in examples], [("inf", "loaded-weights")])
        teacher_claim = [c for c in shown["claims"] if c["adjacency"] == "teacher"]
        self.assertEqual([c["status"] for c in teacher_claim], ["proven"])


if __name__ == "__main__":
    if importlib.util.find_spec("h5py") is None and os.environ.get("RETORT_READERS_PYTHON"):
        other = os.environ.pop("RETORT_READERS_PYTHON")
        if os.path.exists(other):
            os.execv(other, [other] + sys.argv)
    OPTIONS = parse_options("retort", "source", mpirun="")
    FOLDER = tempfile.mkdtemp(prefix="imagenet_sweep_test.")
    RUN = Run()
    METRICS = wait_for(RUN.scrape, RUN.text)
    if RUN.end(170) != 0:
        sys.exit(f"FAILED: the sweep in {FOLDER} did not succeed: {RUN.text()}")
    sys.exit(run_tests(FOLDER))
