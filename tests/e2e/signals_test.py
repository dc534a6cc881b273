"""Signals, the end of an allocation, and open ports: `retort run` with real workers, by itself and under mpirun.

usage: signals_test.py --retort PROGRAM --source DIR [--mpirun SCRIPT]
"""
import glob
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import FOUR_TRIALS, SweepRun, parse_options, processes, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
PATIENCE = 60
MORE = ["trial.steps=30", "trial.student_steps=10", FOUR_TRIALS]    # some seconds of work


def process_tree(root):
    """{pid: name} of the live descendants of `root`, itself included."""
    live = processes()

    def descends(pid):
        while pid in live and pid != root:
            pid = live[pid][0]
        return pid == root
    return {pid: name for pid, (_, name, _) in live.items() if descends(pid)}


def listening(pid):
    """(protocol, address) of the process's sockets that take connections or datagrams from others."""
    inodes = set()
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            if match := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")):
                inodes.add(match[1])
    except (FileNotFoundError, ProcessLookupError):
        return []
    found = []
    for table, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        with open(f"/proc/net/{table}", encoding="ascii") as file:
            for fields in (line.split() for line in list(file)[1:]):
                if fields[3] == state and fields[9] in inodes:
                    found.append((table, fields[1]))
    return found


LOOPBACK = re.compile(r"0100007F:|00000000000000000000000001000000:|0000000000000000FFFF00000100007F:")


class Run(SweepRun):
    numbers = itertools.count()

    def __init__(self, *arguments, launcher=(), results="", **variables):
        number = next(self.numbers)
        self.retort = OPTIONS.retort
        self.results = results or os.path.join(FOLDER, f"results-{number}")
        self.log = os.path.join(FOLDER, f"log-{number}")
        sweep = os.path.join(OPTIONS.source, "experiments/configs/smoke.toml")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [*launcher, OPTIONS.retort, "run", sweep, *MORE, "--results", self.results, "--metrics-listen",
                 "127.0.0.1:0", *arguments], stdout=subprocess.DEVNULL, stderr=log, start_new_session=True,
                env={**os.environ, **variables})

    def until_a_student_trains(self):
        wait_for(lambda: glob.glob(f"{self.results}/trials/dpdfd-*/attempt-1/checkpoint-*.h5"), "a student; " + self.text())
        return self

    def workers(self):
        return [pid for pid, name in process_tree(self.process.pid).items() if name == "retort-worker"]


def launchers():
    yield "by itself", ()
    if OPTIONS.mpirun:
        yield "under mpirun", (OPTIONS.mpirun, "-np", "2")


class SignalsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        run = Run()
        assert run.end() == 0, run.text()
        cls.expected = run.rows()

    def test_the_first_signal_saves_and_ends_with_75(self):
        for name, launcher in launchers():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
                with self.subTest(launcher=name, signal=number.name):
                    run = Run(launcher=launcher).until_a_student_trains()
                    begun = time.monotonic()
                    run.process.send_signal(number)
                    self.assertEqual(run.end(25), 75, run.text())
                    print(f"{number.name} {name}: ended after {time.monotonic() - begun:.2f} s", flush=True)
                    self.assertIn("saving and stopping", run.text())
                    stopped = [t for t in run.trials() if t["attempts"] > 0 and t["state"] != "succeeded"]
                    self.assertTrue(stopped, "the signal came too late to show anything")
                    self.assertEqual({t["failure"] for t in stopped}, {"stopped"}, run.text())
                    again = Run(launcher=launcher, results=run.results)
                    self.assertEqual(again.end(), 0, again.text())
                    self.assertEqual(again.rows(), self.expected)

    def test_a_second_signal_ends_at_once(self):
        for name, launcher in launchers():
            with self.subTest(launcher=name):
                run = Run(launcher=launcher).until_a_student_trains()
                for worker in run.workers():
                    os.kill(worker, signal.SIGSTOP)    # deaf to every request
                run.process.send_signal(signal.SIGTERM)
                wait_for(lambda: "saving and stopping" in run.text(), run.text())
                time.sleep(1)
                self.assertIsNone(run.process.poll(), run.text())
                begun = time.monotonic()
                run.process.send_signal(signal.SIGTERM)
                self.assertEqual(run.end(20), 130, run.text())
                print(f"second signal {name}: ended after {time.monotonic() - begun:.2f} s", flush=True)

    def test_a_worker_that_does_not_save_is_killed(self):
        run = Run("--grace", "2s").until_a_student_trains()
        for worker in run.workers():
            os.kill(worker, signal.SIGSTOP)
        begun = time.monotonic()
        run.process.send_signal(signal.SIGTERM)
        self.assertEqual(run.end(20), 75, run.text())
        self.assertGreater(time.monotonic() - begun, 1.5)
        self.assertLess(time.monotonic() - begun, 10)


