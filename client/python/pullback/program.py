"""Programs and the kernels they become."""

from __future__ import annotations

import dataclasses
import functools
import threading
from typing import Any

from .client import Client, hash_of, program_message, shared_client
from .errors import PullbackError, argument_error
from .types import block_type, read_signature
from .v1 import program_pb2, service_pb2
from .values import read_value, write_value

TRANSFORMS = {
    "value": program_pb2.TRANSFORM_VALUE,
    "value_and_grad": program_pb2.TRANSFORM_VALUE_AND_GRAD,
    "vjp": program_pb2.TRANSFORM_VJP,
    "jvp": program_pb2.TRANSFORM_JVP,
    "hvp": program_pb2.TRANSFORM_HVP,
    "jacobian": program_pb2.TRANSFORM_JACOBIAN,
    "hessian": program_pb2.TRANSFORM_HESSIAN,
}
TIERS = ("auto", "baseline", "llvm")  # in the order of Tier
MIXED = ("auto", "cached", "recomputed")  # in the order of Mixed
CONTRACTIONS = ("", "exact", "blas")  # in the order of Contractions
TARGETS = ("", "cpu", "cuda", "auto")  # in the order of Target
TANGENTS = (program_pb2.TRANSFORM_JVP, program_pb2.TRANSFORM_HVP)  # transforms seeded by tangents


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """derivatives: by name; of jvp the tangent of the value; of hessian by name, then by name."""

    value: Any
    derivatives: Any
    cache_hit: bool
    timings: dict[str, float]
    peak_bytes: int
    tier: str  # that answered: baseline or llvm
    target: str = "cpu"  # that answered: cpu or cuda
    contractions: int = 0  # that a library computed
    contracted_by: str = ""  # which one, with its version


class Kernel:
    """A function of a program, compiled with a transform. Made by Program.compile."""

    def __init__(self, client: Client, spec, program_hash, compiled):
        self._client = client
        self._spec = spec
        self._hash = program_hash
        self.kernel_id = compiled.kernel_id
        self.cache_hit = compiled.cache_hit
        self.signature = read_signature(compiled.signature)
        self.compile_timings = _timings(compiled.timings)

    def __repr__(self):
        name = program_pb2.Transform.Name(self._spec.transform)[len("TRANSFORM_"):].lower()
        return f"<Kernel {name} of {self.signature}>"

    def evaluate(self, arguments, seed=None, *, memory_bytes=0, max_depth=0) -> Evaluation:
        """arguments: {name: value}. seed: of vjp the cotangent, of jvp and hvp {name: tangent}."""
        request = service_pb2.EvaluateRequest(kernel_id=self.kernel_id)
        request.options.memory_bytes = memory_bytes
        request.options.max_depth = max_depth
        parameters = self.signature.parameters
        _write_all(arguments, parameters, "argument", request.arguments)
        self._write_seed(seed, request)
        return self._read(self._run(request))

    def _write_seed(self, seed, request):
        if self._spec.transform == program_pb2.TRANSFORM_VJP:
            message = request.seeds.add().value
            write_value(seed, self.signature.result, "cotangent", message, derivative=True)
        elif self._spec.transform in TANGENTS:
            by_name = {p.name: p for p in self.signature.parameters}
            wrt = [by_name[name] for name in self.signature.wrt]
            _write_all(seed or {}, wrt, "tangent", request.seeds, derivative=True)
        elif seed is not None:
            raise argument_error("UNKNOWN_ARGUMENT", "only vjp, jvp and hvp take a seed")

    def _run(self, request):
        """By id; by the program where the server dropped the kernel.

        An id stands for the first text that made the kernel, whose names and places it speaks of; so
        an error is asked for again by this text.
        """
        try:
            return self._client.call("Evaluate", request, self._hash)
        except PullbackError as error:
            ours = not self.cache_hit
            if error.reason != "KERNEL_NOT_RESIDENT" and (ours or not error.diagnostics):
                raise
        request.spec.CopyFrom(self._spec)
        return self._client.call("Evaluate", request, self._hash)

    def _read(self, response):
        signature = self.signature
        found = response.derivatives
        if self._spec.transform == program_pb2.TRANSFORM_JVP:
            derivatives = read_value(found[0].value, signature.result, derivative=True)
        else:
            # By position: names may be those of another text with the same kernel.
            types = {p.name: p.type for p in signature.parameters}
            derivatives = {name: self._read_by(types[name], d.value, types)
                           for name, d in zip(signature.wrt, found)}
        value = read_value(response.value, signature.result)
        return Evaluation(value, derivatives, response.cache_hit,
                          _timings(response.timings), response.peak_bytes, TIERS[response.tier],
                          TARGETS[response.target] or "cpu", response.contractions,
                          response.contracted_by)

    def _read_by(self, type_, message, types):
        """The derivative by one parameter."""
        if self._spec.transform == program_pb2.TRANSFORM_JACOBIAN:
            type_ = block_type(self.signature.result, type_, self._spec.sparse)
            return read_value(message, type_, derivative=True)
        if self._spec.transform == program_pb2.TRANSFORM_HESSIAN:
            blocks = zip(self.signature.wrt, message.tuple.elements)
            sparse = self._spec.sparse
            return {name: read_value(block, block_type(type_, types[name], sparse), derivative=True)
                    for name, block in blocks}
        return read_value(message, type_, derivative=True)


