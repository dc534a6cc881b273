#!/usr/bin/env python3
"""What a command costs before it does anything: `retort --help`, `retort plan` of the quickstart, and of 100,000 trials.

usage: startup.py --retort PROGRAM --source DIR [--rounds 21]
Exit 3: the median of a short command is above 50 ms by the clock, or planning 100,000 trials, which waits for nothing, takes
2 s of CPU or 200 MiB.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

MOST_SECONDS = 0.050
MOST_PLANNING_SECONDS = 2.0
MOST_PLANNING_MEBIBYTES = 200.0
ROUNDS_OF_LARGE = 3

LARGE = """
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
teacher = "single"
steps = 1000
delta = 1e-5
[sweep]
name = "large"
seeds = [{seeds}]
grid.sigma = [{sigmas}]
grid.batch = [{batches}]
grid.replay = [{replays}]
zip.row = [{{ reading = "working" }}, {{ reading = "printed", kappa = 0.5 }}]
"""


def numbers(first, count):
    return ", ".join(str(value) for value in range(first, first + count))


def run(command):
    """Seconds by the clock, of CPU, and the most memory it had, in MiB."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    messages = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}: {messages.decode()[-400:]}")
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--retort", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        quickstart = os.path.join(options.source, "experiments/configs/quickstart.toml")
        for command in (["--help"], ["plan", quickstart, "--results", f"{folder}/none"]):
            seconds = sorted(run([options.retort, *command])[0] for _ in range(options.rounds))
            median = statistics.median(seconds)
            print(f"retort {command[0]}: {1e3 * median:.1f} ms (min {1e3 * seconds[0]:.1f}, max {1e3 * seconds[-1]:.1f}, "
                  f"{len(seconds)} runs), aim {1e3 * MOST_SECONDS:g} ms", flush=True)
            missed = missed or median > MOST_SECONDS
        large = f"{folder}/large.toml"
        with open(large, "w", encoding="utf-8") as file:
            file.write(LARGE.format(source=options.source, seeds=numbers(0, 10), sigmas=numbers(1, 50),
                                    batches=numbers(16, 10), replays=numbers(1, 10)))
        costs = [run([options.retort, "plan", large, "--results", f"{folder}/none"]) for _ in range(ROUNDS_OF_LARGE)]
        took, cpu = (statistics.median(column) for column in list(zip(*costs))[:2])
        memory = max(cost[2] for cost in costs)
        print(f"retort plan of 100,010 trials: {took:.2f} s by the clock, {cpu:.2f} s of CPU, {memory:.0f} MiB, aims "
              f"{MOST_PLANNING_SECONDS:g} s of CPU, {MOST_PLANNING_MEBIBYTES:g} MiB")
        missed = missed or cpu >= MOST_PLANNING_SECONDS or memory >= MOST_PLANNING_MEBIBYTES
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
