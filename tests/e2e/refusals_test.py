"""Every refusal of FAULTS.md, and the exit code with which it ends: by itself, with `table --complete`, and handed on by the loop.

usage: refusals_test.py --retort PROGRAM --source DIR
"""
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import SMALL_DIGITS, parse_options, run_tests  # noqa: E402

OPTIONS = None
FOLDER = None
# Of seeded noise no budget can cover anything.
SWEEP = SMALL_DIGITS.replace('noise = "seeded"\n', "") + """\
method = "dpsgd"
claim = "example"
steps = 2
[sweep]
name = "small"
seeds = [0]
[table.t]
rows = ["method"]
"""
BUDGET = "budget = { epsilon = 1000, delta = 1e-3 }\n"
# What a launcher tells one of two processes of itself.
LAUNCHERS = {"OMPI_COMM_WORLD_SIZE": ["OMPI_COMM_WORLD_RANK"], "SLURM_STEP_NUM_TASKS": ["SLURM_PROCID", "PMIX_RANK"],
             "PMI_SIZE": ["PMI_RANK", "PMIX_RANK"], "MV2_COMM_WORLD_SIZE": ["MV2_COMM_WORLD_RANK"]}
# The rows of FAULTS.md that speak of a refusal or of an exit code 1 to 3, by how they begin, and the test here; or where else one
# asks for the code.
ROWS = {
    "full disk, file-size limit": "test_a_file_size_limit",
    "journal or ledger cannot be written": "test_a_file_size_limit",
    "the ledger is gone, or holds less than the journal knows of": "test_a_ledger_that_is_gone_or_cut",
    "the key that tells private examples apart is gone": "test_a_key_that_is_gone_damaged_or_another",
    "a results folder is copied": "test_a_copy_in_another_root",
    "N singletons in place of a world of N": "test_singletons",
    "an `attempt.h5` counts or claims less": "VerifyCharged",
    "rank 0's host shares no folder": "test_a_job_on_other_hosts_needs_a_last_word",
    "too few devices are left for what is queued": "LiveAmendmentTest.RetryOfWhatTheRunHasTooFewDevicesForIsRefused",
    "a reservation of more than 2^50 draws": "ChargingTest.ReservationBeyondWhatCanBeCountedIsRefused",
    "a request to cancel or retry is cut": "AmendRequest.EveryCutAndEveryFlippedByteIsRefused",
    "the results folder is moved": "test_a_results_folder_that_is_moved_ends_the_run",
    "the working folder is gone": "test_a_working_folder_that_is_gone",
}


def path(*words):
    return os.path.join(FOLDER, *words)


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def command(*words, before=(), cwd=None, preexec=None, **variables):
    return subprocess.run([*before, OPTIONS.retort, *words], cwd=cwd or FOLDER, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, preexec_fn=preexec,
                          env={**os.environ, "XDG_CACHE_HOME": path("cache"), **variables})


def setUpModule():
    write(path("s.toml"), SWEEP.format(source=OPTIONS.source))
    write(path("b.toml"), SWEEP.format(source=OPTIONS.source).replace("[trial]", BUDGET + "[trial]"))
    os.mkdir(path("whole"))
    for name in "s", "b":
        done = command("run", name + ".toml", "--results", path("whole", name))
        assert done.returncode == 0, done.stderr


