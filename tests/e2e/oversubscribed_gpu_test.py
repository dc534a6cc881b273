"""`--oversubscribe-gpu`: gangs, kills and packing on one GPU, with pretend devices in place of real ones. Exits with 77 where
this user may not mount.

usage: oversubscribed_gpu_test.py --retort PROGRAM --source DIR --worker PROGRAM
"""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from own_mounts import enter_own_mounts, show_gpus  # noqa: E402
from sweep_run import SMALL_DIGITS, SweepRun, parse_options, processes, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
PATIENCE = 120


class Run(SweepRun):
    """`retort run` of DP-SGD trials on `devices` devices each."""

    count = 0

    def __init__(self, *arguments, devices=2, seeds=(0,), steps=20, worker=True, environment=None):
        Run.count += 1
        self.retort = OPTIONS.retort
        self.results = os.path.join(FOLDER, f"results-{Run.count}")
        self.log = self.results + ".log"
        self.sweep = os.path.join(FOLDER, f"sweep-{Run.count}.toml")
        with open(self.sweep, "w", encoding="utf-8") as file:
            file.write(SMALL_DIGITS.format(source=OPTIONS.source))
            file.write(f'method = "dpsgd"\nsteps = {steps}\ndevices = {devices}\n[sweep]\nname = "shared"\n'
                       f'seeds = {list(seeds)}\n')
        variables = {k: v for k, v in os.environ.items() if not k.startswith("NCCL_")}
        variables.update(environment or {}, XDG_CACHE_HOME=os.path.join(FOLDER, f"cache-{Run.count}"))
        variables.setdefault("CUDA_VISIBLE_DEVICES", "0")
        if worker:
            variables["RETORT_WORKER"] = os.path.join(FOLDER, "bin", "worker")
        self.variables = variables
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([OPTIONS.retort, "run", self.sweep, "--results", self.results, "--metrics-listen",
                                             "127.0.0.1:0", *arguments], env=variables, stdout=log, stderr=log,
                                            start_new_session=True)

    def show(self, name):
        return subprocess.run([self.retort, "show", name, "--results", self.results], capture_output=True, text=True,
                              check=True).stdout

    def worker_logs(self):
        text = ""
        for path in sorted(glob.glob(os.path.join(self.results, "workers", "*.log"))):
            with open(path, encoding="utf-8", errors="replace") as file:
                text += file.read()
        return text

    def workers(self):
        """Pids of its workers."""
        return [pid for pid, (parent, name, _) in processes().items() if parent == self.process.pid and name == "worker"]

    def parameters(self):
        """Name and parameters digest of every row."""
        found = {}
        for trial in self.trials():
            for line in self.show(trial["trial"]).splitlines():
                if line.strip().startswith("parameters digest"):
                    found[trial["name"]] = line.split()[-1]
        return found


