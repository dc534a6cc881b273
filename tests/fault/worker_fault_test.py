"""What can go wrong with a real worker process, done to it from outside while a sweep runs: signals, limits, a damaged
socket. The worker needs no part for tests. Each fault must be named as what it is, retried by its rule, and leave the row of
an undisturbed run.

usage: worker_fault_test.py --retort PROGRAM --source DIR
"""
import ctypes
import glob
import itertools
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import SMALL_DIGITS, SweepRun, parse_options, processes, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
PATIENCE = 60
PIDFD_GETFD = 438    # the system call's number, on every architecture
WORKER_SOCKET = 3
NUMBERS = itertools.count()

SWEEP = SMALL_DIGITS + """\
steps = 120
checkpoint_every = "0s"
deadline = "{deadline}"
[sweep]
name = "fault"
seeds = {seeds}
zip.row = [{{ method = "dpsgd" }}]
"""


def sweep_file(deadline="0s", seeds="[0]"):
    path = os.path.join(FOLDER, f"sweep-{next(NUMBERS)}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SWEEP.format(source=OPTIONS.source, deadline=deadline, seeds=seeds))
    return path


class Run(SweepRun):
    """`retort run` on a folder of its own."""

    def __init__(self, *arguments, sweep=None, before=None):
        self.retort = OPTIONS.retort
        self.results = os.path.join(FOLDER, f"results-{next(NUMBERS)}")
        self.log = self.results + ".log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [OPTIONS.retort, "run", sweep or sweep_file(), "--results", self.results, "--metrics-listen",
                 "127.0.0.1:0", *arguments], stderr=log, stdout=subprocess.DEVNULL, start_new_session=True,
                preexec_fn=before)

    def workers(self):
        """Process ids of its workers."""
        return [pid for pid, (parent, name, _) in processes().items()
                if parent == self.process.pid and name == "retort-worker"]

    def worker_in_training(self, attempt=1):
        """The worker, once the attempt has committed a checkpoint past its first."""
        def past_the_first():
            names = glob.glob(f"{self.results}/trials/*/attempt-{attempt}/checkpoint-*.h5")
            return any(not name.endswith("checkpoint-0.h5") for name in names)
        wait_for(past_the_first, f"attempt {attempt} trains; {self.text()}")
        return wait_for(self.workers, "a worker")[0]


def send_garbage(pid):
    """Puts bytes that are no envelope on the worker's socket, as if the worker had sent them."""
    pidfd = os.pidfd_open(pid)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(PIDFD_GETFD, pidfd, WORKER_SOCKET, 0)
    os.close(pidfd)
    if fd < 0:
        raise unittest.SkipTest("this kernel hands no descriptor over: " + os.strerror(ctypes.get_errno()))
    os.write(fd, b"this is no envelope")
    os.close(fd)


class WorkerFaultTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        begun = time.monotonic()
        run = Run()
        assert run.end() == 0, run.text()
        cls.expected = run.trials()[0]["row_digest"]
        print(f"undisturbed: {time.monotonic() - begun:.1f} s", flush=True)

    def check_survived(self, run, failure, attempts=2):
        self.assertEqual(run.end(), 0, run.text())
        trial = run.trials()[0]
        self.assertEqual((trial["state"], trial["attempts"]), ("succeeded", attempts), run.text())
        self.assertEqual(trial["row_digest"], self.expected)
        self.assertIn(failure, run.text())

    def test_a_worker_that_dies_of_a_signal_is_replaced(self):
        for number, failure in ((signal.SIGSEGV, "worker_crash"), (signal.SIGABRT, "worker_crash"),
                                (signal.SIGBUS, "worker_crash"), (signal.SIGKILL, "worker_killed")):
            run = Run()
            os.kill(run.worker_in_training(), number)
            self.check_survived(run, failure)
            self.assertIn(signal.Signals(number).name, run.text())

    def test_signals_for_the_whole_job_do_not_end_a_worker(self):
        run = Run()
        worker = run.worker_in_training()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP, signal.SIGUSR2, signal.SIGXCPU):
            os.kill(worker, number)
        self.assertEqual(run.end(), 0)
        self.assertEqual(run.trials()[0]["attempts"], 1, run.text())

    def test_a_worker_without_progress_is_replaced(self):
        run = Run(sweep=sweep_file(deadline="4s"))
        begun = time.monotonic()
        os.kill(run.worker_in_training(), signal.SIGSTOP)
        self.check_survived(run, "worker_hang")
        self.assertIn("no step progress for 4 s", run.text())
        print(f"from the hang to the finished sweep: {time.monotonic() - begun:.1f} s")

    def test_a_worker_out_of_address_space_is_replaced(self):
        # Gradients of 512 examples: larger than what the worker keeps from step to step.
        run = Run("trial.student=tanh-cnn", "trial.batch=512", "trial.steps=20")
        resource.prlimit(run.worker_in_training(), resource.RLIMIT_AS, (1 << 20, 1 << 20))
        self.assertEqual(run.end(), 0, run.text())
        trial = run.trials()[0]
        self.assertEqual((trial["state"], trial["attempts"]), ("succeeded", 2), run.text())
        self.assertIn("out_of_memory", run.text())

    def test_a_worker_that_the_kernel_kills_lacks_memory(self):
        group = MemoryGroup(70 << 20)    # less than a worker needs, more than `retort` does
        self.addCleanup(group.remove)
        run = Run(before=group.enter)
        self.assertEqual(run.end(), 1, run.text())
        trial = run.trials()[0]
        self.assertEqual((trial["state"], trial["failure"], trial["attempts"]), ("failed", "out_of_memory", 2))
        self.assertIn("lack of memory", run.text())

    def test_a_write_that_fails_is_a_disk_failure(self):
        run = Run()
        resource.prlimit(run.worker_in_training(), resource.RLIMIT_FSIZE, (1, 1))
        self.check_survived(run, "disk")

    def test_bytes_that_are_no_message_end_one_worker(self):
        run = Run()
        send_garbage(run.worker_in_training())
        self.check_survived(run, "bad_message")

    def test_training_that_diverges_fails_at_once(self):
        run = Run("teacher.single.lr=1e6", "teacher.single.network=datalens-x0.125",
                  sweep=os.path.join(OPTIONS.source, "experiments/configs/smoke.toml"))
        self.assertEqual(run.end(), 1, run.text())
        trial = run.trials()[0]
        self.assertEqual((trial["state"], trial["failure"], trial["attempts"]), ("failed", "not_finite", 1))
        states = [t["state"] for t in run.trials()]
        self.assertEqual((states.count("parent-failed"), states.count("succeeded")), (3, 5), run.text())

    def test_a_trial_that_hangs_has_three_attempts(self):
        run = Run(sweep=sweep_file(deadline="5s", seeds="[0, 1]"))
        for attempt in (1, 2, 3):
            wait_for(lambda n=attempt: glob.glob(f"{run.results}/trials/*s0-*/attempt-{n}/checkpoint-*"), "it trains")
            os.kill(wait_for(run.workers, "a worker")[0], signal.SIGSTOP)
            wait_for(lambda n=attempt: run.text().count("worker_hang") >= n, "the hang is noticed; " + run.text())
        self.assertEqual(run.end(), 1, run.text())
        hung, other = run.trials()
        self.assertEqual((hung["state"], hung["failure"], hung["attempts"]), ("failed", "worker_hang", 3), run.text())
        self.assertEqual(other["state"], "succeeded", run.text())    # it held nobody up

    def test_nobody_is_blamed_for_a_stop_of_retort(self):
        run = Run(sweep=sweep_file(deadline="4s"))
        run.worker_in_training()
        run.process.send_signal(signal.SIGSTOP)
        time.sleep(6)
        run.process.send_signal(signal.SIGCONT)
        self.assertEqual(run.end(), 0, run.text())
        trial = run.trials()[0]
        self.assertEqual((trial["attempts"], trial["row_digest"]), (1, self.expected), run.text())


class MemoryGroup:
    """A memory control group with a limit in bytes; skips the test where this user can make none."""

    def __init__(self, limit):
        for root, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            self.path = os.path.join(root, f"retort-test-{os.getpid()}")
            try:
                os.mkdir(self.path)
                with open(os.path.join(self.path, file), "w", encoding="ascii") as out:
                    out.write(str(limit))
                return
            except OSError:
                self.remove()
        raise unittest.SkipTest("no memory control group can be made here")

    def enter(self):
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as out:
            out.write(str(os.getpid()))

    def remove(self):
        try:
            os.rmdir(self.path)
        except OSError:
            pass


def main():
    global OPTIONS, FOLDER
    OPTIONS = parse_options("retort", "source")
    FOLDER = tempfile.mkdtemp(prefix="retort-fault-")
    return run_tests(FOLDER, at_once=4)


if __name__ == "__main__":
    sys.exit(main())
