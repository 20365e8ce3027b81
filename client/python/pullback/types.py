"""Types of parameters and results, as a kernel's signature tells them."""

from __future__ import annotations

import dataclasses
import functools
from typing import Union

import numpy as np

from .v1 import tensor_pb2

_DTYPES = {
    tensor_pb2.DTYPE_F64: ("f64", np.dtype("<f8")),
    tensor_pb2.DTYPE_F32: ("f32", np.dtype("<f4")),
    tensor_pb2.DTYPE_I64: ("i64", np.dtype("<i8")),
    tensor_pb2.DTYPE_BOOL: ("bool", np.dtype("?")),
}


@dataclasses.dataclass(frozen=True)
class TensorType:
    code: int  # tensor_pb2.DType
    dims: tuple[str, ...]  # size expressions: "3", "n", "n - m + 1"

    @property
    def name(self):
        return _DTYPES[self.code][0]

    @property
    def dtype(self):
        return _DTYPES[self.code][1]

    @property
    def is_float(self):
        return self.dtype.kind == "f"

    def __str__(self):
        return (f"[{', '.join(self.dims)}]" if self.dims else "") + self.name


@dataclasses.dataclass(frozen=True)
class TupleType:
    elements: tuple["Type", ...]

    def __str__(self):
        return f"({', '.join(map(str, self.elements))})"


@dataclasses.dataclass(frozen=True)
class StructType(TupleType):
    """A tuple whose elements have names; its values are named tuples."""

    name: str
    fields: tuple[str, ...]

    def __str__(self):
        return self.name


@dataclasses.dataclass(frozen=True)
class StructArrayType(StructType):
    """An array of tuples or structs: the tuple of the arrays of their parts. Without names, a tuple's."""

    dims: tuple[str, ...]
    element: str

    def __str__(self):
        return f"[{', '.join(self.dims)}]{self.element}"


class ListType:
    """A list. Its element may be a struct that holds such lists itself."""

    def __init__(self, message, structs):
        self._message = message
        self._structs = structs

    @functools.cached_property
    def element(self) -> Type:
        return read_type(self._message.element, self._structs)

    @functools.cached_property
    def is_float(self):
        return _holds_floats(self, set())

    def __str__(self):
        return f"list {self.element}"

    __repr__ = __str__


@dataclasses.dataclass(frozen=True)
class RelationType:
    """Which indices are related; an argument, without derivative."""

    dims: tuple[str, ...]
    is_float = False

    def __str__(self):
        return f"rel[{', '.join(self.dims)}]"


@dataclasses.dataclass(frozen=True)
class SparseType:
    """A block of a sparse Jacobian or Hessian."""

    element: TensorType  # the parameter's
    is_float = True

    def __str__(self):
        return f"sparse {self.element.name}"


Type = Union[TensorType, TupleType, StructType, ListType, RelationType, SparseType]


@dataclasses.dataclass(frozen=True)
class Parameter:
    name: str
    type: Type


@dataclasses.dataclass(frozen=True)
class Signature:
    entry: str
    parameters: tuple[Parameter, ...]
    result: Type
    wrt: tuple[str, ...]  # parameters differentiated by, in the order of derivatives

    def __str__(self):
        parameters = ", ".join(f"{p.name}: {p.type}" for p in self.parameters)
        return f"fn {self.entry}({parameters}) -> {self.result}"


def block_type(rows, columns, sparse=False):
    """Of a matrix of derivatives: `columns` in place of every float of `rows`; the axes of both."""
    if isinstance(rows, TensorType):
        if not rows.is_float:
            return rows
        return _sparse_type(columns) if sparse else columns
    elements = tuple(block_type(element, columns, sparse) for element in rows.elements)
    return dataclasses.replace(rows, elements=elements)


def _sparse_type(columns):
    if isinstance(columns, TensorType):
        return SparseType(columns) if columns.is_float else columns
    return dataclasses.replace(columns, elements=tuple(map(_sparse_type, columns.elements)))


def dtype_of(code):
    return _DTYPES[code][1]


def _holds_floats(type_, seen):
    if isinstance(type_, (TensorType, RelationType)):
        return type_.is_float
    if id(type_) in seen:
        return False
    seen.add(id(type_))
    inner = (type_.element,) if isinstance(type_, ListType) else type_.elements
    return any(_holds_floats(t, seen) for t in inner)


class _Structs:
    """The structs that lists name, each read when it is first asked for."""

    def __init__(self, messages):
        self._messages = messages
        self._types = {}

    def __getitem__(self, index):
        if index not in self._types:
            self._types[index] = read_type(self._messages[index], self)
        return self._types[index]


def _element_text(elements, axes):
    """Of an array of tuples, whose arrays have `axes` axes more than the tuple's elements."""
    def text(part):
        own = dataclasses.replace(part, dims=part.dims[axes:])
        return own.element if isinstance(part, StructArrayType) and not own.dims else str(own)

    return f"({', '.join(map(text, elements))})"


def read_type(message, structs):
    kind = message.WhichOneof("kind")
    if kind == "declared":
        return structs[message.declared]
    if kind == "relation":
        return RelationType(tuple(message.relation.dims))
    if kind == "list":
        return ListType(message.list, structs)
    if kind == "tuple":
        elements = tuple(read_type(element, structs) for element in message.tuple.elements)
        fields = tuple(message.tuple.field_names)
        if message.tuple.array_dims:
            dims = tuple(message.tuple.array_dims)
            element = message.tuple.struct_name or _element_text(elements, len(dims))
            return StructArrayType(elements, message.tuple.struct_name, fields, dims, element)
        if message.tuple.struct_name:
            return StructType(elements, message.tuple.struct_name, fields)
        return TupleType(elements)
    return TensorType(message.tensor.dtype, tuple(message.tensor.dims))


def read_signature(message):
    structs = _Structs(message.structs)
    parameters = tuple(Parameter(p.name, read_type(p.type, structs)) for p in message.parameters)
    result = read_type(message.result, structs)
    return Signature(message.entry, parameters, result, tuple(message.wrt))
