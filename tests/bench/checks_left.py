#!/usr/bin/env python3
"""Counts the checks of subscripts that are left in the loops of every example and of the prelude.

    checks_left.py [--pullback build/bin/pullback] [--rows]

For each function as it is and with its gradient (vjp where the result is no number): how many element
reads and writes its loops have, and how many checks of an index, in loops and before them. --rows prints
one line for each function rather than for each file.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTION = re.compile(r"^fn (\w+)\(", re.MULTILINE)


def loops(pullback, file, entry, transform):
    answer = subprocess.run(
        [pullback, "explain", "--local", file, "-e", entry, "-t", transform, "--stage", "loops"],
        capture_output=True, text=True, check=False)
    return answer.stdout if answer.returncode == 0 else None


def count(text):
    accesses = len(re.findall(r"^\s+(?:%\S+ = %\S+\[|%\S+\[)", text, re.MULTILINE))
    return accesses, len(re.findall(r"^\s+check .* index\(", text, re.MULTILINE))


def rows_of(pullback, file, source):
    for entry in FUNCTION.findall(source):
        value = loops(pullback, file, entry, "value")
        gradient = loops(pullback, file, entry, "value_and_grad") or loops(pullback, file, entry, "vjp")
        for transform, text in (("value", value), ("gradient", gradient)):
            if text is not None:
                yield (entry, transform) + count(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pullback", default=str(ROOT / "build/bin/pullback"))
    parser.add_argument("--rows", action="store_true")
    options = parser.parse_args()
    files = sorted((ROOT / "docs/examples").glob("*.pull")) + [ROOT / "core/lang/prelude.pull"]
    print("| file | transform | functions | accesses | checks |\n|---|---|---|---|---|")
    total = {"value": [0, 0, 0], "gradient": [0, 0, 0]}
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            file = pathlib.Path(folder) / path.name
            file.write_text(path.read_text())
            sums = {"value": [0, 0, 0], "gradient": [0, 0, 0]}
            for entry, transform, accesses, checks in rows_of(options.pullback, str(file), path.read_text()):
                for into in (sums, total):
                    into[transform] = [a + b for a, b in zip(into[transform], (1, accesses, checks))]
                if options.rows and checks:
                    print(f"| {path.name}: {entry} | {transform} | | {accesses} | {checks} |")
            for transform, row in sums.items():
                if row[0]:
                    print(f"| {path.name} | {transform} | {row[0]} | {row[1]} | {row[2]} |")
    for transform, row in total.items():
        print(f"| all | {transform} | {row[0]} | {row[1]} | {row[2]} |")


if __name__ == "__main__":
    main()
