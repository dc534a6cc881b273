"""Real workers on a real device: memory that runs out, a context that breaks, company on one device, and the rows of
the CPU. Exits with 77, which ctest reports as skipped, where `retort` has no CUDA device to use.

usage: worker_gpu_test.py --retort PROGRAM --source DIR --poison LIBRARY
"""
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "testing"))
from sweep_run import SweepRun, parse_options, processes, run_tests, wait_for  # noqa: E402

OPTIONS = None
FOLDER = None
PATIENCE = 240

SWEEP = """
retort = 1
[data.digits]
reader = "idx"
path = "{source}/experiments/data/mnist10k"
split = {{ shuffle = 1, train = [0, 2048], public = [2048, 2304], test = [2304, 3328] }}
[teacher]
single = {{ network = "datalens", epochs = 2 }}
[trial]
data = "digits"
noise = "seeded"
delta = 1e-5
threads = 2
[sweep]
name = "gpu"
seeds = [0]
zip.row = [{rows}]
"""
DPSGD = '{ method = "dpsgd", student = "tanh-cnn", noise_multiplier = 1, batch = 256, norm_bound = 0.1, lr = 1, steps = %d }'
DPDFD = ('{ method = "dpdfd", reading = "working", teacher = "single", student = "datalens", steps = 40, batch = 256, '
         'generator_width = %d }')


class Run(SweepRun):
    """`retort run` with one slot for each device, on the first device alone."""

    count = 0

    def __init__(self, *rows, devices="0", environment=None, arguments=()):
        Run.count += 1
        self.retort = OPTIONS.retort
        self.results = os.path.join(FOLDER, f"results-{Run.count}")
        self.log = self.results + ".log"
        sweep = os.path.join(FOLDER, f"sweep-{Run.count}.toml")
        with open(sweep, "w", encoding="utf-8") as file:
            file.write(SWEEP.format(source=OPTIONS.source, rows=", ".join(rows)))
        variables = dict(os.environ, CUDA_VISIBLE_DEVICES=devices, **(environment or {}))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [OPTIONS.retort, "run", sweep, "--results", self.results, "--metrics-listen", "127.0.0.1:0", *arguments],
                stderr=log, stdout=subprocess.DEVNULL, env=variables, start_new_session=True)

    def end(self, seconds=PATIENCE):
        return super().end(seconds)

    def ledger(self, trial):
        return self.ask("show", trial)["ledger"]


