"""What the tests share that start `retort run` and watch it from outside."""
import argparse
import concurrent.futures
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest


def use_memory():
    """Temporary folders lie in memory, where there is plenty and nobody asks for another place: half of what many tests take
    is waiting for a disk to sync. Those of programs that are started, too."""
    memory = "/dev/shm"
    try:
        disk = os.statvfs(memory)
    except OSError:
        return
    plenty = disk.f_bavail * disk.f_frsize > 4 << 30 and not disk.f_flag & os.ST_NOEXEC and os.access(memory, os.W_OK)
    if plenty and "TMPDIR" not in os.environ:
        os.environ["TMPDIR"] = memory


use_memory()
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

# Of experiments/configs/smoke.toml a teacher and three students alone, for tests that do not need every method.
FOUR_TRIALS = ('sweep.zip.row=[{ method = "dpdfd", reading = "working", teacher = "single" }, '
               '{ method = "dpdfd", reading = "printed", teacher = "single" }, '
               '{ method = "dpsgd", noise_multiplier = 1, batch = 64, norm_bound = 0.1, lr = 1 }]')


def parse_options(*required, **optional):
    """The test program's own arguments: `required` without dashes, `optional` with their defaults (False: a flag)."""
    parser = argparse.ArgumentParser()
    for name in required:
        parser.add_argument("--" + name, required=True)
    for name, default in optional.items():
        parser.add_argument("--" + name, default=default, **({"action": "store_true"} if default is False else {}))
    return parser.parse_args()


class TimedResult(unittest.TextTestResult):
    """Says how long each test took."""

    def startTest(self, test):
        self.begun = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        self.stream.writeln(f"    {test.id().removeprefix('__main__.')}: {time.monotonic() - self.begun:.1f} s")
        self.stream.flush()
        super().stopTest(test)


def run_at_once(test_class, at_once):
    """Whether all tests of a class pass, so many of which run at the same time, each in a thread."""
    def run(test):
        result = TimedResult(unittest.TextTestRunner(io.StringIO()).stream, True, 2)
        test.run(result)
        result.printErrors()
        print(result.stream.stream.getvalue(), end="", file=sys.stderr, flush=True)
        return result.wasSuccessful()
    tests = list(unittest.defaultTestLoader.loadTestsFromTestCase(test_class))
    if not tests:
        return True
    test_class.setUpClass()
    try:
        with concurrent.futures.ThreadPoolExecutor(at_once) as threads:
            return all(list(threads.map(run, tests)))
    finally:
        test_class.tearDownClass()


def all_tests_pass(at_once=1):
    """Runs the test cases of the program. With `at_once`, so many tests of a class at the same time: for those that mostly
    wait, and do not touch each other."""
    if at_once == 1:
        runner = unittest.TextTestRunner(verbosity=2, resultclass=TimedResult)
        return unittest.main(argv=sys.argv[:1], testRunner=runner, exit=False).result.wasSuccessful()
    main = vars(sys.modules["__main__"]).values()
    classes = [c for c in main if isinstance(c, type) and issubclass(c, unittest.TestCase) and c.__module__ == "__main__"]
    return all([run_at_once(c, at_once) for c in classes])


def run_tests(folder, at_once=1):
    """Exit status of all test cases of the program; the folder stays where one of them fails."""
    if not all_tests_pass(at_once):
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


class WrittenSweep(unittest.TestCase):
    """Tests of one sweep file, NAME.toml in a folder of its own, with OPTIONS.retort and what OPTIONS.worker may name."""
    OPTIONS = None
    NAME = ""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="retort-" + self.NAME + "-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.results = os.path.join(self.folder, "results", self.NAME)
        self.sweep = os.path.join(self.folder, self.NAME + ".toml")
        self.environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(self.folder, "cache")}
        if self.OPTIONS.worker:
            self.environment["RETORT_WORKER"] = self.OPTIONS.worker

    def retort(self, *words, code=0, results=None):
        command = [self.OPTIONS.retort, *words, "--results", results or self.results]
        run = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=self.environment, check=False)
        if code is not None:
            self.assertEqual(run.returncode, code, f"{' '.join(command)}\n{run.stdout}\n{run.stderr}")
        return run

    def json(self, *words, **options):
        return json.loads(self.retort(*words, "--json", **options).stdout)

    def start(self, stderr=subprocess.DEVNULL):
        return subprocess.Popen([self.OPTIONS.retort, "run", self.sweep, "--results", self.results, "--slots", "2"],
                                cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL, stderr=stderr,
                                text=True)
