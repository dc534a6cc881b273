"""The MPI plug-in as a site with MPICH compiles it: the channel's contract, a sweep over two ranks, signals, exit codes and a
lost rank through cluster/launch/mpirun.sh; and each library under the other MPI's launcher, which is refused.

usage: mpich_test.py --retort PROGRAM --channel-test PROGRAM --rank-program PROGRAM --source DIR
Exits 77 (skipped) where there is no mpicc.mpich or mpiexec.mpich.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from launching import PATIENCE, environment  # noqa: E402
from sweep_run import parse_options, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
SMOKE = "experiments/configs/smoke.toml"


def compile_plugin(compiler, path):
    """As cluster/mpi/README.md says, with another mpicc."""
    with open(os.path.join(OPTIONS.source, "cluster/mpi/README.md"), encoding="utf-8") as file:
        line = re.search(r"^mpicc (.*) -o libretort_mpi\.so (\S+)$", file.read(), re.MULTILINE)
    subprocess.run([compiler, *line[1].split(), "-Wall", "-Wextra", "-Werror", "-o", path, line[2]], cwd=OPTIONS.source,
                   check=True, timeout=PATIENCE)
    return path


def run(*command, **variables):
    """Exit code, and all that was printed."""
    done = subprocess.run(command, cwd=OPTIONS.source, env=environment(**variables), timeout=2 * PATIENCE, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
    return done.returncode, done.stdout


class MpichTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plugin = compile_plugin("mpicc.mpich", os.path.join(FOLDER, "mpich.so"))
        cls.variables = {"RETORT_MPI_LIBRARY": cls.plugin, "RETORT_MPIRUN": "mpiexec.mpich"}
        cls.wrapper = os.path.join(OPTIONS.source, "cluster/launch/mpirun.sh")

    def test_the_channel_keeps_its_contract(self):
        code, said = run("mpiexec.mpich", "-np", "3", OPTIONS.channel_test, **self.variables)
        self.assertEqual(code, 0, said)
        self.assertEqual(said.count("[  PASSED  ]"), 3, said)

    def test_a_sweep_runs_on_two_ranks(self):
        results = os.path.join(FOLDER, "results")
        code, said = run(self.wrapper, "-np", "2", OPTIONS.retort, "run", SMOKE, "--results", results, **self.variables)
        self.assertEqual(code, 0, said)
        self.assertIn("9 of 9 trials succeeded", said)

    def test_the_wrapper_ends_with_the_code_of_rank_zero(self):
        for code in (0, 1, 75):
            self.assertEqual(run(self.wrapper, "-np", "2", OPTIONS.rank_program, f"exit-{code}", **self.variables)[0], code)

    def test_what_goes_wrong_before_a_sweep_has_its_code(self):
        code, said = run(self.wrapper, "-np", "2", OPTIONS.retort, "run", "no-such-file.toml", **self.variables)
        self.assertEqual(code, 2, said)
        self.assertEqual(said.count("no-such-file.toml"), 1, said)

    def begin(self):
        """Three ranks under the wrapper that wait for a signal, and the process ids that they print."""
        wrapper = subprocess.Popen([self.wrapper, "-np", "3", OPTIONS.rank_program, "wait"], env=environment(**self.variables),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
        self.addCleanup(wrapper.kill)
        self.addCleanup(wrapper.stdout.close)
        ranks = {}
        while len(ranks) < 3:
            rank, process = re.fullmatch(r"rank (\d) pid (\d+)\n", wrapper.stdout.readline()).groups()
            ranks[int(rank)] = int(process)
        return wrapper, ranks

    def test_a_signal_reaches_every_rank(self):
        wrapper, _ = self.begin()
        wrapper.send_signal(signal.SIGTERM)
        said = wrapper.stdout.read()
        self.assertEqual(wrapper.wait(PATIENCE), 75)
        for rank in range(3):
            self.assertIn(f"rank {rank} signalled 1\n", said)

    def test_a_lost_rank_ends_the_job(self):
        wrapper, ranks = self.begin()
        os.kill(ranks[2], signal.SIGKILL)
        said = wrapper.stdout.read()
        self.assertEqual(wrapper.wait(PATIENCE), 137, said)
        self.assertIn("the job was lost", said)
        for process in ranks.values():
            wait_for(lambda process=process: not os.path.exists(f"/proc/{process}"), "the ranks are gone")

    def check_refused(self, said, variable):
        self.assertIn(f"The launcher started 2 processes ({variable}=2), but this one is in an MPI world of 1", said)
        self.assertIn("cluster/mpi/README.md", said)

    def test_the_library_of_the_other_mpi_is_refused(self):
        results = os.path.join(FOLDER, "refused")
        command = [OPTIONS.retort, "run", SMOKE, "--results", results]
        code, said = run("mpiexec.mpich", "-np", "2", *command)
        self.assertEqual(code, 3, said)
        self.check_refused(said, "PMI_SIZE")
        code, said = run("mpiexec.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2", *command,
                         RETORT_MPI_LIBRARY=self.plugin)
        self.assertEqual(code, 3, said)
        self.check_refused(said, "OMPI_COMM_WORLD_SIZE")
        self.assertFalse(os.path.exists(results))

    def test_doctor_says_which_mpi_the_library_is_for(self):
        _, said = run(OPTIONS.retort, "doctor", **self.variables)
        self.assertRegex(said, "ok +MPI library: MPICH Version")
        self.assertNotIn("RETORT_MPI_LIBRARY is set", said)
        _, said = run(OPTIONS.retort, "doctor", RETORT_MPI_LIBRARY=self.plugin, RETORT_MPIRUN="mpiexec.openmpi")
        self.assertIn("is of another MPI: ranks would not find each other", said)


if __name__ == "__main__":
    if not shutil.which("mpicc.mpich") or not shutil.which("mpiexec.mpich"):
        print("skipped: MPICH is not installed (apt-get install mpich libmpich-dev)")
        sys.exit(77)
    OPTIONS = parse_options("retort", "channel-test", "rank-program", "source")
    FOLDER = tempfile.mkdtemp(prefix="retort-mpich-")
    sys.exit(run_tests(FOLDER))