class WorkerGpuTest(unittest.TestCase):
    def test_a_trial_that_no_device_holds_is_out_of_memory(self):
        large = DPDFD.replace("batch = 256", "batch = 1_000_000") % 1024
        run = Run(large, DPSGD % 20)
        self.assertEqual(run.end(), 1, run.text())
        by_method = {t["spec"]["method"]: t for t in run.trials()}
        self.assertEqual((by_method["dpdfd"]["state"], by_method["dpdfd"]["failure"], by_method["dpdfd"]["attempts"]),
                         ("failed", "out_of_memory", 2), run.text())
        self.assertEqual(by_method["dpsgd"]["state"], "succeeded", run.text())

    def test_a_poisoned_context_costs_one_attempt(self):
        calm = Run(DPSGD % 400, arguments=["trial.checkpoint_every=0s"])
        self.assertEqual(calm.end(), 0, calm.text())
        fuse = os.path.join(FOLDER, "poison")
        run = Run(DPSGD % 400, DPSGD % 20, environment={"LD_PRELOAD": OPTIONS.poison, "POISON_WHEN": fuse},
                  arguments=["trial.checkpoint_every=0s"])
        until = time.monotonic() + PATIENCE
        while len(glob.glob(f"{run.results}/trials/*/attempt-1/checkpoint-*")) < 1 and time.monotonic() < until:
            time.sleep(0.01)
        with open(fuse, "w", encoding="ascii"):
            pass
        self.assertEqual(run.end(), 0, run.text())
        self.assertFalse(os.path.exists(fuse), "nobody was poisoned")
        self.assertIn("device", run.text())
        self.assertEqual(sorted(t["attempts"] for t in run.trials()), [1, 2], run.text())
        long_trial = [t for t in run.trials() if t["spec"]["steps"] == 400][0]
        self.assertEqual(long_trial["row_digest"], calm.trials()[0]["row_digest"])    # same device, same bits

    def test_four_small_trials_share_a_device(self):
        seeds = "sweep.seeds=[0, 1, 2, 3]"
        alone = Run(DPSGD % 300, arguments=[seeds])
        self.assertEqual(alone.end(), 0, alone.text())
        packed = Run(DPSGD % 300, arguments=[seeds, "trial.pack=auto"])
        self.assertEqual(packed.end(), 0, packed.text())
        self.assertEqual([t["row_digest"] for t in packed.trials()], [t["row_digest"] for t in alone.trials()])
        print("\n".join(line for line in packed.text().splitlines() if "at once" in line))

    def test_a_gang_of_two_trains_by_nccl_on_one_card(self):
        shared = Run(DPDFD % 32, arguments=["trial.devices=2", "--oversubscribe-gpu", "2"])
        alone = Run(DPDFD % 32)
        self.assertEqual((shared.end(), alone.end()), (0, 0), shared.text() + alone.text())
        for one, other in zip(shared.trials(), alone.trials()):
            self.assertAlmostEqual(one["metrics"]["test.accuracy"], other["metrics"]["test.accuracy"], delta=0.03)

    def test_a_killed_rank_of_a_shared_card_is_tried_again(self):
        arguments = ["trial.devices=2", "trial.checkpoint_every=0s", "--oversubscribe-gpu", "2"]
        calm, run = Run(DPSGD % 400, arguments=arguments), Run(DPSGD % 400, arguments=arguments)
        wait_for(lambda: glob.glob(f"{run.results}/trials/*/attempt-1/checkpoint-*"), run.text, PATIENCE)
        os.kill(max(pid for pid, (parent, _, _) in processes().items() if parent == run.process.pid), signal.SIGKILL)
        self.assertEqual((calm.end(), run.end()), (0, 0), calm.text() + run.text())
        self.assertEqual(run.trials()[0]["attempts"], 2)
        self.assertEqual(run.trials()[0]["row_digest"], calm.trials()[0]["row_digest"])

    def test_tf32_trains_and_says_so(self):
        run = Run(DPDFD % 32, arguments=["trial.precision=tf32"])
        self.assertEqual(run.end(), 0, run.text())
        self.assertNotIn("computed as float32", run.text())

    def test_a_trial_tells_energy_and_how_busy_its_gpu_was(self):
        run = Run(DPDFD % 32)
        self.assertEqual(run.end(), 0, run.text())
        timings = run.ask("show", run.trials()[0]["trial"])["timings"]
        self.assertTrue(0 <= timings["device_busy"] <= 1, timings)
        self.assertGreater(timings["energy_joules"], 0)

    def test_a_dpdfd_trial_has_the_row_of_the_cpu(self):
        there, here = Run(DPDFD % 32), Run(DPDFD % 32, devices="")
        self.assertEqual((there.end(), here.end()), (0, 0), there.text() + here.text())
        for on_device, on_cpu in zip(there.trials(), here.trials()):
            self.assertEqual(on_device["trial"], on_cpu["trial"])
            self.assertAlmostEqual(on_device["metrics"]["test.accuracy"], on_cpu["metrics"]["test.accuracy"], delta=0.03)
            self.assertEqual(there.ledger(on_device["trial"]), here.ledger(on_cpu["trial"]))


def main():
    global OPTIONS, FOLDER
    OPTIONS = parse_options("retort", "source", "poison")
    if not glob.glob("/dev/nvidia[0-9]*"):
        print("skipped: this host shows no CUDA device")
        return 77
    FOLDER = tempfile.mkdtemp(prefix="retort-gpu-")
    probe = Run(DPSGD % 1)
    probe.end()
    if "trials run on the CPU" in probe.text():
        print("skipped: " + probe.text())
        return 77
    return run_tests(FOLDER)


if __name__ == "__main__":
    sys.exit(main())
