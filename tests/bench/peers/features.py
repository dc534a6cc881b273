"""The work of features_bench in NumPy: seconds of one piece for each line of the input.

usage: features.py features|step|propagation THREADS
"""
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = sys.argv[2]
import numpy as np  # noqa: E402  (after the threads are set)


def window_weights(pixels, window=8, stride=4, padding=2):
    windows = (pixels + 2 * padding - window) // stride + 1
    weights = np.zeros((pixels, windows), np.float32)
    for k in range(windows):
        for i in range(window):
            pixel = k * stride - padding + i
            if 0 <= pixel < pixels:
                weights[pixel, k] = 1 - abs(i - (window - 1) / 2) / (window / 2)
    return weights


def features():
    images = np.random.default_rng(1).standard_normal((2000, 28, 28), np.float32)
    weights, bins = window_weights(28), 8

    def work():
        wide = np.pad(images, ((0, 0), (1, 1), (1, 1)), mode="edge")
        x = (wide[:, 1:-1, 2:] - wide[:, 1:-1, :-2]) * np.float32(0.5)
        y = (wide[:, 2:, 1:-1] - wide[:, :-2, 1:-1]) * np.float32(0.5)
        size = np.sqrt(x * x + y * y)
        angle = np.arctan2(y, x) * np.float32(bins / (2 * np.pi))
        apart = angle[:, None] - np.arange(bins, dtype=np.float32)[None, :, None, None]
        apart -= np.round(apart / bins) * bins
        shares = np.maximum(1 - np.abs(apart), 0) * size[:, None]
        seen = np.sqrt(weights.T @ (shares @ weights)).reshape(len(images), -1)
        return seen / np.linalg.norm(seen, axis=1, keepdims=True)

    return work


def step():
    random = np.random.default_rng(2)
    seen = (random.standard_normal((8000, 201), np.float32) / np.sqrt(201)).astype(np.float32)
    labels, weight = np.arange(8000) % 10, np.zeros((10, 201), np.float32)

    def work():
        nonlocal weight
        logits = seen @ weight.T
        logits -= logits.max(1, keepdims=True)
        left = np.exp(logits)
        left /= left.sum(1, keepdims=True)
        left[np.arange(8000), labels] -= 1
        norms = np.linalg.norm(left, axis=1) * np.linalg.norm(seen, axis=1)
        left *= np.minimum(1, 0.15 / np.maximum(norms, 1e-12))[:, None]
        _ = left.T @ seen
        weight = weight - 1e-3 * random.standard_normal((10, 201), np.float32)

    return work


def propagation():
    random = np.random.default_rng(4)
    values = random.standard_normal((1000, 201), np.float32)
    labels = np.zeros((1000, 10))
    labels[:300] = random.standard_normal((300, 10))

    def work():
        unit = values / np.linalg.norm(values, axis=1, keepdims=True)
        cosines = unit @ unit.T
        others = cosines.copy()
        np.fill_diagonal(others, -2)
        nearest = np.argpartition(-others, 10, axis=1)[:, :10]
        joined = np.zeros_like(cosines)
        np.put_along_axis(joined, nearest, 1, axis=1)
        weights = np.maximum(joined, joined.T) * np.exp(20 * (cosines - 1))
        roots = np.sqrt(weights.sum(1))
        matrix = np.eye(1000) - 0.99 * weights / roots[None] / roots[:, None]
        return 0.01 * np.linalg.solve(matrix, labels)

    return work


def main():
    work = {"features": features, "step": step, "propagation": propagation}[sys.argv[1]]()
    for _ in sys.stdin:
        began = time.perf_counter()
        work()
        print(f"{time.perf_counter() - began:.9f}", flush=True)


if __name__ == "__main__":
    main()
