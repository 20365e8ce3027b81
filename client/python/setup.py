"""Generates pullback/v1/*_pb2*.py from the repository's proto/ while building.

A source distribution carries the protos in its own proto/, so that it builds anywhere.
"""

import pathlib
import re
import shutil
from importlib import metadata, resources

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
PROTO = next(p for p in (HERE / "proto", HERE.parent.parent / "proto") if p.is_dir())
OURS = "pullback/v1"


def generate(folder):
    """pullback/v1 with its modules below `folder`."""
    from grpc_tools import protoc

    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    files = sorted(str(p.relative_to(PROTO)) for p in (PROTO / OURS).glob("*.proto"))
    standard = resources.files("grpc_tools") / "_proto"
    arguments = [f"-I{PROTO}", f"-I{standard}", f"--python_out={folder}",
                 f"--grpc_python_out={folder}", *files]
    if protoc.main(["protoc", *arguments]) != 0:
        raise RuntimeError("protoc failed")
    (pathlib.Path(folder) / OURS / "__init__.py").touch()


class BuildPy(build_py):
    def run(self):
        super().run()
        generate(HERE if self.editable_mode else self.build_lib)


class Sdist(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        shutil.copytree(PROTO, pathlib.Path(base_dir) / "proto", dirs_exist_ok=True,
                        ignore=lambda _, names: [n for n in names if n.endswith((".cc", ".h"))])


def dependencies():
    """Generated code runs with the protobuf and grpcio that its generator asks for."""
    needed = ["numpy", "googleapis-common-protos"]
    for requirement in metadata.requires("grpcio-tools"):
        if re.match(r"(grpcio|protobuf)\b", requirement):
            needed.append(requirement)
    return needed


setup(cmdclass={"build_py": BuildPy, "sdist": Sdist}, install_requires=dependencies())
