"""What can go wrong with the job around a sweep: killed and stopped ranks, a killed mpirun, a killed orchestrator. The
restart loop must carry the sweep to its end with nothing lost.

usage: restart_test.py --retort PROGRAM --source DIR --scripted-worker PROGRAM
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from launching import environment  # noqa: E402
from sweep_run import SweepRun, mpi_ranks, parse_options, processes, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
RANKS = 3

# Six trials of 60 steps; the seed tells the scripted worker to take 50 ms a step.
SWEEP = """
retort = 1
[data.digits]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 8000], public = [8000, 9000], test = [9000, 10000] }}
[trial]
data = "digits"
student = "logistic"
steps = 60
delta = 1e-5
noise = "seeded"
[sweep]
name = "slow"
seeds = [1006]
grid.noise_multiplier = [1, 2, 3, 4, 5, 6]
zip.row = [{{ method = "dpsgd" }}]
"""


class Sweep(SweepRun):
    """The loop around mpirun.sh around `retort run`."""

    def __init__(self, name):
        self.retort = OPTIONS.retort
        self.results = os.path.join(FOLDER, name)
        self.log = self.results + ".log"
        launch = os.path.join(OPTIONS.source, "cluster/launch")
        sweep = self.results + ".toml"
        with open(sweep, "w", encoding="utf-8") as file:
            file.write(SWEEP.format(source=OPTIONS.source))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [launch + "/until-complete.sh", launch + "/mpirun.sh", "-np", str(RANKS), OPTIONS.retort, "run", sweep,
                 "--results", self.results, "--metrics-listen", "127.0.0.1:0"],
                stdout=log, stderr=log, start_new_session=True,
                env=environment(RETORT_WORKER=OPTIONS.scripted_worker, RETORT_GRACE_SECONDS="1"))
        self.begun = time.monotonic()

    def tries(self):
        return self.text().count("starting it again") + 1

    def mpirun(self):
        return next((pid for pid, (_, name, line) in processes().items() if name == "mpirun" and self.results in line),
                    None)

    def ranks(self):
        """Pids of the ranks by number."""
        return mpi_ranks(self.results)

    def workers_of(self, rank):
        return [pid for pid, (parent, name, _) in processes().items() if parent == rank and name == "scripted_worker"]

    def until_every_rank_works(self):
        def busy():
            ranks = self.ranks()
            return ranks if len(ranks) == RANKS and all(self.workers_of(pid) for pid in ranks.values()) else None
        ranks = wait_for(busy, "every rank has a worker; " + self.text())
        time.sleep(0.5)    # and is in the middle of a trial
        return ranks

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class RestartTest(unittest.TestCase):
    def start(self):
        sweep = Sweep(self.id().rsplit(".", 1)[1])
        self.addCleanup(sweep.stop)
        return sweep, sweep.until_every_rank_works()

    def check_complete(self, sweep, tries):
        begun = time.monotonic()
        self.assertEqual(sweep.process.wait(120), 0, sweep.text())
        print(f"complete {time.monotonic() - begun:.1f} s after the fault, tries: {sweep.tries()}", flush=True)
        self.assertEqual([t["state"] for t in sweep.trials()], ["succeeded"] * 6)
        self.assertEqual(sweep.tries(), tries, sweep.text())
        wait_for(lambda: not any(sweep.results in line for _, _, line in processes().values()), "nothing is left running")
        done = subprocess.run([OPTIONS.retort, "verify", "--results", sweep.results], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_mpirun_is_killed(self):
        sweep, _ = self.start()
        os.kill(sweep.mpirun(), signal.SIGKILL)
        self.check_complete(sweep, tries=2)

    def test_an_agent_rank_is_killed(self):
        sweep, ranks = self.start()
        workers = sweep.workers_of(ranks[2])
        os.kill(ranks[2], signal.SIGKILL)
        wait_for(lambda: not any(pid in processes() for pid in workers), "its workers are gone too")
        self.check_complete(sweep, tries=2)

    def test_the_orchestrator_is_killed(self):
        sweep, ranks = self.start()
        os.kill(ranks[0], signal.SIGKILL)
        self.check_complete(sweep, tries=2)

    def test_all_ranks_are_killed_at_once(self):
        sweep, ranks = self.start()
        for pid in ranks.values():
            os.kill(pid, signal.SIGKILL)
        self.check_complete(sweep, tries=2)

    def test_every_worker_is_killed_at_once(self):
        sweep, ranks = self.start()
        for rank in ranks.values():
            for pid in sweep.workers_of(rank):
                os.kill(pid, signal.SIGKILL)
        self.check_complete(sweep, tries=1)

    def test_a_stopped_agent_loses_its_trial_to_the_others(self):
        sweep, ranks = self.start()
        os.kill(ranks[2], signal.SIGSTOP)
        wait_for(lambda: "agent_lost" in sweep.text(), "the silent agent is given up", 40)
        os.kill(ranks[2], signal.SIGCONT)
        self.check_complete(sweep, tries=1)
        self.assertIn("nothing was heard from rank 2", sweep.text())

    def test_a_stopped_orchestrator_goes_on_where_it_was(self):
        sweep, ranks = self.start()
        os.kill(ranks[0], signal.SIGSTOP)
        time.sleep(8)
        os.kill(ranks[0], signal.SIGCONT)
        self.check_complete(sweep, tries=1)
        self.assertEqual([t["attempts"] for t in sweep.trials()], [1] * 6)

    def test_a_signal_to_the_loop_saves(self):
        sweep, _ = self.start()
        sweep.process.send_signal(signal.SIGTERM)
        self.assertEqual(sweep.process.wait(40), 75, sweep.text())
        self.assertEqual(sweep.tries(), 1)
        again = Sweep(self.id().rsplit(".", 1)[1])
        self.addCleanup(again.stop)
        self.check_complete(again, tries=1)


def main():
    global OPTIONS, FOLDER
    OPTIONS = parse_options("retort", "source", "scripted-worker")
    FOLDER = tempfile.mkdtemp(prefix="retort-restart-")
    return run_tests(FOLDER, at_once=4)


if __name__ == "__main__":
    sys.exit(main())
