#!/usr/bin/env python3
"""Counts the instructions that the passes take as programs grow: what repeats of bench_compile's times.

    compile_counts.py [--bench build/bin/bench_compile] [--families a,b] [--max-statements 10000]

Runs every family of programs once for each size, from text to loops, under valgrind, and prints millions of
instructions, less those of one statement, with the exponent fitted over the sizes: 1 is linear.
"""

import argparse
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRANSFORMS = ("value", "value_and_grad")


def families_of(bench):
    usage = subprocess.run([bench, "--help"], capture_output=True, text=True, check=False).stderr
    return re.search(r"^families: (.*)$", usage, re.MULTILINE).group(1).split()


def instructions(bench, family, transform, statements):
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", bench,
               "--family", family, "--once", transform, "--max-statements", str(statements)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        sys.exit(f"{' '.join(command)}: {answer.stderr}")
    return int(re.search(r"I +refs: +([\d,]+)", answer.stderr).group(1).replace(",", ""))


def exponent(sizes, counts):
    """The slope of log counts over log sizes by least squares."""
    x, y = [math.log(n) for n in sizes], [math.log(c) for c in counts]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    return (sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) /
            sum((a - mean_x) ** 2 for a in x))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default=str(ROOT / "build/bin/bench_compile"))
    parser.add_argument("--families", type=lambda names: names.split(","), help="default: all")
    parser.add_argument("--max-statements", type=int, default=10000)
    options = parser.parse_args()
    sizes = [options.max_statements >> k for k in range(4, -1, -1)]
    print("| | " + " | ".join(str(n) for n in sizes) + " | exponent |")
    print("|---|" + "---|" * (len(sizes) + 1))
    for family in options.families or families_of(options.bench):
        for transform in TRANSFORMS:
            least = instructions(options.bench, family, transform, 1)
            counts = [instructions(options.bench, family, transform, n) - least for n in sizes]
            name = family if transform == "value" else f"{family}, gradient"
            cells = " | ".join(f"{count / 1e6:.0f}" for count in counts)
            print(f"| {name} | {cells} | {exponent(sizes, counts):.2f} |", flush=True)


if __name__ == "__main__":
    main()
