#!/usr/bin/env python3
"""The step of dpdfd_step.py as a user of Python torch who knows CUDA writes it: all of it in one CUDA graph.

Static buffers, capturable fused Adam, no number read by the host. Prints what dpdfd_step.py prints, and "busy", the seconds
that the device works in one such step run eagerly, and "kernels", how many it is told.

On the CPU, which has no graphs, the same step runs as it is.

usage: dpdfd_graph_step.py [--steps N] [--warmup N] [--batch B] [--student-batch S] [--student-steps K] [--width W] [--tf32]
                           [--device cpu]
"""
import argparse
import json
import time

import torch
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile

import dpdfd_step as eager


class GraphStep(eager.Step):
    """A step whose replayed rows, losses and places lie on the device. The transfer set is full from the start."""

    def __init__(self, options):
        super().__init__(options)
        device = options.device
        adam = {"fused": True, "capturable": device != "cpu"}
        self.student_adam = torch.optim.Adam(self.student.parameters(), 1e-3, **adam)
        self.generator_adam = torch.optim.Adam(self.generator.parameters(), 1e-3, betas=(0.5, 0.999), **adam)
        self.old_x.normal_()
        self.old_y.fill_(0.1)
        self.place = torch.zeros(1, dtype=torch.long, device=device)
        self.range = torch.arange(options.batch, device=device)
        self.losses = torch.zeros(2, device=device)

    def gradient(self, logits, labels):
        hot = F.one_hot(labels, eager.CLASSES).bool()
        leaf = logits.detach().requires_grad_()
        target = -(F.log_softmax(leaf, 1) * hot).sum()
        others = F.log_softmax(leaf.masked_fill(hot, -1000.0), 1).masked_fill(hot, 0.0).sum()
        return torch.autograd.grad(target - 8 * others / (eager.CLASSES - 1), leaf)[0]

    def release(self, images):
        with torch.no_grad():
            labels = self.teacher(images).argmax(1)
            self.student.eval()
            logits = self.student(images)
            self.student.train()
        g = self.gradient(logits, labels)
        g = eager.NORM_BOUND * g / (g.norm(dim=1, keepdim=True) + 1e-4)
        g = g + torch.randn_like(g) * (eager.SIGMA * eager.NORM_BOUND / self.o.batch)
        g = g - g.mean(1, keepdim=True)
        return torch.softmax(logits, 1) - eager.KAPPA / eager.NORM_BOUND * g

    def teach(self, images, targets):
        fresh, capacity = self.o.student_batch // 2, len(self.old_x)
        order = torch.rand(self.o.batch, device=self.o.device).argsort()
        for i in range(self.o.student_steps):
            rows = order[torch.arange(i * fresh, (i + 1) * fresh, device=self.o.device) % self.o.batch]
            old = (torch.rand(self.o.student_batch - fresh, device=self.o.device) * capacity).long().clamp_(max=capacity - 1)
            x, y = torch.cat([images[rows], self.old_x[old]]), torch.cat([targets[rows], self.old_y[old]])
            self.student_adam.zero_grad(set_to_none=True)
            loss = -(y * F.log_softmax(self.student(x), 1)).sum(1).mean()
            loss.backward()
            self.student_adam.step()
        self.losses[0] = loss.detach()

    def __call__(self):
        images = self.generator(torch.randn(self.o.batch, eager.LATENT, device=self.o.device))
        queried = images.detach()
        targets = self.release(queried)
        self.teach(queried, targets)
        self.improve(images, targets)
        at = (self.place + self.range) % len(self.old_x)
        self.old_x.index_copy_(0, at, queried)
        self.old_y.index_copy_(0, at, targets)
        self.place.add_(self.o.batch).remainder_(len(self.old_x))


def capture(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(11):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph


def measure_busy(step):
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        step()
        torch.cuda.synchronize()
    events = [e for e in profiler.events() if e.device_type.name == "CUDA"]
    return sum(e.self_device_time_total for e in events) / 1e6, len(events)


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("steps", 200), ("warmup", 20), ("batch", 256), ("student-batch", 64), ("student-steps", 16)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = options.tf32
    step = GraphStep(options)
    for _ in range(3):
        step()
    on_device = options.device != "cpu"
    busy, kernels = measure_busy(step) if on_device else (None, None)
    repeat = capture(step).replay if on_device else step
    seconds = []
    for i in range(options.warmup + options.steps):
        if on_device:
            torch.cuda.synchronize()
        began = time.perf_counter()
        repeat()
        if on_device:
            torch.cuda.synchronize()
        if i >= options.warmup:
            seconds.append(time.perf_counter() - began)
    print(json.dumps({"seconds_per_step": seconds, "torch": torch.__version__, "busy": busy, "kernels": kernels}))


if __name__ == "__main__":
    main()