class OversubscribedGpu(unittest.TestCase):
    def test_a_gang_of_two_trains_on_a_gpu_as_on_cpus(self):
        shared = Run("--oversubscribe-gpu", "2")
        self.assertEqual(shared.end(PATIENCE), 0, shared.text())
        apart = Run("--slots", "2", worker=False, environment={"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(apart.end(PATIENCE), 0, apart.text())
        self.assertEqual(shared.parameters(), apart.parameters())
        self.assertEqual(len(shared.parameters()), 1)
        # Both ranks lay on the one device, each a host of its own to NCCL.
        hosts = [line.split()[-1] for line in shared.worker_logs().splitlines() if line.startswith("cuda:0 meets as")]
        self.assertEqual(len(set(hosts)), 2, hosts)
        self.assertTrue(all("slot" in host for host in hosts), hosts)

    def test_rows_and_show_say_that_it_was_a_test(self):
        shared = Run("--oversubscribe-gpu", "2")
        self.assertEqual(shared.end(PATIENCE), 0, shared.text())
        self.assertFalse(os.path.exists(os.path.join(shared.variables["XDG_CACHE_HOME"], "retort", "costs.json")))
        trial = shared.trials()[0]
        self.assertIn("a test: 2 workers shared each GPU (--oversubscribe-gpu)", shared.show(trial["trial"]))
        self.assertEqual(shared.ask("show", trial["trial"])["oversubscribe_gpu"], 2)
        page = os.path.join(FOLDER, "shared.html")
        subprocess.run([shared.retort, "report", "--results", shared.results, "--out", page], check=True, capture_output=True)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("<dt>oversubscribe_gpu</dt><dd>2</dd>", text.replace("\n", ""))
        self.assertIn("shared by 2", text)
        alone = Run(devices=1)
        self.assertEqual(alone.end(PATIENCE), 0, alone.text())
        trial = alone.trials()[0]
        self.assertTrue(os.path.exists(os.path.join(alone.variables["XDG_CACHE_HOME"], "retort", "costs.json")))
        self.assertNotIn("a test:", alone.show(trial["trial"]))
        self.assertEqual(alone.ask("show", trial["trial"])["oversubscribe_gpu"], 1)

    def test_without_it_a_gang_finds_no_room_on_a_gpu(self):
        run = Run()
        self.assertEqual(run.end(PATIENCE), 2, run.text())
        self.assertIn("devices = 2, but this run has 1 in all", run.text())

    def test_nccl_refuses_two_ranks_of_one_host_on_a_gpu(self):
        """What NCCL_HOSTID is for: without it the gang does not meet."""
        run = Run("--oversubscribe-gpu", "2", environment={"TEST_SHARED_NCCL_HOST": "1"})
        try:
            wait_for(lambda: "gang_broken: Duplicate GPU detected" in run.text(), run.text, PATIENCE)
        finally:
            run.process.send_signal(signal.SIGTERM)
            self.assertEqual(run.end(PATIENCE), 75, run.text())
        self.assertIn("Duplicate GPU detected", run.show(run.trials()[0]["trial"]))

    def test_a_killed_rank_costs_an_attempt_and_no_row(self):
        calm = Run("--oversubscribe-gpu", "2", steps=400)
        self.assertEqual(calm.end(PATIENCE), 0, calm.text())
        shaken = Run("--oversubscribe-gpu", "2", steps=400)
        wait_for(lambda: len(shaken.workers()) == 2
                 and any(t["state"] == "running" for t in shaken.trials()), shaken.text, PATIENCE)
        os.kill(max(shaken.workers()), signal.SIGKILL)
        self.assertEqual(shaken.end(PATIENCE), 0, shaken.text())
        self.assertEqual(shaken.trials()[0]["attempts"], 2)
        self.assertEqual(shaken.parameters(), calm.parameters())

    def test_trials_of_one_device_share_it_too(self):
        run = Run("--oversubscribe-gpu", "2", devices=1, seeds=(0, 1), steps=400)
        wait_for(lambda: len(run.workers()) == 2, run.text, PATIENCE)
        devices = wait_for(lambda: run.ask("status")["devices"], run.text, PATIENCE)
        self.assertEqual([d["device"] for d in devices], ["cuda:0", "cuda:0"])
        self.assertEqual(run.end(PATIENCE), 0, run.text())

    def test_the_plan_is_for_as_many_workers(self):
        run = Run(devices=1)  # whose cost the plan takes
        self.assertEqual(run.end(PATIENCE), 0, run.text())
        for words, slots in (["--oversubscribe-gpu", "2"], 2), ([], 1):
            done = subprocess.run([run.retort, "plan", run.sweep, "--json", "--results", run.results + "-none", *words],
                                  capture_output=True, text=True, check=True, env=run.variables)
            self.assertEqual(json.loads(done.stdout)["estimate"]["slots"], slots)

    def test_without_a_gpu_it_is_an_error(self):
        run = Run("--oversubscribe-gpu", "2", environment={"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(run.end(PATIENCE), 3, run.text())
        self.assertIn("--oversubscribe-gpu puts several workers on a GPU, and ", run.text())
        self.assertFalse(os.path.exists(run.results))


if __name__ == "__main__":
    OPTIONS = parse_options("retort", "source", "worker")
    enter_own_mounts()
    FOLDER = tempfile.mkdtemp(prefix="retort-shared-")
    show_gpus(os.path.join(FOLDER, "dev"), 1)
    os.makedirs(os.path.join(FOLDER, "bin"))
    os.symlink(os.path.abspath(OPTIONS.worker), os.path.join(FOLDER, "bin", "worker"))
    open(os.path.join(FOLDER, "bin", "libretort_cuda.so"), "w", encoding="utf-8").close()
    sys.exit(run_tests(FOLDER))
