#!/usr/bin/env python3
"""A forward pass of each network against torchvision in Python eager on the same LibTorch; both compute in turn.

usage: forward_ratio.py --bench PROGRAM --python PYTHON [--rounds 15] [--networks a,b] [--threads 2]
The ratio is the median of Python's seconds over the median of ours: above 1 ours is the faster one. Exit 3: one is
below 0.98. Needs `bash cluster/setup.sh --bench` for Python's torch and torchvision.
"""
import argparse
import os
import statistics
import subprocess
import sys

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers", "forward.py")
AIM = 0.98
# name: channels, side, rows, classes
CASES = {
    "alexnet": (3, 224, 16, 1000), "vgg19_bn": (3, 224, 2, 1000), "resnet18": (3, 224, 8, 1000),
    "resnet34": (3, 224, 8, 1000), "resnet50": (3, 224, 4, 1000), "wide_resnet50_2": (3, 224, 2, 1000),
    "densenet161": (3, 224, 2, 1000), "mobilenet_v2": (3, 224, 8, 1000), "shufflenet_v2_x1_0": (3, 224, 16, 1000),
    "googlenet": (3, 224, 8, 1000), "vit_b_16": (3, 224, 2, 1000), "resnet18-cifar": (3, 32, 32, 10),
    "resnet34-cifar": (3, 32, 32, 10), "resnet18-cifar-gn": (3, 32, 32, 10), "wrn16-1": (3, 32, 64, 10),
    "wrn40-1": (3, 32, 64, 10), "wrn16-1-gn": (3, 32, 64, 10), "conv-large": (3, 32, 32, 10),
    "conv-small": (3, 32, 64, 10), "dense-mnist": (1, 28, 128, 10), "dense-cifar10": (3, 32, 32, 10),
}


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


def compare(name, options):
    case = [str(part) for part in (name, *CASES[name], options.threads)]
    ours, theirs = Side([options.bench, *case]), Side([options.python, PEER, *case])
    for _ in range(2):
        ours.seconds(), theirs.seconds()
    pairs = [(ours.seconds(), theirs.seconds()) for _ in range(options.rounds)]
    ours.end(), theirs.end()
    own, peer = (statistics.median(side) for side in zip(*pairs))
    print(f"{name}: ours {1e3 * own:.1f} ms, Python {1e3 * peer:.1f} ms, ratio {peer / own:.2f}, aim {AIM}", flush=True)
    return peer / own >= AIM


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--networks", default=",".join(CASES))
    options = parser.parse_args()
    reached = [compare(name, options) for name in options.networks.split(",")]
    return 0 if all(reached) else 3


if __name__ == "__main__":
    sys.exit(main())
