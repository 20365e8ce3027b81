#!/usr/bin/env python3
"""Arguments of the loops of tests/kept, NAME_loops.pull, and of other programs there, NAME.pull, as JSON."""

import argparse
import json
import pathlib
import random
import re


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
    "two_views": {"x": (1000, 16), "y": (1000, 16), "w": (16, 64), "u": (16, 64), "a": (64, 32)},
    "gan_together": {"x": (1000, 32), "e": (1000, 8), "g": (8, 32), "w": (32, 64), "v": (64,)},
    "clip_both_ways": {"u": (400, 32), "v": (400, 32)},
    "best_of_sets": {"x": (50, 200, 8), "w": (8, 64), "v": (64,), "y": (50,)},
    "running_score": {"x": (2000, 16), "w": (16, 64), "v": (64,)},
    "early_stop": {"x": (2000, 16), "w": (16, 64), "v": (64,)},
    "row_steps": {"x": (1000, 16), "w": (16, 64)},
    "ring_steps": {"x": (1000, 16), "w": (16, 64)},
    "ring_remainder": {"x": (1000, 16), "w": (16, 64)},
    "ring_curvature": {"x": (1000, 16), "w": (16, 64)},
    "ring_lengths": {"x": (1000, 16), "w": (16, 64)},
    "ring_angles": {"x": (1000, 16), "w": (16, 64)},
    "first_row": {"x": (1000, 16), "w": (16, 64)},
    "two_loops": {"x": (1000, 16), "w": (16, 64)},
    "ends_held": {"x": (1000, 16), "w": (16, 64), "a": (64,), "b": (64,)},
    "chosen_rows": {"x": (500, 16), "y": (500, 16), "w": (16, 64), "v": (64,)},
    "last_given": {"x": (1000, 16), "w": (16, 64), "v": (64,)},
    "padded_rows": {"x": (1000, 16), "w": (16, 64), "u": (64, 32), "p": (64,)},
    "row_curvature": {"x": (1000, 16), "w": (16, 64), "u": (64, 64)},
    "smooth_steps": {"x": (1000, 16), "w": (16, 64)},
    "before_and_after": {"x": (1000, 16), "w": (16, 64)},
    "temporal_conv": {"x": (1000, 16), "w": (16, 64), "c": (3, 64, 16)},
    "sets_steps": {"x": (20, 100, 16), "w": (16, 64)},
    "steps_loop": {"x": (1000, 16), "w": (16, 64)},
    "conv_layers": {"x": (1000, 4), "a": (5, 4, 16), "b": (5, 16, 16), "g": (5, 16, 4)},
    "steps_if": {"x": (1000, 16), "w": (16, 64)},
}
TOKEN = {"x": (1000, 16), "w": (16, 64), "u": (64, 32), "t": (64,)}
SHAPES |= {f"token_{name}": TOKEN for name in ("first", "last", "layer", "ends", "range", "steps", "scores")}
SHAPES |= {f"token_{name}": TOKEN | {"v": (64, 64)} for name in ("residual", "layers")}
SHAPES |= {"token_pair": TOKEN | {"t": (2, 64)}, "token_sets": TOKEN | {"x": (20, 50, 16)}}
ROWS = {"x": (1000, 16), "w": (16, 64)}
SHAPES |= {name: ROWS | {"c": (3, 64, 32)} for name in ("conv_strided", "strided_width", "upsampled", "upsampled_conv")}
SHAPES |= {name: ROWS | {"v": (64,)} for name in ("pooled_threes", "window_max")}
SHAPES |= {name: ROWS for name in ("haar", "halves", "branch_row")}
SHAPES |= {name: ROWS | {"u": (64, 32)} for name in ("mean_rows", "max_rows")}
SHAPES |= {
    "frames": ROWS | {"v": (4,), "u": (64, 32)},
    "loop_pairs": ROWS | {"u": (64, 64)},
    "down_and_up": ROWS | {"u": (64, 64), "v": (64, 32)},
    "strided_four_layers": {"x": (1000, 16), "a": (3, 16, 32), "b": (3, 32, 32)},
    "strided_loop": ROWS | {"c": (3, 64)},
}
SCANNED = ROWS | {"v": (64,), "y": (1000,)}
SHAPES |= {name: SCANNED for name in ("cumulative_rows", "cumulative_columns", "behind_rows", "front_and_behind")}
SHAPES |= {"cumulative_sets": SCANNED | {"x": (4, 250, 16), "y": (4, 250)}}
ENDS = ROWS | {"u": (64,), "y": (1000,)}
SHAPES |= {name: ENDS for name in ("one_sided", "one_sided_second", "ends_mirrored", "heat_steps", "loop_one_sided", "loop_anchors", "loop_held", "loop_window", "loop_ranges", "range_products", "reversed_pairs", "reversed_held", "loop_previous", "loop_from_end", "loop_down")}
SHAPES |= {name: ENDS for name in ("conv_by_function", "held_by_function", "conv_ring")}
SHAPES |= {name: ENDS for name in ("reflected_neighbours", "second_differences", "ends_read_backwards")}
LAYERS = ENDS | {"u": (64, 64), "v": (64,)}
SHAPES |= {name: LAYERS for name in ("skip_held", "first_row_times", "two_steps_held", "steps_held", "rows_by_data")}
SHAPES |= {name: ROWS | {"u": (64, 64)} for name in ("band_products", "window_activations")}
SHAPES |= {"rows_by_parity": ROWS | {"u": (64, 64), "v": (64,)}, "rows_normalised": ROWS | {"v": (64,)}, "differences_layer": ROWS | {"u": (64, 64)}}
SETS = {"x": (20, 50, 16), "w": (16, 64), "v": (64,)}
SHAPES |= {
    "loop_gates": {"x": (1000, 16), "w": (16, 64), "v": (16, 64), "u": (64,), "y": (1000,)},
    "loop_conv": {"x": (1000, 16), "w": (16, 64), "k": (3, 64, 64), "u": (64,), "y": (1000,)},
    "loop_attention": {"x": (1000, 16), "wq": (16, 64), "wk": (16, 64), "wv": (16, 64)},
    "normalised_differences": {"x": (1000, 16), "w": (16, 64), "y": (1000,)},
    "smoothed_softmax": {"x": (1000, 16), "w": (16, 64), "v": (64,), "y": (1000,)},
}
SHAPES |= {"sets_from_end": SETS | {"v": (64,), "y": (20, 50)}, "loop_over_sets": SETS, "loop_over_pairs": SETS | {"y": (20, 50)}}
SHAPES |= {"loop_fills": ROWS | {"v": (64,), "y": (1000,)}}
SHAPES |= {"chain_pairs": ROWS | {"u": (64,)}, "loop_smoothed": ROWS | {"u": (64,)}, "grid_pairs": {"x": (40, 40, 16), "w": (16, 32), "u": (32,)}}
SHAPES |= {"conv_reflected": ENDS | {"u": (3, 64)}}
SHAPES |= {
    "layers_in_loop": LAYERS,
    "scores_of_five": ROWS | {"u": (16, 64)},
    "attend_eight": ROWS | {"u": (16, 64), "v": (16, 24), "y": (1000, 24)},
}
CRF = {"x": (1000, 32), "w": (32, 16), "trans": (16, 16)}
SHAPES |= {name: CRF for name in ("crf_chain", "crf_emissions", "crf_loops")}
# Numbers, as they are.
NUMBERS = {"branch_row": {"c": 1}, "mean_rows": {"c": 3}, "max_rows": {"c": 3}}
# Vectors of integers: how many, and below what.
LABELS = {"two_views": {"t": (2000, 32)}} | {
    name: {"y": (1000, 16)} for name in ("crf_chain", "crf_emissions", "crf_loops")
}


# Of programs that need no others.
SIZES = {"n": 1000, "2 * n": 2000, "d": 16, "h": 64, "k": 32, "m": 64}


def shapes_of(name):
    """As f's parameters say."""
    text = (pathlib.Path(__file__).parents[1] / "kept" / f"{name}.pull").read_text()
    signature = re.search(r"fn f\((.*?)\)\s*->", text, re.S).group(1)
    parameters = re.findall(r"(\w+)\s*:\s*(?:\[([^\]]*)\])?f64", signature)
    return {
        parameter: tuple(int(d) if d.strip().isdigit() else SIZES[d.strip()] for d in dims.split(",") if dims)
        for parameter, dims in parameters
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    options = parser.parse_args()
    random.seed(1)
    try:
        shapes = SHAPES.get(options.name) or shapes_of(options.name)
    except (OSError, KeyError) as e:
        parser.error(f"no arguments of '{options.name}': {e}")
    arguments = {name: numbers(*shape) for name, shape in shapes.items()}
    for name, (count, below) in LABELS.get(options.name, {}).items():
        arguments[name] = [random.randrange(below) for _ in range(count)]
    arguments |= NUMBERS.get(options.name, {})
    print(json.dumps(arguments))


if __name__ == "__main__":
    main()
