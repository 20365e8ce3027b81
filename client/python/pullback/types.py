"""Types of parameters and results, as a kernel's signature tells them."""

from __future__ import annotations

import dataclasses
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


Type = Union[TensorType, TupleType, StructType]


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


def block_type(rows, columns):
    """Of a matrix of derivatives: `columns` in place of every float of `rows`; the axes of both."""
    if isinstance(rows, TensorType):
        return columns if rows.is_float else rows
    elements = tuple(block_type(element, columns) for element in rows.elements)
    return dataclasses.replace(rows, elements=elements)


def dtype_of(code):
    return _DTYPES[code][1]


def read_type(message):
    if message.HasField("tuple"):
        elements = tuple(map(read_type, message.tuple.elements))
        if message.tuple.struct_name:
            fields = tuple(message.tuple.field_names)
            return StructType(elements, message.tuple.struct_name, fields)
        return TupleType(elements)
    return TensorType(message.tensor.dtype, tuple(message.tensor.dims))


def read_signature(message):
    parameters = tuple(Parameter(p.name, read_type(p.type)) for p in message.parameters)
    return Signature(message.entry, parameters, read_type(message.result), tuple(message.wrt))
