#!/usr/bin/env python3
"""Checks that every #include stays within the layers of docs/architecture.md.

A folder may include itself and what its row in ALLOWED names (a trailing * means every folder
below), core/base, the C++ standard library and Abseil. Libraries from outside are named in LIBRARIES;
one that is not listed there is an offence too, so a new dependency is a decision and not an accident.

    layering.py                checks the tree this file lies in; exit 1 and file:line per offence
    layering.py --self-test    checks that made-up offences are found
"""

import argparse
import pathlib
import re
import sys
import tempfile

# Folder -> (folders, libraries) it may include from. Longest folder prefix wins.
ALLOWED = {
    "core/base": ([], ["openssl", "sleef"]),
    "core/ir": ([], []),
    "core/lang": (["core/ir"], []),
    "core/eval": (["core/ir"], []),
    "core/analysis": (["core/ir"], ["isl"]),
    "core/ad": (["core/ir", "core/analysis"], []),
    "core/tensor": (["core/ir", "core/analysis"], []),
    "core/opt": (["core/ir", "core/analysis"], []),
    "core/loops": (["core/ir", "core/analysis"], []),
    "core/pipeline": (["core/*"], []),
    "jit": (["core/*", "jit/runtime"], []),
    "jit/runtime": ([], ["sleef", "tbb"]),
    "jit/baseline": (["jit", "jit/runtime", "core/loops"], ["asmjit"]),
    "jit/llvm": (["jit", "jit/runtime", "core/loops"], ["llvm"]),
    "jit/cuda": (["jit", "jit/runtime", "core/loops"], ["cuda"]),
    "proto": ([], ["grpc", "protobuf"]),
    "proto/program": (["proto", "core/lang"], ["protobuf"]),
    "server": (["jit", "proto", "proto/program"],
               ["grpc", "httplib", "openssl", "prometheus", "protobuf", "spdlog"]),
    "client": (["proto"], ["grpc", "protobuf"]),
    "client/cli": (["client", "proto/program", "core/lang", "jit", "jit/llvm", "jit/baseline",
                    "jit/cuda"], ["cli11", "json"]),
    "tests": (["core/*", "jit/*", "jit", "server", "client", "proto", "tests/*"],
              ["catch2", "rapidcheck", "benchmark", "openssl", "sleef"]),
    "tests/server": (["core/*", "jit/*", "jit", "server", "client", "proto", "proto/program", "tests/*"],
                     ["catch2", "rapidcheck", "grpc", "protobuf", "openssl", "spdlog"]),
    "tests/jit/runtime": (["core/*", "jit/*", "jit", "tests/*"],
                          ["catch2", "rapidcheck", "openblas", "sleef", "tbb"]),
}
# Programs stand above their folder: main starts what the folder offers, and picks the back ends.
FILES = {
    "server/main.cc": (["server", "jit", "jit/llvm", "jit/baseline", "jit/cuda", "proto"],
                       ["grpc", "protobuf", "spdlog", "cli11"]),
}
for twin in ("client", "e2e", "bench", "fuzz", "proto"):
    folders, libraries = ALLOWED["tests/server"]
    ALLOWED[f"tests/{twin}"] = (folders, libraries + ["benchmark"] * (twin == "bench") +
                                ["json"] * (twin == "client"))
ALLOWED["tests/server"][1].append("json")

# Library -> what its headers' paths begin with.
LIBRARIES = {
    "asmjit": ("asmjit/", "asmjit.h"),
    "benchmark": ("benchmark/",),
    "catch2": ("catch2/",),
    "cli11": ("CLI/",),
    "cuda": ("cuda.h", "cuda_", "cuda/", "nvrtc", "nvml", "cublas"),
    "grpc": ("grpc/", "grpcpp/", "grpc++/"),
    "httplib": ("httplib.h",),
    "isl": ("isl/",),
    "json": ("nlohmann/",),
    "llvm": ("llvm/", "llvm-c/", "clang/", "lld/"),
    "openblas": ("cblas", "openblas", "lapacke", "lapack.h"),
    "openssl": ("openssl/",),
    "prometheus": ("prometheus/",),
    "protobuf": ("google/protobuf/",),
    "rapidcheck": ("rapidcheck",),
    "sleef": ("sleef",),
    "spdlog": ("spdlog/", "fmt/"),
    "tbb": ("tbb/", "oneapi/tbb"),
}
ROOTS = ("core", "jit", "server", "client", "tests", "proto")
SUFFIXES = {".cc", ".h", ".def", ".inc", ".cpp", ".hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")')
# The C library and the system: <cmath>, <unistd.h>, <sys/mman.h>, <immintrin.h>.
SYSTEM = re.compile(r"^(?:[a-z_0-9]+|[a-z_0-9]+\.h|(?:sys|linux|arpa|netinet|net|bits|sanitizer)/.+\.h)$")


def row_of(path):
    """The row that speaks for a file, by its path from the root."""
    if path in FILES:
        return path.rsplit("/", 1)[0], FILES[path]
    folder = path.rsplit("/", 1)[0]
    while folder not in ALLOWED and "/" in folder:
        folder = folder.rsplit("/", 1)[0]
    return folder, ALLOWED.get(folder, ([], []))


