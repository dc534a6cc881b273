#!/usr/bin/env python3
"""Checks and measures recorded steps on one GPU, in 8 minutes at most: one call, one table.

First the tests that recorded steps give the bits of steps as they are; then milliseconds a step of Retort with and without
graphs beside Python's eager step, its whole step as one CUDA graph, and torch.compile. Each ratio is of one run on one card.

usage: gpu_steps.py --bench dpdfd_step_bench --plugin libretort_cuda.so --python PYTHON [--tests cuda_trial_gpu_test]
                    [--seconds 470] [--rehearse]
--rehearse: every program once on the CPU, a few small steps each, without a plugin and without figures: nothing is measured.
Exit 77: no GPU. 1: a test failed, or a bench did. 3: an aim is missed. What did not fit into the time is listed as not measured.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")
DPDFD = {
    "full width, batch 256": (["batch=256", "student_batch=64", "generator_width=32", "steps=40", "warmup=20"],
                              ["--batch", "256", "--student-batch", "64", "--width", "1"], 4, 0.95),
    "1/8 width, batch 8": (["network=datalens-x0.125", "batch=8", "student_batch=8", "generator_width=4", "steps=100",
                            "warmup=30"], ["--batch", "8", "--student-batch", "8", "--width", "0.125"], 8, 0.95),
}
TEACHER = ["method=plain", "network=resnet34-cifar", "batch=128", "steps=60", "warmup=12"]
SMALL = (["steps=2", "warmup=1", "batch=4", "student_batch=4", "student_steps=2"],
         ["--device", "cpu", "--steps", "2", "--warmup", "1", "--batch", "4"])


class Clock:
    def __init__(self, seconds):
        self.until = time.monotonic() + seconds

    def left(self):
        return self.until - time.monotonic()


def run(command, clock, need):
    """Seconds of a step, the median; None where too little time is left or the program failed, which is printed."""
    if clock.left() < need:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=max(clock.left(), 1))
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        print("failed: " + " ".join(command) + "\n" + done.stderr[-2000:], flush=True)
        return None
    told = json.loads(done.stdout)
    if told.get("declined"):
        print("not recorded: " + told["declined"], flush=True)
    return statistics.median(told["seconds_per_step"])


def describe_card():
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def check(tests, clock):
    if not tests:
        return True
    done = subprocess.run([tests, "--gtest_filter=*Recorded*", "--gtest_brief=1"], timeout=max(min(clock.left(), 240), 1),
                          env={**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"})
    print("recorded steps give the bits of steps as they are: " + ("yes" if done.returncode == 0 else "NO"), flush=True)
    return done.returncode == 0


def rehearse(options):
    """Whether every program of the measurement runs. torch.compile is left out: it needs a compiler and minutes."""
    clock = Clock(options.seconds)
    ours, theirs = SMALL
    dpdfd = [*theirs, "--student-batch", "4", "--student-steps", "2", "--width", "0.125"]
    commands = [[options.python, os.path.join(PEERS, name), *dpdfd] for name in ("dpdfd_step.py", "dpdfd_graph_step.py")]
    for _, (case, _, _, _) in DPDFD.items():
        commands.append([options.bench, *case, *ours, "graphs=auto"])
    for precision in ("float32", "tf32", "bfloat16"):
        commands.append([options.bench, *TEACHER, *ours, "graphs=auto", f"precision={precision}"])
        peer = [options.python, os.path.join(PEERS, "teacher_step.py"), *theirs, "--precision", precision]
        commands += [[*peer, "--as", how] for how in ("eager", "graph")]
    runs = [run(command, clock, 1) is not None for command in commands]
    print(f"rehearsal on the CPU: {sum(runs)} of {len(runs)} programs ran; nothing was measured")
    return 0 if all(runs) else 1


class Table:
    def __init__(self):
        self.rows, self.missed, self.unmeasured = [], False, []

    def add(self, case, what, peer, own, aim):
        if peer is None or own is None:
            self.unmeasured.append(f"{case}: {what}")
            return
        ratio = peer / own
        self.missed = self.missed or ratio < aim
        self.rows.append(f"| {case} | {what} | {1e3 * peer:.2f} | {1e3 * own:.2f} | {ratio:.2f} | {aim} |")

    def print(self, card):
        print(f"\n{card}\n| case | beside | its ms | ours, ms | ratio | aim |\n|---|---|---|---|---|---|")
        print("\n".join(self.rows))
        for case in self.unmeasured:
            print("not measured: " + case)


def measure(options, clock, table):
    device = [f"device=cuda:0", f"plugin={options.plugin}"]
    for case, (ours, theirs, least_eager, least_graph) in DPDFD.items():
        own = run([options.bench, *ours, *device, "graphs=auto"], clock, 20)
        table.add("dpdfd, " + case, "ours without graphs", run([options.bench, *ours, *device, "graphs=off"], clock, 20), own, 1)
        eager = [options.python, os.path.join(PEERS, "dpdfd_step.py"), *theirs, "--device", "cuda", "--steps", "40"]
        table.add("dpdfd, " + case, "Python eager", run(eager, clock, 20), own, least_eager)
        whole = [options.python, os.path.join(PEERS, "dpdfd_graph_step.py"), *theirs]
        table.add("dpdfd, " + case, "Python, one graph", run(whole, clock, 30), own, least_graph)
    for precision in ("float32", "tf32", "bfloat16"):
        own = run([options.bench, *TEACHER, *device, "graphs=auto", f"precision={precision}"], clock, 25)
        peer = [options.python, os.path.join(PEERS, "teacher_step.py"), "--precision", precision, "--as"]
        table.add(f"ResNet-34 teacher, {precision}", "Python, one graph", run([*peer, "graph"], clock, 25), own, 0.95)
    own = run([options.bench, *TEACHER, *device, "graphs=auto", "precision=bfloat16"], clock, 25)
    compiled = [options.python, os.path.join(PEERS, "teacher_step.py"), "--precision", "bfloat16", "--as", "compile"]
    table.add("ResNet-34 teacher, bfloat16", "torch.compile", run(compiled, clock, 90), own, 1)


def main():
    parser = argparse.ArgumentParser()
    for name in ("bench", "python"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--plugin", default="")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--tests", default="")
    parser.add_argument("--seconds", type=float, default=470)
    options = parser.parse_args()
    if options.rehearse:
        return rehearse(options)
    card = describe_card()
    if card is None:
        print("skipped: nvidia-smi shows no GPU")
        return 77
    clock, table = Clock(options.seconds), Table()
    right = check(options.tests, clock)
    measure(options, clock, table)
    table.print(card)
    if not right:
        return 1
    return 3 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
