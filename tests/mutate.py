#!/usr/bin/env python3
"""Breaks rules of differentiation one at a time and asks the random programs whether they notice.

    tests/mutate.py [--programs 200] [--jobs 2] [--only TEXT] [--build DIR]

A copy of the sources gets every broken rule of the tables below behind a question to the environment, so
that one build serves all of them; the sources themselves are not touched, and nothing of this is in the
product. Then the generator of random programs (tests/jit/programs/language_test.cc) runs once for each. It
prints how many of the programs noticed, and fails where none did.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Scalar ops that the generator uses, and how many operands have a partial.
SCALAR_OPS = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "pow": 2, "abs": 1, "min": 2, "max": 2, "sqrt": 1,
    "exp": 1, "log": 1, "log1p": 1, "sin": 1, "cos": 1, "tanh": 1, "atan": 1, "erf": 1, "atan2": 2,
}

# (name, file, text, instead). An expression `text` becomes (broken ? instead : text).
RULES = [
    # cotangents of scalars and arrays, in blocks
    ("select: wrong side", "core/ad/reverse_half.cc",
     "rb_->Make(Op::Select, {cond, w, zero})", "rb_->Make(Op::Select, {cond, zero, w})"),
    ("index: read adds nothing", "core/ad/reverse_half.cc",
     "return rb_->AddAt(bar, at, w);", "return bar;"),
    ("update: the old element keeps its cotangent", "core/ad/reverse_half.cc",
     "rb_->Update(w, at, rb_->Zero(work_.TypeOf(inst.args[1])))", "w"),
    ("update: nothing for what is stored", "core/ad/reverse_half.cc",
     "Accumulate(inst.args[1], Active(inst.args[1]) ? rb_->Index(w, at) : Value{});", ""),
    ("loop: one trip back too few", "core/ad/reverse_half.cc",
     "rb_->Make(Op::Gt, {state.reverse_trips, rb_->I64(0)})",
     "rb_->Make(Op::Gt, {state.reverse_trips, rb_->I64(1)})"),
    ("branch: the first way back always", "core/ad/reverse_half.cc",
     "rb_->Make(Op::Eq, {tag, rb_->I64(static_cast<int64_t>(k))})",
     "rb_->Make(Op::Eq, {tag, rb_->I64(static_cast<int64_t>(k) + 1)})"),
    # lists
    ("list push: nothing for the element", "core/ad/reverse_lists.cc",
     "return AccumulateFields(inst, 1, taken.fields);", "return;"),
    ("list set: nothing for the element", "core/ad/reverse_lists.cc",
     "return AccumulateFields(inst, 2, taken.fields);", "return;"),
    ("list get: another element", "core/ad/reverse_lists.cc",
     "lists_.AddAt(*rb_, bar, Length(inst.args[0]), Primal(inst.args[1]), fields)",
     "lists_.AddAt(*rb_, bar, Length(inst.args[0]), rb_->I64(0), fields)"),
    ("list pop: nothing for what is popped", "core/ad/reverse_lists.cc",
     "rb_->ListPush(lists_.Full(*rb_, w.valid() ? w : ZeroOf(list), rest), fields)",
     "lists_.Full(*rb_, w.valid() ? w : ZeroOf(list), rest)"),
    ("element changed in place: added twice", "core/ad/reverse_lists.cc",
     "lists_.AddField(*rb_, field, fields[k])",
     "lists_.AddField(*rb_, lists_.AddField(*rb_, field, fields[k]), fields[k])"),
    # tensor statements, reverse
    ("statement: guard of a read dropped", "core/ad/transpose_statement.cc",
     "r.guard = body_.GetOrNone(inst.guard);", "r.guard = ir::kNoValue;"),
    ("statement: wrong side of a select", "core/ad/transpose_statement.cc",
     "k == 1 ? w : zero, k == 1 ? zero : w", "k == 1 ? zero : w, k == 1 ? w : zero"),
    ("statement: call's partials ignored", "core/ad/transpose_statement.cc",
     "b_.Make(Op::SMul, {w, partial})", "w"),
    ("statement: a second use forgotten", "core/ad/transpose_statement.cc",
     "b_.Make(Op::Add, {it->second.value, bar})", "bar"),
    ("scan: state not multiplied", "core/ad/transpose_statement.cc",
     "b_.Make(Op::SMul, {w, AtOut(b_, body_, r, states)})", "w"),
    # tensor statements, forward
    ("tangent of a statement: guard dropped", "core/ad/push_statement.cc",
     "IsUnguarded(inst, d, dots[d])", "false"),
    ("tangent of a statement: call's partials ignored", "core/ad/push_statement.cc",
     "b_.Make(Op::SMul, {InTypeOf(b_, arg[d], partial), partial})", "InTypeOf(b_, arg[d], partial)"),
    ("tangent of a scan of products", "core/ad/push_statement.cc",
     "b_.Make(Op::SMul, {dot, AtOut(b_, body_, r, primal_[k])})", "dot"),
    # tangents in blocks
    ("tangent of an update: another value", "core/ad/tangent.cc",
     "b_.Update(array, Map(inst.subs), v)", "array"),
    ("tangent of a select: first side always", "core/ad/tangent.cc",
     "DotOrZero(inst.args[1], d), DotOrZero(inst.args[2], d)",
     "DotOrZero(inst.args[1], d), DotOrZero(inst.args[1], d)"),
]

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
    places[partials] = [(body.span(), PARTIALS)]
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
        return f"if ({ask}) {{ {new} }} else {{ {old} }}"
    if ", " in old and old.count("(") == 0 or old.startswith("DotOrZero"):  # operands
        split = lambda text: re.split(r", (?=[Dk])", text)
        return ", ".join(f"{ask} ? ({b}) : ({a})" for a, b in zip(split(old), split(new)))
    return f"({ask} ? ({new}) : ({old}))"


def run(binary, name, programs):
    env = dict(os.environ, PULLBACK_BROKEN=name, PULLBACK_PROGRAMS=str(programs),
               PULLBACK_COMPILE_EACH="1000000000", PULLBACK_SHRINK="0", PULLBACK_SEED="1")
    try:
        out = subprocess.run([binary, "generated programs over the whole language"], env=env, text=True,
                             capture_output=True, timeout=900)
    except subprocess.TimeoutExpired:
        return "hung"
    found = re.search(r"(\d+) failures", out.stdout)
    return int(found.group(1)) if found else "stopped"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
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
    subprocess.run(["cmake", "--build", build, "-j", str(args.jobs), "--target", "test_jit_programs"],
                   check=True, stdout=subprocess.DEVNULL)
    names = [f"partial of {op} by operand {k}" for op, n in SCALAR_OPS.items() for k in range(n)]
    names += [name for name, *_ in RULES]
    unseen = []
    print(f"{'broken rule':60} of {args.programs} programs")
    for name in ["nothing"] + [n for n in names if args.only in n]:
        noticed = run(build / "bin/test_jit_programs", name, args.programs)
        print(f"{name:60} {noticed}", flush=True)
        if (noticed == 0) != (name == "nothing"):
            unseen.append(name)
    if unseen:
        sys.exit("not as it should be: " + "; ".join(unseen))


if __name__ == "__main__":
    main()
