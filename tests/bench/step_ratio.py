#!/usr/bin/env python3
"""A dpdfd step against the same step in Python eager on the same LibTorch: the two in turn, the ratio of their medians.

usage: step_ratio.py --bench PROGRAM --python PYTHON [--rounds 5] [--device cuda:0 --plugin libretort_cuda.so]
A ratio above 1 means that Retort's step is the faster one; the least that it has to be stands beside each case. Exit 3: it
is less. Needs `bash cluster/setup.sh --bench` for Python's torch.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers", "dpdfd_step.py")
CASES = {
    "full width, batch 256": (
        0.98,
        ["batch=256", "student_batch=64", "generator_width=32", "steps=10", "warmup=3"],
        ["--batch", "256", "--student-batch", "64", "--width", "1", "--steps", "10", "--warmup", "3"]),
    "1/8 width, batch 8": (
        1.15,
        ["network=datalens-x0.125", "batch=8", "student_batch=8", "generator_width=4", "steps=100", "warmup=20"],
        ["--batch", "8", "--student-batch", "8", "--width", "0.125", "--steps", "100", "--warmup", "20"]),
}


def median_of(command):
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return statistics.median(json.loads(run.stdout)["seconds_per_step"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--plugin", default="")
    options = parser.parse_args()
    missed = False
    for name, (least, ours, theirs) in CASES.items():
        pairs = [(median_of([options.bench, *ours, f"device={options.device}", f"plugin={options.plugin}"]),
                  median_of([options.python, PEER, *theirs, "--device", options.device]))
                 for _ in range(options.rounds)]
        ratios = sorted(peer / own for own, peer in pairs)
        print(f"{name}: ours {1e3 * statistics.median(p[0] for p in pairs):.1f} ms, "
              f"Python {1e3 * statistics.median(p[1] for p in pairs):.1f} ms, "
              f"ratio {statistics.median(ratios):.2f} (min {ratios[0]:.2f}, max {ratios[-1]:.2f}, {len(ratios)} pairs), "
              f"aim {least}", flush=True)
        missed = missed or statistics.median(ratios) < least
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
