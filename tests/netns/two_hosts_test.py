"""A sweep over two hosts, one of which is cut off. The hosts are network namespaces (two_hosts.py). All tests run at the same
time, each on three hosts of its own: most of the time is waiting for clocks.

usage: two_hosts_test.py --retort PROGRAM --source DIR --scripted-worker PROGRAM [--worker]
Exit 77 where such hosts cannot be had. --worker: the real worker was built as well.
"""
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import two_hosts

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import FOUR_TRIALS, SweepRun, parse_options, run_tests, wait_for  # noqa: E402

OPTIONS = None
HOSTS = None
FOLDER = None
TESTS = 5

# Seven trials; the seed tells the scripted worker to take 50 ms a step.
SWEEP = """
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
grid.batch = [16, 32]
zip.row = [
  {{ method = "dpdfd", reading = "working", teacher = "single" }},
  {{ method = "dpdfd", reading = "printed", teacher = "single" }},
  {{ method = "dpdfd", reading = "row-averaged", teacher = "single" }},
]
"""


def retort(host, *arguments):
    return subprocess.run(HOSTS.command(host, OPTIONS.retort, *arguments), capture_output=True, text=True, check=False,
                          timeout=200)


class Sweep(SweepRun):
    """The restart loop around ranks on the hosts (name: number of ranks), started on the first."""

    def __init__(self, name, hosts, sweep, *arguments, **variables):
        self.results = os.path.join(FOLDER, name)
        self.log = self.results + ".output"
        self.first = next(iter(hosts))
        command = [os.path.join(OPTIONS.source, "cluster/launch/until-complete.sh"),
                   os.path.join(OPTIONS.source, "cluster/launch/mpirun.sh"), "-np", "4",
                   "--host", ",".join(f"{host}:{ranks}" for host, ranks in hosts.items()),
                   OPTIONS.retort, "run", sweep, *arguments, "--results", self.results]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                HOSTS.command(self.first, *command), stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "HWLOC_HIDE_ERRORS": "2", "OMPI_MCA_plm_rsh_agent": HOSTS.agent, **variables})
        self.begun = time.monotonic()

    def end(self, seconds=150):
        return super().end(seconds)

    def ask(self, *command):
        answer = retort(self.first, *command, "--json", "--results", self.results).stdout
        return json.loads(answer)

    def trials(self):
        return self.ask("list").get("trials", [])    # none yet


