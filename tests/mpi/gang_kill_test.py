"""Two gangs of two under mpirun; one member of one is killed in the middle of training. Only that gang starts again,
soon; the other never pauses; and the rows are those of an undisturbed run.

Arguments: retort, the wrapper script, the sweep file, print_curve.
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

from launching import PATIENCE, environment

RETORT, WRAPPER, SWEEP, PRINT_CURVE = sys.argv[1:5]
RESTART_SECONDS = 5.0
GAP_FACTOR = 3.0


def trials(results):
    run = subprocess.run([RETORT, "list", "--json", "--results", results], capture_output=True, text=True, check=False)
    return {t["name"]: t for t in json.loads(run.stdout)["trials"]} if run.returncode == 0 else {}


def workers():
    """pid of every worker whose agent belongs to this process's session tree, by results folder in its arguments."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/environ", "rb") as stream:
                tagged = TAG in stream.read().split(b"\0")
            with open(f"/proc/{entry}/comm", encoding="utf-8") as stream:
                name = stream.read().strip()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if tagged and name == "retort-worker":
            found.append(int(entry))
    return found


TAG = f"RETORT_TEST_TAG={os.getpid()}".encode()


class Run:
    def __init__(self):
        self.results = tempfile.mkdtemp(prefix="retort-gangs-")
        command = [WRAPPER, "-np", "4", RETORT, "run", SWEEP, "--results", self.results, "--slots", "1", "--quiet"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=environment(RETORT_TEST_TAG=str(os.getpid())), start_new_session=True)

    def wait_for(self, condition, seconds=PATIENCE):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            now = trials(self.results)
            if now and condition(now):
                return now
            if self.process.poll() is not None:
                raise AssertionError("the run ended early: " + self.process.communicate()[0])
            time.sleep(0.1)
        raise AssertionError(f"waited {seconds} s in vain: {trials(self.results)}")

    def end(self):
        output, _ = self.process.communicate(timeout=2 * PATIENCE)
        return self.process.returncode, output


def steps_of(results, trial):
    """Seconds of each step of the trial's last attempt."""
    folder = next(f for f in os.listdir(f"{results}/trials") if f.startswith(trial))
    file = f"{results}/trials/{folder}/attempt-{trials(results)[trial]['attempts']}/attempt.h5"
    run = subprocess.run([PRINT_CURVE, file, "step_seconds"], capture_output=True, text=True, check=True)
    return [float(line) for line in run.stdout.split()]


class GangKillTest(unittest.TestCase):
    def test_only_the_gang_that_lost_a_member_starts_again(self):
        calm = Run()
        code, output = calm.end()
        self.assertEqual(code, 0, output)
        run = Run()
        run.wait_for(lambda now: all(t["state"] == "running" for t in now.values()))
        time.sleep(2)
        victim = workers()[1]
        os.kill(victim, signal.SIGKILL)
        killed = time.monotonic()
        run.wait_for(lambda now: any(t["attempts"] == 2 and t["state"] == "running" for t in now.values()), 60)
        restarted = time.monotonic() - killed
        code, output = run.end()
        self.assertEqual(code, 0, output)
        ended = trials(run.results)
        again = [name for name, t in ended.items() if t["attempts"] == 2]
        undisturbed = [name for name, t in ended.items() if t["attempts"] == 1]
        self.assertEqual((len(again), len(undisturbed)), (1, 1), ended)
        self.assertLess(restarted, RESTART_SECONDS)
        steps = steps_of(run.results, undisturbed[0])
        median, longest = statistics.median(steps), max(steps[1:])
        print(f"restarted after {restarted:.2f} s; the other gang's longest step {longest:.3f} s, median {median:.3f} s")
        self.assertLess(longest, GAP_FACTOR * median)
        digests = {name: t["row_digest"] for name, t in ended.items()}
        self.assertEqual(digests, {name: t["row_digest"] for name, t in trials(calm.results).items()})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