class Refusals(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(dir=FOLDER)

    def copy(self, name):
        shutil.copytree(path("whole"), os.path.join(self.root, "root"))
        return os.path.join(self.root, "root", name)

    def ends(self, code, sweep, results, *more, text="", **how):
        loop = ["bash", os.path.join(OPTIONS.source, "cluster/launch/until-complete.sh")]
        for before in [], loop:
            for words in ["run", sweep], ["table", sweep, "--complete"]:
                done = command(*words, *more, "--results", results, before=before, **how)
                self.assertEqual(done.returncode, code, (words, before, how, done.stdout, done.stderr))
                self.assertIn(text, done.stderr)

    def test_singletons(self):
        for size, ranks in LAUNCHERS.items():
            for variables in [{}] + [{name: rank} for name in ranks for rank in ("0", "1")]:
                for value in ["2"] if variables else ["2", "x"]:
                    results = os.path.join(self.root, "r")
                    done = command("run", "s.toml", "--results", results, **{size: value}, **variables)
                    self.assertEqual(done.returncode, 3, (size, value, variables, done.stderr))
                    self.assertIn(size, done.stderr)
                    self.assertFalse(os.path.exists(results), (size, variables))
        self.ends(3, "s.toml", os.path.join(self.root, "r"), text="mpirun.sh -np 2", OMPI_COMM_WORLD_SIZE="2",
                  OMPI_COMM_WORLD_RANK="0")

    def test_singletons_of_a_done_sweep_are_no_success(self):
        one_of_two = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}
        self.assertEqual(command("run", "nothing.toml", **one_of_two).returncode, 2)
        self.assertEqual(command("run", "s.toml", "trial.stepz=3", **one_of_two).returncode, 2)
        self.assertEqual(command("run", "s.toml", "--profile", "nothing", **one_of_two).returncode, 2)
        self.ends(3, "s.toml", self.copy("s"), **one_of_two)
        self.ends(75, "s.toml", self.copy_again(), SLURM_JOB_END_TIME="1", RETORT_QUICK_TRIES="1", **one_of_two)

    def copy_again(self):
        self.root = tempfile.mkdtemp(dir=FOLDER)
        return self.copy("s")

    def test_a_ledger_that_is_gone_or_cut(self):
        results = self.copy("s")
        ledger = os.path.join(results, "ledger.log")
        size = os.path.getsize(ledger)
        os.truncate(ledger, size // 3)
        done = command("run", "s.toml", "trial.steps=3", "--results", results)
        self.assertIn(done.returncode, (1, 3), done.stderr)
        os.remove(ledger)
        self.ends(3, "s.toml", results, "trial.steps=3", text="ledger.log")

    def test_a_key_that_is_gone_damaged_or_another(self):
        results = self.copy("b")
        key = os.path.join(os.path.dirname(results), "private-examples", "key")
        with open(key, "rb") as file:
            whole = file.read()
        os.remove(key)
        self.ends(3, "b.toml", results, "trial.steps=3", text="private-examples/key")
        with open(key, "wb") as file:
            file.write(bytes([whole[0] ^ 1]) + whole[1:])
        done = command("run", "b.toml", "trial.steps=3", "--results", results)
        self.assertIn(done.returncode, (1, 3), done.stderr)
        with open(key, "wb") as file:
            file.write(whole)
        marks = glob.glob(os.path.join(os.path.dirname(key), "*.marks"))[0]
        os.chmod(marks, 0o600)
        with open(marks, "r+b") as file:
            file.seek(30)
            file.write(b"\xff\xff\xff")
        self.ends(1, "b.toml", results, "trial.steps=3", text=".marks")

    def test_a_copy_in_another_root(self):
        results = os.path.join(self.root, "b")
        shutil.copytree(path("whole", "b"), results)
        done = command("run", "b.toml", "trial.steps=3", "--results", results)
        self.assertNotEqual(done.returncode, 0, done.stderr)

    def test_a_file_size_limit(self):
        def no_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
        self.ends(3, "s.toml", os.path.join(self.root, "r"), preexec=no_room)

    def test_every_refusal_has_a_test(self):
        with open(os.path.join(OPTIONS.source, "orchestrator/FAULTS.md"), encoding="utf-8") as file:
            rows = [line.strip("|\n ").split("|") for line in file if line.startswith("| ")]
        said = [row[0].strip() for row in rows if len(row) > 2 and re.search(r"refused|exit code [123]|ends with 1", "|".join(row[1:-1]))
                and not row[0].strip().startswith("`")]
        missing = [name for name in said if not any(name.startswith(begin) for begin in ROWS)]
        self.assertEqual(missing, [], "name the test of each in ROWS")
        for begin, test in ROWS.items():
            self.assertTrue(any(row[0].strip().startswith(begin) for row in rows), begin)
            if test.startswith("test_") and hasattr(self, test):
                continue
            found = subprocess.run(["grep", "-rlF", test.split(".")[-1], os.path.join(OPTIONS.source, "tests")],
                                   capture_output=True, text=True, check=False).stdout.split()
            self.assertTrue([name for name in found if not name.endswith("refusals_test.py")], test)


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.retort, OPTIONS.source = os.path.abspath(OPTIONS.retort), os.path.abspath(OPTIONS.source)
    sys.argv = sys.argv[:1]
    FOLDER = tempfile.mkdtemp(prefix="retort-refusals-")
    sys.exit(run_tests(FOLDER))
