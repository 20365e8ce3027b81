#!/usr/bin/env python3
"""Arguments of tests/kept/edges_mlp.pull, a perceptron over both ends of each edge of a random graph, as JSON."""

import argparse
import json
import random


def numbers(*shape):
    if not shape:
        return random.uniform(-0.5, 0.5)
    return [numbers(*shape[1:]) for _ in range(shape[0])]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--edges", type=int, default=10000)
    parser.add_argument("--width", type=int, default=32, help="of the points and of what is hidden")
    options = parser.parse_args()
    random.seed(1)
    n, w = options.points, options.width
    ends = {name: [random.randrange(n) for _ in range(options.edges)] for name in ("src", "dst")}
    weights = {name: numbers(w, w) for name in ("w1", "w2")}
    print(json.dumps({**ends, "x": numbers(n, w), **weights, "v": numbers(w)}))


if __name__ == "__main__":
    main()
