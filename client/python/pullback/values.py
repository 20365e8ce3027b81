"""Between Python's values and protobuf's, by the types of a signature."""

from __future__ import annotations

import numpy as np

from .errors import argument_error
from .structs import named_parts, struct_class
from .types import StructType, TensorType, dtype_of
from .v1 import tensor_pb2

_ACCEPTED = {"f": "fiu", "i": "iu", "b": "b"}  # kinds that become a kind without surprises


def _array(value, type_, what):
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged lists
        raise argument_error("TYPE_MISMATCH", f"{what}: expected {type_}: {error}") from error
    if array.dtype.kind not in _ACCEPTED[type_.dtype.kind] and array.size > 0:
        raise argument_error("TYPE_MISMATCH",
                             f"{what}: expected {type_}, got {_describe(value, array)}")
    if array.ndim != len(type_.dims):
        raise argument_error("TYPE_MISMATCH",
                             f"{what}: expected {type_}, got an array of shape {array.shape}")
    if array.dtype.kind == "u" and type_.dtype.kind == "i" and np.any(array > np.iinfo("i8").max):
        raise argument_error("INVALID_VALUE", f"{what}: an integer is out of range for i64")
    return np.asarray(array, type_.dtype, order="C")


def _describe(value, array):
    if array.dtype == object:
        return f"{type(value).__name__} ({value!r:.60})"
    return f"{array.dtype} of shape {array.shape}" if array.ndim else f"{value!r:.60}"


def _write_tensor(value, type_, what, message):
    array = _array(value, type_, what)
    message.dtype = type_.code
    message.shape.extend(array.shape)
    message.data = array.tobytes()


def write_value(value, type_, what, message, derivative=False):
    """Fills a Value. In a derivative None (or an empty tuple) is what holds no floats."""
    if isinstance(type_, TensorType):
        if derivative and not type_.is_float:
            if value is not None and value != ():
                raise argument_error("TYPE_MISMATCH", f"{what}: {type_} has no derivative: None")
            message.tuple.SetInParent()
        else:
            _write_tensor(value, type_, what, message.tensor)
        return
    message.tuple.SetInParent()
    for name, part, part_type in _parts(value, type_, what):
        element = message.tuple.elements.add()
        write_value(part, part_type, f"{what}.{name}", element, derivative)


def _parts(value, type_, what):
    """(name, part, type) of each element of a tuple or struct."""
    is_struct = isinstance(type_, StructType)
    parts = named_parts(value) if is_struct else None
    if parts is not None:
        for name in parts:
            if name not in type_.fields:
                fields = ", ".join(type_.fields)
                raise argument_error("TYPE_MISMATCH",
                                     f"{what}: {type_} has no field {name!r}; it has: {fields}")
        for name, part_type in zip(type_.fields, type_.elements):
            if name not in parts:
                raise argument_error("TYPE_MISMATCH",
                                     f"{what}: the field {name!r} is missing; it is {part_type}")
        return [(n, parts[n], t) for n, t in zip(type_.fields, type_.elements)]
    if not isinstance(value, (tuple, list)) or len(value) != len(type_.elements):
        kind = "its fields" if is_struct else "a tuple"
        raise argument_error("TYPE_MISMATCH",
                             f"{what}: expected {kind} {type_}, got {value!r:.60}")
    names = type_.fields if is_struct else range(len(value))
    return zip(names, value, type_.elements)


def _read_tensor(message):
    dtype = dtype_of(message.dtype)
    array = np.frombuffer(message.data, dtype).reshape(tuple(message.shape))
    if array.ndim:
        return array.astype(dtype.newbyteorder("="))  # a copy that may be written
    return array[()] if message.dtype == tensor_pb2.DTYPE_F32 else array.item()


def read_value(message, type_, derivative=False):
    if isinstance(type_, TensorType):
        # In a derivative what holds no floats is an empty tuple.
        return None if derivative and not type_.is_float else _read_tensor(message.tensor)
    parts = (read_value(part, part_type, derivative)
             for part, part_type in zip(message.tuple.elements, type_.elements))
    if isinstance(type_, StructType):
        return struct_class(type_.name, type_.fields)(*parts)
    return tuple(parts)
