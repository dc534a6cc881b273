"""A run is killed past its third checkpoint, the newest one loses a byte, and the run goes on: the ledger, the row, attempt.h5
and the student all count the same. A file that counts less is found, repaired, and believed by no student.

usage: older_checkpoint_test.py --retort PROGRAM --source DIR
"""
import glob
import importlib.util
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from record_log import crc32c  # noqa: E402
from sweep_run import parse_options, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
READERS = ["h5py"]
STEPS, BLOCK = 1200, 8

SWEEP = """
retort = 1
[data.digits]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 4000], public = [4000, 4640], test = [4640, 4896] }}
[teacher]
dp = {{ network = "logistic", steps = {steps}, batch = 64, private = {{ noise_multiplier = 1, norm_bound = 0.1 }} }}
[trial]
data = "digits"
student = "logistic"
threads = 1
delta = 1e-5
batch = 16
steps = 2
replay = 2
student_steps = 2
student_batch = 16
generator_width = 8
latent = 16
checkpoint_every = "1h"
checkpoint_steps = 60
reserve_block = {block}
[sweep]
name = "ck"
seeds = [0]
zip.row = [ {{ method = "dpdfd", reading = "sound", teacher = "dp" }} ]
"""


def retort(*words):
    return subprocess.run([OPTIONS.retort, *words, "--results", "r"], cwd=FOLDER, capture_output=True, text=True, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": os.path.join(FOLDER, "cache")})


def write_sweep():
    with open(os.path.join(FOLDER, "ck.toml"), "w", encoding="utf-8") as file:
        file.write(SWEEP.format(source=OPTIONS.source, steps=STEPS, block=BLOCK))


def checkpoints():
    """[(step, path)] of the teacher's first attempt."""
    found = glob.glob(os.path.join(FOLDER, "r/trials/*/attempt-1/checkpoint-*.h5"))
    return sorted((int(match[1]), path) for path in found if (match := re.search(r"checkpoint-(\d+)\.h5$", path)))


def flip(path):
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def kill_past_the_third_checkpoint():
    """The checkpoints that it left, ascending: two, or three when it died in the middle of a commit."""
    process = subprocess.Popen([OPTIONS.retort, "run", "ck.toml", "--results", "r", "--quiet"], cwd=FOLDER,
                               start_new_session=True, stderr=subprocess.DEVNULL,
                               env={**os.environ, "XDG_CACHE_HOME": os.path.join(FOLDER, "cache")})
    try:
        wait_for(lambda: len(found := checkpoints()) == 2 and found[-1][0] >= 120, "a checkpoint of 120 steps", step=0.001)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return checkpoints()


def charged(entries):
    """Draws that count; of `retort show` or of attempt.h5, where the event is a text."""
    return sum(entry["used"] if entry["state"] == "settled" else entry.get("count") or entry["event"]["count"]
               for entry in entries)


def epsilons(claims):
    return sorted((claim["adjacency"], claim["neighbour"], claim["status"], float(claim["epsilon"])) for claim in claims)


class Folder:
    """What the commands and the files say of the teacher and of its students."""

    def __init__(self):
        listed = json.loads(retort("list", "--json").stdout)["trials"]
        [self.teacher] = [t for t in listed if t["name"].startswith("teacher")]
        self.students = [t for t in listed if t is not self.teacher]

    @staticmethod
    def shown(trial):
        return json.loads(retort("show", trial["trial"], "--json").stdout)

    @staticmethod
    def path(trial):
        found = sorted(glob.glob(os.path.join(FOLDER, f"r/trials/*-{trial['trial']}/attempt-*/attempt.h5")))
        assert len(found) == 1, found
        return found[0]

    @classmethod
    def stored(cls, trial):
        """(ledger, claims) of its attempt.h5."""
        import h5py  # pylint: disable=import-outside-toplevel

        def table(data):
            return [{name: value.decode().rstrip("\0") if isinstance(value := row[name], bytes) else value.item()
                     for name in data.dtype.names} for row in data[()]]
        with h5py.File(cls.path(trial)) as file:
            return table(file["ledger"]), table(file["claims"])


def count_less(path):
    """Halves every epsilon and every count of an attempt.h5, and seals it anew."""
    import h5py  # pylint: disable=import-outside-toplevel
    with open(path, "r+b") as file:
        file.seek(-20, os.SEEK_END)
        seal = file.read()
        assert seal[:8] == b"RETORTSL"
        file.truncate(os.path.getsize(path) - 20)
    with h5py.File(path, "r+") as file:
        claims, ledger = file["claims"][()], file["ledger"][()]
        claims["epsilon"] /= 2
        ledger["used"] //= 2
        file["claims"][()], file["ledger"][()] = claims, ledger
    with open(path, "r+b") as file:
        image = file.read()
        head = seal[:8] + struct.pack("<Q", len(image))
        file.write(head + struct.pack("<I", crc32c(image + head)))


class OlderCheckpointTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        write_sweep()
        for _ in range(10):
            shutil.rmtree(os.path.join(FOLDER, "r"), ignore_errors=True)
            left = kill_past_the_third_checkpoint()
            if len(left) == 2:
                break
        assert len(left) == 2 and 120 <= left[-1][0] < STEPS, left
        flip(left[-1][1])
        cls.done = retort("run", "ck.toml", "--quiet")
        cls.folder = Folder()

    def need_readers(self):
        if missing := [module for module in READERS if importlib.util.find_spec(module) is None]:
            self.skipTest(f"{sys.executable} lacks {', '.join(missing)} (bash cluster/setup.sh --tests)")

    def test_1_what_was_released_is_not_drawn_again(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(self.folder.teacher["attempts"], 2)
        draws = charged(self.folder.shown(self.folder.teacher)["ledger"])
        self.assertGreaterEqual(draws, STEPS)
        self.assertLessEqual(draws, STEPS + BLOCK, "a block that the kill cut off, and no more")

    def test_2_verify_agrees(self):
        done = retort("verify")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_3_the_files_say_what_ledger_and_rows_say(self):
        self.need_readers()
        for trial in [self.folder.teacher, *self.folder.students]:
            shown = self.folder.shown(trial)
            ledger, claims = self.folder.stored(trial)
            self.assertEqual(charged(ledger), charged(shown["ledger"]), trial["name"])
            self.assertEqual(epsilons(claims), epsilons(shown["claims"]), trial["name"])

    def test_4_a_file_that_counts_less_is_found(self):
        self.need_readers()
        teacher = self.folder.teacher
        proven = [c for c in self.folder.shown(teacher)["claims"] if c["status"] == "proven"]
        count_less(self.folder.path(teacher))
        done = retort("verify")
        self.assertEqual(done.returncode, 1, done.stdout)
        said = re.sub(r"\s+", " ", done.stdout)
        self.assertRegex(said, r"attempt\.h5: counts \d+ draws of noise less than the ledger charges")
        self.assertIn("attempt.h5: claims less than its row: example", said)
        # One more student, of the same teacher.
        before = {t["trial"] for t in self.folder.students}
        done = retort("run", "ck.toml", "trial.student_steps=3", "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        listed = json.loads(retort("list", "--json").stdout)["trials"]
        student = next(t for t in listed if t["trial"] not in before and t["trial"] != teacher["trial"])
        _, claims = self.folder.stored(student)
        for claim in proven:
            inherited = [c for c in claims if (c["adjacency"], c["neighbour"], c["status"]) ==
                         (claim["adjacency"], claim["neighbour"], "proven")]
            self.assertEqual([c["epsilon"] for c in inherited], [claim["epsilon"]], claim)

    def test_5_repair_counts_it_anew(self):
        self.need_readers()
        done = retort("repair", "--apply")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("counts or claims other than the ledger", re.sub(r"\s+", " ", done.stdout))
        done = retort("verify")
        self.assertEqual(done.returncode, 0, done.stdout)
        ledger, claims = self.folder.stored(self.folder.teacher)
        shown = self.folder.shown(self.folder.teacher)
        self.assertEqual(charged(ledger), charged(shown["ledger"]))
        self.assertEqual(epsilons(claims), epsilons(shown["claims"]))


if __name__ == "__main__":
    other = os.environ.pop("RETORT_READERS_PYTHON", "")
    if other and os.path.exists(other) and any(importlib.util.find_spec(module) is None for module in READERS):
        os.execv(other, [other] + sys.argv)
    OPTIONS = parse_options("retort", "source")
    FOLDER = tempfile.mkdtemp(prefix="retort-older-checkpoint-")
    sys.exit(run_tests(FOLDER))
