#!/usr/bin/env python3
"""A budget knows private examples again: in other files, in another order, under another name, some of them or all. What it
needs for that tells nothing without its key, and without the key nobody draws under a budget. Copies of results folders are
said."""
import gzip
import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import all_tests_pass, parse_options, wait_for

SIDE, PRIVATE, TEST = 12, 40, 12
GENERATOR = random.Random(11)
PEOPLE = [GENERATOR.randbytes(SIDE * SIDE) for _ in range(PRIVATE)]
OTHERS = [GENERATOR.randbytes(SIDE * SIDE) for _ in range(PRIVATE)]
OPEN = [GENERATOR.randbytes(SIDE * SIDE) for _ in range(2 * TEST)]
SPLIT = 'split = {{ train = "test[0:{private}]", public = "test[{private}:{public}]", test = "test[{public}:{all}]" }}'.format(
    private=PRIVATE, public=PRIVATE + TEST, all=PRIVATE + 2 * TEST)
SWEEP = """
retort = 1
{data}
[trial]
method = "dpsgd"
student = "logistic"
threads = 1
delta = 1e-5
batch = 8
steps = 4
noise_multiplier = 1
norm_bound = 0.1
[sweep]
name = "s"
seeds = [{seed}]
{axis}
"""


def idx_bytes(pictures):
    return struct.pack(">4I", 0x803, len(pictures), SIDE, SIDE) + b"".join(pictures)


def label_bytes(pictures):
    # The label goes with the picture, wherever it stands.
    return struct.pack(">2I", 0x801, len(pictures)) + bytes(picture[0] % 2 for picture in pictures)


