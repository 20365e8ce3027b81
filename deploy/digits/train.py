#!/usr/bin/env python3
"""Trains a digit classifier whose every loss and gradient comes from a Pullback server.

    train.py --server HOST:PORT [--steps N]

Every fifth image is held back; exits 1 when fewer than 97 % of those are recognised.
"""

import argparse
import gzip
import pathlib
import sys
import time

import numpy as np
from pullback import Client, Program

HERE = pathlib.Path(__file__).resolve().parent
HIDDEN = 32
BATCH = 256
LEARNING_RATE = 0.05  # of Adam, falling to 0 along half a cosine
NOISE = 0.2  # added to the pixels of a batch, which lie within 0 and 1
REQUIRED = 0.97
WEIGHTS = ["w1", "b1", "w2", "b2"]


def load():
    """(train x, train y, held-back x, held-back y); x in [0, 1], y int64."""
    with gzip.open(HERE / "digits.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",")
    x, y = rows[:, :64] / 16.0, rows[:, 64].astype(np.int64)
    held = np.arange(len(rows)) % 5 == 0
    return x[~held], y[~held], x[held], y[held]


def init(rng):
    return {
        "w1": rng.normal(0.0, 1.0 / 8.0, (64, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "w2": rng.normal(0.0, 1.0 / np.sqrt(HIDDEN), (HIDDEN, 10)),
        "b2": np.zeros(10),
    }


class Adam:
    """One moment pair per weight; Step changes the weights in place."""

    def __init__(self, weights):
        self.m = {k: np.zeros_like(w) for k, w in weights.items()}
        self.v = {k: np.zeros_like(w) for k, w in weights.items()}
        self.t = 0

    def step(self, weights, gradients, rate):
        self.t += 1
        for k, g in gradients.items():
            self.m[k] = 0.9 * self.m[k] + 0.1 * g
            self.v[k] = 0.999 * self.v[k] + 0.001 * g * g
            m = self.m[k] / (1.0 - 0.9**self.t)
            v = self.v[k] / (1.0 - 0.999**self.t)
            weights[k] = weights[k] - rate * m / (np.sqrt(v) + 1e-8)


def progress(step, steps, loss, seconds):
    """A bar that redraws itself on a terminal, and ten plain lines elsewhere."""
    bar = "#" * (30 * step // steps)
    line = f"[{bar:<30}] {step}/{steps}  loss {loss:.4f}  {1e3 * seconds / step:.2f} ms/step"
    if sys.stderr.isatty():
        print("\r" + line, end="\n" if step == steps else "", file=sys.stderr, flush=True)
    elif step % max(1, steps // 10) == 0:
        print(line, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", default="127.0.0.1:8001", help="HOST:PORT of pullbackd's gRPC")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    train_x, train_y, held_x, held_y = load()
    rng = np.random.default_rng(options.seed)
    weights = init(rng)
    adam = Adam(weights)
    program = Program((HERE / "digits.pull").read_text(), client=Client(options.server))

    start = time.perf_counter()
    for step in range(1, options.steps + 1):
        batch = rng.choice(len(train_x), BATCH, replace=False)
        x = train_x[batch] + NOISE * rng.normal(size=(BATCH, 64))
        loss, gradients = program.value_and_grad(
            "digits_loss", wrt=WEIGHTS, **weights, x=x, y=train_y[batch])
        rate = LEARNING_RATE * 0.5 * (1.0 + np.cos(np.pi * step / options.steps))
        adam.step(weights, gradients, rate)
        progress(step, options.steps, float(loss), time.perf_counter() - start)

    logits = program.value("digits_logits", **weights, x=held_x)
    accuracy = float(np.mean(np.argmax(logits, axis=1) == held_y))
    print(f"held-back accuracy: {100.0 * accuracy:.2f} % of {len(held_y)} images "
          f"({options.steps} steps in {time.perf_counter() - start:.1f} s)")
    if accuracy < REQUIRED:
        print(f"below the required {100.0 * REQUIRED:.0f} %", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
