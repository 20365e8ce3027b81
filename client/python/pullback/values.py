"""Between Python's values and protobuf's, by the types of a signature."""

from __future__ import annotations

import numpy as np

from .errors import argument_error
from .types import TensorType, TupleType, dtype_of
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
    if not isinstance(value, (tuple, list)) or len(value) != len(type_.elements):
        raise argument_error("TYPE_MISMATCH", f"{what}: expected a tuple {type_}, got {value!r:.60}")
    message.tuple.SetInParent()
    for index, (part, part_type) in enumerate(zip(value, type_.elements)):
        element = message.tuple.elements.add()
        write_value(part, part_type, f"{what}.{index}", element, derivative)


def _read_tensor(message):
    dtype = dtype_of(message.dtype)
    array = np.frombuffer(message.data, dtype).reshape(tuple(message.shape))
    if array.ndim:
        return array.astype(dtype.newbyteorder("="))  # a copy that may be written
    return array[()] if message.dtype == tensor_pb2.DTYPE_F32 else array.item()


def read_value(message, derivative=False):
    if message.HasField("tensor"):
        return _read_tensor(message.tensor)
    if derivative and not message.tuple.elements:
        return None
    return tuple(read_value(element, derivative) for element in message.tuple.elements)
