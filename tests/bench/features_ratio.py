#!/usr/bin/env python3
"""Features, a step of DP-GD and the propagation of labels against the same in NumPy; both compute in turn.

usage: features_ratio.py --bench PROGRAM --python PYTHON [--rounds 15] [--threads 1]
The ratio is the median of NumPy's seconds over the median of ours: above 1 ours is the faster one. Exit 3: one is below
1, or fewer than 2,000 pictures' features a second and core.
"""
import argparse
import os
import statistics
import subprocess
import sys

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers", "features.py")
PICTURES, LEAST_PICTURES = 2000, 2000  # of a piece of work; a second and core


class Side:
    """A program that computes once for each line."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def compare(work, options):
    case = [work, str(options.threads)]
    ours, theirs = Side([options.bench, *case]), Side([options.python, PEER, *case])
    for _ in range(2):
        ours.seconds(), theirs.seconds()
    pairs = [(ours.seconds(), theirs.seconds()) for _ in range(options.rounds)]
    ours.end(), theirs.end()
    own, peer = (statistics.median(side) for side in zip(*pairs))
    print(f"{work}: ours {1e3 * own:.1f} ms, NumPy {1e3 * peer:.1f} ms, ratio {peer / own:.2f}, aim 1", flush=True)
    reached = peer / own >= 1
    if work == "features":
        rate = PICTURES / own / options.threads
        print(f"features: {rate:.0f} pictures a second and core, aim {LEAST_PICTURES}", flush=True)
        reached = reached and rate >= LEAST_PICTURES
    return reached


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    reached = [compare(work, options) for work in ("features", "step", "propagation")]
    return 0 if all(reached) else 3


if __name__ == "__main__":
    sys.exit(main())
