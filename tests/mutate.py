#!/usr/bin/env python3
"""Breaks rules of differentiation one at a time and asks the random programs whether they notice.

    tests/mutate.py [--programs 4000] [--jobs 2] [--only TEXT] [--build DIR]

A copy of the sources gets every broken rule of tests/mutations.py, and every partial of every scalar op,
behind a question to the environment, so that one build serves all of them; the sources themselves are not
touched, and nothing of this is in the product. Then the generator of random programs
(tests/jit/language/language_test.cc) runs for each until a program notices. It prints how many programs that took,
and fails where --programs of them did not notice.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

from mutations import RULES

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Scalar ops with partials, and how many operands have one.
SCALAR_OPS = {
    "add": 2, "sub": 2, "mul": 2, "smul": 2, "div": 2, "rem": 2, "neg": 1, "pow": 2, "abs": 1, "min": 2, "max": 2,
    "sqrt": 1, "cbrt": 1, "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1, "sin": 1,
    "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1,
    "atanh": 1, "erf": 1, "atan2": 2, "hypot": 2,
}

# The partials of all scalar ops behind one question. The wrong one is one where it is a number, minus one
# where it is one.
PARTIALS = """
Partial PartialOf(const Site& site, int k) {
  const Row& row = *kTable[static_cast<size_t>(site.inst.op)];
  PB_CHECK(row.rule == Rule::kPartials);
  const std::string name =
      "partial of " + std::string(ir::Info(site.inst.op).mnemonic) + " by operand " + std::to_string(k);
  if (!Broken(name.c_str())) return row.partial(At{site}, k);
  Partial wrong = row.partial(At{site}, k);
  if (wrong.kind == Partial::Kind::kZero) return wrong;
  wrong.kind = wrong.kind == Partial::Kind::kOne ? Partial::Kind::kMinusOne : Partial::Kind::kOne;
  return wrong;
}
"""

HEADER = """#pragma once
#include <cstdlib>
#include <cstring>
#include <string>
namespace pullback {
// Whether this run has the rule broken. For experiments only: made by tests/mutate.py.
inline bool Broken(const char* rule) {
  static const char* const broken = std::getenv("PULLBACK_BROKEN");
  return broken != nullptr && std::strcmp(broken, rule) == 0;
}
}  // namespace pullback
"""


def copy_sources(to):
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], check=True,
                           capture_output=True, text=True).stdout.split()
    for name in files:
        source, target = ROOT / name, to / name
        if not source.is_file():
            continue
        text = source.read_bytes()
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != text:
            shutil.copy2(source, target)


def break_rules(to):
    (to / "core/base/broken.h").write_text(HEADER)
    places = {}
    for name, file, old, new in RULES:
        flexible = r"\s*".join(re.escape(part) for part in re.split(r"\s+", old))
        found = list(re.finditer(flexible, (ROOT / file).read_text()))
        if len(found) != 1:
            sys.exit(f"{name}: {len(found)} places in {file} have\n  {old}")
        places.setdefault(file, []).append((found[0].span(), broken(name, old, new)))
    partials = "core/ad/partials.cc"
    body = re.search(r"\nPartial PartialOf\(const Site& site, int k\) \{.*?\n\}\n",
                     (ROOT / partials).read_text(), re.S)
    places.setdefault(partials, []).append((body.span(), PARTIALS))
    for file, changes in places.items():
        text = (ROOT / file).read_text()
        for (begin, end), by in sorted(changes, reverse=True):
            text = text[:begin] + by + text[end:]
        text = '#include "core/base/broken.h"\n' + text
        if (to / file).read_text() != text:
            (to / file).write_text(text)


def broken(name, old, new):
    ask = f'Broken("{name}")'
    if old.endswith(";"):  # a statement
        return f"{{ if ({ask}) {{ {new} }} else {{ {old} }} }}"
    if ", " in old and old.count("(") == 0 or old.startswith("DotOrZero"):  # operands
        split = lambda text: re.split(r", (?=[Dk])", text)
        return ", ".join(f"{ask} ? ({b}) : ({a})" for a, b in zip(split(old), split(new)))
    return f"({ask} ? ({new}) : ({old}))"


def run(binary, name, programs):
    """How many programs there were until one noticed; 0 where none did."""
    env = dict(os.environ, PULLBACK_BROKEN=name, PULLBACK_PROGRAMS=str(programs), PULLBACK_ONE_FAILURE="1",
               PULLBACK_COMPILE_EACH="0", PULLBACK_SHRINK="0", PULLBACK_SEED="1")
    try:
        out = subprocess.run([binary, "generated programs over the whole language"], env=env, text=True,
                             capture_output=True, timeout=1800)
    except subprocess.TimeoutExpired:
        return "hung"
    found = re.search(r"(\d+) programs from .*, (\d+) failures", out.stdout)
    if found is None:
        return "stopped"
    return int(found.group(1)) if int(found.group(2)) > 0 else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=4000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="")
    parser.add_argument("--build", default=str(ROOT / "build-mutants"))
    args = parser.parse_args()
    source = pathlib.Path(args.build) / "source"
    copy_sources(source)
    break_rules(source)
    build = source / "build"
    subprocess.run(["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19",
                    "-DPULLBACK_BENCH=OFF"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build, "-j", str(args.jobs), "--target", "test_jit_language"],
                   check=True, stdout=subprocess.DEVNULL)
    names = [f"partial of {op} by operand {k}" for op, n in SCALAR_OPS.items() for k in range(n)]
    names += [name for name, *_ in RULES]
    names = [name for name in names if args.only in name]
    unseen = []
    print(f"{'broken rule':70} noticed after programs")
    for name in ["nothing"] + names:
        found = run(build / "bin/test_jit_language", name, 200 if name == "nothing" else args.programs)
        print(f"{name:70} {found or 'not'}", flush=True)
        if (found == 0) != (name == "nothing"):
            unseen.append(name)
    if unseen:
        sys.exit(f"{len(unseen)} of {len(names)} not as it should be: " + "; ".join(unseen))
    print(f"{len(names)} rules broken, all noticed")


if __name__ == "__main__":
    main()
