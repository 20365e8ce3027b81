#!/usr/bin/env python3
"""Checks that docs/features.md speaks of things that exist.

A row is `item | where | test | state`. The state is done, part (with what is missing) or open. Done needs
a place and a test, open has neither. Every path must be there, every name of the code must occur in the
code, and what stands in brackets behind a test's path must occur in that test (or in the programs that
it runs, tests/support).

    features.py                checks the tree this file lies in; exit 1 and the line of each fault
    features.py --self-test    checks that made-up faults are found
"""

import argparse
import itertools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CODE = ("core", "jit", "server", "client", "proto", "docs/examples")
PATH = re.compile(r"^[\w.*{},/-]+(/|\.(cc|h|def|py|ir|md|pull|\*))[\w.*{},-]*$|^(core|jit|tests|docs)/\S+$")
NAME = re.compile(r"^[A-Za-z_]\w*(::[A-Za-z_]\w*)*$")


def unbrace(pattern):
    """a/{b,c} is a/b and a/c."""
    match = re.search(r"\{([^}]*)\}", pattern)
    if not match:
        return [pattern]
    return [p for option in match[1].split(",")
            for p in unbrace(pattern[:match.start()] + option + pattern[match.end():])]


def text_of(paths):
    files = itertools.chain.from_iterable(
        p.rglob("*") if p.is_dir() else [p] for p in paths)
    return "\n".join(f.read_text(errors="replace") for f in files if f.is_file())


class Tree:
    def __init__(self, root):
        self.root = root
        self._code = None

    def find(self, pattern, near):
        """Files of a path; a bare name is looked for beside `near`, what was named before."""
        found = []
        for one in unbrace(pattern):
            bases = [self.root] + [n if n.is_dir() else n.parent for n in near]
            hits = next((h for h in (list(b.glob(one)) for b in bases) if h), [])
            if not hits:
                return []
            found += hits
        return found

    def has_name(self, name):
        if self._code is None:
            self._code = set(re.findall(
                r"\w+", text_of([self.root / folder for folder in CODE if (self.root / folder).exists()])))
        return all(part in self._code for part in name.split("::"))


def bracket_after(cell, position):
    """What stands in brackets right behind a path, brackets inside included."""
    rest = cell[position:]
    if not rest.startswith(" ("):
        return None
    depth = 0
    for i, c in enumerate(rest):
        depth += (c == "(") - (c == ")")
        if c == ")" and depth == 0:
            return rest[2:i]
    return None


def check_cell(tree, cell, is_test):
    near = []
    for match in re.finditer(r"`([^`]+)`", cell):
        token = match[1]
        if PATH.match(token):
            found = tree.find(token, near)
            if not found:
                yield f"no such path: {token}"
                continue
            near = found
            names = bracket_after(cell, match.end()) if is_test else None
            if names:
                text = text_of(found + [tree.root / "tests/support"])
                for name in [names] if names in text else names.split(", "):
                    if name not in text:
                        yield f"{token} does not know '{name}'"
        elif not is_test and NAME.match(token) and ("::" in token or re.search("[a-z][A-Z]", token)):
            if not tree.has_name(token):
                yield f"the code has no {token}"


def check_row(tree, row):
    cells = [cell.strip() for cell in row.strip().removeprefix("|").removesuffix("|").split(" | ")]
    if len(cells) != 4:
        yield f"{len(cells)} cells in place of 4"
        return
    _, where, test, state = (cell.strip("| ") for cell in cells)
    kind, _, missing = state.partition(":")
    if kind not in ("done", "part", "open"):
        yield f"no state: '{state}'"
    if kind == "done" and not (where and test):
        yield "done without a place and a test"
    if kind == "part" and not (where and missing.strip()):
        yield "part without a place and what is missing"
    if kind == "open" and (where or test):
        yield "open, with a place or a test"
    yield from check_cell(tree, where, is_test=False)
    yield from check_cell(tree, test, is_test=True)


def rows(text):
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("|") and not line.startswith(("| item |", "|---")):
            yield number, line.replace("| |", "|  |").replace("|  | |", "|  |  |")


def faults(tree, text):
    return [(number, fault) for number, row in rows(text) for fault in check_row(tree, row)]


def self_test():
    tree = Tree(ROOT)
    good = "| a | `tests/features.py` | `tests/features.py` (self_test) | done |"
    bad = {
        "| a | `core/no_such.cc` | `tests/features.py` | done |": "no such path",
        "| a | `No::SuchName" + "AtAll` | `tests/features.py` | done |": "the code has no",
        "| a | `core` | `tests/layering.py` (nothing " + "of this) | done |": "does not know",
        "| a | | | done |": "done without",
        "| a | `core/ir` | | part |": "part without",
        "| a | `core/ir` | | open |": "open, with",
        "| a | `core/ir` | | maybe |": "no state",
        "| a | b | open |": "3 cells",
    }
    failed = [row for row, fault in bad.items()
              if not any(fault in found for _, found in faults(tree, row))]
    failed += [str(fault) for fault in faults(tree, good)]
    print("\n".join(failed) or "every made-up fault is found")
    return bool(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true")
    if parser.parse_args().self_test:
        return self_test()
    text = (ROOT / "docs/features.md").read_text()
    found = faults(Tree(ROOT), text)
    for number, fault in found:
        print(f"docs/features.md:{number}: {fault}")
    states = [row.rsplit("|", 2)[1].split(":")[0].strip() for _, row in rows(text)]
    print(", ".join(f"{states.count(s)} {s}" for s in ("done", "part", "open")))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