class AllocationTest(unittest.TestCase):
    def test_a_run_ends_saved_before_its_allocation_does(self):
        begun = time.monotonic()
        end = str(int(time.time()) + 25 + 15 + 4)
        runs = {variable: Run("trial.steps=10000", **{variable: end}) for variable in ("RETORT_END_TIME", "SLURM_JOB_END_TIME")}
        for variable, run in runs.items():
            self.assertEqual(run.end(), 75, run.text())
            self.assertLess(time.monotonic() - begun, 25)
            self.assertIn(variable, run.text())
            self.assertIn("the time limit: saving", run.text())

    def test_an_allocation_without_time_starts_nothing(self):
        run = Run(RETORT_END_TIME=str(int(time.time()) + 30))
        self.assertEqual(run.end(), 75)
        self.assertIn("too little to start anything", run.text())
        self.assertFalse(os.path.exists(run.results))

    def test_an_end_that_is_no_time_is_a_usage_error(self):
        run = Run(RETORT_END_TIME="tomorrow")
        self.assertEqual(run.end(), 2)
        self.assertIn("RETORT_END_TIME=tomorrow is no time", run.text())
        self.assertFalse(os.path.exists(run.results))


class PortsTest(unittest.TestCase):
    """Which sockets the processes of a run listen on, on one host. A gang over several hosts opens its store, and Gloo's or
    NCCL's data port of each member, on the address by which the hosts reach each other (RETORT_GANG_INTERFACE)."""

    # Program -> the most sockets that one process of it listens on, by case. Open MPI's launcher is left out: it waits
    # for daemons on other hosts, and cannot be told not to.
    ALONE = {"retort": 1}    # the metrics endpoint, of rank 0
    GANGS = {"retort": 1, "retort-worker": 2}    # Gloo's data port, and on the leader's the store of the gang

    def listeners(self, run):
        """{program: {pid: [sockets at one moment, ...]}} of all processes below the run that were ever seen listening."""
        seen = {}
        while run.process.poll() is None:
            for pid, program in process_tree(run.process.pid).items():
                if program != "mpirun" and (sockets := listening(pid)):
                    seen.setdefault(program, {}).setdefault(pid, []).append(sockets)
            time.sleep(0.2)
        return seen

    def test_what_listens_does_so_on_loopback(self):
        cases = [(name, launcher, (), self.ALONE) for name, launcher in launchers()]
        cases += [(name + ", gangs of two", launcher,
                   ("trial.devices=2", *(() if launcher else ("--slots", "2"))), self.GANGS)
                  for name, launcher in launchers()]
        for name, launcher, more, expected in cases:
            with self.subTest(launcher=name):
                run = Run(*more, launcher=launcher)
                seen = self.listeners(run)
                self.assertEqual(run.end(), 0, run.text())
                self.assertEqual(set(seen), set(expected), f"{name}: other programs listen than these: {seen}")
                for program, running in seen.items():
                    moments = [sockets for process in running.values() for sockets in process]
                    most = max(len(sockets) for sockets in moments)
                    print(f"{name}: {len(running)} {program} listen on at most {most} sockets each", flush=True)
                    self.assertLessEqual(most, expected[program], moments)
                    beyond = [s for sockets in moments for s in sockets if not LOOPBACK.match(s[1])]
                    self.assertEqual(beyond, [], f"{program} {name}")
                self.assertEqual(len(seen["retort"]), 1, f"rank 0 alone has the metrics endpoint: {seen}")

    def test_a_port_beyond_loopback_would_be_seen(self):
        with subprocess.Popen([sys.executable, "-c", "import socket, time; s = socket.create_server(('0.0.0.0', 0)); "
                               "print('open', flush=True); time.sleep(60)"], stdout=subprocess.PIPE) as other:
            other.stdout.readline()
            found = listening(other.pid)
            other.kill()
        self.assertEqual(len(found), 1)
        self.assertFalse(LOOPBACK.match(found[0][1]))


def main():
    global OPTIONS, FOLDER
    OPTIONS = parse_options("retort", "source", mpirun="")
    FOLDER = tempfile.mkdtemp(prefix="retort-signals-")
    return run_tests(FOLDER, at_once=2)


if __name__ == "__main__":
    sys.exit(main())
