"""What is at the path of an output: only a plain file is replaced, and only where the command may; links, pipes, devices and
files under other names are afterwards what they were before.

usage: outputs_test.py --retort PROGRAM --source DIR
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import SMALL_DIGITS, parse_options, run_tests  # noqa: E402

OPTIONS = None
FOLDER = None
SWEEP = SMALL_DIGITS + """\
method = "dpsgd"
[sweep]
name = "small"
seeds = [0]
grid.steps = [2]
[figure.f]
kind = "line"
x = "steps"
y = "test.accuracy"
"""


def path(*words):
    return os.path.join(FOLDER, *words)


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def read(name):
    with open(name, "rb") as file:
        return file.read()


def retort(*words):
    return subprocess.run([OPTIONS.retort, *words], cwd=FOLDER, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": path("cache")})


def device(name):
    """A copy of /dev/null where this user may make one."""
    try:
        os.mknod(name, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        return False
    return True


def link(name):
    write(path("target"), "kept")
    os.symlink(path("target"), name)


# What is no plain file, as the message calls it, and what makes it.
KINDS = {"link": [link, lambda name: os.symlink("nowhere", name)], "pipe": [os.mkfifo], "device": [device], "folder": [os.mkdir]}


def one_of_each():
    for kind, makers in KINDS.items():
        for make in makers:
            yield kind, make


def state(name):
    facts = os.lstat(name)
    return facts.st_ino, facts.st_mode, os.readlink(name) if os.path.islink(name) else None


def setUpModule():
    write(path("s.toml"), SWEEP.format(source=OPTIONS.source))
    done = retort("run", "s.toml")
    assert done.returncode == 0, done.stderr


def commands(out):
    """Each command that writes at a path that it is given: its words, the file, and the exit code without an obstacle."""
    folder = os.path.dirname(out)
    export = ["export", "dpsgd", "--results", "results/small", "--out", out]
    return {
        "export": ([*export[:2], "curves", "--format", "csv", *export[2:]], out),
        "export of a network": ([*export[:2], "student", "--format", "npz", *export[2:]], out),
        "report": (["report", "--results", "results/small", "--out", out], out),
        "plot": (["plot", "s.toml", "--format", "svg", "--out", folder], os.path.join(folder, "f.svg")),
        "plot png": (["plot", "s.toml", "--format", "png", "--out", folder], os.path.join(folder, "f.png")),
        "plot pdf": (["plot", "s.toml", "--format", "pdf", "--out", folder], os.path.join(folder, "f.pdf")),
        "man": (["man", "--all", folder], os.path.join(folder, "retort.1")),
        "data clients": (["data", "clients", "idx", os.path.join(OPTIONS.source, "experiments/data/mnist10k"), "--clients", "2",
                          "--out", folder], os.path.join(folder, "client-0.txt")),
        "model check": (["model", "check", "logistic", "--input", path("x.npy"), "--logits-out", out], out),
    }


class NamedOutputs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=FOLDER)

    def cases(self):
        for name in commands("x"):
            with self.subTest(command=name):
                folder = tempfile.mkdtemp(dir=self.folder)
                yield name, *commands(os.path.join(folder, "out"))[name]

    def force(self, name):
        return [] if name == "report" else ["--force"]   # it replaces pages alone

    def test_only_a_plain_file_is_replaced_even_with_force(self):
        for name, words, out in self.cases():
            for kind, make in one_of_each():
                if make(out) is False:
                    continue
                before, listed = state(out), sorted(os.listdir(os.path.dirname(out)))
                for more in ([], self.force(name)):
                    made = retort(*words, *more)
                    self.assertEqual((made.returncode, made.stdout), (2, ""), (kind, made.stderr))
                    self.assertIn(f"is a {kind}, and only a plain file is replaced", made.stderr)
                    self.assertEqual(state(out), before)
                    if name != "man":   # its pages are one after the other
                        self.assertEqual(sorted(os.listdir(os.path.dirname(out))), listed)
                if kind == "link" and os.path.exists(out):
                    self.assertEqual(read(path("target")), b"kept")
                shutil.rmtree(out) if kind == "folder" else os.remove(out)

    def test_a_file_of_the_user_is_replaced_by_force_alone(self):
        for name, words, out in self.cases():
            if name == "model check":
                continue
            write(out, "mine")
            made = retort(*words)
            self.assertEqual(made.returncode, 2, made.stderr)
            self.assertRegex(made.stderr, "is there already|is a list of another division")
            self.assertEqual(read(out), b"mine")
            if name == "report":
                continue
            self.assertEqual(retort(*words, "--force").returncode, 0)
            self.assertNotEqual(read(out), b"mine")

    def test_what_the_command_wrote_itself_is_replaced(self):
        for name, words, out in self.cases():
            if name in ("report", "plot", "plot png", "man"):
                for _ in range(2):
                    made = retort(*words)
                    self.assertEqual(made.returncode, 0, made.stderr)
                self.assertTrue(os.path.isfile(out))

    def test_a_near_name_of_half_a_file_is_left_alone(self):
        for name, words, out in self.cases():
            if name == "model check":
                continue
            for kind in "file", "link":
                if os.path.exists(out):
                    os.remove(out)
                write(path("target"), "kept")
                if kind == "file":
                    write(out + ".tmp", "notes")
                else:
                    os.remove(out + ".tmp")
                    os.symlink(path("target"), out + ".tmp")
                made = retort(*words, *self.force(name))
                self.assertEqual(made.returncode, 0, made.stderr)
                self.assertEqual(read(out + ".tmp"), b"notes" if kind == "file" else b"kept")
                self.assertEqual(read(path("target")), b"kept")

    def test_a_name_as_long_as_a_name_may_be_is_written(self):
        out = os.path.join(self.folder, "n" * 251 + ".csv")
        made = retort("export", "dpsgd", "curves", "--format", "csv", "--results", "results/small", "--out", out)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(os.listdir(self.folder), [os.path.basename(out)])


class ResultsFolder(unittest.TestCase):
    def test_nothing_but_a_plain_file_is_written_in_it(self):
        whole = path("results/small")
        for name in "journal.log", "ledger.log", "sweep.toml", "results.h5", "metrics.prom", "exit-code", "targets.json", "lock":
            every = name in ("journal.log", "results.h5")    # one that is written in place, and one that is replaced
            for kind, make in one_of_each() if every else [("link", link), ("pipe", os.mkfifo)]:
                with self.subTest(name=name, kind=kind):
                    results = os.path.join(tempfile.mkdtemp(dir=FOLDER), "r")    # a root of its own
                    shutil.copytree(whole, results)
                    obstacle = os.path.join(results, name)
                    if os.path.exists(obstacle):
                        os.remove(obstacle)
                    if make(obstacle) is False:
                        continue
                    before = state(obstacle)
                    made = retort("run", "s.toml", "sweep.grid.steps=[2, 3]", "--results", results)
                    self.assertNotEqual(made.returncode, 0, made.stderr)
                    self.assertIn(obstacle, made.stderr)
                    self.assertEqual(state(obstacle), before)
                    if kind == "link":
                        self.assertEqual(read(path("target")) if os.path.exists(obstacle) else b"kept", b"kept")
                        self.assertFalse(os.path.exists(path("nowhere")))

    def test_what_a_killed_run_left_of_a_file_is_removed(self):
        results = os.path.join(tempfile.mkdtemp(dir=FOLDER), "r")
        shutil.copytree(path("results/small"), results)
        write(os.path.join(results, "results.h5.0123456789abcdef.tmp"), "half")
        write(os.path.join(results, "notes.tmp"), "mine")
        made = retort("run", "s.toml", "sweep.grid.steps=[2, 3]", "--results", results)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual([name for name in os.listdir(results) if name.endswith(".tmp")], ["notes.tmp"])


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source")
    OPTIONS.retort, OPTIONS.source = os.path.abspath(OPTIONS.retort), os.path.abspath(OPTIONS.source)
    sys.argv = sys.argv[:1]
    FOLDER = tempfile.mkdtemp(prefix="retort-outputs-")
    sys.exit(run_tests(FOLDER))
