#!/usr/bin/env python3
"""What a no-op costs: a durable trial of Retort's rank 0 against a task of Dask, alternating in one run.

usage: dask_ratio.py --bench orchestrator_load_bench --python PYTHON-WITH-DASK [--count 10000] [--pairs 3]
Compares wall clock of both. Exit 3: less than 30 times cheaper. Exit 77: the interpreter has no Dask.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

LEAST = 30
PEER = pathlib.Path(__file__).parent / "peers" / "dask_tasks.py"


def last_line(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    try:
        subprocess.run([options.python, "-c", "import distributed"], check=True, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        print("no Dask: bash cluster/setup.sh --bench", file=sys.stderr)
        return 77
    ratios = []
    for _ in range(options.pairs):
        own = last_line([options.bench, "trials", str(options.count)])["wall_ms_a_trial"]
        peer = last_line([options.python, str(PEER), str(options.count)])["ms_a_task"]
        ratios.append(peer / own)
        print(json.dumps({"retort_ms": own, "dask_ms": round(peer, 4), "ratio": round(ratios[-1], 1)}), flush=True)
    print(f"median ratio {statistics.median(ratios):.1f}")
    return 0 if statistics.median(ratios) >= LEAST else 3


if __name__ == "__main__":
    sys.exit(main())
