#!/usr/bin/env python3
"""Arguments of the loops of tests/kept, NAME_loops.pull, and of other programs there, NAME.pull, as JSON."""

import argparse
import json
import random


def numbers(*shape):
    if not shape:
        return random.uniform(-1, 1)
    return [numbers(*shape[1:]) for _ in range(shape[0])]


SHAPES = {
    "pairs": {"x": (1000, 4), "q": (1000,)},
    "kernel": {"x": (1000,), "y": (400,), "w": (400,)},
    "perceptron": {"x": (1000, 4), "w": (4, 16), "v": (16,), "y": (1000,)},
    "warping": {"x": (400,), "y": (300,)},
    "cholesky": {"x": (120,)},
    "hough_circles": {"pt": (120, 2), "cx": (60,), "cy": (30,), "rad": (10,), "sg": ()},
    "mutual_information": {"a": (120,), "b": (120,), "ca": (60,), "cb": (30,), "sg": ()},
    "coherence": {"a": (400, 100)},
    "recurrent_rows": {"x": (1000, 16), "w": (16, 64), "u": (64, 64), "y": (64,)},
    "softmax_columns": {"x": (400, 16), "w": (16, 400), "y": (400,)},
    "product_columns": {"x": (400, 16), "w": (16, 400), "y": (400,)},
    "activity_sums": {"x": (400, 16), "w": (16, 400), "y": (400,)},
    "row_pairs": {"x": (400, 16), "w": (16, 200)},
    "barlow": {"x": (500, 32), "y": (500, 32), "w": (32, 200)},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=sorted(SHAPES))
    options = parser.parse_args()
    random.seed(1)
    print(json.dumps({name: numbers(*shape) for name, shape in SHAPES[options.name].items()}))


if __name__ == "__main__":
    main()