def slow_sweep(steps):
    path = os.path.join(FOLDER, f"slow-{steps}.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SWEEP.format(source=OPTIONS.source, steps=steps))
    return path


class TwoHostsTest(unittest.TestCase):
    groups = itertools.count()

    def setUp(self):
        first = 3 * next(self.groups)
        self.hosts = HOSTS.names[first:first + 3]

    def tearDown(self):
        for host in self.hosts:
            HOSTS.mend(host)
            for pid, _ in HOSTS.processes(host):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def workers_on(self, host, name):
        return wait_for(lambda: HOSTS.processes(host, name), f"a worker on {host}")

    def two(self):
        return {host: 2 for host in self.hosts[:2]}

    def check_whole(self, sweep, trials):
        self.assertEqual([t["state"] for t in sweep.trials()], ["succeeded"] * trials, sweep.text())
        verified = retort(sweep.first, "verify", "--results", sweep.results)
        self.assertEqual(verified.returncode, 0, verified.stdout)
        wait_for(lambda: not any(HOSTS.processes(host, name) for host in self.hosts for name in ("retort", "orted")),
                 "nothing is left running")

    def test_a_cut_host_ends_the_job_and_nothing_is_lost(self):
        n1, n2, _ = self.hosts
        sweep = Sweep("cut", self.two(), slow_sweep(360), RETORT_WORKER=OPTIONS.scripted_worker)
        self.workers_on(n1, "scripted_worker")
        self.workers_on(n2, "scripted_worker")    # it spreads over both
        time.sleep(2)
        cut = time.monotonic()
        HOSTS.cut(n2)
        wait_for(lambda: f"host {n2} does not answer" in sweep.text(), "the job is started again without n2; " + sweep.text())
        print(f"the cut to the restarted job: {time.monotonic() - cut:.1f} s")
        wait_for(lambda: not HOSTS.processes(n2), "the cut host's ranks and workers have ended by themselves")
        print(f"the cut to the end of the last process there: {time.monotonic() - cut:.1f} s")
        self.assertEqual(sweep.end(), 0, sweep.text())
        print(f"complete {time.monotonic() - sweep.begun:.0f} s after its start, {time.monotonic() - cut:.0f} s after the cut")
        self.check_whole(sweep, 7)
        self.assertGreaterEqual(sum(t["attempts"] > 1 for t in sweep.trials()), 2)    # those that ran on n2, at least

    def test_a_link_that_comes_back_soon_costs_nothing(self):
        n2 = self.hosts[1]
        sweep = Sweep("blink", self.two(), slow_sweep(200), RETORT_WORKER=OPTIONS.scripted_worker)
        self.workers_on(n2, "scripted_worker")
        HOSTS.cut(n2)
        time.sleep(5)
        HOSTS.mend(n2)
        self.assertEqual(sweep.end(), 0, sweep.text())
        self.check_whole(sweep, 7)
        self.assertEqual([t["attempts"] for t in sweep.trials()], [1] * 7)

    def test_the_rows_are_the_same_after_a_lost_host(self):
        if not OPTIONS.worker:
            self.skipTest("the real worker was not built")
        smoke = os.path.join(OPTIONS.source, "experiments/configs/smoke.toml")
        more = ["trial.steps=40", "trial.student_steps=10", FOUR_TRIALS]
        sweep = Sweep("real", self.two(), smoke, *more)
        self.workers_on(self.hosts[1], "retort-worker")
        HOSTS.cut(self.hosts[1])
        self.assertEqual(sweep.end(), 0, sweep.text())
        self.check_whole(sweep, 4)
        alone = os.path.join(FOLDER, "alone")
        done = retort(sweep.first, "run", smoke, *more, "--results", alone, "--quiet", "--slots", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        disturbed, sweep.results = sweep.rows(), alone
        self.assertEqual(disturbed, sweep.rows())

    def test_the_last_word_of_another_host_is_the_code(self):
        n1, n2, _ = self.hosts
        folder = os.path.join(FOLDER, "word")
        os.makedirs(folder)
        with open(os.path.join(folder, "word.toml"), "w", encoding="utf-8") as file:
            file.write('retort = 1\n[trial]\nmethod = "sleep"\nseconds = 3\nsteps = 30\n[sweep]\nname = "word"\nseeds = [0]\n')
        command = HOSTS.command(n1, os.path.join(OPTIONS.source, "cluster/launch/mpirun.sh"), "-np", "1", "--host", n2,
                                OPTIONS.retort, "run", "word.toml")    # in the default results folder
        environment = {**os.environ, "HWLOC_HIDE_ERRORS": "2", "OMPI_MCA_plm_rsh_agent": HOSTS.agent}
        with subprocess.Popen(command, cwd=folder, env=environment, text=True, stderr=subprocess.PIPE) as job:
            self.workers_on(n2, "retort-sleeper")
            job.send_signal(signal.SIGTERM)
            output = job.communicate(timeout=60)[1]
        self.assertEqual(job.returncode, 75, output)
        again = subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True, timeout=60, check=False)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(sorted(os.listdir(folder)), ["results", "word.toml"])

    def test_a_gang_that_lost_a_host_gives_the_same_rows(self):
        if not OPTIONS.worker:
            self.skipTest("the real worker was not built")
        smoke = os.path.join(OPTIONS.source, "experiments/configs/smoke.toml")
        more = ["trial.devices=2", "trial.steps=60", "trial.student_steps=10", FOUR_TRIALS]
        sweep = Sweep("gang", {host: 1 for host in self.hosts}, smoke, *more)

        def away():
            training = any(t["name"].startswith("dpdfd") and t["state"] == "running" for t in sweep.trials())
            return training and next((h for h in self.hosts[1:] if HOSTS.processes(h, "retort-worker")), None)
        lost = wait_for(away, lambda: "a gang trains over two hosts; " + sweep.text(), 180)
        time.sleep(0.5)
        cut = time.monotonic()
        HOSTS.cut(lost)
        self.assertEqual(sweep.end(300), 0, sweep.text())
        print(f"a gang's host {lost} was cut; complete {time.monotonic() - cut:.0f} s later, in "
              f"{sweep.text().count('starting it again') + 1} jobs")
        self.check_whole(sweep, 4)
        self.assertGreaterEqual(max(t["attempts"] for t in sweep.trials()), 2)
        alone = os.path.join(FOLDER, "gang-alone")
        done = retort(sweep.first, "run", smoke, *more, "--results", alone, "--quiet", "--slots", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        disturbed, sweep.results = sweep.rows(), alone
        self.assertEqual(disturbed, sweep.rows())


def main():
    global OPTIONS, HOSTS, FOLDER
    OPTIONS = parse_options("retort", "source", "scripted-worker", worker=False)
    if two_hosts.ENTERED not in os.environ and (why := two_hosts.cannot()):
        print(f"SKIPPED: {why}")
        return 77
    two_hosts.enter()
    FOLDER = tempfile.mkdtemp(prefix="retort-hosts-")
    HOSTS = two_hosts.Hosts(FOLDER, [f"n{i + 1}" for i in range(3 * TESTS)])
    return run_tests(FOLDER, at_once=TESTS)


if __name__ == "__main__":
    sys.exit(main())