def library_of(header):
    for library, starts in LIBRARIES.items():
        if header.startswith(starts):
            return library
    return None


def may_use(row, folders, wanted):
    """Whether folder `wanted` is open to a file of row `row` that may use `folders`."""
    if wanted == "core/base" or wanted == row:
        return True
    # A folder's own subfolders belong to it, unless they have a row of their own.
    if wanted.startswith(row + "/") and wanted not in ALLOWED:
        return True
    for folder in folders:
        if folder.endswith("/*"):
            if wanted.startswith(folder[:-1]):
                return True
        elif row_of(wanted + "/x")[0] == folder or wanted == folder:
            return True
    return False


def fault_of(path, header, quoted):
    """Why `path` may not include `header`; None where it may."""
    row, (folders, libraries) = row_of(path)
    # Generated from proto/.
    if header.startswith(("pullback/v1/", "google/rpc/", "grpc/health/", "grpc/reflection/")):
        header, quoted = "proto/" + header, True
    root = header.split("/", 1)[0]
    if "/" in header and root in ROOTS:
        wanted = header.rsplit("/", 1)[0]
        if wanted.startswith("proto") and wanted not in ALLOWED:
            wanted = "proto"
        if may_use(row, folders, wanted):
            return None
        return f"{row} may not include from {wanted}"
    if header.startswith("absl/"):
        return None
    library = library_of(header)
    if library:
        return None if library in libraries else f"{row} may not use {library}"
    if quoted:
        return "project headers are included by their path from the root"
    if SYSTEM.match(header):
        return None
    return "unknown library; add it to tests/layering.py and docs/dependencies.md"


def check(root):
    """All offences below root, as printable lines."""
    offences = []
    for top in ROOTS:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES or not file.is_file():
                continue
            path = file.relative_to(root).as_posix()
            if "node_modules" in path or "/.venv" in path:
                continue
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                header = match[1] or match[2]
                fault = fault_of(path, header, match[2] is not None)
                if fault:
                    offences.append(f"{path}:{number}: {header}: {fault}")
    return offences


def self_test():
    cases = [  # path, line, whether it is an offence
        ("core/ir/a.cc", '#include "core/base/status.h"', False),
        ("core/ir/b.cc", '#include "core/lang/ast.h"', True),
        ("core/ir/c.cc", "#include <vector>", False),
        ("core/ad/d.cc", '#include "core/opt/rules.h"', True),
        ("core/opt/rules/e.cc", '#include "core/opt/rules.h"', False),
        ("core/pipeline/f.cc", '#include "core/ad/adjoint.h"', False),
        ("core/eval/g.cc", "#  include <llvm/IR/Module.h>", True),
        ("jit/engine.cc", '#include "jit/llvm/backend.h"', True),
        ("jit/engine.cc", "#include <asmjit/asmjit.h>", True),
        ("jit/llvm/h.cc", '#include "llvm/IR/Module.h"', False),
        ("jit/llvm/i.cc", '#include "core/ir/ir.h"', True),
        ("jit/baseline/j.cc", "#include <asmjit/x86.h>", False),
        ("jit/runtime/k.cc", "#include <cuda.h>", True),
        ("jit/cuda/l.cc", "#include <cuda.h>", False),
        ("jit/m.cc", "#include <grpcpp/grpcpp.h>", True),
        ("server/n.cc", "#include <google/protobuf/arena.h>", False),
        ("server/n.cc", '#include "core/lang/parser.h"', True),
        ("server/main.cc", '#include "jit/llvm/backend.h"', False),
        ("client/o.cc", '#include "jit/engine.h"', True),
        ("client/cli/p.cc", '#include "jit/engine.h"', False),
        ("client/q.cc", '#include "pullback/v1/service.pb.h"', False),
        ("core/lang/r.cc", '#include "pullback/v1/service.pb.h"', True),
        ("proto/program/a.cc", '#include "core/lang/ast.h"', False),
        ("proto/program/b.cc", '#include "pullback/v1/program.pb.h"', False),
        ("proto/c.cc", '#include "core/lang/ast.h"', True),
        ("client/d.cc", '#include "proto/program/tables.h"', True),
        ("server/e.cc", '#include "proto/program/tables.h"', False),
        ("core/ir/s.cc", '#include "ir.h"', True),
        ("core/ir/t.cc", "#include <boost/variant.hpp>", True),
        ("tests/core/ir/u_test.cc", '#include "core/lang/lower.h"', False),
        ("tests/core/ir/v_test.cc", "#include <grpcpp/grpcpp.h>", True),
    ]
    failures = 0
    for path, line, offends in cases:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / path
            file.parent.mkdir(parents=True)
            file.write_text("// first line\n" + line + "\n")
            found = check(pathlib.Path(folder))
        right = bool(found) == offends and all(o.startswith(f"{path}:2: ") for o in found)
        if not right:
            failures += 1
            print(f"self-test: {path}: {line}: expected offends={offends}, got {found}")
    print(f"self-test: {len(cases)} cases, {failures} failures")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parent.parent,
                        type=pathlib.Path)
    options = parser.parse_args()
    if options.self_test:
        return 1 if self_test() else 0
    offences = check(options.root)
    for offence in offences:
        print(offence)
    print(f"layering: {len(offences)} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
