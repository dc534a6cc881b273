#!/usr/bin/env python3
"""The peer of forward_bench: torchvision's network in Python eager; one forward pass for each line of its input.

usage: forward.py NETWORK CHANNELS SIDE ROWS CLASSES THREADS
"""
import os
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "unit", "worker", "fixtures"))
import zoo_reference  # noqa: E402


def main():
    name = sys.argv[1]
    channels, side, rows, classes, threads = map(int, sys.argv[2:])
    torch.set_num_threads(threads)
    zoo_reference.VIT_SIDE = side
    network = zoo_reference.NETWORKS[name][0](channels, classes).eval()
    images = torch.linspace(-1, 1, rows * channels * side * side).sin().view(rows, channels, side, side)
    with torch.no_grad():
        for _ in sys.stdin:
            began = time.perf_counter()
            network(images)
            print(f"{time.perf_counter() - began:.9f}", flush=True)


if __name__ == "__main__":
    main()