class Program:
    """A program, and its functions to call on a server.

        program = Program(text, client=Client("127.0.0.1:8001"))
        value, gradients = program.value_and_grad("loss", wrt=["w"], w=w, x=x)

    The program is text, or a ProgramTables message (pullback.v1.program_tables_pb2), which is sent as such.
    Kernels are compiled once and kept by their ids. memory_bytes, max_depth: bounds of each run; 0: the
    server's.
    """

    def __init__(self, program, client: Client | None = None, *, memory_bytes=0, max_depth=0):
        self.client = client or shared_client()
        self._message = program_message(program)
        self._limits = {"memory_bytes": memory_bytes, "max_depth": max_depth}
        self._kernels: dict[Any, Kernel] = {}
        self._lock = threading.Lock()

    @functools.cached_property
    def formatted(self):
        """The program in both forms: .text, .tables, .canonical_text, .hash."""
        return self.client.format(self._message)

    @property
    def text(self):
        """As it was given; of a message its canonical text, which errors speak of."""
        return self._message.text or self.formatted.canonical_text

    @functools.cached_property
    def _hash(self):
        return hash_of(self._message.text) if self._message.text else self.formatted.hash

    def value(self, entry, /, **args):
        return self._kernel(entry, "value", None).evaluate(args, **self._limits).value

    def value_and_grad(self, entry, /, wrt=None, **args):
        """(value, {name: gradient}); the function gives one float."""
        return self._pair(entry, "value_and_grad", wrt, args, None)

    def vjp(self, entry, cotangent, /, wrt=None, **args):
        """(value, {name: derivative}) for a cotangent shaped like the value."""
        return self._pair(entry, "vjp", wrt, args, cotangent)

    def jvp(self, entry, tangents, /, **args):
        """(value, its tangent) for {name: tangent}; other parameters stay."""
        return self._pair(entry, "jvp", list(tangents), args, tangents)

    def hvp(self, entry, tangents, /, **args):
        """(value, {name: product of the Hessian with the tangents}) for {name: tangent}."""
        return self._pair(entry, "hvp", list(tangents), args, tangents)

    def jacobian(self, entry, /, wrt=None, **args):
        """(value, {name: Jacobian}): the axes of the value, then those of the parameter."""
        return self._pair(entry, "jacobian", wrt, args, None)

    def hessian(self, entry, /, wrt=None, **args):
        """(value, {name: {name: block}}); the function gives one float."""
        return self._pair(entry, "hessian", wrt, args, None)

    def sparse_jacobian(self, entry, /, wrt=None, **args):
        """As jacobian, with a SparseTensor for each block."""
        return self._pair(entry, "jacobian", wrt, args, None, sparse=True)

    def sparse_hessian(self, entry, /, wrt=None, **args):
        """As hessian, with a SparseTensor for each block."""
        return self._pair(entry, "hessian", wrt, args, None, sparse=True)

    def compile(self, entry, transform="value", wrt=None, *, optimise=True, opt_level=None,
                sparse=False, tier="auto", mixed="auto", target="cpu", contractions="exact") -> Kernel:
        """sparse: a jacobian's or hessian's blocks as SparseTensors. tier: auto, baseline or llvm.

        mixed: where partials of functions of elements are evaluated: auto (by cost), cached (in the forward
        pass) or recomputed (in the reverse pass). target: cpu, cuda or auto (a device where there is one and
        something can run on it). contractions: exact (loops) or blas (matrix products and the like by OpenBLAS,
        on a device by cuBLAS).
        """
        spec = self._spec(entry, transform, wrt)
        spec.sparse = sparse
        spec.options.no_optimise = not optimise
        if opt_level is not None:
            spec.options.opt_level = opt_level
        if tier not in TIERS:
            raise argument_error("INVALID_OPTION", f"no tier {tier!r}; there are {', '.join(TIERS)}")
        spec.options.tier = TIERS.index(tier)
        if mixed not in MIXED:
            raise argument_error("INVALID_OPTION", f"no mode {mixed!r}; there are {', '.join(MIXED)}")
        spec.options.mixed = MIXED.index(mixed)
        if target not in TARGETS[1:]:
            raise argument_error("INVALID_OPTION",
                                 f"no target {target!r}; there are {', '.join(TARGETS[1:])}")
        if target != "cpu":
            spec.options.target = TARGETS.index(target)
        if contractions not in CONTRACTIONS[1:]:
            raise argument_error("INVALID_OPTION", f"no contractions {contractions!r}; "
                                 f"there are {', '.join(CONTRACTIONS[1:])}")
        if contractions != "exact":
            spec.options.contractions = CONTRACTIONS.index(contractions)
        request = service_pb2.CompileRequest(spec=spec)
        return Kernel(self.client, spec, self._hash, self.client.call("Compile", request, self._hash))

    def explain(self, entry, stage=None, transform="value", wrt=None):
        """The text of one stage (ast ssa adjoint normal loops llvm asm cost rules sparsity), or {stage: text}."""
        stages = [stage] if isinstance(stage, str) else list(stage or ())
        request = service_pb2.ExplainRequest(spec=self._spec(entry, transform, wrt), stages=stages)
        response = self.client.call("Explain", request, self._hash)
        texts = {s.stage: s.text for s in response.stages}
        return texts[stage] if isinstance(stage, str) else texts

    def _spec(self, entry, transform, wrt):
        if transform not in TRANSFORMS:
            raise argument_error("INVALID_VALUE",
                                 f"no transform {transform!r}; there are {', '.join(TRANSFORMS)}")
        return program_pb2.KernelSpec(program=self._message, entry=entry, wrt=_names(wrt),
                                      transform=TRANSFORMS[transform])

    def _kernel(self, entry, transform, wrt, sparse=False):
        key = (entry, transform, _names(wrt), sparse)
        with self._lock:
            kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self.compile(entry, transform, wrt, sparse=sparse)
            with self._lock:
                self._kernels[key] = kernel
        return kernel

    def _pair(self, entry, transform, wrt, args, seed, sparse=False):
        kernel = self._kernel(entry, transform, wrt, sparse)
        result = kernel.evaluate(args, seed, **self._limits)
        return result.value, result.derivatives


def _names(wrt):
    return (wrt,) if isinstance(wrt, str) else tuple(wrt or ())


def _timings(message):
    named = {f.name: getattr(message, f.name) for f in message.DESCRIPTOR.fields if f.name != "stages"}
    return {**named, **{stage.stage: stage.seconds for stage in message.stages}}


def _write_all(values, parameters, noun, messages, derivative=False):
    """One message per parameter, in their order, without names."""
    names = [p.name for p in parameters]
    for name in values:
        if name not in names:
            raise argument_error("UNKNOWN_ARGUMENT",
                                 f"no {noun} {name!r}; there are: {', '.join(names) or 'none'}")
    for p in parameters:
        if p.name not in values:
            raise argument_error("MISSING_ARGUMENT", f"{noun} {p.name!r} is missing; it is {p.type}")
        what = f"{noun} {p.name!r}"
        write_value(values[p.name], p.type, what, messages.add().value, derivative)
