"""The shipped batch script under a real Slurm, which this test starts for itself (slurm_cluster.py).

usage: slurm_test.py --retort PROGRAM --source DIR --scripted-worker PROGRAM [--worker]
Exit 77 where Slurm, munge or mpirun is not installed. --worker: the real worker was built as well.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import slurm_cluster
from slurm_cluster import SlurmCluster

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import FOUR_TRIALS, SweepRun, all_tests_pass, parse_options, wait_for  # noqa: E402

OPTIONS = None
CLUSTER = None

SLOW_SWEEP = """
retort = 1
[data.digits]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 8000], public = [8000, 9000], test = [9000, 10000] }}
[teacher]
single = {{ network = "datalens", epochs = 5 }}
[trial]
data = "digits"
student = "datalens"
steps = {steps}
delta = 1e-5
[sweep]
name = "slow"
seeds = [1006]
zip.row = [
  {{ method = "dpdfd", reading = "working", teacher = "single" }},
  {{ method = "dpdfd", reading = "printed", teacher = "single" }},
]
"""


class Job(SweepRun):
    """The shipped script in the queue, on a sweep and a results folder of its own."""

    def __init__(self, name, sweep, *arguments, options=(), **variables):
        self.retort = OPTIONS.retort
        self.folder = CLUSTER.path(name)
        os.makedirs(self.folder)
        self.results = os.path.join(self.folder, "results")
        self.log = os.path.join(self.folder, "output")
        self.begun = time.monotonic()
        self.pending_since = None
        self.number = CLUSTER.sbatch(
            os.path.join(OPTIONS.source, "cluster/launch/slurm.sbatch"), "--results", self.results, *arguments,
            options=["--output", self.log, *options], cwd=OPTIONS.source,
            **{"SWEEP": sweep, "RETORT": OPTIONS.retort, **variables})

    def wait_for_text(self, text, seconds=60):
        wait_for(lambda: text in self.text(), lambda: f"job {self.number} says '{text}'; it said: {self.text()}", seconds)

    def wait_for_requeue(self, seconds=120):
        """Until it is back in the queue; then lets it start at once, where Slurm would wait two minutes."""
        wait_for(lambda: int(CLUSTER.job(self.number).get("Restarts", 0)) >= 1,
                 f"job {self.number} is requeued; it said: {self.text()}", seconds)

        def started():
            return self.state_hastened() in ("RUNNING", "COMPLETED", "FAILED")
        wait_for(started, f"job {self.number} starts again", step=1)

    def state_hastened(self):
        """Its state; when it has been pending for a while, it is told not to wait two minutes for its next start."""
        state = CLUSTER.job(self.number).get("JobState")
        if state != "PENDING":
            self.pending_since = None
        elif self.pending_since is None:
            self.pending_since = time.monotonic()
        elif time.monotonic() - self.pending_since > 3:    # slurmd takes no new start in the second of the last one's end
            CLUSTER.say("scontrol", "update", f"JobId={self.number}", "StartTime=now")
        return state


def slow_sweep(steps):
    path = CLUSTER.path(f"slow-{steps}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SLOW_SWEEP.format(source=OPTIONS.source, steps=steps))
    return path


def left_running(results):
    found = subprocess.run(["pgrep", "-f", "--", results], capture_output=True, text=True, check=False)
    return found.stdout.split()


class SlurmTest(unittest.TestCase):
    """Jobs of different tests are in the queue together: most of the time is waiting for clocks."""

    @classmethod
    def setUpClass(cls):
        scripted = {"RETORT_WORKER": OPTIONS.scripted_worker}
        # Each student takes 40 s on its rank. USR1 is due 70 s before the limit of two minutes, and comes up to
        # half a minute earlier.
        cls.limited = Job("limited", slow_sweep(800), options=["--nodes=2", "--time=2", "--signal=B:USR1@70"],
                          **scripted)
        # No useful signal: the program itself has to know the end of the allocation.
        cls.unwarned = Job("unwarned", slow_sweep(600), options=["--time=1", "--signal=B:CONT@1"],
                           RETORT_LEAST_SECONDS="1", **scripted)

    def check_complete(self, job, trials):
        def completed():    # through as many requeues as it takes, each of which Slurm would let wait two minutes
            state = job.state_hastened()
            self.assertNotIn(state, ("FAILED", "CANCELLED", "TIMEOUT"), job.text())
            return state == "COMPLETED"
        wait_for(completed, f"job {job.number} is complete; it said: {job.text()}", seconds=180, step=1)
        states = [state for state, _ in job.rows().values()]
        self.assertEqual(states, ["succeeded"] * trials, job.text())

    def test_a_the_signal_before_the_limit_saves(self):
        job = self.limited
        job.wait_for_text("SIGUSR1", 120)
        print(f"USR1 came {time.monotonic() - job.begun:.0f} s after sbatch, the limit is 120 s")
        job.wait_for_requeue()
        self.assertIn("next: run the same command again", job.text())    # which goes with exit code 75
        self.assertIn("requeued", job.text())
        self.check_complete(job, 3)
        print(f"limited: complete {time.monotonic() - job.begun:.0f} s after sbatch, restarts: {CLUSTER.job(job.number).get('Restarts')}")
        self.assertGreaterEqual(int(CLUSTER.job(job.number)["Restarts"]), 1)
        # It was spread over both nodes' ranks.
        self.assertGreaterEqual(len(glob.glob(job.results + "/workers/rank*.log")), 2)
        self.assertEqual(left_running(job.results), [])

    def test_b_without_a_signal_the_run_ends_saved(self):
        job = self.unwarned
        job.wait_for_text("the allocation ends in", 60)
        # By the clock in the middle of a trial, or between two when none would reach a checkpoint in what is left.
        wait_for(lambda: re.search("the time limit: saving|too few for the next checkpoint .*: saving", job.text()),
                 lambda: f"job {job.number} stops by itself; it said: {job.text()}", 90)
        job.wait_for_requeue()
        self.assertIn("interrupted with its state saved", job.text())
        self.assertNotIn("SIGUSR1", job.text())
        self.assertNotIn("SIGTERM", job.text())
        CLUSTER.say("scancel", job.number)

    def test_c_a_cancelled_job_saves_and_is_not_requeued(self):
        job = Job("cancelled", slow_sweep(1000), options=["--nodes=1", "--ntasks-per-node=2"],
                  RETORT_WORKER=OPTIONS.scripted_worker)
        job.wait_for_text("running", 60)
        begun = time.monotonic()
        CLUSTER.say("scancel", job.number)
        wait_for(lambda: not left_running(job.results), "its processes are gone")
        print(f"scancel to the last process of ours: {time.monotonic() - begun:.1f} s")
        CLUSTER.wait_for_state(job.number, "CANCELLED")    # Open MPI's daemon takes Slurm's KillWait
        print(f"scancel to the end of the job: {time.monotonic() - begun:.1f} s")
        # Slurm has signalled every process, workers too, and closed the ranks' output: the folder tells the rest.
        with open(os.path.join(job.results, "exit-code"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "75\n")
        stopped = [t["failure"] for t in job.trials() if t["attempts"] > 0 and t["state"] != "succeeded"]
        self.assertEqual(stopped, ["stopped"])
        self.assertEqual(CLUSTER.job(job.number)["Restarts"], "0")

    def test_d_tasks_of_srun_are_refused_with_the_remedy(self):
        results = CLUSTER.path("singletons")
        done = subprocess.run(
            [slurm_cluster.find("srun"), "--mpi=none", "--overcommit", "-n", "2", OPTIONS.retort, "run",
             slow_sweep(20), "--results", results], env=CLUSTER.environment, cwd=OPTIONS.source, capture_output=True,
            text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stderr.count("cluster/launch/mpirun.sh -np 2 retort run"), 2, done.stderr)
        self.assertFalse(os.path.exists(results))

    def test_e_a_requeued_sweep_has_undisturbed_rows(self):
        if not OPTIONS.worker:
            self.skipTest("the real worker was not built")
        sweep = os.path.join(OPTIONS.source, "experiments/configs/smoke.toml")
        more = ["trial.steps=60", "trial.student_steps=20", FOUR_TRIALS]
        job = Job("real", sweep, *more, options=["--nodes=1", "--ntasks-per-node=2"], RETORT_LEAST_SECONDS="0")
        wait_for(lambda: glob.glob(job.results + "/trials/dpdfd*/attempt-1/checkpoint-*"), "a student's checkpoint")
        CLUSTER.say("scancel", "--batch", "--signal=USR1", job.number)
        job.wait_for_requeue()
        self.check_complete(job, 4)
        alone = CLUSTER.path("alone")
        subprocess.run([OPTIONS.retort, "run", sweep, *more, "--results", alone, "--quiet", "--slots", "2"], check=True,
                       env=CLUSTER.environment, timeout=300)
        interrupted, job.results = job.rows(), alone
        self.assertEqual(interrupted, job.rows())


def main():
    global OPTIONS, CLUSTER
    OPTIONS = parse_options("retort", "source", "scripted-worker", worker=False)
    missing = slurm_cluster.missing_programs() + ([] if shutil.which("mpirun") else ["mpirun"])
    if missing:
        print(f"SKIPPED: not installed: {', '.join(missing)} (apt-get install slurm-wlm munge openmpi-bin)")
        return 77
    if os.getuid() == 0 and open("/proc/self/setgroups", encoding="ascii").read().strip() == "deny":
        print("SKIPPED: Slurm's daemons may not change their groups in this user namespace")
        return 77
    folder = tempfile.mkdtemp(prefix="retort-slurm-")
    CLUSTER = SlurmCluster(folder, nodes=2, cpus=8)
    passed = False
    try:
        begun = time.monotonic()
        CLUSTER.start()
        print(f"Slurm is up after {time.monotonic() - begun:.1f} s", flush=True)
        passed = all_tests_pass(at_once=5)
    finally:
        CLUSTER.stop()
        if not passed:
            print(CLUSTER.logs())
    if not passed:
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
