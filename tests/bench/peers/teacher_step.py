#!/usr/bin/env python3
"""One training step of a ResNet-34 (3x3 stem, no pooling) on 1x28x28 images in Python torch: shifted images, fused SGD, channels_last.

Prints what dpdfd_step.py prints. `--as graph` records the step as one CUDA graph, `compile` uses torch.compile(max-autotune).
On the CPU, which has no graphs, the step runs as it is.

usage: teacher_step.py [--as eager|graph|compile] [--precision float32|tf32|bfloat16] [--batch 128] [--steps N] [--warmup N]
                       [--device cpu]
"""
import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, into, out, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(into, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
        self.down = None
        if stride != 1 or into != out:
            self.down = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)), inplace=True)))
        return F.relu(y + (x if self.down is None else self.down(x)), inplace=True)


def resnet34(channels, classes):
    layers, into = [nn.Conv2d(channels, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)], 64
    for out, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            layers.append(Block(into, out, stride if i == 0 else 1))
            into = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


class Step:
    def __init__(self, options):
        self.o = options
        self.net = resnet34(1, 10).to(options.device).to(memory_format=torch.channels_last)
        self.called = torch.compile(self.net, mode="max-autotune-no-cudagraphs") if options.how == "compile" else self.net
        self.images = torch.randn(8000, 1, 28, 28, device=self.o.device)
        self.labels = torch.randint(10, (8000,), device=self.o.device)
        self.sgd = torch.optim.SGD(self.net.parameters(), torch.tensor(0.1, device=self.o.device), momentum=0.9, fused=True)

    def shifted(self, rows):
        x = F.pad(self.images[rows], (2, 2, 2, 2))
        moves = torch.randint(5, (2, self.o.batch, 1), device=self.o.device)
        lines = torch.arange(28, device=self.o.device)
        down, right = moves[0] + lines, moves[1] + lines
        return x[torch.arange(self.o.batch, device=self.o.device)[:, None, None], 0, down[:, :, None], right[:, None, :]].unsqueeze(1)

    def __call__(self):
        rows = torch.randint(8000, (self.o.batch,), device=self.o.device)
        images = self.shifted(rows).to(memory_format=torch.channels_last)
        self.sgd.zero_grad(set_to_none=True)
        with torch.autocast(self.o.device, torch.bfloat16, enabled=self.o.precision == "bfloat16", cache_enabled=False):
            logits = self.called(images)
        F.cross_entropy(logits.float(), self.labels[rows]).backward()
        self.sgd.step()


def record(step):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--as", dest="how", choices=("eager", "graph", "compile"), default="eager")
    parser.add_argument("--precision", choices=("float32", "tf32", "bfloat16"), default="float32")
    for name, default in (("batch", 128), ("steps", 60), ("warmup", 10)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = options.precision == "tf32"
    step = Step(options)
    on_device = options.device != "cpu"
    run = record(step) if on_device and options.how in ("graph", "compile") else step
    seconds = []
    for i in range(options.warmup + options.steps):
        began = time.perf_counter()
        run()
        if on_device:
            torch.cuda.synchronize()
        if i >= options.warmup:
            seconds.append(time.perf_counter() - began)
    print(json.dumps({"seconds_per_step": seconds, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