def png_bytes(picture, colour):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + (bytes(v for level in picture[y * SIDE:(y + 1) * SIDE] for v in (level,) * (3 if colour else 1)))
                    for y in range(SIDE))
    head = struct.pack(">2I5B", SIDE, SIDE, 8, 2 if colour else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def idx(private, unused=(), packed=False):
    """Writes them as the t10k pair; `unused` as a train pair that no split takes from."""
    def make(folder):
        for part, pictures in (("t10k", list(private) + OPEN), ("train", list(unused))):
            if not pictures:
                continue
            for kind, data in (("images-idx3", idx_bytes(pictures)), ("labels-idx1", label_bytes(pictures))):
                name = os.path.join(folder, f"{part}-{kind}-ubyte")
                write(name + ".gz" if packed else name, gzip.compress(data) if packed else data)
        return f'reader = "idx"\npath = "{folder}"\n{SPLIT}'
    return make


def pngs(private, colour=False):
    """A folder a class; lists say which pictures are private."""
    def make(folder):
        for split, pictures in (("train", private), ("public", OPEN[:TEST]), ("test", OPEN[TEST:])):
            names = []
            for i, picture in enumerate(pictures):
                names.append(f"{'ab'[picture[0] % 2]}/{split}{i}.png")
                write(os.path.join(folder, names[-1]), png_bytes(picture, colour))
            write(folder + "-" + split + ".txt", "".join(name + "\n" for name in names).encode())
        lists = ", ".join(f'{split} = "{folder}-{split}.txt"' for split in ("train", "public", "test"))
        return f'reader = "pictures"\npath = "{folder}"\nsplit = {{ {lists} }}'
    return make


class SameExamples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(self.folder, "cache"))

    def retort(self, *arguments):
        return subprocess.run([OPTIONS.retort, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300,
                              check=False, env=self.environment)

    def sweep(self, name, makers, budget=None, seed=0):
        """The sweep file of data sets a, b, ... of these makers, the first of them under the budget."""
        tables, names = [], []
        for i, make in enumerate(makers if isinstance(makers, list) else [makers]):
            names.append("ab"[i])
            table = f"[data.{names[-1]}]\n" + make(os.path.join(self.folder, "data", f"{name}-{i}"))
            if budget is not None and i == 0:
                table += f"\nbudget = {{ epsilon = {budget}, delta = 1e-5 }}"
            tables.append(table)
        axis = "grid.data = " + json.dumps(names)
        path = os.path.join(self.folder, name + ".toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SWEEP.format(data="\n".join(tables), seed=seed, axis=axis))
        return path

    def run_sweep(self, name, makers, budget=None, seed=0, root="root"):
        return self.retort("run", self.sweep(name, makers, budget, seed), "--results", f"{root}/{name}", "--slots", "1",
                           "--metrics-listen", "none")

    def status(self, results):
        return json.loads(self.retort("status", "--json", "--results", results).stdout)

    def listed(self, results):
        return self.retort("list", "--json", "--results", results).stdout

    def first(self):
        """Draws on PEOPLE; returns a budget that is enough for that, and for nothing more."""
        done = self.run_sweep("first", idx(PEOPLE))
        self.assertEqual(done.returncode, 0, done.stderr)
        return 1.1 * self.status("root/first")["epsilon"]["a"]["epsilon"]

    def test_examples_in_other_files_are_drawn_on_once(self):
        budget = self.first()
        shuffled = PEOPLE[:]
        random.Random(3).shuffle(shuffled)
        again = {
            "one picture more where nobody looks": idx(PEOPLE, unused=[OTHERS[0]]),
            "packed": idx(PEOPLE, packed=True),
            "in another order": idx(shuffled),
            "as grey PNG": pngs(PEOPLE),
            "as PNG in colour": pngs(PEOPLE, colour=True),
            "half of them": idx(PEOPLE[:20] + OTHERS[:20]),
            "a single one": idx(PEOPLE[:1] + OTHERS[1:]),
        }
        for i, (case, make) in enumerate(again.items()):
            with self.subTest(case):
                done = self.run_sweep(f"again-{i}", make, budget, seed=i + 1)
                self.assertEqual(done.returncode, 1, case + done.stderr)
                self.assertIn("other sweeps in the same results root", self.listed(f"root/again-{i}"))

    def test_other_peoples_pictures_have_their_own_budget(self):
        budget = self.first()
        done = self.run_sweep("others", idx(OTHERS), budget, seed=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.status("root/others")["epsilon"]["a"]["root"]["other_sweeps"], 0)

    def test_a_budget_binds_a_later_sweep(self):
        budget = self.first()
        self.assertEqual(self.run_sweep("capped", idx(PEOPLE), budget).returncode, 1)
        done = self.run_sweep("later", idx(PEOPLE[::-1]), seed=2)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("root/capped sets", done.stderr)
        self.assertIn("over the budget of", self.listed("root/later"))

    def test_names_in_one_sweep_share_a_budget(self):
        budget = self.first()
        shutil.rmtree(os.path.join(self.folder, "root"))
        done = self.run_sweep("both", [idx(PEOPLE), idx(PEOPLE[::-1])], budget)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("40 of the private examples of data.a are private ones of data.b", done.stderr)
        self.assertEqual(self.listed("root/both").count('budget_refused"'), 1)
        self.assertEqual(self.run_sweep("free", [idx(PEOPLE), idx(PEOPLE[::-1])], root="free").returncode, 0)
        spent = self.status("free/free")["epsilon"]
        self.assertEqual((spent["a"]["trials"], spent["b"]["trials"]), (2, 2))
        self.assertEqual(spent["a"]["epsilon"], spent["b"]["epsilon"])
        self.assertGreater(spent["a"]["epsilon"], budget)

    def test_plan_says_which_examples_are_shared(self):
        self.first()
        planned = self.retort("plan", self.sweep("half", idx(PEOPLE[:20] + OTHERS[:20])), "--results", "root/half")
        self.assertEqual(planned.returncode, 0, planned.stderr)
        self.assertIn("20 of the private examples of data.a are private ones of a data set of another sweep", planned.stderr)
        self.assertEqual(os.listdir(os.path.join(self.folder, "root")).count("half"), 0)

    def test_private_examples_in_another_split_are_said(self):
        def half(make):
            """The other half of its private examples, whose first half is public."""
            return lambda folder: make(folder).replace(SPLIT, SPLIT.replace(f"[{PRIVATE}:{PRIVATE + TEST}]", "[0:20]").replace(
                f"[0:{PRIVATE}]", f"[20:{PRIVATE}]"))
        same = os.path.join(self.folder, "data", "same")
        makers = [lambda _: idx(PEOPLE)(same), lambda _: half(idx(PEOPLE))(same)]
        planned = self.retort("plan", self.sweep("folds", makers), "--results", "root/folds")
        self.assertEqual(planned.returncode, 0, planned.stderr)
        said = " ".join(planned.stderr.split())
        self.assertIn("20 of the private examples of data.a are public or test examples of the same files, split otherwise", said)
        self.assertIn("20 of the public or test examples of data.b are private ones of the same files, split otherwise", said)
        # Of another sweep, in other files.
        self.first()
        planned = self.retort("plan", self.sweep("shows", half(idx(PEOPLE[::-1]))), "--results", "root/shows")
        self.assertIn("20 of the public or test examples of data.a are private ones of a data set of another sweep",
                      " ".join(planned.stderr.split()))

    def remove_logs(self, results):
        for name in ("journal.log", "ledger.log"):
            os.remove(os.path.join(self.folder, results, name))

    def test_what_was_drawn_before_logs_were_lost_counts(self):
        self.first()
        before = self.status("root/first")["epsilon"]["a"]
        self.remove_logs("root/first")
        # Whatever budgets say: it was drawn.
        self.assertEqual(self.run_sweep("first", idx(PEOPLE), before["epsilon"] / 2).returncode, 0)
        after = self.status("root/first")["epsilon"]["a"]
        self.assertEqual((after["epsilon"], after["trials"]), (before["epsilon"], 1))
        verified = self.retort("verify", "--results", "root/first")
        self.assertEqual(verified.returncode, 0, verified.stdout)

    def test_trials_of_lost_logs_leave_the_total_unknown(self):
        budget = self.first()
        self.remove_logs("root/first")
        done = self.run_sweep("first", idx(PEOPLE), budget, seed=7)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("neither journal.log nor ledger.log knows", done.stderr)
        self.assertEqual(self.status("root/first")["epsilon"]["a"]["reason"], "ledger-lost")
        self.assertEqual(self.run_sweep("beside", idx(PEOPLE), budget, seed=8).returncode, 3)
        self.assertEqual(self.retort("verify", "--results", "root/first").returncode, 1)
        # Without a budget it runs, and says so.
        done = self.run_sweep("first", idx(PEOPLE), seed=7)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("neither journal.log nor ledger.log knows", done.stderr)
        self.assertEqual(self.status("root/first")["epsilon"]["a"]["epsilon"], "inf")
        with open(os.path.join(self.folder, "root", "first", "metrics.prom"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"retort_epsilon_spent{[^}]*} \+Inf")

    def test_two_sweeps_that_begin_at_once_draw_once(self):
        # The capped one stops as soon as it has looked at the others.
        copied = os.path.join(self.folder, "root", "capped", "sweep.toml")
        beginning = subprocess.Popen([OPTIONS.retort, "run", self.sweep("capped", idx(PEOPLE), 100), "--results", "root/capped",
                                      "--slots", "1", "--metrics-listen", "none", "--quiet"], cwd=self.folder, env=self.environment)
        try:
            wait_for(lambda: os.path.exists(copied), "the capped sweep has looked", step=0.001)
            beginning.send_signal(signal.SIGSTOP)
            done = self.run_sweep("free", idx(PEOPLE), seed=1)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("root/capped is running and draws on data set", done.stderr)
        finally:
            beginning.kill()
            beginning.wait()

    def test_marks_tell_nothing_without_the_key(self):
        self.first()
        folder = os.path.join(self.folder, "root", "private-examples")
        key_path = os.path.join(folder, "key")
        self.assertEqual(os.stat(key_path).st_mode & 0o777, 0o600)
        with open(key_path, "rb") as file:
            key = file.read()[12:44]
        marks = b""
        for name in filter(lambda name: name.endswith(".marks"), os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as file:
                marks += file.read()
        for picture in PEOPLE + OPEN:
            plain = hashlib.blake2b(b"retort-picture-1" + struct.pack("<3q", 1, SIDE, SIDE) + picture, digest_size=32).digest()
            self.assertIn(hashlib.blake2b(plain, digest_size=16, key=key).digest(), marks)
            for digest in (plain, plain[:16], hashlib.blake2b(plain, digest_size=16).digest(), hashlib.sha256(picture).digest()):
                self.assertNotIn(digest, marks)

    def test_without_its_key_nobody_draws_under_a_budget(self):
        budget = self.first()
        key = os.path.join(self.folder, "root", "private-examples", "key")
        spoilers = {
            "is gone": lambda: os.rename(key, key + ".away"),
            "cannot be read": lambda: (os.rename(key, key + ".away"), os.mkdir(key)),
            "holds no whole key": lambda: (os.rename(key, key + ".away"), write(key, b"RTEXKEY\n")),
            "is not the one": lambda: (os.rename(key, key + ".away"), self.run_sweep("x", idx(OTHERS), root="other"),
                                       shutil.copy(os.path.join(self.folder, "other", "private-examples", "key"), key)),
        }
        for said, spoil in spoilers.items():
            with self.subTest(said):
                spoil()
                done = self.run_sweep("again", idx(PEOPLE[::-1]), budget, seed=1)
                self.assertIn(done.returncode, (1, 3), done.stderr)
                self.assertIn(said, done.stderr)
                self.assertFalse(os.path.exists(os.path.join(self.folder, "root", "again", "ledger.log")))
                shutil.rmtree(key) if os.path.isdir(key) else os.path.exists(key) and os.remove(key)
                os.rename(key + ".away", key)

    def test_data_from_before_marks_counts_for_everybody(self):
        budget = self.first()
        shutil.rmtree(os.path.join(self.folder, "root", "private-examples"))
        shutil.rmtree(os.path.join(self.folder, "data"))
        done = self.run_sweep("others", idx(OTHERS), budget, seed=1)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("other sweeps in the same results root", self.listed("root/others"))

    def test_data_from_before_marks_is_made_known(self):
        budget = self.first()
        shutil.rmtree(os.path.join(self.folder, "root", "private-examples"))
        self.assertEqual(self.run_sweep("others", idx(OTHERS), budget, seed=1).returncode, 0)
        self.assertEqual(self.run_sweep("again", idx(PEOPLE[::-1]), budget, seed=1).returncode, 1)

    def test_a_copy_in_another_root_does_not_draw(self):
        budget = self.first()
        os.mkdir(os.path.join(self.folder, "elsewhere"))
        shutil.copytree(os.path.join(self.folder, "root", "first"), os.path.join(self.folder, "elsewhere", "first"))
        done = self.run_sweep("first", idx(PEOPLE), 100 * budget, seed=1, root="elsewhere")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("was first run in another results root", done.stderr)
        total = self.status("elsewhere/first")["epsilon"]["a"]["root"]
        self.assertEqual(total["epsilon"], "inf")
        self.assertIn("was first run in another results root", total["trouble"])
        table = self.retort("table", self.sweep("first", idx(PEOPLE)), "--results", "elsewhere/first")
        self.assertIn("was first run in another results root", " ".join(table.stdout.split()))
        self.assertIsNot(self.status("root/first")["epsilon"]["a"]["root"]["epsilon"], "inf")

    def test_a_copy_in_the_same_root_is_said(self):
        self.first()
        shutil.copytree(os.path.join(self.folder, "root", "first"), os.path.join(self.folder, "root", "copy"))
        self.assertIn("is a copy of the other", json.dumps(self.status("root/first")["problems"]))
        table = self.retort("table", self.sweep("first", idx(PEOPLE)), "--results", "root/first")
        self.assertIn("is a copy of the other", " ".join(table.stdout.split()))

    def test_a_split_with_a_private_picture_has_no_bound(self):
        for place in (0, 2 * TEST - 1):  # of the public split, and of the test split
            with self.subTest(place):
                kept, OPEN[place] = OPEN[place], PEOPLE[3]
                try:
                    name, root = "shared", f"root-{place}"
                    done = self.run_sweep(name, idx(PEOPLE), root=root)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("1 of the private examples of data.a are public or test examples of it", done.stderr)
                    trial = json.loads(self.listed(f"{root}/{name}"))["trials"][0]["trial"]
                    claims = json.loads(self.retort("show", trial, "--json", "--results", f"{root}/{name}").stdout)["claims"]
                    examples = [c for c in claims if c["adjacency"] == "example" and c["status"] != "paper-formula"]
                    self.assertTrue(examples)
                    for claim in examples:
                        self.assertEqual((claim["epsilon"], claim["reason"]), ("inf", "private-example-in-another-split"))
                    done = self.run_sweep("capped", idx(PEOPLE), 1000, seed=1, root=root)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    self.assertIn("take it out of one of them", self.listed(f"{root}/capped"))
                finally:
                    OPEN[place] = kept


if __name__ == "__main__":
    OPTIONS = parse_options("retort")
    OPTIONS.retort = os.path.abspath(OPTIONS.retort)
    sys.exit(0 if all_tests_pass() else 1)
