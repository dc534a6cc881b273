#!/usr/bin/env python3
"""One step of dpdfd in the working reading as a careful user of Python torch writes it: eager, channels_last, fused Adam.

Prints one JSON object: {"seconds_per_step": [...], "threads": n, "torch": version}. The same step as
worker/methods/data_free_distillation.cc: generate, query, release, student steps on fresh and replayed rows, generator steps.

usage: dpdfd_step.py --steps N --warmup N --batch B --student-batch S --student-steps K --width W --threads T [--device cuda]
"""
import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F

CLASSES, LATENT, SIGMA, NORM_BOUND, KAPPA = 10, 100, 100.0, 1e-3, 0.25


def datalens(scale):
    c1, c2, hidden = max(1, round(32 * scale)), max(1, round(64 * scale)), max(1, round(64 * scale))
    return nn.Sequential(nn.Conv2d(1, c1, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.2), nn.Conv2d(c1, c2, 3),
                         nn.ReLU(), nn.Dropout(0.25), nn.Flatten(), nn.Linear(c2 * 11 * 11, hidden), nn.ReLU(),
                         nn.Linear(hidden, CLASSES)).to(memory_format=torch.channels_last)


class Generator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.fc = nn.Linear(LATENT, width * 49)
        self.bn0 = nn.BatchNorm2d(width)
        self.up = nn.Upsample(scale_factor=2)
        self.conv1, self.bn1 = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width, 0.8)
        self.conv2, self.bn2 = nn.Conv2d(width, width // 2, 3, padding=1), nn.BatchNorm2d(width // 2, 0.8)
        self.conv3, self.bn3 = nn.Conv2d(width // 2, 1, 3, padding=1), nn.BatchNorm2d(1, affine=False)

    def forward(self, z):
        x = self.fc(z).view(-1, self.width, 7, 7).contiguous(memory_format=torch.channels_last)
        x = self.conv1(self.up(self.bn0(x)))
        x = self.conv2(self.up(F.leaky_relu(self.bn1(x), 0.2)))
        return self.bn3(torch.tanh(self.conv3(F.leaky_relu(self.bn2(x), 0.2))))


def dkd_gradient(logits, labels):
    """Row gradients of DKD (target weight 1, non-target weight 8) to the student's logits, by autograd."""
    leaf = logits.detach().requires_grad_()
    hot = F.one_hot(labels, CLASSES).bool()
    target = -F.log_softmax(leaf, 1)[hot]
    others = F.log_softmax(leaf.masked_fill(hot, -1000.0), 1).masked_fill(hot, 0.0)
    loss = target.sum() - 8 * others.sum() / (CLASSES - 1)
    return torch.autograd.grad(loss, leaf)[0]


class Step:
    def __init__(self, o):
        self.o = o
        self.teacher = datalens(1.0).eval().to(o.device)
        self.student = datalens(o.width).to(o.device)
        self.generator = Generator(max(2, round(32 * o.width))).to(o.device, memory_format=torch.channels_last)
        self.student_adam = torch.optim.Adam(self.student.parameters(), 1e-3, fused=True)
        self.generator_adam = torch.optim.Adam(self.generator.parameters(), 1e-3, betas=(0.5, 0.999), fused=True)
        self.old_x = torch.empty(40 * o.batch, 1, 28, 28, device=o.device)
        self.old_y = torch.empty(40 * o.batch, CLASSES, device=o.device)
        self.stored = self.next = 0

    def release(self, images):
        with torch.no_grad():
            labels = self.teacher(images).argmax(1)
            self.student.eval()
            logits = self.student(images)
            self.student.train()
        g = dkd_gradient(logits, labels)
        g = NORM_BOUND * g / (g.norm(dim=1, keepdim=True) + 1e-4)
        g = g + torch.randn_like(g) * (SIGMA * NORM_BOUND / self.o.batch)
        g = g - g.mean(1, keepdim=True)
        return torch.softmax(logits, 1) - KAPPA / NORM_BOUND * g

    def teach(self, images, targets):
        fresh = self.o.student_batch // 2 if self.stored else self.o.student_batch
        order = torch.randperm(self.o.batch, device=self.o.device)
        for i in range(self.o.student_steps):
            rows = order[torch.arange(i * fresh, (i + 1) * fresh, device=self.o.device) % self.o.batch]
            x, y = images[rows], targets[rows]
            if self.stored:
                old = torch.randint(self.stored, (self.o.student_batch - fresh,), device=self.o.device)
                x, y = torch.cat([x, self.old_x[old]]), torch.cat([y, self.old_y[old]])
            self.student_adam.zero_grad(set_to_none=True)
            loss = -(y * F.log_softmax(self.student(x), 1)).sum(1).mean()
            loss.backward()
            self.student_adam.step()
        return loss.item()

    def improve(self, images, targets):
        self.student.eval()
        for p in self.student.parameters():
            p.requires_grad_(False)
        for i in range(2):
            if i:
                images = self.generator(torch.randn(self.o.batch, LATENT, device=self.o.device))
            x = images
            for layer in list(self.student)[:-1]:
                x = layer(x)
            logits = self.student[-1](x)
            p = torch.softmax(logits, 1)
            mean = p.mean(0)
            loss = (F.cross_entropy(logits, logits.argmax(1)) - (targets * torch.log_softmax(logits, 1)).sum(1).mean()
                    + 5 * (mean * mean.log()).sum() - 0.1 * x.abs().mean())
            self.generator_adam.zero_grad(set_to_none=True)
            loss.backward()
            self.generator_adam.step()
        for p in self.student.parameters():
            p.requires_grad_(True)
        self.student.train()

    def __call__(self):
        images = self.generator(torch.randn(self.o.batch, LATENT, device=self.o.device))
        queried = images.detach()
        targets = self.release(queried)
        self.teach(queried, targets)
        self.improve(images, targets)
        rows = slice(self.next, self.next + self.o.batch)
        self.old_x[rows], self.old_y[rows] = queried, targets
        self.stored = min(self.stored + self.o.batch, len(self.old_x))
        self.next = (self.next + self.o.batch) % len(self.old_x)


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("steps", 20), ("warmup", 5), ("batch", 256), ("student-batch", 64), ("student-steps", 16),
                          ("threads", 2)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    torch.backends.cudnn.allow_tf32 = False  # sums in full precision, as Retort's
    step = Step(options)
    for _ in range(options.warmup):
        step()
    seconds = []
    for _ in range(options.steps):
        began = time.perf_counter()
        step()
        if options.device != "cpu":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    print(json.dumps({"seconds_per_step": seconds, "threads": options.threads, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
